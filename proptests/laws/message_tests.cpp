// What statuses say: the index of what is wrong in a list, values that are no enumerators, and
// words that C knows, too.
#include <cstring>
#include <regex>
#include <string>
#include <vector>

#include <detreduce/detreduce.h>
#include <detreduce/detreduce.hpp>

#include <support/catch.hpp>

#include "laws/expect_status.hpp"

namespace detreduce::proptests {
namespace {

constexpr auto invalid = StatusCode::invalid_argument;

void expect_at(const Status& status, const char* argument, std::uint64_t index) {
    expect(status, invalid, argument);
    REQUIRE(status.index == index);
    const std::string named = std::string(argument) + '[' + std::to_string(index) + ']';
    REQUIRE(to_string(status).find("'" + named + "'") != std::string::npos);
}

/// A value that is no enumerator of E.
template <class E>
constexpr E none = static_cast<E>(255);

/// Has a text that no C program could look up: a call that does not begin with detreduce_, or a C++
/// type?
bool is_of_cpp(const char* text) {
    static const std::regex call(R"(([A-Za-z_]\w*)\()"), type("::");
    std::cmatch match;
    for (const char* at = text; std::regex_search(at, match, call); at = match.suffix().first) {
        if (match[1].str().rfind("detreduce_", 0) != 0) return true;
    }
    return std::regex_search(text, type);
}

} // namespace

TEST_CASE("what is wrong with a tensor is said with its index", "[status][tensors]") {
    alignas(8) const double x[4] = {1, 2, 4, 8};
    double out = 7;
    const auto plan_of = [](Op op, std::uint64_t groups) {
        return make_plan(
            {.op = op, .dtype = DType::f64, .shape = Shape::tensors, .n = 6, .groups = groups, .device = cpu});
    };
    const std::vector<Tensor> good{{x, 2, DType::f64}, {nullptr, 0, DType::f64}, {x, 4, DType::f64}};
    const Plan sums = plan_of(Op::sum, 3), dots = plan_of(Op::dot, 3);
    REQUIRE(run(sums, good.data(), &out).ok());
    REQUIRE(run(dots, {good.data(), good.data()}, &out).ok());
    out = 7;
    const char* const askew = reinterpret_cast<const char*>(x) + 1;
    const std::pair<std::size_t, Tensor> wrong[] = {{2, {nullptr, 4, DType::f64}},
                                                    {0, {nullptr, 2, DType::f64}},
                                                    {1, {x, 0, none<DType>}},
                                                    {2, {x, max_n + 1, DType::f64}},
                                                    {1, {askew, 0, DType::f32}}};
    for (const auto& [i, tensor] : wrong) {
        auto list = good;
        list[i] = tensor;
        expect_at(run(sums, list.data(), &out), "x", i);
        expect_at(run(dots, {good.data(), list.data()}, &out), "y", i);
        if (i != 2) continue;
        const ClipPlan clip = make_clip_plan({.n = 6, .tensors = 3, .device = cpu});
        expect_at(run(clip, list.data(), &out), "list", i);
    }
    auto other = good;
    other[0].n = 3, other[2].n = 3; // as many in all
    expect_at(run(dots, {good.data(), other.data()}, &out), "y", 0);
    other = good;
    const float narrow[4] = {};
    other[2] = {narrow, 4, DType::f32};
    expect_at(run(dots, {good.data(), other.data()}, &out), "y", 2);
    REQUIRE(out == 7);
    const detreduce_tensor in_c[] = {{x, 2, DETREDUCE_DTYPE_F64, {}}, {nullptr, 4, DETREDUCE_DTYPE_F64, {}}};
    detreduce_request request = DETREDUCE_REQUEST_INIT;
    request.dtype = DETREDUCE_DTYPE_F64, request.shape = DETREDUCE_SHAPE_TENSORS, request.n = 6, request.groups = 2;
    request.device.backend = DETREDUCE_BACKEND_CPU;
    detreduce_plan plan;
    REQUIRE(detreduce_make_plan(&request, &plan).code == DETREDUCE_OK);
    const detreduce_status status = detreduce_run(&plan, in_c, nullptr, nullptr, &out, nullptr, nullptr);
    REQUIRE((status.code == DETREDUCE_INVALID_ARGUMENT && status.index == 1));
}

TEST_CASE("a value that is no enumerator is refused by name", "[status]") {
    const auto of_plan = [](Request r) {
        if (r.device == current_gpu) r.device = cpu;
        r.n = 4;
        return make_plan(r).status();
    };
    expect(of_plan({.op = none<Op>}), invalid, "op");
    expect(of_plan({.method = none<Method>}), invalid, "method");
    expect(of_plan({.op = Op::prod, .method = none<Method>}), invalid, "method");
    expect(of_plan({.op = Op::max, .method = none<Method>}), invalid, "method");
    expect(of_plan({.dtype = none<DType>}), invalid, "dtype");
    expect(of_plan({.output = none<DType>}), invalid, "output");
    expect(of_plan({.shape = none<Shape>}), invalid, "shape");
    expect(of_plan({.device = {none<Backend>, 0}}), invalid, "device.backend");
    expect(of_plan({.launch = {.schedule = none<Schedule>}}), invalid, "launch.schedule");
    expect(of_plan({.launch = {.isa = none<Isa>}}), invalid, "launch.isa");
    expect(of_plan({.nan = none<NanPolicy>}), invalid, "nan");
    expect(of_plan({.op = Op::max, .nan = none<NanPolicy>}), invalid, "nan");

    for (const Reduction reduction : {Reduction::none, Reduction::mean}) {
        const auto of_loss = [&](LossRequest r) {
            if (r.device == current_gpu) r.device = cpu;
            if (r.reduction == Reduction::mean) r.reduction = reduction;
            r.n = 4;
            return make_loss_plan(r).status();
        };
        expect(of_loss({.loss = none<Loss>}), invalid, "loss");
        expect(of_loss({.reduction = none<Reduction>}), invalid, "reduction");
        expect(of_loss({.method = none<Method>}), invalid, "method");
        expect(of_loss({.dtype = none<DType>}), invalid, "dtype");
        expect(of_loss({.output = none<DType>}), invalid, "output");
        expect(of_loss({.device = {none<Backend>, 0}}), invalid, "device.backend");
        expect(of_loss({.launch = {.schedule = none<Schedule>}}), invalid, "launch.schedule");
        expect(of_loss({.launch = {.isa = none<Isa>}}), invalid, "launch.isa");
        const auto of_rows = [&](RowRequest r) {
            if (r.device == current_gpu) r.device = cpu;
            if (r.op == RowOp::softmax) r.op = RowOp::nll;
            if (r.reduction == Reduction::none) r.reduction = reduction;
            r.n = 4;
            return make_row_plan(r).status();
        };
        expect(of_rows({.op = none<RowOp>}), invalid, "op");
        expect(of_rows({.dtype = none<DType>}), invalid, "dtype");
        expect(of_rows({.output = none<DType>}), invalid, "output");
        expect(of_rows({.reduction = none<Reduction>}), invalid, "reduction");
        expect(of_rows({.method = none<Method>}), invalid, "method");
        expect(of_rows({.device = {none<Backend>, 0}}), invalid, "device.backend");
        expect(of_rows({.launch = {.schedule = none<Schedule>}}), invalid, "launch.schedule");
        expect(of_rows({.launch = {.isa = none<Isa>}}), invalid, "launch.isa");
    }
    expect(make_row_plan({.n = 4, .method = none<Method>, .device = cpu}).status(), invalid, "method"); // softmax
    expect(make_clip_plan({.n = 4, .tensors = 1, .norm = none<DType>, .device = cpu}).status(), invalid, "norm");
    expect(make_clip_plan({.n = 4, .tensors = 1, .device = {none<Backend>, 0}}).status(), invalid, "device.backend");

    const float x[] = {1, 2};
    float out = 0;
    const auto of_terms = [&](const TransformOptions& options) {
        return transform_reduce([](float v) { return v; }, x, 2, &out, options);
    };
    expect(of_terms({.method = none<Method>}), invalid, "method");
    expect(of_terms({.finalize = none<Finalize>}), invalid, "finalize");
    expect(of_terms({.launch = {.isa = none<Isa>}}), invalid, "launch.isa");
    ExactState state;
    expect(state.add(none<DType>, x, 2), invalid, "dtype");
    expect(state.add(std::span<const float>(x), {.isa = none<Isa>}), invalid, "launch.isa");
    expect(state.add(std::span<const float>(x), {.schedule = none<Schedule>}), invalid, "launch.schedule");
    const std::uint32_t ids[] = {0, 0};
    std::uint64_t offsets[2];
    expect(offsets_of_ids({none<Backend>, 0}, ids, 2, 1, offsets), invalid, "device.backend");
    expect(check_ids({none<Backend>, 0}, ids, 2, 1), invalid, "device.backend");
    expect(check_offsets({none<Backend>, 0}, offsets, 1, 2), invalid, "device.backend");
    expect(make_clip_plan({.n = 4, .tensors = 1, .device = cpu, .launch = {.schedule = none<Schedule>}}).status(),
           invalid, "launch.schedule");
    expect(make_clip_plan({.n = 4, .tensors = 1, .device = cpu, .launch = {.isa = none<Isa>}}).status(), invalid,
           "launch.isa");
}

TEST_CASE("a value that is no enumerator is refused before a device is looked for", "[status]") {
    expect(make_plan({.dtype = none<DType>, .n = 4}).status(), invalid, "dtype");
    expect(make_plan({.n = 4, .launch = {.schedule = none<Schedule>}}).status(), invalid, "launch.schedule");
    const Launch odd{.schedule = none<Schedule>};
    expect(make_row_plan({.n = 4, .launch = odd}).status(), invalid, "launch.schedule");
    expect(make_clip_plan({.n = 4, .tensors = 1, .launch = odd}).status(), invalid, "launch.schedule");
    for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
        expect(make_loss_plan({.reduction = reduction, .n = 4, .launch = odd}).status(), invalid, "launch.schedule");
        expect(make_loss_plan({.reduction = reduction, .dtype = none<DType>, .n = 4}).status(), invalid, "dtype");
    }
    if (!cuda::built_with_cuda()) return;
    alignas(8) double word = 0;
    ExactState state;
    expect(cuda::add(&state, none<DType>, &word, 1), invalid, "dtype");
    expect(cuda::round(&state, none<DType>, &word), invalid, "dtype");
    expect(cuda::sum(&word, 1, &word, none<Method>), invalid, "method");
}

TEST_CASE("what is known of a value that is no enumerator", "[status]") {
    REQUIRE_FALSE(is_dtype(none<DType>));
    REQUIRE(size_of(none<DType>) == 0);
    REQUIRE(arithmetic_of(none<DType>) == none<DType>);
    REQUIRE(name(none<DType>) == "?");
    REQUIRE(detreduce_dtype_bytes(255) == 0);
    REQUIRE(detreduce_dtype_bytes(-1) == 0);
    for (const DType dtype : dtypes()) {
        REQUIRE(is_dtype(dtype));
        REQUIRE(parse_dtype(name(dtype)) == dtype);
        REQUIRE(detreduce_dtype_bytes(static_cast<detreduce_dtype>(dtype)) == size_of(dtype));
        REQUIRE(detreduce_dtype_name(static_cast<detreduce_dtype>(dtype)) == name(dtype));
    }
}

TEST_CASE("calls that throw refuse by name what is no enumerator", "[status]") {
    const std::vector<float> x{1, 2};
    const std::vector<std::int64_t> classes{1};
    const auto thrown = [](const char* argument, const auto& call) {
        try {
            call();
        } catch (const Error& e) {
            return expect(e.status(), invalid, argument);
        }
        FAIL("nothing was thrown for " << argument);
    };
    thrown("op", [&] { (void)reduce_as<float>(none<Op>, x); });
    thrown("method", [&] { (void)reduce_as<float>(Op::sum, x, none<Method>); });
    thrown("launch.isa", [&] { (void)reduce_as<float>(Op::sum, x, Method::tree, {.isa = none<Isa>}); });
    thrown("method", [&] { (void)sum(std::span<const float>(x), none<Method>); });
    thrown("method", [&] { (void)mean(x, none<Method>); });
    thrown("method", [&] { (void)dot(x, x, none<Method>); });
    thrown("method", [&] { (void)prod(x, none<Method>); });
    thrown("method", [&] { (void)variance(x, none<Method>); });
    thrown("op", [&] { (void)order_as<float>(none<Op>, x); });
    thrown("nan", [&] { (void)max(x, none<NanPolicy>); });
    thrown("nan", [&] { (void)minmax(x, none<NanPolicy>); });
    thrown("op", [&] { (void)arg(none<Op>, x); });
    thrown("nan", [&] { (void)argmax(x, none<NanPolicy>); });
    thrown("op", [&] { (void)count(none<Op>, x); });
    float results[2];
    thrown("op", [&] { moments_into(none<Op>, x, results); });
    thrown("loss", [&] { (void)loss(none<Loss>, x, x); });
    thrown("reduction", [&] { (void)loss(Loss::mse, x, x, {.reduction = none<Reduction>}); });
    thrown("method", [&] { (void)loss(Loss::mse, x, x, {.method = none<Method>}); });
    thrown("op", [&] { (void)row_loss(none<RowOp>, x, 1, classes, {}); });
    thrown("reduction", [&] { (void)cross_entropy(x, 1, classes, {.reduction = none<Reduction>}); });
    thrown("method", [&] { (void)cross_entropy(x, 1, classes, {.method = none<Method>}); });
}

TEST_CASE("C: no message names what C has not", "[c][status]") {
    REQUIRE(is_of_cpp("make_plan() makes one"));
    REQUIRE(is_of_cpp("a std::uint64_t"));
    REQUIRE_FALSE(is_of_cpp("must come from detreduce_make_plan(), 0 (or 1)"));
    const auto require_c = [](const detreduce_status& status, const char* argument) {
        INFO(status.argument << ": " << status.allowed);
        REQUIRE(status.code != DETREDUCE_OK);
        REQUIRE(status.argument == std::string(argument));
        REQUIRE_FALSE(is_of_cpp(status.allowed));
    };
    const auto require_refused = [&](const char* argument, const auto& change) {
        detreduce_request request = DETREDUCE_REQUEST_INIT;
        request.n = 10;
        request.device.backend = DETREDUCE_BACKEND_CPU;
        change(request);
        detreduce_plan plan;
        require_c(detreduce_make_plan(&request, &plan), argument);
        require_c(detreduce_plan_status(&plan), argument);
    };
    detreduce_request odd = DETREDUCE_REQUEST_INIT;
    odd.each = 2;
    detreduce_plan unmade;
    require_c(detreduce_make_plan(&odd, &unmade), "each");
    require_c(detreduce_make_plan(nullptr, &unmade), "request");
    using R = detreduce_request;
    for (const std::int32_t bad : {-1, 99, 255}) {
        require_refused("op", [&](R& r) { r.op = bad; });
        require_refused("method", [&](R& r) { r.method = bad; });
        require_refused("dtype", [&](R& r) { r.dtype = bad; });
        require_refused("output", [&](R& r) { r.output = bad; });
        require_refused("shape", [&](R& r) { r.shape = bad; });
        require_refused("nan", [&](R& r) { r.nan = bad; });
        require_refused("launch.schedule", [&](R& r) { r.launch.schedule = bad; });
        require_refused("launch.isa", [&](R& r) { r.launch.isa = bad; });
        require_refused("device.backend", [&](R& r) { r.device.backend = bad; });
    }
    require_refused("output", [](R& r) { r.op = DETREDUCE_OP_ARGMAX, r.output = DETREDUCE_DTYPE_F32; });
    require_refused("output", [](R& r) { r.op = DETREDUCE_OP_COUNT_UNIQUE, r.output = DETREDUCE_DTYPE_F32; });
    require_refused("output", [](R& r) { r.method = DETREDUCE_METHOD_TREE, r.output = DETREDUCE_DTYPE_F16; });
    require_refused("method", [](R& r) { r.op = DETREDUCE_OP_PROD, r.method = DETREDUCE_METHOD_EXACT; });
    detreduce_plan plan = {};
    float out = 0;
    require_c(detreduce_plan_status(&plan), "plan");
    require_c(detreduce_plan_status(nullptr), "plan");
    require_c(detreduce_run(&plan, &out, nullptr, nullptr, &out, nullptr, nullptr), "plan");
    detreduce_request request = DETREDUCE_REQUEST_INIT;
    request.op = DETREDUCE_OP_COUNT_UNIQUE, request.n = 1, request.device.backend = DETREDUCE_BACKEND_CPU;
    REQUIRE(detreduce_make_plan(&request, &plan).code == DETREDUCE_OK);
    std::uint64_t count = 0;
    require_c(detreduce_run(&plan, &out, nullptr, nullptr, &count, nullptr, nullptr), "workspace");
    request.op = DETREDUCE_OP_SUM, request.shape = DETREDUCE_SHAPE_TENSORS;
    REQUIRE(detreduce_make_plan(&request, &plan).code == DETREDUCE_OK);
    require_c(detreduce_run(&plan, nullptr, nullptr, nullptr, &out, nullptr, nullptr), "x");
    const detreduce_tensor tensor{&out, 1, 255, {}};
    require_c(detreduce_run(&plan, &tensor, nullptr, nullptr, &out, nullptr, nullptr), "x");
    const float x[] = {1, 2};
    require_c(detreduce_sum_f32(x, 2, 255, &out), "method");
    require_c(detreduce_min_f32(x, 2, 255, &out), "nan");
    require_c(detreduce_argmin_f32(x, 2, 255, &count), "nan");
    detreduce_state state = {};
    detreduce_launch launch = {};
    require_c(detreduce_state_add(&state, 255, x, 2, nullptr), "dtype");
    require_c(detreduce_state_round(&state, 255, &out), "dtype");
    launch.isa = 255;
    require_c(detreduce_state_add(&state, DETREDUCE_DTYPE_F32, x, 2, &launch), "launch.isa");
    const std::uint64_t at[] = {0, 2};
    std::uint64_t offsets[2];
    require_c(detreduce_offsets_of_ids_u64({255, 0}, at, 2, 3, offsets, nullptr), "device.backend");
    require_c(detreduce_check_ids_u64({255, 0}, at, 2, 3, nullptr), "device.backend");
    require_c(detreduce_check_offsets({255, 0}, at, 1, 2, 0, nullptr), "device.backend");
}

} // namespace detreduce::proptests
