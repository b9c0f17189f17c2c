// The C header losses.h: losses, row ops and clip_grad_norm with the bits of the C++ API, and
// errors by name.
#include <cstring>
#include <string_view>
#include <vector>

#include <detreduce/detreduce.hpp>

#include "laws/c_api_in_c.h"
#include "laws/c_api_losses.hpp"
#include "laws/c_api_support.hpp"

namespace detreduce::proptests {
namespace {

constexpr detreduce_status_code invalid = DETREDUCE_INVALID_ARGUMENT, unsupported = DETREDUCE_UNSUPPORTED;
constexpr std::int32_t no_words[] = {-1, 99, 255, 256, 65536, INT32_MIN, INT32_MAX};

void same_status(const detreduce_status& c, const Status& cpp) {
    INFO(to_string(cpp));
    REQUIRE(c.code == static_cast<detreduce_status_code>(cpp.code));
    REQUIRE(c.argument == std::string_view(cpp.argument));
    REQUIRE(c.allowed == std::string_view(cpp.allowed));
    REQUIRE(c.index == cpp.index);
}

/// Memory that aligns anything.
std::vector<std::uint64_t> blank(std::size_t bytes) {
    return std::vector<std::uint64_t>(bytes / 8 + 1, 0xa5a5a5a5a5a5a5a5u);
}
char* bytes_of(std::vector<std::uint64_t>& memory) {
    return reinterpret_cast<char*>(memory.data());
}

template <class Change>
detreduce_status loss_with(const Change& change) {
    detreduce_loss_request r;
    detreduce_loss_request_init(&r, sizeof r);
    r.device.backend = DETREDUCE_BACKEND_CPU, r.n = 10;
    change(r);
    detreduce_loss_plan plan;
    const detreduce_status status = detreduce_make_loss_plan(&r, &plan);
    REQUIRE(detreduce_loss_plan_status(&plan).code == status.code);
    return status;
}
template <class Change>
detreduce_status rows_with(const Change& change) {
    detreduce_row_request r;
    detreduce_row_request_init(&r, sizeof r);
    r.device.backend = DETREDUCE_BACKEND_CPU, r.n = 10;
    change(r);
    detreduce_row_plan plan;
    const detreduce_status status = detreduce_make_row_plan(&r, &plan);
    REQUIRE(detreduce_row_plan_status(&plan).code == status.code);
    return status;
}
template <class Change>
detreduce_status clip_with(const Change& change) {
    detreduce_clip_request r;
    detreduce_clip_request_init(&r, sizeof r);
    r.device.backend = DETREDUCE_BACKEND_CPU, r.n = 10, r.tensors = 2;
    change(r);
    detreduce_clip_plan plan;
    const detreduce_status status = detreduce_make_clip_plan(&r, &plan);
    REQUIRE(detreduce_clip_plan_status(&plan).code == status.code);
    return status;
}

/// What is wrong with the size, the reserved words and the launch of a request, and with a device.
template <class R, class With>
void refuses_what_is_not_initialised(const With& with, std::size_t reserved) {
    for (const std::size_t size : {std::size_t{0}, sizeof(R) - 1, sizeof(R) + 8, ~std::size_t{0}})
        expect(with([&](R& r) { r.struct_size = size; }), invalid, "struct_size");
    for (std::size_t i = 0; i < reserved; ++i)
        expect(with([i](R& r) { r.reserved[i] = 1; }), invalid, "reserved");
    for (int i = 0; i < 3; ++i)
        expect(with([i](R& r) { r.launch.reserved[i] = 1; }), invalid, "launch.reserved");
    for (const std::int32_t bad : no_words) {
        expect(with([&](R& r) { r.device.backend = bad; }), invalid, "device.backend");
        expect(with([&](R& r) { r.launch.schedule = bad; }), invalid, "launch.schedule");
        expect(with([&](R& r) { r.launch.isa = bad; }), invalid, "launch.isa");
    }
    expect(with([](R& r) { r.launch.threads = 1025; }), invalid, "launch.threads");
    expect(with([](R& r) { r.n = max_n + 1; }), invalid, "n");
}

/// A request's defaults, as the call and the initialiser set them, in a struct of any size.
template <class R>
void sets_defaults(void (*init)(R*, std::size_t), const R& initial) {
    struct {
        R known;
        unsigned char more[16];
    } r;
    std::memset(&r, 0xa5, sizeof r);
    init(&r.known, sizeof r.known);
    REQUIRE(std::memcmp(&r.known, &initial, sizeof initial) == 0);
    REQUIRE(r.more[0] == 0xa5);
    init(&r.known, sizeof r);
    REQUIRE(r.known.struct_size == sizeof r);
    REQUIRE(r.more[15] == 0);
    std::memset(&r, 0xa5, sizeof r);
    init(&r.known, 40);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(&r);
    REQUIRE(bytes[40] == 0xa5);
    init(&r.known, 7);
    init(nullptr, sizeof r);
    REQUIRE(r.known.struct_size == 40);
}

} // namespace

TEST_CASE("C: losses have the bits and the errors of C++", "[c][losses]") {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
        with_dtype_from_16_bits(dtype, [&]<class T>(T) {
            const std::uint64_t n = 301;
            const T upstream = fp::round_to<T>(0.7);
            each_loss_request(dtype, n, [&](LossRequest r) {
                r.device = cpu;
                const auto data = loss_data<T>(r.loss, n, 7);
                const LossInputs in{data.x.data(), data.target.data(), r.weighted ? data.weight.data() : nullptr};
                const detreduce_loss_request request = in_c(r);
                const detreduce_loss_inputs inputs = in_c(in);
                const LossPlan plan = make_loss_plan(r);
                detreduce_loss_plan c_plan;
                INFO(name(r.loss) << ' ' << name(*r.reduction) << ' ' << name(r.method) << ' ' << name(dtype));
                same_status(detreduce_make_loss_plan(&request, &c_plan), plan.status());
                if (!plan.status().ok()) return; // tree and the like give no narrower output
                REQUIRE(detreduce_loss_plan_results(&c_plan) == plan.results());
                REQUIRE(detreduce_loss_plan_output(&c_plan) == static_cast<detreduce_dtype>(plan.output()));
                REQUIRE(detreduce_loss_plan_workspace_bytes(&c_plan) == plan.workspace_bytes());
                REQUIRE(detreduce_loss_plan_gradient_workspace_bytes(&c_plan) == plan.gradient_workspace_bytes());
                auto expected = blank(n * 8), out = expected;
                throw_if_error(run(plan, in, expected.data()));
                expect_ok(detreduce_run_loss(&c_plan, &inputs, out.data(), nullptr, nullptr));
                REQUIRE(out == expected);
                for (const T* const factor : {static_cast<const T*>(nullptr), &upstream}) {
                    if (factor != nullptr && r.reduction == Reduction::none) continue; // it has n of them
                    throw_if_error(run_gradient(plan, in, factor, expected.data()));
                    expect_ok(detreduce_run_loss_gradient(&c_plan, &inputs, factor, out.data(), nullptr, nullptr));
                    REQUIRE(out == expected);
                }
            });
        });
    }
}

TEST_CASE("C: row ops have the bits and the errors of C++", "[c][rows]") {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
        with_dtype_from_16_bits(dtype, [&]<class T>(T) {
            RowMemory<T> memory;
            each_row_request(dtype, [&](RowRequest r) {
                r.device = cpu;
                const detreduce_row_request request = in_c(r);
                const RowPlan plan = make_row_plan(r);
                detreduce_row_plan c_plan;
                INFO(name(r.op) << ' ' << name(*r.reduction) << ' ' << name(r.method) << ' ' << name(dtype));
                same_status(detreduce_make_row_plan(&request, &c_plan), plan.status());
                throw_if_error(plan.status());
                REQUIRE(detreduce_row_plan_results(&c_plan) == plan.results());
                REQUIRE(detreduce_row_plan_output(&c_plan) == static_cast<detreduce_dtype>(plan.output()));
                REQUIRE(detreduce_row_plan_arithmetic(&c_plan) == static_cast<detreduce_dtype>(plan.arithmetic()));
                REQUIRE(detreduce_row_plan_workspace_bytes(&c_plan) == plan.workspace_bytes());
                for (const bool soft : {false, true}) {
                    auto expected = blank(RowRoom::bytes), out = expected, workspace = blank(plan.workspace_bytes());
                    RowArrays a = memory.arrays(r, soft);
                    RowRoom{bytes_of(expected)}.put_into(r, a);
                    throw_if_error(run(plan, a, workspace.data()));
                    RowRoom{bytes_of(out)}.put_into(r, a);
                    const detreduce_row_arrays arrays = in_c(a);
                    expect_ok(detreduce_run_rows(&c_plan, &arrays, workspace.data(), nullptr));
                    REQUIRE(out == expected);
                }
            });
        });
    }
}

TEST_CASE("C: cosine similarity has the bits and the errors of C++", "[c][cosine]") {
    using R = detreduce_cosine_request;
    sets_defaults<R>(detreduce_cosine_request_init, DETREDUCE_COSINE_REQUEST_INIT);
    const auto made = [](const auto& change) {
        R r = DETREDUCE_COSINE_REQUEST_INIT;
        r.device.backend = DETREDUCE_BACKEND_CPU, r.n = 10;
        change(r);
        detreduce_cosine_plan plan;
        return detreduce_make_cosine_plan(&r, &plan);
    };
    expect_ok(made([](R&) {}));
    refuses_what_is_not_initialised<R>(made, std::size(R{}.reserved));
    expect(made([](R& r) { r.reserved_word = 1; }), invalid, "reserved_word");
    expect(made([](R& r) { r.epsilon = -1; }), invalid, "epsilon");
    expect(made([](R& r) { r.dtype = 77; }), invalid, "dtype");
    expect(made([](R& r) { r.method = DETREDUCE_METHOD_ATOMIC; }), unsupported, "method");
    for (const DType dtype : {DType::bf16, DType::f64}) {
        with_dtype_from_16_bits(dtype, [&]<class T>(T) {
            const auto data = loss_data<T>(Loss::mse, 5 * 40, 7);
            const CosineRequest r{.dtype = dtype,
                                  .output = DType::f32,
                                  .n = 37,
                                  .rows = 5,
                                  .stride = 40,
                                  .epsilon = 0.5,
                                  .method = Method::tree,
                                  .device = cpu};
            const CosinePlan plan = make_cosine_plan(r);
            throw_if_error(plan.status());
            R request = DETREDUCE_COSINE_REQUEST_INIT;
            request.dtype = static_cast<detreduce_dtype>(dtype), request.output = DETREDUCE_DTYPE_F32;
            request.n = r.n, request.rows = r.rows, request.stride = r.stride, request.epsilon = r.epsilon;
            request.method = DETREDUCE_METHOD_TREE, request.device.backend = DETREDUCE_BACKEND_CPU;
            detreduce_cosine_plan c_plan;
            expect_ok(detreduce_make_cosine_plan(&request, &c_plan));
            REQUIRE(detreduce_cosine_plan_workspace_bytes(&c_plan) == plan.workspace_bytes());
            auto expected = blank(200 * 8), out = expected, workspace = blank(plan.workspace_bytes());
            const void *const x = data.x.data(), *const y = data.target.data(), *const g = data.weight.data();
            throw_if_error(run(plan, x, y, expected.data(), workspace.data()));
            expect_ok(detreduce_run_cosine(&c_plan, x, y, out.data(), workspace.data(), nullptr));
            REQUIRE(out == expected);
            throw_if_error(run_gradient(plan, x, y, g, expected.data(), workspace.data()));
            expect_ok(detreduce_run_cosine_gradient(&c_plan, x, y, g, out.data(), workspace.data(), nullptr));
            REQUIRE(out == expected);
            expect(detreduce_run_cosine(&c_plan, nullptr, y, out.data(), workspace.data(), nullptr), invalid, "x");
        });
    }
    detreduce_cosine_plan none{};
    expect(detreduce_cosine_plan_status(&none), invalid, "plan");
    expect(detreduce_make_cosine_plan(nullptr, &none), invalid, "request");
}

TEST_CASE("C: norms of channels have the bits and the errors of C++", "[c][norms]") {
    using R = detreduce_channel_norm_request;
    sets_defaults<R>(detreduce_channel_norm_request_init, DETREDUCE_CHANNEL_NORM_REQUEST_INIT);
    const auto made = [](const auto& change) {
        R r = DETREDUCE_CHANNEL_NORM_REQUEST_INIT;
        r.device.backend = DETREDUCE_BACKEND_CPU, r.n = 10;
        change(r);
        detreduce_channel_norm_plan plan;
        return detreduce_make_channel_norm_plan(&r, &plan);
    };
    expect_ok(made([](R&) {}));
    refuses_what_is_not_initialised<R>(made, std::size(R{}.reserved));
    expect(made([](R& r) { r.reserved_word = 1; }), invalid, "reserved_word");
    expect(made([](R& r) { r.given = 1; }), invalid, "given");
    expect(made([](R& r) { r.dtype = 77; }), invalid, "dtype");
    expect(made([](R& r) { r.momentum = 2; }), invalid, "momentum");
    for (const std::int32_t bad : no_words) {
        expect(made([&](R& r) { r.norm = bad; }), invalid, "norm");
        REQUIRE(detreduce_channel_norm_name(bad) == std::string_view("?"));
    }
    for (const ChannelNorm norm : {ChannelNorm::group_norm, ChannelNorm::batch_norm}) {
        const auto word = static_cast<detreduce_channel_norm>(norm);
        REQUIRE(detreduce_channel_norm_name(word) == name(norm));
        REQUIRE(detreduce_parse_channel_norm(detreduce_channel_norm_name(word)) == word);
    }
    for (const DType dtype : {DType::bf16, DType::f64}) {
        with_dtype_from_16_bits(dtype, [&]<class T>(T) {
            const NormMemory<T> memory;
            each_norm_request(dtype, [&](ChannelNormRequest r) {
                r.device = cpu;
                const ChannelNormPlan plan = make_channel_norm_plan(r);
                throw_if_error(plan.status());
                const R request = in_c(r);
                detreduce_channel_norm_plan c_plan;
                expect_ok(detreduce_make_channel_norm_plan(&request, &c_plan));
                REQUIRE(detreduce_channel_norm_plan_statistics(&c_plan) == plan.statistics());
                REQUIRE(detreduce_channel_norm_plan_workspace_bytes(&c_plan) == plan.workspace_bytes());
                REQUIRE(detreduce_channel_norm_plan_gradient_workspace_bytes(&c_plan) ==
                        plan.gradient_workspace_bytes());
                auto workspace = blank(std::max(plan.workspace_bytes(), plan.gradient_workspace_bytes()));
                auto expected = memory.image, out = memory.image;
                detreduce_channel_norm_arrays c = in_c(memory.arrays(r, out.data(), false));
                throw_if_error(run(plan, memory.arrays(r, expected.data(), false), workspace.data()));
                expect_ok(detreduce_run_channel_norm(&c_plan, &c, workspace.data(), nullptr));
                REQUIRE(out == expected);
                REQUIRE(out != memory.image);
                c = in_c(memory.arrays(r, out.data(), true));
                throw_if_error(run_gradient(plan, memory.arrays(r, expected.data(), true), workspace.data()));
                expect_ok(detreduce_run_channel_norm_gradient(&c_plan, &c, workspace.data(), nullptr));
                REQUIRE(out == expected);
                c.x = nullptr;
                expect(detreduce_run_channel_norm_gradient(&c_plan, &c, workspace.data(), nullptr), invalid, "x");
                c.struct_size = 8;
                expect(detreduce_run_channel_norm(&c_plan, &c, workspace.data(), nullptr), invalid, "arrays");
                expect(detreduce_run_channel_norm(&c_plan, nullptr, workspace.data(), nullptr), invalid, "arrays");
            });
        });
    }
    detreduce_channel_norm_plan none{};
    expect(detreduce_channel_norm_plan_status(&none), invalid, "plan");
    REQUIRE(detreduce_channel_norm_plan_statistics(&none) == 0);
    expect(detreduce_make_channel_norm_plan(nullptr, &none), invalid, "request");
    REQUIRE(detreduce_parse_channel_norm(nullptr) == DETREDUCE_UNKNOWN);
}

TEST_CASE("C: distillation has the bits and the errors of C++", "[c][distillation]") {
    using R = detreduce_distillation_request;
    sets_defaults<R>(detreduce_distillation_request_init, DETREDUCE_DISTILLATION_REQUEST_INIT);
    const auto made = [](const auto& change) {
        R r = DETREDUCE_DISTILLATION_REQUEST_INIT;
        r.device.backend = DETREDUCE_BACKEND_CPU, r.n = 10;
        change(r);
        detreduce_distillation_plan plan;
        return detreduce_make_distillation_plan(&r, &plan);
    };
    expect_ok(made([](R&) {}));
    refuses_what_is_not_initialised<R>(made, std::size(R{}.reserved));
    expect(made([](R& r) { r.temperature = 0; }), invalid, "temperature");
    expect(made([](R& r) { r.reduction = DETREDUCE_REDUCTION_NONE; }), invalid, "reduction");
    expect(made([](R& r) { r.method = DETREDUCE_METHOD_ATOMIC; }), unsupported, "method");
    for (const DType dtype : {DType::bf16, DType::f64}) {
        with_dtype_from_16_bits(dtype, [&]<class T>(T) {
            const auto data = loss_data<T>(Loss::mse, 5 * 40, 7);
            each_distillation_request(dtype, [&](DistillationRequest r) {
                r.device = cpu;
                const DistillationPlan plan = make_distillation_plan(r);
                throw_if_error(plan.status());
                const R request = in_c(r);
                detreduce_distillation_plan c_plan;
                expect_ok(detreduce_make_distillation_plan(&request, &c_plan));
                REQUIRE(detreduce_distillation_plan_workspace_bytes(&c_plan) == plan.workspace_bytes());
                auto expected = blank(200 * 8), out = expected, workspace = blank(plan.workspace_bytes());
                const void *const x = data.x.data(), *const y = data.target.data(), *const g = data.weight.data();
                throw_if_error(run(plan, x, y, expected.data(), workspace.data()));
                expect_ok(detreduce_run_distillation(&c_plan, x, y, out.data(), workspace.data(), nullptr));
                REQUIRE(out == expected);
                throw_if_error(run_gradient(plan, x, y, g, expected.data(), workspace.data()));
                expect_ok(detreduce_run_distillation_gradient(&c_plan, x, y, g, out.data(), workspace.data(), nullptr));
                REQUIRE(out == expected);
                expect(detreduce_run_distillation(&c_plan, nullptr, y, out.data(), workspace.data(), nullptr), invalid,
                       "x");
            });
        });
    }
    detreduce_distillation_plan none{};
    expect(detreduce_distillation_plan_status(&none), invalid, "plan");
    expect(detreduce_make_distillation_plan(nullptr, &none), invalid, "request");
}

TEST_CASE("C: clip_grad_norm has the bits and the errors of C++", "[c][clip]") {
    const auto data = loss_data<float>(Loss::mse, 300, 3);
    const auto narrow = loss_data<bfloat16>(Loss::mse, 50, 4);
    for (const DType norm : {DType::f64, DType::f32}) {
        for (const double max_norm : {1e9, 2.0, 0.0}) {
            for (const double epsilon : {1e-6, 0.5}) {
                struct Gradients {
                    std::vector<float> x;
                    std::vector<bfloat16> y;
                    std::uint64_t norm = 0;
                };
                Gradients expected{data.x, narrow.x}, got = expected;
                const ClipRequest r{
                    .n = 350, .tensors = 2, .max_norm = max_norm, .epsilon = epsilon, .norm = norm, .device = cpu};
                const Tensor list[] = {{expected.x.data(), 300, DType::f32}, {expected.y.data(), 50, DType::bf16}};
                const detreduce_tensor list_in_c[] = {{got.x.data(), 300, DETREDUCE_DTYPE_F32, {}},
                                                      {got.y.data(), 50, DETREDUCE_DTYPE_BF16, {}}};
                const ClipPlan plan = throwing::make_clip_plan(r);
                throwing::run(plan, list, &expected.norm);
                const detreduce_clip_request request = in_c(r);
                detreduce_clip_plan c_plan;
                expect_ok(detreduce_make_clip_plan(&request, &c_plan));
                REQUIRE(detreduce_clip_plan_workspace_bytes(&c_plan) == plan.workspace_bytes());
                expect_ok(detreduce_run_clip(&c_plan, list_in_c, &got.norm, nullptr, nullptr));
                REQUIRE(got.norm == expected.norm);
                REQUIRE(std::memcmp(got.x.data(), expected.x.data(), 300 * sizeof(float)) == 0);
                REQUIRE(std::memcmp(got.y.data(), expected.y.data(), 50 * sizeof(bfloat16)) == 0);
                REQUIRE((max_norm > 100) == (std::memcmp(got.x.data(), data.x.data(), 300 * sizeof(float)) == 0));
            }
        }
    }
}

TEST_CASE("C: an empty reduction is the mean", "[c][losses][rows]") {
    const float x[] = {1, 2, 6}, t[] = {1, 4, 2};
    float out = 77;
    detreduce_loss_request loss = DETREDUCE_LOSS_REQUEST_INIT;
    loss.device.backend = DETREDUCE_BACKEND_CPU, loss.n = 3;
    detreduce_loss_plan plan;
    expect_ok(detreduce_make_loss_plan(&loss, &plan));
    detreduce_loss_inputs inputs = DETREDUCE_LOSS_INPUTS_INIT;
    inputs.x = x, inputs.target = t;
    expect_ok(detreduce_run_loss(&plan, &inputs, &out, nullptr, nullptr));
    REQUIRE(out == 20.0f / 3);
    const std::vector<float> logits{1, 2, 3, 4, 5, 6};
    const std::vector<std::int64_t> targets{2, 0};
    REQUIRE(cross_entropy_in_c(logits.data(), 2, 3, targets.data(), &out).code == DETREDUCE_OK);
    REQUIRE(same_bits(out, cross_entropy(logits, 2, targets)));
}

TEST_CASE("C: words of losses and row ops have the names and values of C++", "[c]") {
    for (const LossInfo& info : losses) {
        REQUIRE(detreduce_loss_name(static_cast<detreduce_loss>(info.loss)) == info.name);
        REQUIRE(detreduce_parse_loss(info.name.data()) == static_cast<detreduce_loss>(info.loss));
    }
    for (auto op = RowOp::logsumexp; name(op) != "?"; op = static_cast<RowOp>(static_cast<int>(op) + 1)) {
        REQUIRE(detreduce_row_op_name(static_cast<detreduce_row_op>(op)) == name(op));
        REQUIRE(detreduce_parse_row_op(name(op).data()) == static_cast<detreduce_row_op>(op));
    }
    for (const std::int32_t bad : no_words) {
        REQUIRE(detreduce_loss_name(bad) == std::string_view("?"));
        REQUIRE(detreduce_row_op_name(bad) == std::string_view("?"));
        REQUIRE(detreduce_reduction_name(bad) == std::string_view("?"));
    }
    REQUIRE(detreduce_reduction_name(DETREDUCE_REDUCTION_DEFAULT) == std::string_view("?"));
    for (const char* text : {"", "?", "MSE", "mses", static_cast<const char*>(nullptr)}) {
        REQUIRE(detreduce_parse_loss(text) == DETREDUCE_UNKNOWN);
        REQUIRE(detreduce_parse_row_op(text) == DETREDUCE_UNKNOWN);
        REQUIRE(detreduce_parse_reduction(text) == DETREDUCE_UNKNOWN);
    }
    REQUIRE(detreduce_loss_spec_version() == spec_version_of(Loss::mse));
    REQUIRE(detreduce_row_spec_version() == spec_version_of(RowOp::softmax));
}

TEST_CASE("C: what is wrong with a loss is said by name", "[c][losses]") {
    using R = detreduce_loss_request;
    sets_defaults<R>(detreduce_loss_request_init, DETREDUCE_LOSS_REQUEST_INIT);
    expect_ok(loss_with([](R&) {}));
    refuses_what_is_not_initialised<R>([](const auto& change) { return loss_with(change); }, std::size(R{}.reserved));
    for (const std::int32_t bad : no_words) {
        expect(loss_with([&](R& r) { r.loss = bad; }), invalid, "loss");
        expect(loss_with([&](R& r) { r.with_respect_to = bad; }), invalid, "with_respect_to");
        expect(loss_with([&](R& r) { r.reduction = bad; }), invalid, "reduction");
        expect(loss_with([&](R& r) { r.method = bad; }), invalid, "method");
        expect(loss_with([&](R& r) { r.dtype = bad; }), invalid, "dtype");
        expect(loss_with([&](R& r) { r.output = bad; }), invalid, "output");
    }
    expect(loss_with([](R& r) { r.state = 2; }), invalid, "state");
    expect(loss_with([](R& r) { r.batch = max_n + 1; }), invalid, "batch");
    expect(loss_with([](R& r) { r.batch = 1, r.reduction = DETREDUCE_REDUCTION_SUM; }), invalid, "batch");
    expect(loss_with([](R& r) { r.with_respect_to = DETREDUCE_LOSS_ARGUMENT_WEIGHT; }), invalid, "with_respect_to");
    expect_ok(loss_with([](R& r) { r.with_respect_to = DETREDUCE_LOSS_ARGUMENT_WEIGHT, r.weighted = 1; }));
    expect(loss_with([](R& r) { r.dtype = DETREDUCE_DTYPE_OF_INPUT; }), invalid, "dtype");
    expect(loss_with([](R& r) { r.dtype = DETREDUCE_DTYPE_F8E4M3; }), unsupported, "dtype");
    expect(loss_with([](R& r) { r.method = DETREDUCE_METHOD_ATOMIC; }), unsupported, "method");
    expect(loss_with([](R& r) { r.n = 0; }), invalid, "n");
    expect_ok(loss_with([](R& r) { r.n = 0, r.reduction = DETREDUCE_REDUCTION_SUM; }));
    expect(loss_with([](R& r) { r.loss = DETREDUCE_LOSS_HUBER, r.parameter = 0; }), invalid, "parameter");
    for (const std::uint32_t weighted : {2u, 256u, ~0u})
        expect(loss_with([&](R& r) { r.weighted = weighted; }), invalid, "weighted");

    R request = DETREDUCE_LOSS_REQUEST_INIT;
    request.device.backend = DETREDUCE_BACKEND_CPU, request.n = 2;
    detreduce_loss_plan plan;
    expect(detreduce_make_loss_plan(nullptr, &plan), invalid, "request");
    expect(detreduce_loss_plan_status(&plan), invalid, "plan");
    expect(detreduce_make_loss_plan(&request, nullptr), invalid, "plan");
    expect(detreduce_loss_plan_status(nullptr), invalid, "plan");
    REQUIRE(detreduce_loss_plan_results(&plan) + detreduce_loss_plan_workspace_bytes(nullptr) == 0);
    alignas(8) const float x[4] = {1, 2, 3, 4};
    const auto* const askew = reinterpret_cast<const char*>(x) + 1;
    float out = 77;
    detreduce_loss_inputs in = DETREDUCE_LOSS_INPUTS_INIT;
    in.x = x, in.target = x + 2;
    const auto run = [&](void* to) { return detreduce_run_loss(&plan, &in, to, nullptr, nullptr); };
    const auto slope = [&](const void* upstream, void* to) {
        return detreduce_run_loss_gradient(&plan, &in, upstream, to, nullptr, nullptr);
    };
    expect(run(&out), invalid, "plan");
    REQUIRE(run(&out).allowed == std::string_view("must come from detreduce_make_loss_plan()"));
    expect(slope(nullptr, &out), invalid, "plan");
    expect_ok(detreduce_make_loss_plan(&request, &plan));
    expect(detreduce_run_loss(&plan, nullptr, &out, nullptr, nullptr), invalid, "inputs");
    expect(detreduce_run_loss_gradient(&plan, nullptr, nullptr, &out, nullptr, nullptr), invalid, "inputs");
    expect(run(nullptr), invalid, "out");
    expect(slope(nullptr, nullptr), invalid, "dx");
    expect(slope(askew, &out), invalid, "upstream");
    const detreduce_status of_cpu = detreduce_run_loss_async(&plan, &in, &out, nullptr);
    REQUIRE(of_cpu.code == (cuda::built_with_cuda() ? invalid : detreduce_status_code{DETREDUCE_NO_DEVICE}));
    const auto with = [&](const auto& change, const char* argument) {
        const auto before = in;
        change();
        expect(run(&out), invalid, argument);
        expect(slope(nullptr, &out), invalid, argument);
        in = before;
    };
    with([&] { in.x = nullptr; }, "x");
    with([&] { in.x = askew; }, "x");
    with([&] { in.target = nullptr; }, "target");
    with([&] { in.weight = x; }, "weight");
    with([&] { in.struct_size = 0; }, "inputs");
    with([&] { in.struct_size += 8; }, "inputs");
    for (const void*& reserved : in.reserved)
        with([&] { reserved = x; }, "inputs");
    REQUIRE(out == 77);
    expect_ok(run(&out));
    REQUIRE(out == 4);

    // What has a value for each element may be written over it, but not beside it.
    float a[] = {5, 7, 9}, t[] = {1, 2, 3}, upstream[] = {2, 3, 4};
    in.x = a, in.target = t;
    expect(run(a + 1), invalid, "out");
    expect(slope(nullptr, a + 1), invalid, "dx");
    expect(slope(nullptr, t + 1), invalid, "dx");
    expect(slope(upstream, upstream), invalid, "dx"); // one number for all
    expect_ok(slope(upstream, a));
    REQUIRE((a[0] == 8 && a[1] == 10));
    request.reduction = DETREDUCE_REDUCTION_NONE;
    expect_ok(detreduce_make_loss_plan(&request, &plan));
    expect(slope(upstream, upstream + 1), invalid, "dx");
    expect_ok(slope(upstream, upstream));
    REQUIRE((upstream[0] == 28 && upstream[1] == 48));
    expect(run(t + 1), invalid, "out");
    expect_ok(run(t));
    REQUIRE((t[0] == 49 && t[1] == 64));
    request.output = DETREDUCE_DTYPE_F64;
    expect_ok(detreduce_make_loss_plan(&request, &plan));
    alignas(8) float wide[4] = {1, 2, 3, 4};
    in.x = wide;
    expect(run(wide), invalid, "out"); // whose elements are wider
}

TEST_CASE("C: what is wrong with a row op is said by name", "[c][rows]") {
    using R = detreduce_row_request;
    sets_defaults<R>(detreduce_row_request_init, DETREDUCE_ROW_REQUEST_INIT);
    expect_ok(rows_with([](R&) {}));
    refuses_what_is_not_initialised<R>([](const auto& change) { return rows_with(change); }, std::size(R{}.reserved));
    for (const std::uint32_t parameters : {1u, 2u, 256u, ~0u}) // of softmax not even 1
        expect(rows_with([&](R& r) { r.parameters = parameters; }), invalid, "parameters");
    for (const std::int32_t bad : no_words) {
        expect(rows_with([&](R& r) { r.op = bad; }), invalid, "op");
        expect(rows_with([&](R& r) { r.reduction = bad; }), invalid, "reduction");
        expect(rows_with([&](R& r) { r.method = bad; }), invalid, "method");
        expect(rows_with([&](R& r) { r.dtype = bad; }), invalid, "dtype");
        expect(rows_with([&](R& r) { r.output = bad; }), invalid, "output");
    }
    expect(rows_with([](R& r) { r.dtype = DETREDUCE_DTYPE_F8E5M2; }), unsupported, "dtype");
    expect(rows_with([](R& r) { r.output = DETREDUCE_DTYPE_F64; }), invalid, "output");
    expect(rows_with([](R& r) { r.reduction = DETREDUCE_REDUCTION_MEAN; }), invalid, "reduction");
    expect(rows_with([](R& r) { r.rows = max_groups + 1; }), invalid, "rows");
    expect(rows_with([](R& r) { r.stride = 9; }), invalid, "stride");
    expect(rows_with([](R& r) { r.output_stride = 9; }), invalid, "output_stride");
    expect(rows_with([](R& r) { r.probability_stride = 12; }), invalid, "probability_stride");
    expect(rows_with([](R& r) { r.upstream_stride = 12; }), invalid, "upstream_stride");
    expect(rows_with([](R& r) { r.epsilon = -1; }), invalid, "epsilon");
    expect(rows_with([](R& r) { r.label_smoothing = 0.5; }), invalid, "label_smoothing");
    expect(rows_with([](R& r) { r.z_loss = 0.5; }), invalid, "z_loss");
    expect_ok(rows_with([](R& r) { r.n = 0; }));
    const auto entropy = [](R& r) { r.op = DETREDUCE_ROW_OP_CROSS_ENTROPY; };
    expect(rows_with([&](R& r) { entropy(r), r.n = 0; }), invalid, "n");
    expect(rows_with([&](R& r) { entropy(r), r.rows = 0; }), invalid, "rows");
    expect(rows_with([&](R& r) { entropy(r), r.label_smoothing = 2; }), invalid, "label_smoothing");

    detreduce_row_plan plan;
    R request = DETREDUCE_ROW_REQUEST_INIT;
    request.device.backend = DETREDUCE_BACKEND_CPU, request.n = 2, request.rows = 2;
    request.op = DETREDUCE_ROW_OP_CROSS_ENTROPY;
    expect(detreduce_make_row_plan(nullptr, &plan), invalid, "request");
    expect(detreduce_row_plan_status(&plan), invalid, "plan");
    expect(detreduce_make_row_plan(&request, nullptr), invalid, "plan");
    expect(detreduce_row_plan_status(nullptr), invalid, "plan");
    REQUIRE(detreduce_row_plan_results(&plan) + detreduce_row_plan_workspace_bytes(nullptr) == 0);
    alignas(8) float x[4] = {1, 2, 3, 4};
    auto* const askew = reinterpret_cast<char*>(x) + 1;
    std::int64_t targets[] = {0, 1};
    float out = 77;
    detreduce_row_arrays a = DETREDUCE_ROW_ARRAYS_INIT;
    a.x = x, a.targets = targets, a.out = &out;
    std::vector<std::uint64_t> workspace;
    const auto run = [&] { return detreduce_run_rows(&plan, &a, workspace.data(), nullptr); };
    expect(run(), invalid, "plan");
    REQUIRE(run().allowed == std::string_view("must come from detreduce_make_row_plan()"));
    expect_ok(detreduce_make_row_plan(&request, &plan));
    expect(detreduce_run_rows(&plan, nullptr, nullptr, nullptr), invalid, "arrays");
    expect(detreduce_run_rows(&plan, &a, nullptr, nullptr), invalid, "workspace");
    workspace.resize(detreduce_row_plan_workspace_bytes(&plan) / 8 + 1);
    const detreduce_status of_cpu = detreduce_run_rows_async(&plan, &a, nullptr);
    REQUIRE(of_cpu.code == (cuda::built_with_cuda() ? invalid : detreduce_status_code{DETREDUCE_NO_DEVICE}));
    const auto with = [&](const auto& change, const char* argument, std::uint64_t index = DETREDUCE_NO_ELEMENT) {
        const auto before = a;
        change();
        expect(run(), invalid, argument);
        REQUIRE(run().index == index);
        a = before;
    };
    with([&] { a.x = nullptr; }, "x");
    with([&] { a.x = askew; }, "x");
    with([&] { a.out = nullptr; }, "out");
    with([&] { a.out = askew; }, "out");
    with([&] { a.targets = nullptr; }, "targets");
    with([&] { a.probabilities = x; }, "targets"); // both
    with([&] { a.weights = askew; }, "weights");
    with([&] { a.scale = x; }, "scale");
    with([&] { a.shift = x; }, "shift");
    with([&] { a.mean = x; }, "mean");
    with([&] { a.rstd = x; }, "rstd");
    with([&] { a.row_weights = x; }, "row_weights"); // with a reduction there are none
    with([&] { a.factor = x; }, "factor");
    with([&] { a.upstream = x; }, "upstream");
    with([&] { a.scale_gradient = x; }, "scale_gradient");
    with([&] { a.shift_gradient = x; }, "shift_gradient");
    with([&] { a.struct_size = 0; }, "arrays");
    with([&] { a.struct_size += 8; }, "arrays");
    for (const void*& reserved : a.reserved)
        with([&] { reserved = x; }, "arrays");
    targets[1] = 2;
    with([] {}, "targets", 1);
    targets[1] = -1;
    with([] {}, "targets", 1);
    targets[1] = 1;
    REQUIRE(out == 77);
    expect_ok(run());
    REQUIRE(out > 0);

    // A gradient may be written over what it is made of, but not beside it.
    request.op = DETREDUCE_ROW_OP_SOFTMAX_GRADIENT, request.n = 1, request.reduction = DETREDUCE_REDUCTION_DEFAULT;
    expect_ok(detreduce_make_row_plan(&request, &plan));
    float d[2] = {3, 4};
    a = DETREDUCE_ROW_ARRAYS_INIT;
    a.x = x, a.upstream = d, a.out = d + 1;
    with([] {}, "out");
    with([&] { a.out = x + 1; }, "out");
    a.out = d;
    expect_ok(run());
    REQUIRE((d[0] == 0 && d[1] == -8)); // y·(d − d·y)
}

TEST_CASE("C: what is wrong with clip_grad_norm is said by name", "[c][clip]") {
    using R = detreduce_clip_request;
    sets_defaults<R>(detreduce_clip_request_init, DETREDUCE_CLIP_REQUEST_INIT);
    expect_ok(clip_with([](R&) {}));
    refuses_what_is_not_initialised<R>([](const auto& change) { return clip_with(change); }, std::size(R{}.reserved));
    expect(clip_with([](R& r) { r.reserved_word = 1; }), invalid, "reserved_word");
    for (const std::int32_t bad : no_words)
        expect(clip_with([&](R& r) { r.norm = bad; }), invalid, "norm");
    expect(clip_with([](R& r) { r.norm = DETREDUCE_DTYPE_BF16; }), invalid, "norm");
    expect(clip_with([](R& r) { r.max_norm = -1; }), invalid, "max_norm");
    expect(clip_with([](R& r) { r.epsilon = -1; }), invalid, "epsilon");
    expect(clip_with([](R& r) { r.tensors = std::uint64_t{1} << 32; }), invalid, "tensors");

    detreduce_clip_plan plan;
    R request = DETREDUCE_CLIP_REQUEST_INIT;
    request.device.backend = DETREDUCE_BACKEND_CPU, request.n = 3, request.tensors = 2;
    expect(detreduce_make_clip_plan(nullptr, &plan), invalid, "request");
    expect(detreduce_clip_plan_status(&plan), invalid, "plan");
    expect(detreduce_make_clip_plan(&request, nullptr), invalid, "plan");
    expect(detreduce_clip_plan_status(nullptr), invalid, "plan");
    float x[] = {3, 4, 0};
    double norm = 77;
    detreduce_tensor list[] = {{x, 1, DETREDUCE_DTYPE_F32, {}}, {x + 1, 2, DETREDUCE_DTYPE_F32, {}}};
    const auto run = [&] { return detreduce_run_clip(&plan, list, &norm, nullptr, nullptr); };
    expect(run(), invalid, "plan");
    REQUIRE(run().allowed == std::string_view("must come from detreduce_make_clip_plan()"));
    expect_ok(detreduce_make_clip_plan(&request, &plan));
    expect(detreduce_run_clip(&plan, nullptr, &norm, nullptr, nullptr), invalid, "list");
    expect(detreduce_run_clip(&plan, list, nullptr, nullptr, nullptr), invalid, "norm_out");
    const auto with = [&](const auto& change, detreduce_status_code code) {
        const detreduce_tensor before = list[1];
        change(list[1]);
        expect(run(), code, "list");
        REQUIRE(run().index == 1);
        list[1] = before;
    };
    with([](detreduce_tensor& t) { t.data = nullptr; }, invalid);
    with([](detreduce_tensor& t) { t.dtype = 255; }, invalid);
    with([](detreduce_tensor& t) { t.dtype = DETREDUCE_DTYPE_F8E4M3; }, unsupported);
    for (int i = 0; i < 7; ++i)
        with([i](detreduce_tensor& t) { t.reserved[i] = 1; }, invalid);
    list[1].n = 1;
    expect(run(), invalid, "list"); // not n in all
    list[1].n = 2;
    REQUIRE(norm == 77);
    expect_ok(run());
    REQUIRE(norm == 5);
    REQUIRE(x[0] < 0.6001f);
    alignas(8) float y[] = {3, 4, 0};
    list[0].data = y, list[1].data = y + 1;
    expect(detreduce_run_clip(&plan, list, y, nullptr, nullptr), invalid, "norm_out");
    REQUIRE(y[0] == 3);
}

} // namespace detreduce::proptests
