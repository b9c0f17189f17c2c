// Bad arguments give the documented status; names read back.
#include <algorithm>
#include <cstring>
#include <vector>

#include <detreduce/detreduce.hpp>

#include <support/catch.hpp>

#include "laws/draw.hpp"
#include "laws/expect_status.hpp"

namespace detreduce::proptests {
namespace {

Status status_of(Request request) {
    if (request.device == current_gpu) request.device = cpu;
    return make_plan(request).status();
}

/// As frameworks have them.
struct FrameworkStream {
    operator CUstream_st*() const;
};
static_assert(std::is_convertible_v<FrameworkStream, Stream> && std::is_convertible_v<CUstream_st*, Stream> &&
              std::is_convertible_v<Stream, CUstream_st*> && std::is_convertible_v<std::nullptr_t, Stream>);
static_assert(std::is_constructible_v<Stream, void*> && !std::is_convertible_v<void*, Stream> &&
              !std::is_convertible_v<const int*, Stream>);

} // namespace

TEST_CASE("a stream is what a GPU's API points to, and nothing else", "[status]") {
    struct Incomplete; // as what a cudaStream_t points to is, in a program without CUDA headers
    STATIC_REQUIRE(std::is_convertible_v<Incomplete*, Stream>);
    STATIC_REQUIRE(std::is_convertible_v<Stream, Incomplete*>);
    STATIC_REQUIRE(std::is_convertible_v<std::nullptr_t, Stream>);
    STATIC_REQUIRE(!std::is_convertible_v<void*, Stream>); // of C: to be said
    STATIC_REQUIRE(!std::is_convertible_v<float*, Stream>);
    STATIC_REQUIRE(!std::is_convertible_v<const Incomplete*, Stream>);
    STATIC_REQUIRE(!std::is_convertible_v<int, Stream>);
    STATIC_REQUIRE((std::is_trivially_copyable_v<Stream> && sizeof(Stream) == sizeof(void*)));
    int place = 0;
    auto* const handle = reinterpret_cast<Incomplete*>(&place);
    const Stream stream = handle;
    Incomplete* const back = stream;
    REQUIRE(back == handle);
    REQUIRE(static_cast<Incomplete*>(Stream()) == nullptr);
}

TEST_CASE("a request outside the words is refused by name", "[status]") {
    REQUIRE(status_of({.n = 10}).ok());
    expect(status_of({.op = static_cast<Op>(99), .n = 1}), StatusCode::invalid_argument, "op");
    expect(status_of({.method = static_cast<Method>(99), .n = 1}), StatusCode::invalid_argument, "method");
    expect(status_of({.dtype = static_cast<DType>(99), .n = 1}), StatusCode::invalid_argument, "dtype");
    expect(status_of({.shape = static_cast<Shape>(99), .n = 1}), StatusCode::invalid_argument, "shape");
    expect(status_of({.device = {static_cast<Backend>(99), 0}}), StatusCode::invalid_argument, "device.backend");
    expect(status_of({.launch = {.schedule = static_cast<Schedule>(99)}}), StatusCode::invalid_argument,
           "launch.schedule");
    expect(status_of({.launch = {.isa = static_cast<Isa>(99)}}), StatusCode::invalid_argument, "launch.isa");
    for (auto isa = Isa::baseline; name(isa) != "?"; isa = static_cast<Isa>(static_cast<int>(isa) + 1)) {
        INFO(name(isa)); // of another processor, or too new for this one
        if (std::ranges::count(available_isas(), isa) > 0) continue;
        expect(make_plan({.n = 1, .device = cpu, .launch = {.isa = isa}}).status(), StatusCode::unsupported,
               "launch.isa");
    }
    REQUIRE(status_of({.launch = {.threads = 1024}}).ok());
    expect(status_of({.launch = {.threads = 1025}}), StatusCode::invalid_argument, "launch.threads");
    REQUIRE(status_of({.n = max_n}).ok());
    expect(status_of({.n = max_n + 1}), StatusCode::invalid_argument, "n");
    expect(status_of({.n = ~std::uint64_t{0}}), StatusCode::invalid_argument, "n");
}

TEST_CASE("an output that a method does not have is refused by name", "[status]") {
    for (const MethodInfo& m : methods()) {
        for (const DType input : dtypes()) {
            REQUIRE(make_plan({.method = m.method, .dtype = input, .device = cpu}).output() == input);
            for (const DType output : dtypes()) {
                INFO(m.name << ' ' << name(input) << " to " << name(output));
                const Plan plan = make_plan({.method = m.method, .dtype = input, .output = output, .device = cpu});
                REQUIRE(plan.output() == output);
                if (gives(m.method, input, output)) {
                    REQUIRE(plan.status().ok());
                } else {
                    expect(plan.status(), StatusCode::invalid_argument, "output");
                    REQUIRE(std::strstr(plan.status().allowed, "exact") != nullptr);
                }
            }
        }
    }
    expect(status_of({.output = static_cast<DType>(99)}), StatusCode::invalid_argument, "output");
    REQUIRE_FALSE(gives(Method::tree, DType::f16, DType::bf16)); // neither is the wider one
    REQUIRE_FALSE(gives(Method::kahan, DType::f64, DType::f32));
}

TEST_CASE("ops take the inputs that they have", "[status]") {
    const float x[2] = {3, 4};
    float out = 0;
    constexpr auto invalid = StatusCode::invalid_argument;
    for (const OpInfo& op : sum_ops()) {
        INFO(op.name);
        const Plan plan = make_plan({.op = op.op, .n = 2, .device = cpu});
        REQUIRE(plan.status().ok());
        if (op.inputs == 2) {
            REQUIRE(run(plan, {x, x}, &out).ok());
            expect(run(plan, x, &out), invalid, "y");
            expect(run(plan, {x, reinterpret_cast<const char*>(x) + 2}, &out), invalid, "y");
            expect(run(plan, {nullptr, x}, &out), invalid, "x");
        } else {
            REQUIRE(run(plan, x, &out).ok());
            expect(run(plan, {x, x}, &out), invalid, "y");
        }
        const Plan of_nothing = make_plan({.op = op.op, .n = 0, .device = cpu});
        if (op.finalize == Finalize::mean) {
            expect(of_nothing.status(), invalid, "n");
        } else {
            REQUIRE(run(of_nothing, nullptr, &out).ok());
            REQUIRE(fp::to_bits(out) == 0);
        }
    }
    const std::vector<double> one{1}, two{1, 2};
    REQUIRE_THROWS_AS(dot(one, two), Error);
    REQUIRE_THROWS_AS(mean(std::vector<float>{}), Error);
    REQUIRE(dot(two, two) == 5);
    REQUIRE(nrm2(std::vector<float>{3, 4}) == 5);
    REQUIRE(reduce_as<double>(Op::mean, two, Method::tree) == 1.5);
    REQUIRE(mae(one, std::vector<double>{-3}) == 4);
}

TEST_CASE("ops that compare refuse what they do not have, by name", "[status]") {
    constexpr auto invalid = StatusCode::invalid_argument;
    REQUIRE(order_ops().size() == 5);
    for (const OpInfo& op : order_ops()) {
        INFO(op.name);
        for (const MethodInfo& m : methods()) {
            const Plan plan = make_plan({.op = op.op, .method = m.method, .n = 2, .device = cpu});
            if (m.method == Method::atomic) {
                expect(plan.status(), StatusCode::unsupported, "method");
            } else {
                REQUIRE(plan.status().ok());
                REQUIRE(plan.guarantee() == (op.gives_integer ? Guarantee::device : Guarantee::order));
            }
        }
        REQUIRE(status_of({.op = op.op, .n = 2, .nan = NanPolicy::ignore}).ok());
        expect(status_of({.op = op.op, .n = 2, .nan = static_cast<NanPolicy>(99)}), invalid, "nan");
        for (const DType output : dtypes()) {
            const Status status = status_of({.op = op.op, .method = Method::tree, .output = output, .n = 2});
            if (op.gives_integer) {
                expect(status, invalid, "output");
            } else {
                REQUIRE(status.ok());
            }
        }
        const Status of_nothing = status_of({.op = op.op, .n = 0});
        if (op.op == Op::nrminf) {
            REQUIRE(of_nothing.ok());
        } else {
            expect(of_nothing, invalid, "n");
        }
        const float x[2] = {3, 4};
        std::uint64_t out = 0;
        expect(run(make_plan({.op = op.op, .n = 2, .device = cpu}), {x, x}, &out), invalid, "y");
    }
    for (const OpInfo& op : sum_ops()) {
        expect(status_of({.op = op.op, .n = 2, .nan = NanPolicy::ignore}), invalid, "nan");
        REQUIRE_FALSE(make_plan({.op = op.op, .n = 2, .device = cpu}).result_is_integer());
    }
}

TEST_CASE("an index is 8 bytes, aligned to 8", "[status]") {
    const float x[3] = {1, 5, 5};
    for (const Op op : {Op::argmin, Op::argmax}) {
        const Plan plan = make_plan({.op = op, .dtype = DType::f32, .n = 3, .device = cpu});
        REQUIRE(plan.result_is_integer());
        REQUIRE(plan.result_bytes() == 8);
        alignas(8) unsigned char out[24];
        for (std::size_t at = 0; at < 16; ++at) {
            std::memset(out, 0xa5, sizeof out);
            const Status status = run(plan, x, out + at);
            if (at % 8 != 0) {
                expect(status, StatusCode::invalid_argument, "out");
                continue;
            }
            REQUIRE(status.ok());
            std::uint64_t index = 0;
            std::memcpy(&index, out + at, sizeof index);
            REQUIRE(index == (op == Op::argmax ? 1 : 0));
            REQUIRE(out[at + 8] == 0xa5);
        }
    }
    const Plan minimum = make_plan({.op = Op::min, .dtype = DType::f32, .output = DType::f16, .n = 3, .device = cpu});
    REQUIRE_FALSE(minimum.result_is_integer());
    REQUIRE(minimum.result_bytes() == 2);
}

TEST_CASE("rows have a shape", "[status]") {
    constexpr auto invalid = StatusCode::invalid_argument;
    expect(status_of({.n = 4, .groups = 2}), invalid, "groups"); // flat
    expect(status_of({.n = 4, .stride = 4}), invalid, "stride");
    REQUIRE(status_of({.shape = Shape::rows, .n = 4, .groups = max_groups}).ok());
    REQUIRE(status_of({.shape = Shape::rows, .n = 4, .groups = 2, .stride = 4}).ok());
    expect(status_of({.shape = Shape::rows, .n = 4, .groups = 2, .stride = 3}), invalid, "stride");
    expect(status_of({.shape = Shape::rows, .n = 4, .groups = max_groups + 1}), invalid, "groups");
    expect(status_of({.shape = Shape::rows, .n = max_n, .groups = 65}), invalid, "groups");
    expect(status_of({.shape = Shape::rows, .n = 1, .groups = 3, .stride = ~std::uint64_t{0} / 2}), invalid, "groups");
    // Up to 2^46 elements from the first to the end of the last row, and
    // 2^46 + 1 = 5 · 14073748835533 of them.
    constexpr std::uint64_t most = std::uint64_t{1} << 46, fifth = 14'073'748'835'533;
    static_assert(max_extent == most && 5 * fifth == most + 1);
    for (const bool by_rows : {true, false}) {
        const auto matrix = [&](std::uint64_t rows, std::uint64_t stride) {
            return by_rows ? status_of({.shape = Shape::rows, .n = 1, .groups = rows, .stride = stride})
                           : status_of({.shape = Shape::columns, .n = rows, .groups = 1, .stride = stride});
        };
        REQUIRE(matrix(64, most / 64).ok());
        expect(matrix(64, most / 64 + 1), invalid, "groups");
        REQUIRE(matrix(5, fifth - 1).ok());
        expect(matrix(5, fifth), invalid, "groups");
        REQUIRE(matrix(1, most).ok());
        expect(matrix(1, most + 1), invalid, "groups");
    }
    REQUIRE(status_of({.shape = Shape::rows, .n = max_n, .groups = 64}).ok());
    const float x[6] = {1, 2, 0, 3, 4, 0};
    float out[3] = {9, 9, 9};
    const Plan plan = make_plan({.shape = Shape::rows, .n = 2, .groups = 2, .stride = 3, .device = cpu});
    REQUIRE(plan.results() == 2);
    REQUIRE(run(plan, x, out).ok());
    REQUIRE(out[0] == 3);
    REQUIRE(out[1] == 7);
    REQUIRE(out[2] == 9);
    REQUIRE(run(make_plan({.shape = Shape::rows, .n = 2, .groups = 0, .device = cpu}), nullptr, nullptr).ok());
}

TEST_CASE("columns, segments and tensors have shapes", "[status]") {
    constexpr auto invalid = StatusCode::invalid_argument;
    REQUIRE(status_of({.shape = Shape::columns, .n = 4, .groups = 3, .stride = 3}).ok());
    expect(status_of({.shape = Shape::columns, .n = 4, .groups = 3, .stride = 2}), invalid, "stride");
    expect(status_of({.shape = Shape::segments, .n = 4, .groups = 3, .stride = 4}), invalid, "stride");
    expect(status_of({.n = 4, .each = true}), invalid, "each");
    REQUIRE(status_of({.shape = Shape::tensors, .n = 1, .groups = 0xffffffffu}).ok());
    expect(status_of({.shape = Shape::tensors, .n = 1, .groups = std::uint64_t{1} << 32}), invalid, "groups");
    for (const Method method : {Method::tree, Method::kahan, Method::compensated, Method::serial})
        expect(status_of({.method = method, .shape = Shape::tensors}), StatusCode::unsupported, "method");
    for (const Op op : {Op::dot, Op::mse, Op::variance})
        REQUIRE(status_of({.op = op, .shape = Shape::tensors, .n = 1}).ok());
    for (const Op op : {Op::prod, Op::count_unique})
        expect(status_of({.op = op, .shape = Shape::tensors, .n = 1}), StatusCode::unsupported, "op");

    const double x[4] = {1, 2, 4, 8};
    double out[3] = {};
    const std::uint64_t good[] = {0, 1, 1, 4}, descending[] = {0, 2, 1, 4}, past[] = {0, 1, 2, 5};
    const Plan segments =
        make_plan({.dtype = DType::f64, .shape = Shape::segments, .n = 4, .groups = 3, .device = cpu});
    REQUIRE(run(segments, {x, nullptr, good}, out).ok());
    REQUIRE((out[0] == 1 && out[1] == 0 && out[2] == 14));
    expect(run(segments, {x, nullptr, descending}, out), invalid, "offsets");
    expect(run(segments, {x, nullptr, past}, out), invalid, "offsets");
    expect(run(segments, x, out), invalid, "offsets");
    expect(run(make_plan({.dtype = DType::f64, .n = 4, .device = cpu}), {x, nullptr, good}, out), invalid, "offsets");

    const Tensor list[] = {{x, 4, DType::f64}, {x, 2, DType::f64}};
    const Plan tensors =
        make_plan({.dtype = DType::f64, .shape = Shape::tensors, .n = 6, .groups = 2, .device = cpu, .each = true});
    REQUIRE(tensors.results() == 3);
    REQUIRE(run(tensors, list, out).ok());
    REQUIRE((out[0] == 15 && out[1] == 3 && out[2] == 18));
    expect(run(make_plan({.shape = Shape::tensors, .n = 7, .groups = 2, .device = cpu}), list, out), invalid, "x");
    expect(run(tensors, nullptr, out), invalid, "x");
    const Tensor odd[] = {{x, 4, static_cast<DType>(9)}, {x, 2, DType::f64}};
    expect(run(tensors, odd, out), invalid, "x");
    expect(run(tensors, {list, list}, out), invalid, "y");
}

TEST_CASE("lists of tensors for ops of two inputs go together", "[status]") {
    constexpr auto invalid = StatusCode::invalid_argument;
    const double x[4] = {1, 2, 4, 8}, y[4] = {1, 10, 100, 1000};
    double out[3] = {};
    const Tensor list[] = {{x, 4, DType::f64}, {x, 2, DType::f64}},
                 second[] = {{y, 4, DType::f64}, {y + 2, 2, DType::f64}};
    const Plan dot = make_plan({.op = Op::dot,
                                .dtype = DType::f64,
                                .shape = Shape::tensors,
                                .n = 6,
                                .groups = 2,
                                .device = cpu,
                                .each = true});
    REQUIRE(run(dot, {list, second}, out).ok());
    REQUIRE((out[0] == 8421 && out[1] == 2100 && out[2] == 10521));
    expect(run(dot, list, out), invalid, "y");
    const Tensor longer[] = {{y, 3, DType::f64}, {y, 3, DType::f64}},
                 other[] = {{y, 4, DType::f64}, {y, 2, DType::f32}}, fewer[] = {{y, 4, DType::f64}, {y, 1, DType::f64}};
    expect(run(dot, {list, longer}, out), invalid, "y");
    expect(run(dot, {list, other}, out), invalid, "y");
    expect(run(dot, {list, fewer}, out), invalid, "y");
}

TEST_CASE("what compares or counts has every shape", "[status]") {
    constexpr auto invalid = StatusCode::invalid_argument;
    for (const OpInfo& op : ops()) {
        if (op.kind != Kind::order && op.kind != Kind::count) continue;
        for (const Shape shape : {Shape::rows, Shape::columns, Shape::segments, Shape::tensors}) {
            INFO(op.name << ' ' << name(shape));
            const auto status = [&](Method method, std::uint64_t n) {
                return status_of({.op = op.op, .method = method, .shape = shape, .n = n, .groups = 3});
            };
            if (op.op == Op::count_unique && shape == Shape::tensors) {
                expect(status(Method::exact, 4), StatusCode::unsupported, "op");
                continue;
            }
            for (const Method method : {Method::exact, Method::tree, Method::kahan, Method::serial})
                REQUIRE(status(method, 4).ok());
            expect(status(Method::atomic, 4), StatusCode::unsupported, "method");
            const bool of_nothing = op.kind == Kind::count || op.op == Op::nrminf || shape == Shape::segments;
            if (of_nothing) {
                REQUIRE(status(Method::exact, 0).ok());
            } else {
                expect(status(Method::exact, 0), invalid, "n");
            }
            if (op.gives_integer)
                expect(status_of({.op = op.op, .output = DType::f64, .shape = shape, .n = 4}), invalid, "output");
            const Plan plan = make_plan({.op = op.op, .shape = shape, .n = 4, .groups = 3, .device = cpu});
            REQUIRE(plan.results() == (shape == Shape::tensors ? 1 : 3) * static_cast<std::uint64_t>(op.results));
            const bool index = op.kind == Kind::order && op.gives_integer;
            REQUIRE(plan.guarantee() == (index ? Guarantee::device : Guarantee::order));
        }
        expect(status_of({.op = op.op, .n = 4, .each = true}), invalid, "each");
    }
    const auto bytes = [](Shape shape, DType dtype, std::uint64_t n, std::uint64_t groups) {
        return make_plan(
                   {.op = Op::count_unique, .dtype = dtype, .shape = shape, .n = n, .groups = groups, .device = cpu})
            .workspace_bytes();
    };
    REQUIRE(bytes(Shape::rows, DType::f64, 10, 7) == 560);
    REQUIRE(bytes(Shape::columns, DType::f32, 10, 7) == 280);
    REQUIRE(bytes(Shape::segments, DType::f32, 10, 7) == 40);
    REQUIRE(bytes(Shape::rows, DType::bf16, 10, 7) == 0);
}

TEST_CASE("alignment is that of the element and of the output", "[status]") {
    alignas(16) char x[32] = {}, out[32];
    for (const DType input : dtypes()) {
        for (const DType output : dtypes()) {
            const Plan plan = make_plan({.dtype = input, .output = output, .n = 1, .device = cpu});
            for (std::size_t at = 0; at < 16; ++at) {
                INFO(name(input) << " to " << name(output) << " at " << at);
                const Status crooked_x = run(plan, x + at, out), crooked_out = run(plan, x, out + at);
                if (at % size_of(input) == 0) {
                    REQUIRE(crooked_x.ok());
                } else {
                    expect(crooked_x, StatusCode::invalid_argument, "x");
                }
                if (at % size_of(output) == 0) {
                    REQUIRE(crooked_out.ok());
                } else {
                    expect(crooked_out, StatusCode::invalid_argument, "out");
                }
            }
        }
    }
}

TEST_CASE("a result is as many bytes as its format has", "[status]") {
    const double x[] = {1.5, -3};
    for (const DType output : dtypes()) {
        unsigned char out[16];
        std::memset(out, 0xa5, sizeof out);
        REQUIRE(run(make_plan({.dtype = DType::f64, .output = output, .n = 2, .device = cpu}), x, out).ok());
        for (std::size_t i = size_of(output); i < sizeof out; ++i)
            REQUIRE(out[i] == 0xa5);
        with_dtype(output, [&](auto expected) {
            expected = fp::round_to<decltype(expected)>(-1.5);
            REQUIRE(std::memcmp(out, &expected, sizeof expected) == 0);
        });
    }
}

TEST_CASE("exact is what is asked for when nothing is said", "[status]") {
    REQUIRE(Request{}.method == Method::automatic);
    const double x[] = {1e308, 1e308, -1e308};
    REQUIRE(sum(x) == 1e308);
    REQUIRE(make_plan({.device = cpu}).guarantee() == Guarantee::order);
}

TEST_CASE("device states without a CUDA backend say so", "[status]") {
    if (cuda::built_with_cuda()) return skipped("this build has a CUDA backend");
    ExactState state;
    expect(cuda::add(&state, DType::f32, nullptr, 0), StatusCode::no_device, "device");
    expect(cuda::merge(&state, &state), StatusCode::no_device, "device");
    expect(cuda::round(&state, DType::f32, nullptr), StatusCode::no_device, "device");
}

TEST_CASE("pointers are checked before anything is touched", "[status]") {
    alignas(16) float x[4] = {1, 2, 3, 4};
    float out = 7;
    const Plan plan = make_plan({.dtype = DType::f32, .n = 3, .device = cpu});
    expect(run(plan, x, nullptr), StatusCode::invalid_argument, "out");
    expect(run(plan, nullptr, &out), StatusCode::invalid_argument, "x");
    expect(run(plan, reinterpret_cast<const char*>(x) + 2, &out), StatusCode::invalid_argument, "x");
    expect(run(plan, x, reinterpret_cast<char*>(x) + 1), StatusCode::invalid_argument, "out");
    REQUIRE(out == 7);
    REQUIRE(run(plan, x, &out).ok());
    REQUIRE(out == 6);
    REQUIRE(run(make_plan({.dtype = DType::f32, .n = 0, .device = cpu}), nullptr, &out).ok());
    REQUIRE(out == 0);
}

TEST_CASE("running a bad plan says what was wrong with it", "[status]") {
    float x = 1, out = 7;
    expect(run(make_plan({.n = max_n + 1, .device = cpu}), &x, &out), StatusCode::invalid_argument, "n");
    REQUIRE(out == 7);
}

TEST_CASE("a plan that make_plan did not make does not run", "[status]") {
    float x = 1, out = 7;
    expect(run(Plan{}, &x, &out), StatusCode::invalid_argument, "plan");
    REQUIRE(out == 7);
}

TEST_CASE("the typed calls throw what the core returns", "[status]") {
    const float x[] = {1, 2, 3};
    REQUIRE(sum(x, Method::tree) == 6);
    REQUIRE_THROWS_AS(sum_as<float>(std::span<const double>(), Method::tree), Error);
    try {
        (void)sum(x, Method::tree, {.threads = 5000});
        FAIL("no exception");
    } catch (const Error& error) {
        expect(error.status(), StatusCode::invalid_argument, "launch.threads");
        REQUIRE(std::strstr(error.what(), "launch.threads") != nullptr);
        REQUIRE(std::strstr(error.what(), "1024") != nullptr);
    }
}

TEST_CASE("the throwing wrapper throws what the core returns", "[status]") {
    const float x[] = {1, 2, 3};
    float out = 0;
    const Plan plan = throwing::make_plan({.n = 3, .device = cpu});
    throwing::run(plan, x, &out);
    REQUIRE(out == 6);
    REQUIRE_THROWS_AS(throwing::make_plan({.n = max_n + 1, .device = cpu}), Error);
    REQUIRE_THROWS_AS(throwing::run(plan, x, nullptr), Error);
}

TEST_CASE("a plan owns guarantee, launch and workspace", "[status]") {
    const Plan plan = make_plan({.method = Method::tree, .dtype = DType::f64, .n = 1000, .device = cpu});
    REQUIRE(plan.guarantee() == Guarantee::device);
    REQUIRE(plan.workspace_bytes() == 0);
    REQUIRE(plan.launch().threads >= 1);
    REQUIRE(plan.launch().isa == available_isas().back());
    REQUIRE(make_plan({.method = Method::atomic, .device = cpu}).guarantee() == Guarantee::none);
}

TEST_CASE("names read back", "[status]") {
    for (const MethodInfo& m : methods()) {
        REQUIRE(parse_method(m.name) == m.method);
        REQUIRE(name(m.method) == m.name);
        REQUIRE(info(m.method).guarantee == m.guarantee);
    }
    REQUIRE(methods().size() >= 6);
    REQUIRE(dtypes().size() >= 6);
    for (const DType d : dtypes())
        REQUIRE(parse_dtype(name(d)) == d);
    for (const Schedule s : {Schedule::automatic, Schedule::two_pass, Schedule::last_block, Schedule::cooperative}) {
        REQUIRE(parse_schedule(name(s)) == s);
    }
    REQUIRE(ops().size() >= 21);
    REQUIRE(sum_ops().size() >= 9);
    for (const NanPolicy nan : {NanPolicy::propagate, NanPolicy::ignore})
        REQUIRE(parse_nan_policy(name(nan)) == nan);
    REQUIRE_FALSE(parse_nan_policy("?").has_value());
    for (const OpInfo& op : ops()) {
        REQUIRE(parse_op(op.name) == op.op);
        REQUIRE(name(op.op) == op.name);
        REQUIRE(info(op.op).op == op.op);
    }
    REQUIRE_FALSE(parse_method("Tree").has_value());
    REQUIRE_FALSE(parse_dtype("").has_value());
    REQUIRE_FALSE(parse_op("sums").has_value());
}

TEST_CASE("without a CUDA backend, a CUDA plan says so", "[status]") {
    if (cuda::built_with_cuda()) return skipped("this build has a CUDA backend");
    expect(status_of({.n = 1, .device = {Backend::cuda, 0}}), StatusCode::no_device, "device");
    std::string why;
    REQUIRE(cuda::devices(&why).empty());
    REQUIRE_FALSE(why.empty());
}

} // namespace detreduce::proptests
