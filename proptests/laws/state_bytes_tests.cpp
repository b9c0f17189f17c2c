// The serialized form of states: what is written is read, by the request that it names, and
// everything else is refused.
#include <cstring>

#include <detreduce/detreduce.h>

#include <support/property.hpp>

#include "laws/expect_status.hpp"
#include "laws/rank_draws.hpp"

namespace detreduce::proptests {
namespace {

/// FNV-1a over all but the last eight bytes, which it is written to.
void seal(Bytes& bytes) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::size_t i = 0; i + 8 < bytes.size(); ++i)
        hash = (hash ^ std::to_integer<std::uint64_t>(bytes[i])) * 0x100000001b3u;
    for (std::size_t i = 0; i < 8; ++i)
        bytes[bytes.size() - 8 + i] = static_cast<std::byte>(hash >> (8 * i));
}

void append(Bytes& bytes, std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i)
        bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

/// As SPEC.md, section 18.5, has it.
Bytes bytes_from(std::uint64_t words, const std::vector<std::uint64_t>& op_dtype_nan_kind, std::uint64_t groups,
                 std::uint64_t next, const Words& states) {
    Bytes bytes;
    for (const char c : {'D', 'R', 'E', 'X', 'A', 'C', 'T', '\n'})
        bytes.push_back(static_cast<std::byte>(c));
    append(bytes, 2, 4);
    append(bytes, words, 4);
    for (const std::uint64_t field : op_dtype_nan_kind)
        append(bytes, field, 1);
    append(bytes, 0, 4);
    append(bytes, groups, 8);
    append(bytes, next, 8);
    for (const std::int64_t word : states)
        append(bytes, static_cast<std::uint64_t>(word), 8);
    append(bytes, 0, 8);
    seal(bytes);
    return bytes;
}

Plan plan_for_states(Request r) {
    r.device = cpu;
    r.state = true;
    return throwing::make_plan(r);
}

/// Refused as `bytes`, and nothing is written; what is allowed.
std::string refused(const Plan& plan, std::span<const std::byte> bytes, std::uint64_t index = Status::no_element) {
    const Words before(plan.groups() * plan.state_words() + 1, -7);
    Words words = before;
    const Status status = deserialize(plan, bytes, words.data());
    if (words != before) return "something was written";
    if (status.code != StatusCode::invalid_argument || std::string(status.argument) != "bytes" || status.index != index)
        return "not refused";
    return status.allowed;
}
bool is_refused(const Plan& plan, std::span<const std::byte> bytes) {
    const std::string said = refused(plan, bytes);
    Request r{.n = 77};
    return said != "not refused" && said != "something was written" &&
           (!serialized_request(bytes, r).ok() ? r.n == 77 : true);
}
bool mentions(const std::string& text, const char* word) {
    return text.find(word) != std::string::npos;
}

template <class T>
void check_round_trip(std::uint64_t word) {
    const auto d = deal<T>(request_from(word), 2, word);
    const Plan plan = plan_of_states(d.request, d.all);
    RC_LOG(std::string(name(d.request.op)) + ' ' + std::string(name(d.request.shape)));
    const Words whole = states_of(d.request, d.all);
    const Bytes bytes = throwing::serialize(plan, whole.data());
    RC_ASSERT(bytes.size() == serialized_bytes(plan));
    RC_ASSERT(bytes.size() == 48 + 8 * whole.size());
    Words read(whole.size(), -1);
    throwing::deserialize(plan, bytes, read.data());
    RC_ASSERT(read == whole);
    if (state_merge(plan) == StateMerge::sum && plan.groups() > 0) { // not yet normalized
        Words added = states_of(d.request, d.ranks[0]);
        const Words more = states_of(d.request, d.ranks[1]);
        for (std::size_t i = 0; i < added.size(); ++i)
            added[i] += more[i];
        RC_ASSERT(throwing::serialize(plan, added.data()) == bytes);
    }
    const Request found = throwing::serialized_request(bytes);
    RC_ASSERT(found.op == d.request.op && found.dtype == d.request.dtype && found.nan == plan.request().nan);
    RC_ASSERT(found.state && found.each == d.request.each && found.device.backend == Backend::cpu);
    const Plan again = throwing::make_plan(found);
    RC_ASSERT(again.groups() == plan.groups() && again.state_words() == plan.state_words());
    std::fill(read.begin(), read.end(), -1);
    throwing::deserialize(again, bytes, read.data());
    RC_ASSERT(read == whole);
    const bool one_says = d.request.shape != Shape::segments && !d.request.each;
    RC_ASSERT(found.first_index ==
              (gives_index(d.request.op) && one_says ? plan.request().first_index + plan.request().n : 0));
}

} // namespace

TEMPLATE_TEST_CASE("state bytes: what is written is read, by the plan that wrote it and by the request that it names",
                   "[ranks]", float16, bfloat16, float, double, float8_e4m3, float8_e5m2) {
    property("round trip", [](std::uint64_t) { check_round_trip<TestType>(*rc::gen::arbitrary<std::uint64_t>()); });
}

TEST_CASE("state bytes: they are those that SPEC.md names", "[ranks]") {
    const float x[] = {1, 1, -0.0f};
    Words words(74);
    const Plan sum = plan_for_states({.op = Op::mean, .dtype = DType::f32, .n = 3});
    throwing::run(sum, x, words.data());
    Words expected(74);
    expected[34] = 2;
    expected[71] = 3;
    expected[73] = 1;
    REQUIRE(throwing::serialize(sum, words.data()) == bytes_from(74, {1, 2, 0, 0}, 1, 0, expected));

    const double y[] = {NAN, 3, 2, NAN};
    Words pairs(4);
    const Plan rows = plan_for_states({.op = Op::argmax,
                                       .dtype = DType::f64,
                                       .shape = Shape::rows,
                                       .n = 2,
                                       .groups = 2,
                                       .nan = NanPolicy::ignore,
                                       .first_index = 10});
    throwing::run(rows, y, pairs.data());
    REQUIRE(throwing::serialize(rows, pairs.data()) ==
            bytes_from(2, {12, 3, 1, 1}, 2, 12, {0x4008000000000000, -12, 0x4000000000000000, -11}));

    const Tensor list[] = {{x, 3, DType::f32}, {y, 0, DType::f64}};
    Words counts(3);
    const Plan each =
        plan_for_states({.op = Op::count_nonzero, .shape = Shape::tensors, .n = 3, .groups = 2, .each = true});
    throwing::run(each, list, counts.data());
    REQUIRE(throwing::serialize(each, counts.data()) == bytes_from(1, {19, 2, 0, 3}, 3, 0, {2, 0, 2}));
    const Plan all = plan_for_states({.op = Op::count_nonzero, .shape = Shape::tensors, .n = 3, .groups = 2});
    REQUIRE(throwing::serialize(all, counts.data()) == bytes_from(1, {19, 2, 0, 2}, 1, 0, {2}));
    const Plan none =
        plan_for_states({.op = Op::minmax, .dtype = DType::bf16, .shape = Shape::columns, .n = 1, .groups = 0});
    REQUIRE(throwing::serialize(none, nullptr) == bytes_from(2, {14, 1, 0, 1}, 0, 0, {}));
    REQUIRE(deserialize(none, bytes_from(2, {14, 1, 0, 1}, 0, 0, {}), nullptr).ok());
}

TEST_CASE("state bytes: every change of a byte, and every other length, is refused", "[ranks]") {
    for (const Op op : {Op::sum, Op::moments, Op::argmin, Op::minmax, Op::count_nonzero}) {
        const double x[] = {1, -2, 1e300, 3, 1e-300, 5};
        const Plan plan =
            plan_for_states({.op = op, .dtype = DType::f64, .shape = Shape::columns, .n = 3, .groups = 2});
        Words words(2 * plan.state_words());
        throwing::run(plan, x, words.data());
        const Bytes good = throwing::serialize(plan, words.data());
        for (std::size_t i = 0; i < good.size(); ++i) {
            for (int change = 1; change < 256; change = change < 128 ? 2 * change : change + 127) { // each bit, and all
                Bytes bytes = good;
                bytes[i] ^= static_cast<std::byte>(change);
                if (!is_refused(plan, bytes)) FAIL(name(op) << ", byte " << i << ", change " << change);
            }
        }
        Bytes longer = good;
        for (std::size_t size = 0; size < good.size(); ++size) {
            if (!is_refused(plan, std::span(good).first(size))) FAIL(name(op) << ", size " << size);
        }
        for (int i = 0; i < 20; ++i) {
            longer.push_back(std::byte{0});
            REQUIRE(is_refused(plan, longer));
        }
        REQUIRE(is_refused(plan, {}));
    }
}

TEST_CASE("state bytes: fields that no writer writes are refused, whatever the checksum", "[ranks]") {
    const Plan plan = plan_for_states({.op = Op::argmax, .dtype = DType::f32});
    Words words(2);
    throwing::run(plan, nullptr, words.data());
    const Bytes good = throwing::serialize(plan, words.data());
    const auto changed = [&](std::size_t at, std::uint64_t value, int count) {
        Bytes bytes = good;
        for (int i = 0; i < count; ++i)
            bytes[at + static_cast<std::size_t>(i)] = static_cast<std::byte>(value >> (8 * i));
        seal(bytes);
        return bytes;
    };
    REQUIRE(deserialize(plan, changed(16, 12, 1), words.data()).ok()); // it is what it was
    REQUIRE(mentions(refused(plan, changed(8, 3, 4)), "version"));
    REQUIRE(mentions(refused(plan, changed(8, 1, 4)), "version"));
    REQUIRE(mentions(refused(plan, changed(12, 1, 4)), "size"));
    for (const std::uint64_t op : {15, 20, 21, 255}) // prod and count_unique have no states
        REQUIRE(mentions(refused(plan, changed(16, op, 1)), "no request that has states"));
    REQUIRE(mentions(refused(plan, changed(16, 9, 1)), "no request that has states")); // min has one word
    REQUIRE(mentions(refused(plan, changed(17, 6, 1)), "no request that has states"));
    REQUIRE(mentions(refused(plan, changed(18, 2, 1)), "no request that has states"));
    REQUIRE(mentions(refused(plan, changed(19, 4, 1)), "no request that has states"));
    for (const std::size_t at : {20, 21, 22, 23})
        REQUIRE(mentions(refused(plan, changed(at, 1, 1)), "no request that has states"));
    REQUIRE(mentions(refused(plan, changed(24, 2, 8)), "size"));
    REQUIRE(mentions(refused(plan, changed(24, std::uint64_t{1} << 60, 8)), "size"));
    REQUIRE(mentions(refused(plan, changed(32, (std::uint64_t{1} << 61) + 1, 8)), "no request that has states"));
    Request r;
    REQUIRE(serialized_request(changed(32, std::uint64_t{1} << 61, 8), r).ok());
    REQUIRE(r.first_index == std::uint64_t{1} << 61);
    REQUIRE(make_plan(r).status().ok());
    const Plan sum = plan_for_states({.op = Op::sum, .dtype = DType::f32});
    Bytes of_sum = throwing::serialize(sum, Words(74).data());
    of_sum[18] = std::byte{1}; // sums compare nothing
    seal(of_sum);
    REQUIRE(mentions(refused(sum, of_sum), "no request that has states"));
    of_sum[18] = std::byte{0};
    of_sum[32] = std::byte{1}; // they have no index
    seal(of_sum);
    REQUIRE(mentions(refused(sum, of_sum), "no request that has states"));
    const Plan no_groups = plan_for_states({.op = Op::max, .shape = Shape::rows, .groups = 0});
    for (const std::uint64_t kind : {0, 2, 3}) { // these have one or more
        Bytes bytes = throwing::serialize(no_groups, nullptr);
        bytes[19] = static_cast<std::byte>(kind);
        seal(bytes);
        REQUIRE(mentions(refused(no_groups, bytes), "no request that has states"));
    }
}

TEST_CASE("state bytes: what was made for another request is refused by the field that differs", "[ranks]") {
    const Request asked{.op = Op::max, .dtype = DType::f32, .shape = Shape::rows, .groups = 2};
    const Plan plan = plan_for_states(asked);
    Words words(2);
    throwing::run(plan, nullptr, words.data());
    const Bytes bytes = throwing::serialize(plan, words.data());
    const auto said = [&](Request other) { return refused(plan_for_states(other), bytes); };
    Request other = asked;
    other.op = Op::min;
    REQUIRE(mentions(said(other), "another op"));
    other = asked;
    other.dtype = DType::bf16;
    REQUIRE(mentions(said(other), "another dtype"));
    other = asked;
    other.nan = NanPolicy::ignore;
    REQUIRE(mentions(said(other), "another nan policy"));
    other = asked;
    other.groups = 3;
    REQUIRE(mentions(said(other), "another number of groups"));
    other.shape = Shape::tensors;
    other.groups = 1;
    other.each = true;
    REQUIRE(mentions(said(other), "another shape"));
    other = {.op = Op::max, .dtype = DType::f32};
    REQUIRE(mentions(said(other), "another shape"));
    for (const Shape shape : {Shape::columns, Shape::segments}) { // a matrix may lie as it likes
        other = asked;
        other.shape = shape;
        Words read(2);
        REQUIRE(deserialize(plan_for_states(other), bytes, read.data()).ok());
        REQUIRE(read == words);
    }
}

TEST_CASE("state bytes: words that are no normalized states are refused with their group", "[ranks]") {
    const Plan norms =
        plan_for_states({.op = Op::nrm2, .dtype = DType::f64, .shape = Shape::rows, .n = 1, .groups = 3});
    const double x[] = {1, 2, 3};
    Words good(3 * 142);
    throwing::run(norms, x, good.data());
    const auto check = [&](std::size_t word, std::int64_t value) {
        Words words = good;
        words[142 + word] = value;
        return refused(norms, bytes_from(142, {4, 3, 0, 1}, 3, 0, words), 1) ==
               "has words that are no normalized state, or beyond the headroom";
    };
    REQUIRE(check(0, std::int64_t{1} << 32)); // a carry to do
    REQUIRE(check(0, -1));
    REQUIRE(check(135, -1)); // a norm of what is below zero
    REQUIRE(check(136, 2));  // two NaN of one element
    REQUIRE(check(139, -1));
    REQUIRE(check(140, 5));
    REQUIRE(check(141, 0));
    REQUIRE(check(141, std::int64_t{1} << 30));
    Words words = good;
    words[142 + 139] = (std::int64_t{1} << 62) + 1;
    Bytes bytes(serialized_bytes(norms), std::byte{9});
    const Status status = serialize(norms, words.data(), bytes);
    expect(status, StatusCode::invalid_argument, "states");
    REQUIRE(status.index == 1);
    REQUIRE(bytes == Bytes(bytes.size(), std::byte{9})); // nothing is written
    property("any words with a checksum are read as they are, or refused", [](std::uint64_t) {
        const auto word = *rc::gen::arbitrary<std::uint64_t>();
        const auto all = ops_with_states();
        const Plan plan = plan_for_states({.op = all[word % all.size()], .dtype = dtypes()[word / 32 % 4]});
        Words any(plan.state_words());
        for (std::size_t k = 0; k < any.size(); ++k) {
            const auto bits = accuracy::hash(word, k);
            any[k] = static_cast<std::int64_t>(bits >> 5) >> bits % 64 >> (k % 68 > 60 ? 30 : 0);
        }
        const Request& r = plan.request();
        const Bytes sealed =
            bytes_from(plan.state_words(),
                       {static_cast<std::uint64_t>(r.op), static_cast<std::uint64_t>(r.dtype), 0, 0}, 1, 0, any);
        Words read(any.size());
        const bool ok = deserialize(plan, sealed, read.data()).ok();
        if (ok) RC_ASSERT(read == any && throwing::serialize(plan, read.data()) == sealed);
        RC_TAG(ok ? "read" : "refused");
    });
}

TEST_CASE("state bytes: version 1, of ExactState, is that of a flat sum, and ExactState reads version 2", "[ranks]") {
    property("versions", [](const Values<float>& x) {
        ExactState state;
        throw_if_error(state.add(x.span()));
        const auto old = state.serialize();
        Request r;
        RC_ASSERT(serialized_request(old, r).ok());
        RC_ASSERT(r.op == Op::sum && r.shape == Shape::flat && r.state);
        Words words(74), expected(74);
        const Plan plan = plan_for_states({.dtype = DType::f32, .n = x.xs.size()});
        throwing::run(plan, x.xs.data(), expected.data());
        throwing::deserialize(plan, old, words.data()); // whatever its dtype
        RC_ASSERT(words == expected);
        ExactState read;
        throw_if_error(ExactState::deserialize(throwing::serialize(plan, expected.data()), read));
        RC_ASSERT(std::equal(expected.begin(), expected.end(), read.words().begin()));
    });
    ExactState state;
    state.add(1.0);
    const Plan mean = plan_for_states({.op = Op::mean, .dtype = DType::f64}),
               rows = plan_for_states({.dtype = DType::f64, .shape = Shape::rows});
    REQUIRE(mentions(refused(mean, state.serialize()), "another op"));
    REQUIRE(mentions(refused(rows, state.serialize()), "another shape"));
    const ExactState before = state;
    for (const Plan& plan : {mean, rows})
        expect(ExactState::deserialize(throwing::serialize(plan, Words(74).data()), state),
               StatusCode::invalid_argument, "blob");
    ExactState none;
    none.subtract(state); // −1 element: a state of no plan
    REQUIRE(refused(plan_for_states({.dtype = DType::f64}), none.serialize(), 0) ==
            "has words that are no normalized state, or beyond the headroom");
    REQUIRE(ExactState::deserialize(none.serialize(), state).ok());
    REQUIRE(state == none);
    Words minus(74);
    minus[71] = -1;
    state = before;
    expect(ExactState::deserialize(bytes_from(74, {0, 3, 0, 0}, 1, 0, minus), state), StatusCode::invalid_argument,
           "blob");
    REQUIRE(state == before);
}

TEST_CASE("state bytes: arguments are checked", "[ranks][status]") {
    const Plan plan = plan_for_states({.dtype = DType::f64}), values = make_plan({.dtype = DType::f64, .device = cpu});
    Words words(75);
    Bytes bytes(serialized_bytes(plan));
    REQUIRE(bytes.size() == 640);
    REQUIRE(serialized_bytes(values) == 0);
    REQUIRE(serialized_bytes(Plan()) == 0);
    auto* const askew = reinterpret_cast<std::int64_t*>(reinterpret_cast<char*>(words.data()) + 4);
    expect(serialize(values, words.data(), {}), StatusCode::invalid_argument, "plan");
    expect(deserialize(values, bytes, words.data()), StatusCode::invalid_argument, "plan");
    expect(serialize(Plan(), words.data(), {}), StatusCode::invalid_argument, "plan");
    for (std::int64_t* const bad : {static_cast<std::int64_t*>(nullptr), askew}) {
        expect(serialize(plan, bad, bytes), StatusCode::invalid_argument, "states");
        expect(deserialize(plan, bytes, bad), StatusCode::invalid_argument, "states");
    }
    expect(serialize(plan, words.data(), std::span(bytes).first(639)), StatusCode::invalid_argument, "bytes");
    Bytes longer(641);
    expect(serialize(plan, words.data(), longer), StatusCode::invalid_argument, "bytes");
    expect(deserialize(plan, {}, words.data()), StatusCode::invalid_argument, "bytes");
}

TEST_CASE("state bytes: the same from C", "[ranks][c]") {
    const double x[] = {5, 3, 9, 4};
    detreduce_request request = DETREDUCE_REQUEST_INIT;
    request.device.backend = DETREDUCE_BACKEND_CPU;
    request.op = DETREDUCE_OP_ARGMAX;
    request.dtype = DETREDUCE_DTYPE_F64;
    request.nan = DETREDUCE_NAN_IGNORE;
    request.n = 3;
    request.state = 1;
    detreduce_plan plan;
    REQUIRE(detreduce_make_plan(&request, &plan).code == DETREDUCE_OK);
    std::int64_t words[2], read[2];
    REQUIRE(detreduce_run(&plan, x, nullptr, nullptr, words, nullptr, nullptr).code == DETREDUCE_OK);
    unsigned char bytes[64];
    REQUIRE(detreduce_states_serialized_bytes(&plan) == sizeof bytes);
    REQUIRE(detreduce_states_serialize(&plan, words, bytes, sizeof bytes).code == DETREDUCE_OK);
    REQUIRE(detreduce_states_deserialize(&plan, bytes, sizeof bytes, read).code == DETREDUCE_OK);
    REQUIRE(std::equal(words, words + 2, read));
    detreduce_request found;
    REQUIRE(detreduce_states_request(bytes, sizeof bytes, &found).code == DETREDUCE_OK);
    REQUIRE(found.op == DETREDUCE_OP_ARGMAX);
    REQUIRE(found.dtype == DETREDUCE_DTYPE_F64);
    REQUIRE(found.nan == DETREDUCE_NAN_IGNORE);
    REQUIRE(found.first_index == 3);
    found.n = 1; // it goes on
    REQUIRE(detreduce_make_plan(&found, &plan).code == DETREDUCE_OK);
    REQUIRE(detreduce_run(&plan, x + 3, nullptr, nullptr, words, nullptr, nullptr).code == DETREDUCE_OK);
    REQUIRE(detreduce_states_merge(&plan, read, words, nullptr).code == DETREDUCE_OK);
    std::uint64_t index = 0;
    REQUIRE(detreduce_states_finish(&plan, read, &index, nullptr).code == DETREDUCE_OK);
    REQUIRE(index == 2);
    const auto argument = [](const detreduce_status& status) { return std::string(status.argument); };
    REQUIRE(argument(detreduce_states_serialize(&plan, words, bytes, 63)) == "size");
    REQUIRE(argument(detreduce_states_serialize(&plan, words, nullptr, 64)) == "bytes");
    REQUIRE(argument(detreduce_states_serialize(&plan, nullptr, bytes, 64)) == "states");
    REQUIRE(argument(detreduce_states_deserialize(&plan, nullptr, 64, read)) == "bytes");
    REQUIRE(argument(detreduce_states_deserialize(&plan, bytes, 63, read)) == "bytes");
    REQUIRE(argument(detreduce_states_request(bytes, 63, &found)) == "bytes");
    REQUIRE(argument(detreduce_states_request(bytes, 64, nullptr)) == "request");
    REQUIRE(argument(detreduce_states_request(nullptr, 64, &found)) == "bytes");
    REQUIRE(argument(detreduce_states_serialize(nullptr, words, bytes, 64)) == "plan");
    REQUIRE(detreduce_states_serialized_bytes(nullptr) == 0);
    request.state = 0;
    REQUIRE(detreduce_make_plan(&request, &plan).code == DETREDUCE_OK);
    REQUIRE(argument(detreduce_states_serialize(&plan, words, bytes, 64)) == "plan");
    REQUIRE(argument(detreduce_states_deserialize(&plan, bytes, 64, read)) == "plan");
}

} // namespace detreduce::proptests
