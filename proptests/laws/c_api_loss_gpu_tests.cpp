// The C header losses.h on the GPU: the bits of the CPU.
#include <algorithm>
#include <vector>

#include "laws/c_api_losses.hpp"
#include "laws/c_api_support.hpp"
#include "laws/device_memory.hpp"

namespace detreduce::proptests {
namespace {

constexpr DType some_dtypes[] = {DType::bf16, DType::f32, DType::f64};

/// Bytes on a device that say what was not written.
struct DeviceBytes {
    std::size_t n;
    DeviceBuffer memory{n};
    explicit DeviceBytes(std::size_t bytes) : n(bytes) { memory.fill(0xa5, n); }
    [[nodiscard]] std::vector<char> fetched() const {
        std::vector<char> bytes(n);
        CUDA_CHECK(cudaDeviceSynchronize());
        CUDA_CHECK(cudaMemcpy(bytes.data(), memory.data(), n, cudaMemcpyDeviceToHost));
        REQUIRE(memory.guards_intact());
        return bytes;
    }
};

} // namespace

TEST_CASE("C on the GPU: losses have the bits of the CPU", "[gpu][c][losses]") {
    constexpr std::uint64_t n = 301;
    for (const DType dtype : some_dtypes) {
        with_dtype_from_16_bits(dtype, [&]<class T>(T) {
            each_loss_request(dtype, n, [&](LossRequest r) {
                const detreduce_loss_request request = in_c(r);
                r.device = cpu;
                const LossPlan plan = make_loss_plan(r);
                if (!plan.status().ok()) return;
                const auto data = loss_data<T>(r.loss, n, 7);
                const DeviceArray<T> x(data.x, 0), target(data.target, 1), weight(data.weight, 0);
                const LossInputs in{data.x.data(), data.target.data(), r.weighted ? data.weight.data() : nullptr};
                const detreduce_loss_inputs inputs =
                    in_c(LossInputs{x.data(), target.data(), r.weighted ? weight.data() : nullptr});
                std::vector<char> expected(n * 8, '\xa5');
                throw_if_error(run(plan, in, expected.data()));
                INFO(name(r.loss) << ' ' << name(*r.reduction) << ' ' << name(r.method) << ' ' << name(dtype));
                detreduce_loss_plan c_plan;
                expect_ok(detreduce_make_loss_plan(&request, &c_plan));
                const DeviceBuffer workspace(detreduce_loss_plan_workspace_bytes(&c_plan));
                const DeviceBuffer room(detreduce_loss_plan_gradient_workspace_bytes(&c_plan));
                const DeviceBytes out(n * 8), again(n * 8), dx(n * 8), other_dx(n * 8);
                expect_ok(detreduce_run_loss(&c_plan, &inputs, out.memory.data(), workspace.data(), nullptr));
                REQUIRE(out.fetched() == expected);
                expect_ok(detreduce_run_loss_async(&c_plan, &inputs, again.memory.data(), nullptr));
                REQUIRE(again.fetched() == expected);
                expected.assign(n * 8, '\xa5');
                throw_if_error(run_gradient(plan, in, nullptr, expected.data()));
                expect_ok(
                    detreduce_run_loss_gradient(&c_plan, &inputs, nullptr, dx.memory.data(), room.data(), nullptr));
                REQUIRE(dx.fetched() == expected);
                expect_ok(
                    detreduce_run_loss_gradient_async(&c_plan, &inputs, nullptr, other_dx.memory.data(), nullptr));
                REQUIRE(other_dx.fetched() == expected);
            });
        });
    }
}

TEST_CASE("C on the GPU: row ops have the bits of the CPU", "[gpu][c][rows]") {
    for (const DType dtype : some_dtypes) {
        with_dtype_from_16_bits(dtype, [&]<class T>(T) {
            RowMemory<T> memory;
            const DeviceArray<T> x(memory.x, 0), upstream(memory.upstream, 0), scale(memory.scale, 0),
                shift(memory.shift, 0), weights(memory.weights, 0), probabilities(memory.probabilities, 0);
            const DeviceArray<std::int64_t> targets(memory.targets, 0);
            const DeviceArray<fp::Arithmetic<T>> factor(memory.factor, 0), mean(memory.mean, 0), rstd(memory.rstd, 0),
                exp_sums(memory.exp_sums, 0);
            each_row_request(dtype, [&](RowRequest r) {
                const detreduce_row_request request = in_c(r);
                r.device = cpu;
                const RowPlan plan = make_row_plan(r);
                throw_if_error(plan.status());
                detreduce_row_plan c_plan;
                INFO(name(r.op) << ' ' << name(*r.reduction) << ' ' << name(r.method) << ' ' << name(dtype));
                const detreduce_status made = detreduce_make_row_plan(&request, &c_plan);
                if (made.code == DETREDUCE_UNSUPPORTED) return; // not on a GPU
                expect_ok(made);
                const DeviceBuffer workspace(detreduce_row_plan_workspace_bytes(&c_plan));
                for (const bool soft : {false, true}) {
                    std::vector<double> host_workspace(plan.workspace_bytes() / 8 + 1);
                    std::vector<char> expected(RowRoom::bytes, '\xa5');
                    RowArrays a = memory.arrays(r, soft);
                    RowRoom{expected.data()}.put_into(r, a);
                    throw_if_error(run(plan, a, host_workspace.data()));
                    const auto moved = [](auto*& host, const auto& hosts, auto* device) {
                        if (host == hosts.data()) host = device;
                    };
                    moved(a.x, memory.x, x.data()), moved(a.upstream, memory.upstream, upstream.data());
                    moved(a.upstream, memory.factor, factor.data()), moved(a.factor, memory.factor, factor.data());
                    moved(a.scale, memory.scale, scale.data()), moved(a.shift, memory.shift, shift.data());
                    moved(a.weights, memory.weights, weights.data());
                    moved(a.probabilities, memory.probabilities, probabilities.data());
                    moved(a.mean, memory.mean, mean.data()), moved(a.rstd, memory.rstd, rstd.data());
                    moved(a.exp_sums, memory.exp_sums, exp_sums.data());
                    if (a.targets != nullptr) a.targets = targets.data();
                    const DeviceBytes out(RowRoom::bytes), again(RowRoom::bytes);
                    RowRoom{out.memory.data()}.put_into(r, a);
                    const detreduce_row_arrays arrays = in_c(a);
                    expect_ok(detreduce_run_rows(&c_plan, &arrays, workspace.data(), nullptr));
                    REQUIRE(out.fetched() == expected);
                    RowRoom{again.memory.data()}.put_into(r, a);
                    const detreduce_row_arrays others = in_c(a);
                    expect_ok(detreduce_run_rows_async(&c_plan, &others, nullptr));
                    REQUIRE(again.fetched() == expected);
                }
            });
        });
    }
}

TEST_CASE("C on the GPU: norms of channels have the bits of the CPU", "[gpu][c][norms]") {
    for (const DType dtype : some_dtypes) {
        with_dtype_from_16_bits(dtype, [&]<class T>(T) {
            const NormMemory<T> memory;
            const DeviceArray<T> x(memory.x, 0), upstream(memory.upstream, 0);
            const DeviceArray<fp::Arithmetic<T>> scale(memory.scale, 0), shift(memory.shift, 0);
            each_norm_request(dtype, [&](ChannelNormRequest r) {
                const detreduce_channel_norm_request request = in_c(r);
                r.device = cpu;
                const ChannelNormPlan plan = make_channel_norm_plan(r);
                throw_if_error(plan.status());
                INFO(name(r.norm) << ' ' << name(r.method) << ' ' << name(dtype) << (r.given ? " given" : ""));
                detreduce_channel_norm_plan c_plan;
                expect_ok(detreduce_make_channel_norm_plan(&request, &c_plan));
                REQUIRE(detreduce_channel_norm_plan_statistics(&c_plan) == plan.statistics());
                const DeviceBuffer workspace(detreduce_channel_norm_plan_workspace_bytes(&c_plan)),
                    room_of_gradient(detreduce_channel_norm_plan_gradient_workspace_bytes(&c_plan));
                std::vector<double> host_workspace(
                    std::max(plan.workspace_bytes(), plan.gradient_workspace_bytes()) / 8 + 1);
                auto expected = memory.image;
                const DeviceArray<char> out(memory.image, 0);
                const auto arrays = [&](bool gradient) {
                    ChannelNormArrays a = memory.arrays(r, out.data(), gradient);
                    a.x = x.data(), a.scale = scale.data();
                    if (a.upstream != nullptr) a.upstream = upstream.data();
                    if (a.shift != nullptr) a.shift = shift.data();
                    return in_c(a);
                };
                throw_if_error(run(plan, memory.arrays(r, expected.data(), false), host_workspace.data()));
                const detreduce_channel_norm_arrays forward = arrays(false), backward = arrays(true);
                expect_ok(detreduce_run_channel_norm(&c_plan, &forward, workspace.data(), nullptr));
                REQUIRE(out.fetched() == expected);
                throw_if_error(run_gradient(plan, memory.arrays(r, expected.data(), true), host_workspace.data()));
                expect_ok(detreduce_run_channel_norm_gradient(&c_plan, &backward, room_of_gradient.data(), nullptr));
                REQUIRE(out.fetched() == expected);
            });
        });
    }
}

TEST_CASE("C on the GPU: distillation has the bits of the CPU", "[gpu][c][distillation]") {
    constexpr std::size_t bytes = 5 * 40 * 8;
    for (const DType dtype : some_dtypes) {
        with_dtype_from_16_bits(dtype, [&]<class T>(T) {
            const auto data = loss_data<T>(Loss::mse, 5 * 40, 7);
            const DeviceArray<T> x(data.x, 0), y(data.target, 0), upstream(data.weight, 0);
            each_distillation_request(dtype, [&](DistillationRequest r) {
                const detreduce_distillation_request request = in_c(r);
                r.device = cpu;
                const DistillationPlan plan = make_distillation_plan(r);
                throw_if_error(plan.status());
                INFO(name(*r.reduction) << ' ' << name(r.method) << ' ' << name(dtype) << " to "
                                        << name(plan.output()));
                detreduce_distillation_plan c_plan;
                expect_ok(detreduce_make_distillation_plan(&request, &c_plan));
                const DeviceBuffer workspace(detreduce_distillation_plan_workspace_bytes(&c_plan));
                std::vector<double> host_workspace(plan.workspace_bytes() / 8 + 1);
                std::vector<char> expected(bytes, '\xa5');
                const DeviceBytes out(bytes), dx(bytes);
                throw_if_error(run(plan, data.x.data(), data.target.data(), expected.data(), host_workspace.data()));
                expect_ok(detreduce_run_distillation(&c_plan, x.data(), y.data(), out.memory.data(), workspace.data(),
                                                     nullptr));
                REQUIRE(out.fetched() == expected);
                expected.assign(bytes, '\xa5');
                throw_if_error(run_gradient(plan, data.x.data(), data.target.data(), data.weight.data(),
                                            expected.data(), host_workspace.data()));
                expect_ok(detreduce_run_distillation_gradient(&c_plan, x.data(), y.data(), upstream.data(),
                                                              dx.memory.data(), workspace.data(), nullptr));
                REQUIRE(dx.fetched() == expected);
            });
        });
    }
}

TEST_CASE("C on the GPU: clip_grad_norm has the bits of the CPU", "[gpu][c][clip]") {
    const auto data = loss_data<float>(Loss::mse, 3000, 3);
    for (const double max_norm : {1e9, 2.0}) {
        auto expected = data.x;
        const Tensor list[] = {{expected.data(), expected.size(), DType::f32}};
        ClipRequest r{.n = expected.size(), .tensors = 1, .max_norm = max_norm};
        const detreduce_clip_request request = in_c(r);
        r.device = cpu;
        double norm = 0;
        throwing::run(throwing::make_clip_plan(r), list, &norm);
        const DeviceArray<float> x(data.x, 0);
        const detreduce_tensor list_in_c[] = {{x.data(), data.x.size(), DETREDUCE_DTYPE_F32, {}}};
        detreduce_clip_plan c_plan;
        expect_ok(detreduce_make_clip_plan(&request, &c_plan));
        const DeviceBuffer workspace(detreduce_clip_plan_workspace_bytes(&c_plan)), norm_out(sizeof(double));
        expect_ok(detreduce_run_clip(&c_plan, list_in_c, norm_out.data(), workspace.data(), nullptr));
        REQUIRE(x.fetched() == expected);
        REQUIRE(same_bits(download<double>(norm_out.data()), norm));
    }
}

} // namespace detreduce::proptests
