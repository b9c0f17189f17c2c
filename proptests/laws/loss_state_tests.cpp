// Losses, and sums of a caller's terms, by many: parts of a batch, put together in any way, have
// the bits of all of it.
#include <cstring>

#include <detreduce/detreduce.hpp>
#include <detreduce/losses.h>
#include <detreduce/losses.hpp>
#include <detreduce/row_ops.hpp>
#include <detreduce/transform_reduce.hpp>

#include <support/property.hpp>

#include "laws/expect_status.hpp"
#include "laws/loss_state_draws.hpp"
#include "laws/same_bits.hpp"

namespace detreduce::proptests {
namespace {

/// The states of all parts as one: by merge(), or added as integers and normalized.
template <class StateOf>
Words together(const Plan& plan, const std::vector<std::size_t>& cuts, std::uint64_t word, const StateOf& state_of) {
    Words all = state_of(0, 0);
    for (std::size_t p = cuts.size() - 1; p > 0; --p) {
        const Words part = state_of(cuts[p - 1], cuts[p] - cuts[p - 1]);
        if (word % 2) {
            throw_if_error(merge(plan, all.data(), part.data()));
        } else {
            for (std::size_t i = 0; i < all.size(); ++i)
                all[i] += part[i];
        }
    }
    throw_if_error(normalize(plan, all.data()));
    return all;
}

template <class T>
void check_loss(std::uint64_t word) {
    const auto draw = [&](std::uint64_t i) { return accuracy::hash(word, i); };
    LossRequest r = loss_from<T>(word);
    const std::size_t n = r.n;
    const Batch<T> batch(n, word);
    RC_LOG(described(r));
    double expected = 42, found = 43;
    throw_if_error(run(throwing::checked(make_loss_plan(r)), batch.from(0, r.weighted), &expected));
    r.state = true;
    const Plan plan = throwing::checked(make_loss_plan(r)).states();
    const auto state_of = [&](std::size_t first, std::size_t count) {
        LossRequest part = r;
        part.n = count;
        const LossPlan own = throwing::checked(make_loss_plan(part));
        Words words(plan.groups() * plan.state_words() + 1, -5);
        throw_if_error(run(own, batch.from(first, r.weighted), words.data()));
        RC_ASSERT(words.back() == -5);
        words.pop_back();
        return words;
    };
    const Words whole = state_of(0, n), all = together(plan, cuts_of(n, draw(12)), draw(13), state_of);
    RC_ASSERT(all == whole);
    LossRequest finishing = r;
    finishing.n = draw(14) % 2 ? 0 : n;
    expected = found = 42;
    r.state = false;
    throw_if_error(run(throwing::checked(make_loss_plan(r)), batch.from(0, r.weighted), &expected));
    throw_if_error(finish(throwing::checked(make_loss_plan(finishing)), all.data(), &found));
    RC_ASSERT(std::memcmp(&expected, &found, sizeof found) == 0);
    const Bytes bytes = throwing::serialize(plan, all.data()); // and may be kept
    Words read(all.size());
    throwing::deserialize(plan, bytes, read.data());
    RC_ASSERT(read == all);
}

template <class T>
void check_transform(std::uint64_t word) {
    const std::size_t n = accuracy::hash(word, 1) % 5'000;
    const Batch<T> batch(n, word);
    const auto f = [](auto x) { return x * x * x; };
    const auto g = [](auto x, auto y) { return x * x - y; };
    const TransformOptions values{.finalize = word % 2 && n > 0 ? Finalize::mean : Finalize::sum};
    TransformOptions options = values;
    options.state = true;
    const Plan plan = transform_states(dtype_of<T>, dtype_of<T>, options);
    throw_if_error(plan.status());
    const bool two = word % 3 == 0;
    const auto state_of = [&](std::size_t first, std::size_t count) {
        Words words(plan.state_words());
        const T *const x = batch.x.data() + first, *const y = batch.target.data() + first;
        throw_if_error(two ? transform_reduce(g, x, y, count, words.data(), options)
                           : transform_reduce(f, x, count, words.data(), options));
        return words;
    };
    const Words all = together(plan, cuts_of(n, word), word / 2, state_of);
    RC_ASSERT(all == state_of(0, n));
    T expected{}, found = fp::round_to<T>(42.0);
    throw_if_error(two ? transform_reduce(g, batch.x.data(), batch.target.data(), n, &expected, values)
                       : transform_reduce(f, batch.x.data(), n, &expected, values));
    throw_if_error(finish(plan, all.data(), &found));
    RC_ASSERT(same_bits(expected, found));
}

template <class T>
void check_rows(std::uint64_t word) {
    const auto draw = [&](std::uint64_t i) { return accuracy::hash(word, i); };
    const RowBatch<T> all_of_it(word);
    RowRequest r = all_of_it.request;
    const std::size_t rows = r.rows, n = r.n;
    const auto run_from = [&](const RowRequest& request, std::size_t first, void* out) {
        const RowPlan plan = throwing::checked(make_row_plan(request));
        std::vector<double> workspace((plan.workspace_bytes() + 7) / 8);
        RowArrays arrays{.x = all_of_it.batch.x.data() + first * n, .out = out};
        if (all_of_it.probabilities) {
            arrays.probabilities = all_of_it.batch.target.data() + first * n;
        } else {
            arrays.targets = all_of_it.targets.data() + first;
        }
        arrays.weights = all_of_it.weighted ? all_of_it.classes.weight.data() : nullptr;
        throw_if_error(run(plan, arrays, workspace.data()));
    };
    RC_LOG(all_of_it.described());
    double expected = 42, found = 42;
    run_from(r, 0, &expected);
    r.state = true;
    const Plan plan = throwing::checked(make_row_plan(r)).states();
    const auto state_of = [&](std::size_t first, std::size_t count) {
        RowRequest part = r;
        part.rows = count;
        Words words(plan.groups() * plan.state_words() + 1, -5);
        run_from(part, first, words.data());
        RC_ASSERT(words.back() == -5);
        words.pop_back();
        return words;
    };
    const Words all = together(plan, cuts_of(rows, draw(12)), draw(13), state_of);
    RC_ASSERT(all == state_of(0, rows));
    const RowPlan finishing = throwing::checked(make_row_plan(r));
    std::vector<double> workspace((finishing.workspace_bytes() + 7) / 8);
    throw_if_error(finish(finishing, all.data(), &found, workspace.data()));
    RC_ASSERT(std::memcmp(&expected, &found, sizeof found) == 0);
}

} // namespace

TEMPLATE_TEST_CASE("row loss states: parts of the rows have the bits of all of them", "[ranks]", float16, bfloat16,
                   float, double) {
    property("parts", [](std::uint64_t) { check_rows<TestType>(*rc::gen::arbitrary<std::uint64_t>()); });
}

TEST_CASE("row loss states: what is refused, and why; and no rows", "[ranks][status]") {
    const RowRequest asked{
        .op = RowOp::cross_entropy, .dtype = DType::f64, .n = 2, .rows = 1, .device = cpu, .state = true};
    RowRequest r = asked;
    for (const Method method : {Method::tree, Method::kahan, Method::compensated}) {
        r.method = method;
        expect(make_row_plan(r).status(), StatusCode::unsupported, "method");
    }
    r = asked;
    r.reduction = Reduction::none;
    expect(make_row_plan(r).status(), StatusCode::invalid_argument, "reduction");
    for (const RowOp op : {RowOp::softmax, RowOp::cross_entropy_gradient, RowOp::layernorm}) {
        r = asked;
        r.op = op;
        expect(make_row_plan(r).status(), StatusCode::invalid_argument, "state");
    }
    const RowPlan plan = throwing::checked(make_row_plan(asked));
    REQUIRE(plan.states().groups() == 2);
    const double x[] = {1, 2};
    const std::int64_t target = 1;
    Words words(2 * 74 + 1);
    std::vector<double> workspace(plan.workspace_bytes() / 8 + 1);
    double out = 42;
    expect(run(plan, {.x = x, .out = words.data(), .probabilities = x}, workspace.data()), StatusCode::invalid_argument,
           "probabilities");
    expect(run(plan, {.x = x, .out = reinterpret_cast<char*>(words.data()) + 4, .targets = &target}, workspace.data()),
           StatusCode::invalid_argument, "out");
    expect(finish(plan, nullptr, &out, workspace.data()), StatusCode::invalid_argument, "states");
    expect(finish(plan, words.data(), nullptr, workspace.data()), StatusCode::invalid_argument, "out");
    expect(finish(plan, words.data(), &out, nullptr), StatusCode::invalid_argument, "workspace");
    expect(finish(plan, words.data(), workspace.data(), workspace.data()), StatusCode::invalid_argument, "workspace");
    std::vector<std::int64_t> both(workspace.size() + words.size());
    expect(finish(plan, both.data() + 8, &out, both.data()), StatusCode::invalid_argument, "workspace");
    r = asked;
    r.state = false;
    expect(finish(throwing::checked(make_row_plan(r)), words.data(), &out, workspace.data()),
           StatusCode::invalid_argument, "plan");
    REQUIRE(out == 42);
    r = asked;
    r.rows = 0;
    const RowPlan none = throwing::checked(make_row_plan(r));
    std::fill(words.begin(), words.end(), -5);
    throw_if_error(run(none, {.out = words.data()}, workspace.data()));
    REQUIRE(std::count(words.begin(), words.end() - 1, 0) == 148);
    throw_if_error(finish(none, words.data(), &out, workspace.data()));
    REQUIRE(same_bits(out, quiet_nan<double>));
}

TEMPLATE_TEST_CASE("loss states: parts of a batch have the bits of all of it", "[ranks]", float16, bfloat16, float,
                   double) {
    property("parts", [](std::uint64_t) { check_loss<TestType>(*rc::gen::arbitrary<std::uint64_t>()); });
}

TEMPLATE_TEST_CASE("transform states: parts have the bits of the whole", "[ranks]", float16, bfloat16, float, double) {
    property("parts", [](std::uint64_t) { check_transform<TestType>(*rc::gen::arbitrary<std::uint64_t>()); });
}

TEST_CASE("loss states: their plans", "[ranks]") {
    const auto states = [](LossRequest r) {
        r.device = cpu;
        r.state = true;
        return throwing::checked(make_loss_plan(r)).states();
    };
    const Plan mse = states({.dtype = DType::f64}), huber = states({.loss = Loss::huber, .dtype = DType::bf16}),
               weighted = states({.dtype = DType::f16, .weighted = true}),
               batch = states({.dtype = DType::f64, .batch = 3}),
               weights_and_batch = states({.loss = Loss::mae, .weighted = true, .batch = 3});
    REQUIRE(mse.request().op == Op::mse);
    REQUIRE(mse.state_words() == 142);
    REQUIRE(huber.request().op == Op::mean);
    REQUIRE(huber.request().dtype == DType::f32);
    REQUIRE(huber.state_words() == 74);
    REQUIRE(weighted.groups() == 2);
    REQUIRE(weighted.request().op == Op::sum);
    REQUIRE(batch.request().op == Op::sumdiffsq);
    REQUIRE(batch.groups() == 1);
    REQUIRE(weights_and_batch.groups() == 1);
    expect(make_loss_plan({.dtype = DType::f64, .n = 1, .device = cpu}).states().status(), StatusCode::invalid_argument,
           "plan");
    double nothing = 0;
    Words none(2 * 74);
    const LossPlan plan =
        make_loss_plan({.dtype = DType::f16, .output = DType::f64, .weighted = true, .device = cpu, .state = true});
    throw_if_error(run(plan, {}, none.data()));
    throw_if_error(finish(plan, none.data(), &nothing)); // 0 / 0
    REQUIRE(same_bits(nothing, quiet_nan<double>));
}

TEST_CASE("loss states: what is refused, and why", "[ranks][status]") {
    LossRequest r{.dtype = DType::f64, .n = 2, .device = cpu, .state = true};
    for (const Method method : {Method::tree, Method::kahan, Method::compensated}) {
        LossRequest other = r;
        other.method = method;
        expect(make_loss_plan(other).status(), StatusCode::unsupported, "method");
        TransformOptions options{.method = method, .state = true};
        const double x = 1;
        std::int64_t words[74];
        expect(transform_reduce([](double v) { return v; }, &x, 1, words, options), StatusCode::unsupported, "method");
    }
    LossRequest none = r;
    none.reduction = Reduction::none;
    expect(make_loss_plan(none).status(), StatusCode::invalid_argument, "reduction");
    const LossPlan plan = throwing::checked(make_loss_plan(r));
    double x[2] = {1, 2}, out = 0;
    Words words(143);
    auto* const askew = reinterpret_cast<char*>(words.data()) + 4;
    expect(run(plan, {x, x}, askew), StatusCode::invalid_argument, "out");
    expect(run(plan, {x, x}, nullptr), StatusCode::invalid_argument, "out");
    expect(run_gradient(plan, {x, x}, nullptr, x), StatusCode::invalid_argument, "plan");
    expect(finish(plan, nullptr, &out), StatusCode::invalid_argument, "states");
    expect(finish(plan, words.data(), nullptr), StatusCode::invalid_argument, "out");
    words[139] = -1;
    expect(finish(plan, words.data(), &out), StatusCode::invalid_argument, "states");
    r.state = false;
    expect(finish(throwing::checked(make_loss_plan(r)), words.data(), &out), StatusCode::invalid_argument, "plan");
    const TransformOptions state{.state = true}, value;
    std::int64_t state_words[74];
    const auto f = [](double v) { return v; };
    expect(transform_reduce(f, x, 2, &out, state), StatusCode::invalid_argument, "state");
    expect(transform_reduce(f, x, 2, state_words, value), StatusCode::invalid_argument, "state");
}

TEST_CASE("loss states: the same from C", "[ranks][c]") {
    const float x[] = {1, 2, 3, 4}, target[] = {0, 2, 1, 4.5f}, weight[] = {1, 0, 2, 3};
    detreduce_loss_request request = DETREDUCE_LOSS_REQUEST_INIT;
    request.device.backend = DETREDUCE_BACKEND_CPU;
    request.weighted = 1;
    request.n = 4;
    detreduce_loss_inputs inputs = DETREDUCE_LOSS_INPUTS_INIT;
    inputs.x = x;
    inputs.target = target;
    inputs.weight = weight;
    detreduce_loss_plan plan;
    float expected = 0, found = 1;
    detreduce_plan states;
    REQUIRE(detreduce_make_loss_plan(&request, &plan).code == DETREDUCE_OK);
    REQUIRE(detreduce_run_loss(&plan, &inputs, &expected, nullptr, nullptr).code == DETREDUCE_OK);
    REQUIRE(std::string(detreduce_loss_plan_states(&plan, &states).argument) == "plan");
    request.state = 1;
    request.n = 2;
    REQUIRE(detreduce_make_loss_plan(&request, &plan).code == DETREDUCE_OK);
    REQUIRE(detreduce_loss_plan_states(&plan, &states).code == DETREDUCE_OK);
    REQUIRE(detreduce_plan_state_words(&states) == 74);
    std::int64_t a[148], b[148];
    REQUIRE(detreduce_run_loss(&plan, &inputs, a, nullptr, nullptr).code == DETREDUCE_OK);
    inputs.x = x + 2;
    inputs.target = target + 2;
    inputs.weight = weight + 2;
    REQUIRE(detreduce_run_loss(&plan, &inputs, b, nullptr, nullptr).code == DETREDUCE_OK);
    REQUIRE(detreduce_states_merge(&states, a, b, nullptr).code == DETREDUCE_OK);
    REQUIRE(detreduce_finish_loss(&plan, a, &found, nullptr, nullptr).code == DETREDUCE_OK);
    REQUIRE(same_bits(expected, found));
    REQUIRE(std::string(detreduce_finish_loss(&plan, nullptr, &found, nullptr, nullptr).argument) == "states");
    REQUIRE(std::string(detreduce_loss_plan_states(&plan, nullptr).argument) == "states");
    REQUIRE(std::string(detreduce_finish_loss(nullptr, a, &found, nullptr, nullptr).argument) == "plan");

    const std::int64_t classes[] = {1, 0};
    detreduce_row_request rows = DETREDUCE_ROW_REQUEST_INIT;
    rows.op = DETREDUCE_ROW_OP_CROSS_ENTROPY;
    rows.device.backend = DETREDUCE_BACKEND_CPU;
    rows.n = rows.rows = 2;
    detreduce_row_plan row_plan;
    detreduce_row_arrays arrays = DETREDUCE_ROW_ARRAYS_INIT;
    arrays.x = x;
    arrays.targets = classes;
    arrays.out = &expected;
    std::vector<double> workspace(200);
    REQUIRE(detreduce_make_row_plan(&rows, &row_plan).code == DETREDUCE_OK);
    REQUIRE(detreduce_row_plan_workspace_bytes(&row_plan) <= 1600);
    REQUIRE(detreduce_run_rows(&row_plan, &arrays, workspace.data(), nullptr).code == DETREDUCE_OK);
    REQUIRE(std::string(detreduce_row_plan_states(&row_plan, &states).argument) == "plan");
    rows.state = rows.rows = 1;
    REQUIRE(detreduce_make_row_plan(&rows, &row_plan).code == DETREDUCE_OK);
    REQUIRE(detreduce_row_plan_states(&row_plan, &states).code == DETREDUCE_OK);
    arrays.out = a;
    REQUIRE(detreduce_run_rows(&row_plan, &arrays, workspace.data(), nullptr).code == DETREDUCE_OK);
    arrays.out = b;
    arrays.x = x + 2;
    arrays.targets = classes + 1;
    REQUIRE(detreduce_run_rows(&row_plan, &arrays, workspace.data(), nullptr).code == DETREDUCE_OK);
    REQUIRE(detreduce_states_merge(&states, a, b, nullptr).code == DETREDUCE_OK);
    REQUIRE(detreduce_finish_rows(&row_plan, a, &found, workspace.data(), nullptr).code == DETREDUCE_OK);
    REQUIRE(same_bits(expected, found));
    rows.state = 2;
    REQUIRE(std::string(detreduce_make_row_plan(&rows, &row_plan).argument) == "state");
}

} // namespace detreduce::proptests
