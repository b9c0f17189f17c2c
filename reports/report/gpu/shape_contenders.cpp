// Rows, columns, segments and lists of tensors, made of the same n elements.
#include <algorithm>
#include <cmath>
#include <memory>

#include <detreduce/accuracy/generators.hpp>

#include "contenders.hpp"
#include "cub_ops.hpp"

namespace detreduce::report::gpu {
namespace {

/// What a request needs beside x: made once, used by every launch.
struct Prepared {
    Plan plan;
    DeviceMemory workspace, out, offsets;
    std::vector<Tensor> tensors; ///< with offsets into x instead of addresses
};

std::shared_ptr<Prepared> prepare(const Request& request, const std::vector<std::uint64_t>& offsets = {},
                                  std::vector<Tensor> tensors = {}) {
    const Plan plan = make_plan(request);
    if (plan.status().code == StatusCode::unsupported) return nullptr;
    check(plan.status(), "make_plan");
    const std::size_t bytes = offsets.size() * sizeof(std::uint64_t);
    auto p = std::make_shared<Prepared>(Prepared{plan, DeviceMemory(plan.workspace_bytes()),
                                                 DeviceMemory(plan.results() * plan.result_bytes()),
                                                 DeviceMemory(bytes), std::move(tensors)});
    if (bytes > 0) check(cudaMemcpy(p->offsets.get(), offsets.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return p;
}

void launch(const Prepared& p, const void* x, cudaStream_t stream) {
    const auto* const offsets = static_cast<const std::uint64_t*>(p.offsets.get());
    const bool segments = p.plan.request().shape == Shape::segments;
    if (p.plan.request().shape != Shape::tensors) {
        check(run(p.plan, {x, nullptr, segments ? offsets : nullptr}, p.out.get(), p.workspace.get(), stream), "run");
        return;
    }
    std::vector<Tensor> list = p.tensors;
    for (Tensor& t : list)
        t.data = static_cast<const char*>(x) + reinterpret_cast<std::uintptr_t>(t.data);
    check(run(p.plan, list.data(), p.out.get(), p.workspace.get(), stream), "run");
}

void add(std::vector<Contender>& list, std::string title, const std::shared_ptr<Prepared>& p) {
    if (p == nullptr) return;
    list.push_back({std::move(title), "", [p](const void* x, cudaStream_t stream) { launch(*p, x, stream); }});
}

constexpr const char* segments_name = "segments of 1 to 4096";

/// Lengths from 1 to 4096, as likely as one another.
std::vector<std::uint64_t> random_offsets(std::uint64_t n) {
    std::vector<std::uint64_t> offsets{0};
    while (offsets.back() < n)
        offsets.push_back(std::min(n, offsets.back() + 1 + accuracy::hash(7, offsets.size()) % 4096));
    return offsets;
}

/// Sizes spread evenly over the binades from 1 to a sixth of n, as layers of a network are.
std::vector<Tensor> tensors_of(DType dtype, std::uint64_t n, std::uint64_t count) {
    std::vector<Tensor> list;
    double all = 0;
    std::vector<double> sizes(count);
    for (std::uint64_t i = 0; i < count; ++i)
        all += sizes[i] = std::exp2(static_cast<double>(accuracy::hash(9, i) % 2600) / 100.0);
    std::uint64_t at = 0;
    for (const double size : sizes) {
        const auto length = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(size / all * static_cast<double>(n)));
        const std::uint64_t end = std::min(n, at + length);
        list.push_back({reinterpret_cast<const void*>(at * size_of(dtype)), end - at, dtype});
        at = std::min(n, (end + 255) / 256 * 256); // where allocators put them
    }
    return list;
}

std::vector<Tensor> small_tensors(DType dtype, std::uint64_t count) {
    std::vector<Tensor> list;
    for (std::uint64_t i = 0; i < count; ++i)
        list.push_back({reinterpret_cast<const void*>(i * 1024), 1024 / size_of(dtype), dtype});
    return list;
}

/// Nothing where the list has fewer than `minimum` elements: what lies between its tensors takes a
/// share of n that counts where n is small.
void add_tensors(std::vector<Contender>& all, const char* title, const std::vector<Tensor>& list, bool each,
                 std::uint64_t minimum = 0) {
    std::uint64_t n = 0;
    for (const Tensor& t : list)
        n += t.n;
    if (n < minimum) return;
    add(all, title,
        prepare({.op = Op::nrm2,
                 .dtype = DType::f32,
                 .output = DType::f32,
                 .shape = Shape::tensors,
                 .n = n,
                 .groups = list.size(),
                 .each = each},
                {}, list));
}

/// CUB's algorithms for what add_all() below makes by ours.
void add_peers(std::vector<Contender>& list, DType dtype, std::uint64_t n, const std::vector<std::uint64_t>& offsets,
               const std::vector<std::uint64_t>& lengths) {
    const auto on_device = std::make_shared<DeviceMemory>(offsets.size() * sizeof(std::uint64_t));
    check(cudaMemcpy(on_device->get(), offsets.data(), offsets.size() * sizeof(std::uint64_t), cudaMemcpyHostToDevice),
          "cudaMemcpy");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const SegmentOffsets segments{on_device, offsets.size() - 1, n, segments_name};
    for (const Op op : {Op::sum, Op::argmax}) {
        for (const std::uint64_t length : lengths)
            if (auto c = cub_rows_contender(op, dtype, n, length)) list.push_back(std::move(*c));
        if (auto c = cub_segments_contender(op, dtype, segments)) list.push_back(std::move(*c));
    }
}

} // namespace

std::vector<Contender> shape_contenders(DType dtype, std::uint64_t n, const std::vector<Method>& methods,
                                        ShapeSet set) {
    const bool few = set == ShapeSet::few;
    std::vector<Contender> list;
    const auto lengths = few ? std::vector<std::uint64_t>{4096} : std::vector<std::uint64_t>{32, 128, 512, 4096, 65536};
    const auto offsets = random_offsets(n);
    const auto add_one = [&](Op op, Method method, const std::string& groups, Request r,
                             const std::vector<std::uint64_t>& cut = {}) {
        r.op = op;
        r.method = method;
        r.dtype = dtype;
        add(list, std::string(name(op)) + " " + std::string(name(method)) + " " + groups, prepare(r, cut));
    };
    const auto add_rows = [&](Op op, Method method, std::uint64_t length) {
        add_one(op, method, "rows of " + std::to_string(length),
                {.shape = Shape::rows, .n = length, .groups = n / length});
    };
    const auto add_columns = [&](Op op, Method method) {
        add_one(op, method, "columns of 4096", {.shape = Shape::columns, .n = 4096, .groups = n / 4096});
    };
    const auto add_segments = [&](Op op, Method method) {
        add_one(op, method, segments_name, {.shape = Shape::segments, .n = n, .groups = offsets.size() - 1}, offsets);
    };
    const auto add_all = [&](Op op, Method method) {
        for (const std::uint64_t length : lengths)
            add_rows(op, method, length);
        if (!few) add_one(op, method, "4096 columns", {.shape = Shape::columns, .n = n / 4096, .groups = 4096});
        add_columns(op, method);
        add_segments(op, method);
    };
    const auto add_some = [&](Op op, Method method) {
        add_rows(op, method, 4096);
        add_columns(op, method);
        add_segments(op, method);
    };
    for (const Method method : methods)
        add_all(Op::sum, method);
    add_all(Op::argmax, Method::exact);
    const bool others = !has_8_bits(dtype); // CUB adds none of 8 bits, and lists are not offered
    if (others) add_peers(list, dtype, n, offsets, lengths);
    if (!few) {
        for (const Op op : {Op::minmax, Op::count_nonzero})
            add_some(op, Method::exact);
        for (const Op op : {Op::variance, Op::prod})
            add_some(op, Method::tree);
        add_some(Op::variance, Method::exact);
        add_rows(Op::variance, Method::exact, 128);
        add_columns(Op::nrm2, Method::exact);
    }
    if (!others) return list;
    add_tensors(list, "nrm2 exact 300 tensors", tensors_of(dtype, n, 300), false, n / 100 * 99);
    if (!few) add_tensors(list, "nrm2 exact 300 tensors and each", tensors_of(dtype, n, 300), true, n / 100 * 99);
    if (set == ShapeSet::and_small)
        add_tensors(list, "nrm2 exact 1000 tensors of 1 KiB", small_tensors(dtype, 1000), false);
    return list;
}

} // namespace detreduce::report::gpu
