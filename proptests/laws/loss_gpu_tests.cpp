// Losses on the GPU.
#include <vector>

#include "laws/device_memory.hpp"
#include "laws/loss_backend.hpp"

namespace detreduce::proptests {
namespace {

struct Gpu {
    static constexpr Device device = current_gpu;
    static constexpr int cases = 30; ///< each with its own memory
    template <class T>
    using Array = DeviceArray<T>;
    static std::vector<Launch> launches(const LossRequest& r) {
        std::vector<Launch> list;
        for (const std::uint32_t grid : {0u, 1u, 2u, 13u, 1000u}) {
            list.push_back({.grid = grid});
            list.push_back({.schedule = Schedule::two_pass, .grid = grid});
            if (r.method == Method::exact && r.reduction != Reduction::none)
                list.push_back({.schedule = Schedule::last_block, .grid = grid, .block = 128});
        }
        return list;
    }
    /// With a workspace of the caller's, and without.
    static void execute(const LossPlan& plan, const LossInputs& in, void* out, void* again) {
        const DeviceBuffer workspace(plan.workspace_bytes());
        workspace.fill(0xff, workspace.bytes());
        throw_if_error(run(plan, in, out, workspace.data()));
        throw_if_error(cuda::run_async(plan, in, again));
        CUDA_CHECK(cudaDeviceSynchronize());
        const std::size_t bytes = plan.results() * size_of(plan.output());
        std::vector<char> one(bytes), other(bytes);
        if (bytes > 0) CUDA_CHECK(cudaMemcpy(one.data(), out, bytes, cudaMemcpyDeviceToHost));
        if (bytes > 0) CUDA_CHECK(cudaMemcpy(other.data(), again, bytes, cudaMemcpyDeviceToHost));
        if (one != other || !workspace.guards_intact())
            throw_if_error({StatusCode::invalid_argument, "test", "other bits, or stray writes"});
    }
    static void execute_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream, void* dx) {
        const DeviceBuffer workspace(plan.gradient_workspace_bytes());
        workspace.fill(0xff, workspace.bytes());
        throw_if_error(run_gradient(plan, in, upstream, dx, workspace.data(), nullptr));
        CUDA_CHECK(cudaDeviceSynchronize());
        if (!workspace.guards_intact()) throw_if_error({StatusCode::invalid_argument, "test", "stray writes"});
    }
};
using LossBackend = LossBackendOn<Gpu>;

} // namespace
} // namespace detreduce::proptests

#include "laws/loss_laws.hpp"

namespace detreduce::proptests {

TEST_CASE("losses on the GPU: long arrays", "[losses][gpu]") {
    for (const Loss loss : all_losses) {
        const std::size_t n = 3'000'017;
        const auto data = loss_data<float>(loss, n, 5);
        LossRequest r{.loss = loss, .reduction = Reduction::none, .parameter = 0.375, .weighted = true};
        const auto terms = terms_in_full(r, data);
        INFO(name(loss));
        REQUIRE(bits_of(LossBackend::run<float>(r, data, 0)) == bits_of(rounded<float>(terms)));
        r.reduction = Reduction::sum;
        for (const Method method : loss_methods) {
            r.method = method;
            REQUIRE(bits_of(LossBackend::run<float>(r, data, 0)) ==
                    bits_of(std::vector<float>{reduced<float, float>(terms, method, Finalize::sum)}));
        }
    }
}

TEST_CASE("losses on the GPU: captured in a graph", "[graph][losses][gpu]") {
    const auto data = loss_data<float>(Loss::bce_with_logits, 200003, 5);
    const auto x = upload(data.x), t = upload(data.target), w = upload(data.weight);
    const LossInputs in{x->data(), t->data(), w->data()};
    const DeviceBuffer out(sizeof(float)), dx(data.x.size() * sizeof(float));
    for (const Method method : loss_methods) {
        LossRequest r{.loss = Loss::bce_with_logits, .method = method, .n = data.x.size(), .weighted = true};
        const LossPlan plan = make_loss_plan(r);
        throw_if_error(plan.status());
        const DeviceBuffer workspace(plan.workspace_bytes());
        const StreamOwner owner;
        // The loss is the upstream value of its own gradient, to see that the one waits for the
        // other.
        const Graph graph(owner.stream, [&](cudaStream_t stream) {
            const Status ran = run(plan, in, out.data(), workspace.data(), stream);
            return ran.ok() ? run_gradient(plan, in, out.data(), dx.data(), stream) : ran;
        });
        const float expected = loss(Loss::bce_with_logits, data.x, data.target, data.weight, {.method = method});
        const auto slopes = loss_gradient(Loss::bce_with_logits, data.x, data.target, data.weight, &expected, {});
        for (int i = 0; i < 3; ++i) {
            out.fill(0xff, sizeof(float));
            graph.launch();
            REQUIRE(fp::to_bits(download<float>(out.data())) == fp::to_bits(expected));
            std::vector<float> got(slopes.size());
            CUDA_CHECK(cudaMemcpy(got.data(), dx.data(), got.size() * sizeof(float), cudaMemcpyDeviceToHost));
            REQUIRE(bits_of(got) == bits_of(slopes));
        }
    }
}

TEST_CASE("losses on the GPU: the typed calls", "[losses][gpu]") {
    const std::vector<double> x{1, 2, 6}, t{1, 4, 2}, w{1, 2, 3};
    const auto d_x = upload(x), d_t = upload(t), d_w = upload(w);
    const auto* const px = reinterpret_cast<const double*>(d_x->data());
    const auto* const pt = reinterpret_cast<const double*>(d_t->data());
    const auto* const pw = reinterpret_cast<const double*>(d_w->data());
    const DeviceBuffer out(8 * sizeof(double));
    auto* const to = reinterpret_cast<double*>(out.data());
    throw_if_error(cuda::loss_async(Loss::mae, px, pt, pw, 3, to, {.reduction = Reduction::sum}));
    throw_if_error(cuda::loss_async(Loss::mse, px, pt, static_cast<const double*>(nullptr), 3, to + 1,
                                    {.reduction = Reduction::sum}));
    throw_if_error(cuda::loss_gradient_async(Loss::mse, px, pt, pw, 3, to + 1, to + 2, {.reduction = Reduction::sum}));
    CUDA_CHECK(cudaDeviceSynchronize());
    REQUIRE(download<double>(to) == 16);
    REQUIRE(download<double>(to + 1) == 20);
    REQUIRE(download<double>(to + 3) == -4.0 * 2 * 20);
    throw_if_error(cuda::loss_async(Loss::mse, px, pt, pw, 3, to + 5));
    throw_if_error(cuda::loss_gradient_async(Loss::mae, px, pt, pw, 3, static_cast<const double*>(nullptr), to + 1));
    CUDA_CHECK(cudaDeviceSynchronize());
    REQUIRE(download<double>(to + 5) == 56.0 / 6);
    REQUIRE(download<double>(to + 2) == -2 * (1.0 / 6));
}

TEST_CASE("losses on the GPU: what is wrong is said by name", "[losses][gpu][status]") {
    const DeviceBuffer memory(4096);
    char* const p = memory.data();
    constexpr auto invalid = StatusCode::invalid_argument;
    LossRequest r{.loss = Loss::huber, .reduction = Reduction::sum, .n = 8, .weighted = true};
    const LossPlan plan = make_loss_plan(r);
    expect(run(plan, {nullptr, p, p}, p, p + 1024), invalid, "x");
    expect(run(plan, {p, p + 2, p}, p, p + 1024), invalid, "target");
    expect(run(plan, {p, p}, p, p + 1024), invalid, "weight");
    expect(run(plan, {p, p, p}, nullptr, p + 1024), invalid, "out");
    expect(run(plan, {p, p, p}, p + 2048, nullptr), invalid, "workspace");
    expect(run(plan, {p, p, p}, p + 2048, p + 1032), invalid, "workspace");
    expect(run(plan, {p, p, p}, p, p + 1024), invalid, "out");
    expect(run_gradient(plan, {p, p, p}, p + 2, p + 1024), invalid, "upstream");
    expect(run_gradient(plan, {p, p, p}, p, nullptr), invalid, "dx");
    r.method = Method::serial;
    expect(make_loss_plan(r).status(), StatusCode::unsupported, "method");
    r.method = Method::tree;
    r.launch.schedule = Schedule::last_block;
    expect(make_loss_plan(r).status(), StatusCode::unsupported, "launch.schedule");
    r.launch = {.block = 128};
    expect(make_loss_plan(r).status(), StatusCode::unsupported, "launch.block");
    r.launch = {};
    r.device = {Backend::cuda, 1000};
    expect(make_loss_plan(r).status(), invalid, "device.index");
    r.device = cpu;
    expect(cuda::run_async(make_loss_plan(r), {p, p, p}, p), invalid, "plan");
    REQUIRE(cudaGetLastError() == cudaSuccess);
}

} // namespace detreduce::proptests
