// The C header losses.h: losses, row ops, norms and clip_grad_norm have the bits of the C++ API.
#include <cstring>
#include <string_view>
#include <vector>

#include <detreduce/detreduce.hpp>

#include "laws/c_api_in_c.h"
#include "laws/c_api_losses.hpp"
#include "laws/c_api_refusals.hpp"
#include "laws/c_api_support.hpp"

namespace detreduce::proptests {
namespace {

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

} // namespace detreduce::proptests
