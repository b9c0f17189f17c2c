// transform_reduce on the GPU.
#include <cstring>

#include "laws/device_memory.hpp"
#include "laws/term_function.hpp"
#include "laws/transform_kernels.hpp"

#define DETREDUCE_TRANSFORM_TYPES float16, float, double

namespace detreduce::proptests {
namespace {

/// A copy in device memory that begins `offset` elements after a boundary.
template <class T>
struct Shifted {
    DeviceBuffer memory;
    const T* data;
    Shifted(std::span<const T> x, unsigned offset)
        : memory((x.size() + offset) * sizeof(T)), data(reinterpret_cast<const T*>(memory.data()) + offset) {
        if (!x.empty()) CUDA_CHECK(cudaMemcpy(const_cast<T*>(data), x.data(), x.size_bytes(), cudaMemcpyHostToDevice));
    }
};

template <class T>
const T* as(const DeviceBuffer& buffer) {
    return reinterpret_cast<const T*>(buffer.data());
}

struct TransformBackend {
    template <class T>
    static std::vector<int> inputs() {
        return {gpu_inputs<T>};
    }
    static std::vector<Launch> launches(Method method) {
        std::vector<Launch> list;
        for (const std::uint32_t grid : {0u, 1u, 2u, 13u, 1000u}) {
            list.push_back({.schedule = Schedule::two_pass, .grid = grid});
            list.push_back({.grid = grid});
            if (method == Method::exact) list.push_back({.schedule = Schedule::last_block, .grid = grid, .block = 128});
        }
        return list;
    }
    /// With a workspace of the caller's, and without.
    template <class Out, class T>
    static Status reduce(const TermFunction<TermOf<T>>& f, std::span<const T> x, std::span<const T> y, Out& out,
                         const TransformOptions& options, unsigned offset) {
        const Shifted<T> d_x(x, offset), d_y(y, offset / 2);
        const DeviceBuffer d_out(sizeof(Out));
        const GpuTransform<T> call{dtype_of<Out>, &f,           d_x.data, y.empty() ? nullptr : d_y.data,
                                   x.size(),      d_out.data(), options};
        std::size_t bytes = 0;
        if (const Status bad = call.workspace(bytes); !bad.ok()) return bad;
        const DeviceBuffer workspace(bytes);
        workspace.fill(0xff, workspace.bytes());
        if (const Status bad = call.run(workspace.data()); !bad.ok()) return bad;
        CUDA_CHECK(cudaDeviceSynchronize());
        out = download<Out>(d_out.data());
        d_out.fill(0xff, sizeof(Out));
        if (const Status bad = call.run_without_workspace(); !bad.ok()) return bad;
        CUDA_CHECK(cudaDeviceSynchronize());
        const Out again = download<Out>(d_out.data());
        const bool same = std::memcmp(&out, &again, sizeof out) == 0;
        if (!same || !workspace.guards_intact() || !d_out.guards_intact())
            return {StatusCode::invalid_argument, "test", "other bits, or a kernel wrote outside its memory"};
        return {};
    }
};

} // namespace
} // namespace detreduce::proptests

#include "laws/transform_laws.hpp"

namespace detreduce::proptests {

TEST_CASE("transform_reduce on the GPU: terms all over the range, and long arrays", "[transform][gpu]") {
    // Tiles of terms that no window holds, among tiles that one does; infinities and NaN among
    // them.
    for (const TermKind kind : {TermKind::scattered, TermKind::reciprocal, TermKind::product}) {
        const TermFunction<double> f{kind, 3, 0};
        std::vector<double> x(1'000'003);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const std::uint64_t word = accuracy::hash(7, i);
            x[i] = i / 4096 % 3 == 0 ? fp::from_bits<double>(word) : static_cast<double>(word >> 40) - 0x1p23;
            if (!fp::is_finite(x[i]) && i % 2 == 0) x[i] = 1;
        }
        for (const Method method : transform_methods) {
            INFO(name(method) << " kind " << static_cast<int>(kind));
            const auto terms = terms_of_function<double>(f, x, {});
            REQUIRE(fp::to_bits(transformed<double>(f, x, {}, {.method = method}, 0)) ==
                    fp::to_bits(of_terms<double, double>(terms, {.method = method})));
        }
    }
}

TEST_CASE("transform_reduce on the GPU: captured in a graph", "[graph][transform][gpu]") {
    const auto x = transform_elements<float>(200003, 1), y = transform_elements<float>(200003, 2);
    const auto d_x = upload(x), d_y = upload(y);
    const DeviceBuffer out(sizeof(float));
    const TermFunction<float> f{TermKind::loss, 1.5f, 0};
    for (const Method method : transform_methods) {
        const StreamOwner owner;
        GpuTransform<float> call{DType::f32, &f,         as<float>(*d_x),   as<float>(*d_y),
                                 x.size(),   out.data(), {.method = method}};
        std::size_t bytes = 0;
        throw_if_error(call.workspace(bytes));
        const DeviceBuffer workspace(bytes);
        const Graph graph(owner.stream, [&](cudaStream_t stream) {
            call.stream = stream;
            return call.run(workspace.data());
        });
        const float expected = transform_reduce(f, x, y, {.method = method});
        for (int i = 0; i < 3; ++i) {
            out.fill(0xff, sizeof(float));
            graph.launch();
            REQUIRE(fp::to_bits(download<float>(out.data())) == fp::to_bits(expected));
        }
    }
}

TEST_CASE("transform_reduce on the GPU: what is wrong is said by name", "[transform][gpu][status]") {
    const TermFunction<double> f{TermKind::first, 0, 0};
    const DeviceBuffer memory(4096);
    const GpuTransform<double> good{DType::f64, &f, as<double>(memory), nullptr, 100, memory.data() + 2048};
    const auto with = [&](const auto& change) {
        GpuTransform<double> call = good;
        change(call);
        const Status status = call.run(memory.data() + 3072);
        const Status same =
            call.n > 0 && status.argument == std::string("workspace") ? status : call.run_without_workspace();
        REQUIRE(std::strcmp(same.argument, status.argument) == 0);
        return status;
    };
    using G = GpuTransform<double>;
    expect(with([](G& g) { g.x = nullptr; }), StatusCode::invalid_argument, "x");
    expect(with([](G& g) { g.out = nullptr; }), StatusCode::invalid_argument, "out");
    expect(with([](G& g) { g.out = static_cast<char*>(g.out) + 4; }), StatusCode::invalid_argument, "out");
    expect(with([](G& g) { g.options.method = Method::serial; }), StatusCode::unsupported, "method");
    expect(with([](G& g) { g.options.finalize = Finalize::root; }), StatusCode::invalid_argument, "finalize");
    expect(with([](G& g) { g.options = {.method = Method::tree, .launch = {.schedule = Schedule::last_block}}; }),
           StatusCode::unsupported, "launch.schedule");
    expect(with([](G& g) { g.options = {.method = Method::tree, .launch = {.block = 128}}; }), StatusCode::unsupported,
           "launch.block");
    const TermFunction<float> product{TermKind::product, 0, 0};
    const GpuTransform<float> two{DType::f32, &product, as<float>(memory), nullptr, 100, memory.data() + 2048};
    expect(two.run(memory.data() + 3072), StatusCode::invalid_argument, "y");
    expect(good.run(nullptr), StatusCode::invalid_argument, "workspace");
    expect(good.run(memory.data() + 3080), StatusCode::invalid_argument, "workspace");
}

} // namespace detreduce::proptests
