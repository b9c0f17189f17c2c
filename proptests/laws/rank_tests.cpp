// Laws of states: parts on any number of ranks, put together in any way, have the bits of one.
#include <detreduce/detreduce.h>
#include <detreduce/fingerprint.hpp>

#include <support/property.hpp>

#include "laws/expect_status.hpp"
#include "laws/rank_draws.hpp"

namespace detreduce::proptests {

/// Two of them, whichever, become one.
Words merged_in_any_order(const Plan& plan, std::vector<Words> parts, std::uint64_t word) {
    while (parts.size() > 1) {
        std::swap(parts[accuracy::hash(word, parts.size()) % parts.size()], parts.back());
        const Words other = parts.back();
        parts.pop_back();
        Words& into = parts[accuracy::hash(word, 99 + parts.size()) % parts.size()];
        throw_if_error(merge(plan, into.data(), other.data()));
    }
    return parts[0];
}

/// As an engine puts them together that knows nothing of states.
Words added_word_by_word(const Plan& plan, const std::vector<Words>& parts) {
    Words all = parts[0];
    for (std::size_t p = 1; p < parts.size(); ++p) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            switch (state_merge(plan)) {
            case StateMerge::sum:
                all[i] += parts[p][i];
                break;
            case StateMerge::max:
                all[i] = std::max(all[i], parts[p][i]);
                break;
            case StateMerge::pair:
                if (i % 2 == 0 && std::pair(parts[p][i], parts[p][i + 1]) > std::pair(all[i], all[i + 1])) {
                    all[i] = parts[p][i];
                    all[i + 1] = parts[p][i + 1];
                }
            }
        }
    }
    return all;
}

/// The results that SPEC.md has for what no plan of a known n gives: those of segments.
template <class T>
Bytes expected_of(const Dealt<T>& d) {
    Bytes bytes = results_of(d.request, d.all);
    if (!bytes.empty()) return bytes;
    Request r = d.request;
    Share<T> as_segments = d.all;
    if (r.shape == Shape::rows || r.shape == Shape::columns || r.shape == Shape::flat) {
        // n is 0, or at most ddof: of all groups, which lie side by side but for columns of more
        // than one element
        if (r.shape == Shape::columns && d.all.n > 1) return {};
        as_segments.offsets.assign(1, 0);
        for (std::uint64_t g = 0; g < d.all.groups; ++g)
            as_segments.offsets.push_back((g + 1) * d.all.n);
        as_segments.n = as_segments.offsets.back();
        as_segments.stride = 0;
        r.shape = Shape::segments;
        return results_of(r, as_segments);
    }
    return {}; // lists: their laws are those of tensors
}

template <class T>
void check_dealt(std::uint64_t word) {
    const std::size_t ranks = 1 + accuracy::hash(word, 400) % (accuracy::hash(word, 401) % 4 == 0 ? 64 : 6);
    const auto d = deal<T>(request_from(word), ranks, word);
    const Plan plan = plan_of_states(d.request, d.all);
    RC_LOG(std::string(name(d.request.op)) + ' ' + std::string(name(d.request.shape)) + ", " +
           std::string(name(dtype_of<T>)) + ", ranks " + std::to_string(ranks) + ", groups " +
           std::to_string(d.all.groups) + ", n " + std::to_string(d.all.n) + ", ddof " +
           std::to_string(d.request.ddof));
    const Words whole = states_of(d.request, d.all);
    std::vector<Words> parts;
    for (std::size_t i = 0; i < ranks; ++i) {
        Request own = d.request; // how a rank gets there is its own affair
        own.launch.threads = 1 + i % 2;
        own.launch.isa = i % 3 == 0 ? Isa::baseline : Isa::automatic;
        parts.push_back(states_of(own, d.ranks[i]));
    }
    if (d.all.groups > 0 || d.request.shape == Shape::tensors) {
        RC_ASSERT(merged_in_any_order(plan, parts, word) == whole);
        const Words added = added_word_by_word(plan, parts);
        Words normal = added;
        throw_if_error(normalize(plan, normal.data()));
        RC_ASSERT(normal == whole);
        RC_ASSERT(finished(plan, added) == finished(plan, whole));
    }
    const Bytes expected = expected_of(d);
    if (!expected.empty()) RC_ASSERT(finished(plan, whole) == expected);
}

TEMPLATE_TEST_CASE("states: any number of ranks, dealt out and merged in any way, have the bits of one", "[ranks]",
                   float16, bfloat16, float, double, float8_e4m3, float8_e5m2) {
    property("dealt", [](std::uint64_t) { check_dealt<TestType>(*rc::gen::arbitrary<std::uint64_t>()); });
}

Plan state_plan(Op op, DType dtype, std::uint64_t n = 0) {
    Request r{.op = op, .dtype = dtype, .n = n, .device = cpu};
    r.state = true;
    return make_plan(r);
}
template <class T>
Words words_of(Op op, const std::vector<T>& x, const std::vector<T>& y = {}, NanPolicy nan = NanPolicy::propagate) {
    Share<T> share;
    share.x = x;
    share.y = y.empty() ? x : y;
    share.n = x.size();
    return states_of({.op = op, .dtype = dtype_of<T>, .nan = nan}, share);
}

TEST_CASE("states: how many words", "[ranks]") {
    const auto words = [](Op op, DType dtype) { return state_plan(op, dtype).state_words(); };
    for (const DType dtype : dtypes()) {
        const std::uint64_t products = dtype == DType::f64 ? 142 : 74;
        for (const Op op : {Op::sum, Op::mean, Op::asum, Op::mae})
            REQUIRE(words(op, dtype) == 74);
        for (const Op op : {Op::sumsq, Op::nrm2, Op::dot, Op::sumdiffsq, Op::mse})
            REQUIRE(words(op, dtype) == products);
        for (const Op op : {Op::variance, Op::stddev, Op::moments})
            REQUIRE(words(op, dtype) == 74 + products);
        for (const Op op : {Op::minmax, Op::argmin, Op::argmax})
            REQUIRE(words(op, dtype) == 2);
        for (const Op op : {Op::min, Op::max, Op::nrminf, Op::count_nonzero})
            REQUIRE(words(op, dtype) == 1);
    }
    REQUIRE(make_plan({.n = 1, .device = cpu}).state_words() == 0);
    Request list{.op = Op::nrm2, .dtype = DType::f32, .shape = Shape::tensors, .groups = 0, .device = cpu};
    list.state = true;
    REQUIRE(make_plan(list).state_words() == 74);
    list.dtype = DType::f64; // there may be doubles among them
    REQUIRE(make_plan(list).state_words() == 142);
}

/// The words that are not 0.
std::vector<std::pair<int, std::int64_t>> nonzero(const Words& words) {
    std::vector<std::pair<int, std::int64_t>> list;
    for (std::size_t k = 0; k < words.size(); ++k) {
        if (words[k] != 0) list.emplace_back(static_cast<int>(k), words[k]);
    }
    return list;
}
using Nonzero = std::vector<std::pair<int, std::int64_t>>;

TEST_CASE("states: the words of sums are those of SPEC.md, section 18", "[ranks]") {
    // 2^e is in limb (e + 1088) / 32 of a sum, and (e + 2176) / 32 of a sum of products of doubles.
    REQUIRE(nonzero(words_of<float>(Op::sum, {1, 1, -0.0f})) == Nonzero{{34, 2}, {71, 3}, {73, 1}});
    REQUIRE(nonzero(words_of<float>(Op::sum, {-0.0f, -0.0f})) == Nonzero{{71, 2}, {72, 2}}); // there is nothing else
    REQUIRE(nonzero(words_of<float>(Op::sumsq, {0x1p20f})) == Nonzero{{35, 256}, {71, 1}, {73, 1}});
    REQUIRE(nonzero(words_of<double>(Op::sumsq, {0x1p20})) == Nonzero{{69, 256}, {139, 1}, {141, 1}});
    REQUIRE(nonzero(words_of<double>(Op::dot, {0x1p1000}, {0x1p1000})) == Nonzero{{130, 65536}, {139, 1}, {141, 1}});
    REQUIRE(nonzero(words_of<double>(Op::dot, {0x1p-1074}, {0x1p-1074})) == Nonzero{{0, 1 << 28}, {139, 1}, {141, 1}});
    const Words minus = words_of<double>(Op::dot, {-0x1p-1074}, {0x1p-1074}); // negative: the last limb has the sign
    REQUIRE(minus[0] == 0xf0000000);
    for (int k = 1; k < 135; ++k)
        REQUIRE(minus[static_cast<std::size_t>(k)] == 0xffffffff);
    REQUIRE(minus[135] == -1);
    REQUIRE(nonzero(words_of<double>(Op::dot, {0.0, INFINITY, 1}, {-1.0, 0.0, -INFINITY})) ==
            Nonzero{{136, 1}, {138, 1}, {139, 3}});
    REQUIRE(nonzero(words_of<double>(Op::dot, {0, 0}, {INFINITY, INFINITY})) == // a term is NaN once
            Nonzero{{136, 2}, {139, 2}});
    REQUIRE(nonzero(words_of<float>(Op::variance, {2})) ==
            Nonzero{{34, 2}, {71, 1}, {73, 1}, {74 + 34, 4}, {74 + 71, 1}, {74 + 73, 1}});
    REQUIRE(words_of<float>(Op::count_nonzero, {0, -0.0f, NAN, 3}) == Words{2});
    REQUIRE(nonzero(words_of<double>(Op::nrm2, {})).empty());
}

TEST_CASE("states: the words of what is compared are those of SPEC.md, section 18", "[ranks]") {
    constexpr auto one = std::int64_t{0x3ff0000000000000}, infinity = std::int64_t{0x7ff0000000000000};
    constexpr auto ignore = NanPolicy::ignore;
    REQUIRE(words_of<float>(Op::max, {1, 0}) == Words{one});
    REQUIRE(words_of<float>(Op::min, {1, 2}) == Words{-1 - one});
    REQUIRE(words_of<float>(Op::max, {-0.0f}) == Words{-1});
    REQUIRE(words_of<float>(Op::max, {-1}) == Words{-1 - one});
    REQUIRE(words_of<float>(Op::min, {-1}) == Words{one});
    REQUIRE(words_of<float>(Op::nrminf, {-1}) == Words{one});
    REQUIRE(words_of<float>(Op::max, {-INFINITY}) == Words{-1 - infinity});
    REQUIRE(words_of<float>(Op::minmax, {1, INFINITY}) == Words{-1 - one, infinity});
    for (const Op op : {Op::max, Op::min, Op::nrminf}) {
        REQUIRE(words_of<float>(op, {}) == Words{INT64_MIN});
        REQUIRE(words_of<float>(op, {1, NAN}) == Words{INT64_MAX});
        REQUIRE(words_of<float>(op, {NAN}, {}, ignore) == Words{INT64_MIN + 1});
    }
    REQUIRE(words_of<float>(Op::argmax, {0, 1, 1}) == Words{one, -2});
    REQUIRE(words_of<float>(Op::argmin, {1, NAN, NAN}) == Words{INT64_MAX, -2});
    REQUIRE(words_of<float>(Op::argmin, {}) == Words{INT64_MIN, INT64_MIN});
    REQUIRE(words_of<float>(Op::argmin, {NAN, NAN}, {}, ignore) == Words{INT64_MIN + 1, -1});
}

/// finish() refuses, and has written nothing.
void check_refused(const Plan& plan, const Words& states, std::uint64_t group = 0) {
    std::vector<double> out(plan.results(), 42.0);
    const Status status = finish(plan, states.data(), out.data());
    expect(status, StatusCode::invalid_argument, "states");
    REQUIRE(status.index == group);
    for (const double x : out)
        REQUIRE(x == 42.0);
}

TEST_CASE("states: more than the headroom holds is refused, and stays so", "[ranks]") {
    constexpr std::int64_t most = std::int64_t{1} << 62;
    const auto check = [](const Plan& plan, Words a, const Words& b, std::size_t counter) {
        a[counter] = most;
        std::vector<double> out(plan.results());
        REQUIRE(finish(plan, a.data(), out.data()).ok()); // so many there may be
        Words with_one = a;
        expect(merge(plan, with_one.data(), b.data()), StatusCode::invalid_argument, "states");
        check_refused(plan, with_one);
        Words with_all = a;
        expect(merge(plan, with_all.data(), a.data()), StatusCode::invalid_argument, "states");
        check_refused(plan, with_all);
        expect(merge(plan, with_all.data(), b.data()), StatusCode::invalid_argument, "states"); // still
        Words other = b;
        expect(merge(plan, other.data(), with_all.data()), StatusCode::invalid_argument, "states");
        check_refused(plan, other);
        a[counter] = most + 1;
        check_refused(plan, a);
        a[counter] = -1;
        check_refused(plan, a);
    };
    for (const Op op : {Op::sum, Op::mean, Op::asum, Op::mae}) {
        const Words one = words_of<double>(op, {1.0}, {2.0});
        check(state_plan(op, DType::f64), one, one, 71);
    }
    for (const Op op : {Op::nrm2, Op::dot, Op::mse}) {
        const Words one = words_of<double>(op, {1.0}, {2.0});
        check(state_plan(op, DType::f64), one, one, 139);
    }
    const Words one = words_of<double>(Op::count_nonzero, {1.0});
    check(state_plan(Op::count_nonzero, DType::f64), one, one, 0);
    const Plan moments = state_plan(Op::moments, DType::f64); // both of its sums have as many
    Words both = words_of<double>(Op::moments, {1.0});
    both[71] = 2;
    check_refused(moments, both);
    both[74 + 139] = 2;
    double out[2];
    REQUIRE(finish(moments, both.data(), out).ok());
}

TEST_CASE("states: means and variances of as many elements as there may be", "[ranks]") {
    constexpr std::int64_t most = std::int64_t{1} << 62;
    Words mean(74), moments(74 + 142); // 2^61 ones and as many zeros
    mean[35] = moments[35] = moments[74 + 69] = std::int64_t{1} << 29;
    mean[71] = moments[71] = moments[74 + 139] = most;
    mean[73] = moments[73] = moments[74 + 141] = 1;
    double out[2];
    REQUIRE(finish(state_plan(Op::mean, DType::f64), mean.data(), out).ok());
    REQUIRE(out[0] == 0.5);
    REQUIRE(finish(state_plan(Op::moments, DType::f64), moments.data(), out).ok());
    REQUIRE(out[0] == 0.5);
    REQUIRE(out[1] == 0.25);
    moments[71] = moments[74 + 139] = most - 1; // 2^61 / (2^62 − 1) and (2^61 − 2^122 / (2^62 − 1)) / (2^62 − 1)
    REQUIRE(finish(state_plan(Op::moments, DType::f64), moments.data(), out).ok());
    REQUIRE(out[0] == 0.5);
    REQUIRE(out[1] == 0.25);
}

TEST_CASE("states: what is no state is refused with its group", "[ranks]") {
    Request r{.op = Op::nrm2, .dtype = DType::f64, .shape = Shape::rows, .n = 1, .groups = 3, .device = cpu};
    r.state = true;
    const Plan norms = make_plan(r);
    const double x[] = {1, 2, 3};
    Words states(3 * norms.state_words());
    REQUIRE(run(norms, x, states.data()).ok());
    states[2 * 142 + 135] = -1; // a norm of what is below zero
    check_refused(norms, states, 2);
    for (const Op op : {Op::sum, Op::asum, Op::dot, Op::nrm2, Op::moments}) { // a sum of no elements
        const Plan plan = state_plan(op, DType::f64);
        const std::size_t at = op == Op::moments ? 74 : 0;
        for (const std::size_t limb : {std::size_t{0}, std::size_t{40}}) {
            Words words(plan.state_words());
            words[at + limb] = 1;
            check_refused(plan, words);
            words[at + limb] = 0;
            REQUIRE(finish(plan, words.data(), std::array<double, 2>{}.data()).ok());
            words[at + limb] = std::int64_t{1} << 32; // of which nothing remains
            words[at + limb + 1] = -1;
            REQUIRE(finish(plan, words.data(), std::array<double, 2>{}.data()).ok());
        }
    }
    const auto key = [](Op op, Words words, NanPolicy nan = NanPolicy::propagate) {
        Request asked{.op = op, .dtype = DType::f64, .device = cpu, .nan = nan};
        asked.state = true;
        check_refused(make_plan(asked), words);
    };
    key(Op::max, {INT64_MIN + 1}); // NaN that is passed over, where it is not
    key(Op::max, {INT64_MAX}, NanPolicy::ignore);
    key(Op::max, {INT64_MAX - 1});
    key(Op::min, {INT64_MIN + 2});
    key(Op::nrminf, {-1});
    key(Op::argmax, {1, 0});
    key(Op::argmax, {INT64_MIN, -1});
    key(Op::argmax, {1, INT64_MIN});
    key(Op::minmax, {INT64_MIN, 1});
    property("any words are finished or refused", [](std::uint64_t) {
        const auto word = *rc::gen::arbitrary<std::uint64_t>();
        const auto all = ops_with_states();
        const Plan plan = state_plan(all[word % all.size()], dtypes()[word / 32 % 4]);
        Words words(plan.state_words());
        for (std::size_t k = 0; k < words.size(); ++k) {
            const auto bits = accuracy::hash(word, k);
            words[k] = static_cast<std::int64_t>(bits >> 5) >> bits % 64 >> (k % 68 > 60 ? 30 : 0);
        }
        double out[2];
        const Status status = finish(plan, words.data(), out);
        RC_ASSERT(status.ok() || status.index == 0);
        RC_TAG(status.ok() ? "finished" : "refused");
    });
}

TEST_CASE("states: of a list that has tensors of f64, where its dtype says so, or products do not matter", "[ranks]") {
    const double x[] = {3, 4};
    const float y[] = {12};
    const Tensor list[] = {{y, 1, DType::f32}, {x, 2, DType::f64}};
    Request r{.dtype = DType::f32, .shape = Shape::tensors, .n = 3, .groups = 2, .device = cpu, .state = true};
    for (const Op op : {Op::sumsq, Op::nrm2, Op::dot, Op::sumdiffsq, Op::mse, Op::variance, Op::stddev, Op::moments}) {
        r.op = op;
        const Plan plan = make_plan(r);
        Words words(plan.state_words(), 42);
        const Words before = words;
        const Status status = run(plan, {list, info(op).inputs == 2 ? list : nullptr}, words.data());
        expect(status, StatusCode::invalid_argument, "x");
        REQUIRE(status.index == 1);
        REQUIRE(words == before);
    }
    r.op = Op::asum;
    Words sum(74);
    REQUIRE(run(make_plan(r), list, sum.data()).ok());
    r.op = Op::nrm2;
    r.dtype = DType::f64;
    Words norm(142);
    REQUIRE(run(make_plan(r), list, norm.data()).ok());
    double found = 0;
    REQUIRE(finish(make_plan(r), norm.data(), &found).ok());
    REQUIRE(found == 13);
    r.state = false;
    r.dtype = DType::f32; // of the result alone
    float result = 0;
    REQUIRE(run(make_plan(r), list, &result).ok());
    REQUIRE(result == 13);
}

TEST_CASE("states: what cannot be split says why", "[ranks]") {
    const auto status = [](Request r) {
        r.n = 1;
        r.state = true;
        return make_plan(r).status();
    };
    expect(status({.op = Op::prod, .device = cpu}), StatusCode::unsupported, "op");
    expect(status({.op = Op::count_unique, .device = cpu}), StatusCode::unsupported, "op");
    for (const Method method : {Method::tree, Method::serial, Method::kahan, Method::compensated})
        expect(status({.op = Op::sum, .method = method, .device = cpu}), StatusCode::unsupported, "method");
    for (const Method method : {Method::tree, Method::serial})
        expect(status({.op = Op::variance, .method = method, .device = cpu}), StatusCode::unsupported, "method");
    REQUIRE(status({.op = Op::max, .method = Method::tree, .device = cpu}).ok());
    Request r{.op = Op::argmax, .n = 1, .device = cpu};
    r.first_index = 1;
    expect(make_plan(r).status(), StatusCode::invalid_argument, "first_index");
    r.state = true;
    REQUIRE(make_plan(r).status().ok());
    r.first_index = (std::uint64_t{1} << 61) + 1;
    expect(make_plan(r).status(), StatusCode::invalid_argument, "first_index");
    r = {.op = Op::max, .n = 1, .device = cpu};
    r.state = true;
    r.first_index = 1;
    expect(make_plan(r).status(), StatusCode::invalid_argument, "first_index");
}

TEST_CASE("states: arguments are checked", "[ranks]") {
    const Plan plan = state_plan(Op::sum, DType::f64), values = make_plan({.dtype = DType::f64, .n = 1, .device = cpu});
    Words words(75);
    double out = 42;
    auto* const askew = reinterpret_cast<std::int64_t*>(reinterpret_cast<char*>(words.data()) + 4);
    expect(finish(values, words.data(), &out), StatusCode::invalid_argument, "plan");
    expect(merge(values, words.data(), words.data()), StatusCode::invalid_argument, "plan");
    expect(normalize(Plan(), words.data()), StatusCode::invalid_argument, "plan");
    for (std::int64_t* const bad : {static_cast<std::int64_t*>(nullptr), askew}) {
        expect(finish(plan, bad, &out), StatusCode::invalid_argument, "states");
        expect(normalize(plan, bad), StatusCode::invalid_argument, "states");
        expect(merge(plan, bad, words.data()), StatusCode::invalid_argument, "states");
        expect(merge(plan, words.data(), bad), StatusCode::invalid_argument, "others");
        const double x = 1;
        expect(run(state_plan(Op::sum, DType::f64, 1), &x, bad), StatusCode::invalid_argument, "out");
    }
    expect(finish(plan, words.data(), nullptr), StatusCode::invalid_argument, "out");
    expect(finish(plan, words.data(), reinterpret_cast<char*>(&out) + 4), StatusCode::invalid_argument, "out");
    REQUIRE(out == 42);
    REQUIRE(finish(plan, words.data(), &out).ok());
    REQUIRE(out == 0);
    REQUIRE(merge(plan, words.data(), words.data()).ok()); // with itself
}

TEST_CASE("states: a state of a sum is the words of an ExactState, but for −0 among others", "[ranks]") {
    property("words", [](const Values<double>& x) {
        ExactState state;
        throw_if_error(state.add(x.span()));
        Words expected(state.words().begin(), state.words().end());
        if (expected[72] != expected[71]) expected[72] = 0;
        RC_ASSERT(words_of<double>(Op::sum, x.xs) == expected);
    });
}

TEST_CASE("states: the same from C", "[ranks][c]") {
    const double x[] = {0x1p1000, 3, 4, -0x1p1000}, y[] = {0x1p1000, 3, 4, 0x1p1000};
    detreduce_request request = DETREDUCE_REQUEST_INIT;
    request.device.backend = DETREDUCE_BACKEND_CPU;
    request.op = DETREDUCE_OP_DOT;
    request.dtype = DETREDUCE_DTYPE_F64;
    request.n = 2;
    request.state = 1;
    detreduce_plan plan;
    REQUIRE(detreduce_make_plan(&request, &plan).code == DETREDUCE_OK);
    REQUIRE(detreduce_plan_state_words(&plan) == 142);
    REQUIRE(detreduce_plan_state_merge(&plan) == DETREDUCE_STATE_MERGE_SUM);
    Words a(142), b(142);
    REQUIRE(detreduce_run(&plan, x, y, nullptr, a.data(), nullptr, nullptr).code == DETREDUCE_OK);
    REQUIRE(detreduce_run(&plan, x + 2, y + 2, nullptr, b.data(), nullptr, nullptr).code == DETREDUCE_OK);
    REQUIRE(detreduce_states_merge(&plan, a.data(), b.data(), nullptr).code == DETREDUCE_OK);
    Words normal = a;
    REQUIRE(detreduce_states_normalize(&plan, normal.data(), nullptr).code == DETREDUCE_OK);
    REQUIRE(normal == a);
    double out = 0;
    REQUIRE(detreduce_states_finish(&plan, a.data(), &out, nullptr).code == DETREDUCE_OK);
    REQUIRE(out == 25);
    REQUIRE(std::string(detreduce_states_merge(&plan, a.data(), nullptr, nullptr).argument) == "others");
    request.state = 2;
    REQUIRE(std::string(detreduce_make_plan(&request, &plan).argument) == "state");
    REQUIRE(detreduce_plan_state_words(&plan) == 0);
    request.state = 0;
    request.first_index = 1;
    REQUIRE(std::string(detreduce_make_plan(&request, &plan).argument) == "first_index");
    request.first_index = 0;
    REQUIRE(detreduce_make_plan(&request, &plan).code == DETREDUCE_OK);
    REQUIRE(std::string(detreduce_states_finish(&plan, a.data(), &out, nullptr).argument) == "plan");
    request.op = DETREDUCE_OP_ARGMAX;
    request.state = 1;
    request.first_index = 10;
    REQUIRE(detreduce_make_plan(&request, &plan).code == DETREDUCE_OK);
    REQUIRE(detreduce_plan_state_merge(&plan) == DETREDUCE_STATE_MERGE_PAIR);
    std::int64_t words[2];
    std::uint64_t index = 0;
    REQUIRE(detreduce_run(&plan, x + 1, nullptr, nullptr, words, nullptr, nullptr).code == DETREDUCE_OK);
    REQUIRE(detreduce_states_finish(&plan, words, &index, nullptr).code == DETREDUCE_OK);
    REQUIRE(index == 11);
}

TEST_CASE("fingerprints: those of SPEC.md, section 19, by any number of threads", "[ranks]") {
    const float x[] = {1, 2, 3};
    const std::uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const Tensor list[] = {{x, 3, DType::f32}, {nullptr, 0, DType::f16}, {bytes, 9, DType::f8e4m3}};
    Fingerprint found[3];
    REQUIRE(fingerprint(list, 3, found).ok());
    REQUIRE(found[0] == Fingerprint{{0xfc4c0e8eebee12a, 0xd14560f925404a92}}); // by a program in another language
    REQUIRE(found[1] == Fingerprint{{0x33c3a78b9b45efb1, 0xfc5798d2f4196291}});
    REQUIRE(found[2] == Fingerprint{{0x8ff60e5b9b16f22d, 0x40e631b1bf3c64b3}});
    const auto large = elements_from<bfloat16>(1'234'567, 1, 0);
    const Tensor one{large.data(), large.size(), DType::bf16};
    Fingerprint by_one, by_three;
    REQUIRE(fingerprint(&one, 1, &by_one, 1).ok());
    REQUIRE(fingerprint(&one, 1, &by_three, 3).ok());
    REQUIRE(by_one == by_three);
    expect(fingerprint(nullptr, 1, found), StatusCode::invalid_argument, "list");
    expect(fingerprint(&one, 1, nullptr), StatusCode::invalid_argument, "fingerprints");
    expect(fingerprint(&one, 1, found, 1025), StatusCode::invalid_argument, "threads");
    const Tensor bad[] = {one, {nullptr, 1, DType::f32}};
    const Status status = fingerprint(bad, 2, found);
    expect(status, StatusCode::invalid_argument, "list");
    REQUIRE(status.index == 1);
}

} // namespace detreduce::proptests
