#include "ladder_candidates.hpp"

#include <algorithm>
#include <memory>

#include <detreduce/types.hpp>

#include "ladder_tables.hpp"

namespace detreduce::report::gpu {
namespace {

using ladder::Family;
using ladder::Rung;
using ladder::Settings;
using ladder::Shape;

std::string family_name(Family family) {
    switch (family) {
    case Family::flat:
        return "flat";
    case Family::batched:
        return "batched";
    case Family::three_level:
        return three_level_family;
    default:
        return "softmax";
    }
}

Contender rung_contender(const Rung& rung, const Shape& shape, const Settings& settings) {
    const ladder::Needs needs = ladder::needs(rung, shape, settings);
    const std::string name(rung.name);
    check(needs.status, name.c_str());
    const std::uint64_t results = rung.family == Family::softmax ? shape.rows * shape.length : shape.rows;
    const auto workspace = std::make_shared<DeviceMemory>(needs.workspace);
    const auto out = std::make_shared<DeviceMemory>(results * sizeof(float));
    const auto pinned = std::make_shared<PinnedMemory>(needs.pinned);
    return {
        name, "",
        [=, &rung](const void* x, cudaStream_t stream) {
            const ladder::Call call{
                shape,        settings, static_cast<const float*>(x), static_cast<float*>(out->get()), workspace->get(),
                pinned->get()};
            check(ladder::run(rung, call, stream), name.c_str());
        },
        static_cast<const float*>(out->get()), results};
}

Shape one_row(std::uint64_t n) {
    return {1, n};
}

/// As the literature has it: as many rows as make each the work of one block.
Shape rows_of_a_block(const Rung& rung, const Settings& s, std::uint64_t n) {
    const std::uint64_t length = std::uint64_t{s.threads} * (rung.coarsened ? s.per_thread : 1);
    const std::uint64_t rows = std::max<std::uint64_t>(1, n / length);
    return {rows, n / rows};
}

Candidate rung_candidate(const char* table, const Rung& rung, const Settings& s, bool batched) {
    Candidate c;
    c.row.table = table;
    c.row.family = family_name(rung.family);
    c.row.rung = rung.name;
    c.row.title = rung.title;
    c.row.threads = s.threads;
    c.row.per_thread = rung.coarsened                   ? s.per_thread
                       : rung.family == Family::flat    ? 2
                       : rung.family == Family::batched ? 1
                                                        : 0;
    c.row.coalesced = s.coalesced;
    c.row.guarantee = std::string(name(rung.guarantee));
    c.row.passes = rung.passes;
    c.shape =
        batched
            ? std::function<Shape(std::uint64_t)>([=, &rung](std::uint64_t n) { return rows_of_a_block(rung, s, n); })
            : one_row;
    c.make = [=, &rung](const Shape& shape) { return rung_contender(rung, shape, s); };
    return c;
}

/// Those of the flat and three-level ladders, which the literature runs with more threads a block.
Settings settings_of(const Rung& rung) {
    Settings s;
    if (rung.family != Family::batched) s.threads = 256;
    return s;
}

Candidate named(const char* table, std::string_view name, const Settings& s, bool batched) {
    const Rung* const rung = ladder::find(name);
    if (rung == nullptr) throw program::Failure("the ladder has no rung " + std::string(name));
    return rung_candidate(table, *rung, s, batched);
}

Candidate library(const char* table, std::string name, std::string title, std::string guarantee,
                  std::function<Contender(std::uint64_t)> make) {
    Candidate c;
    c.row.table = table;
    c.row.family = library_family;
    c.row.rung = std::move(name);
    c.row.title = std::move(title);
    c.row.guarantee = std::move(guarantee);
    c.shape = one_row;
    c.make = [make = std::move(make)](const Shape& shape) { return make(shape.length); };
    return c;
}

Candidate ours(const char* table, Method method) {
    Candidate c = library(table, std::string(name(method)), "ours: " + std::string(info(method).summary),
                          std::string(name(info(method).guarantee)),
                          [method](std::uint64_t n) { return *method_contender(method, DType::f32, n, {}, ""); });
    c.row.passes = 1;
    return c;
}

constexpr const char* cub_name = "cub::DeviceReduce::Sum";
Candidate cub(const char* table) {
    return library(table, cub_name, "the toolkit's CUB", "run_to_run",
                   [](std::uint64_t n) { return cub_contender(DType::f32, n); });
}

constexpr const char* with_latency = "timed with the host's latency";
constexpr Method our_methods[] = {Method::tree, Method::kahan, Method::compensated, Method::exact};

void add_cublas(std::vector<Candidate>& list, std::uint64_t n, std::vector<std::string>& notes) {
    std::string why_not;
    const std::size_t count = cublas_contenders(DType::f32, n, why_not).size();
    if (!why_not.empty()) notes.push_back(why_not);
    for (std::size_t i = 0; i < count; ++i) {
        std::string unused;
        Candidate c = library(rungs_table, cublas_contenders(DType::f32, 1, unused)[i].name,
                              i == 0   ? "Σ|x|"
                              : i == 1 ? "Σxy of two halves"
                                       : "√Σx²",
                              "", [i](std::uint64_t size) {
                                  std::string none;
                                  return cublas_contenders(DType::f32, size, none).at(i);
                              });
        c.is_sum = i == 0; // of what bits are looked at with, which is positive
        list.push_back(std::move(c));
    }
}

void add_cub_levels(std::vector<Candidate>& list, std::vector<std::string>& notes) {
    const std::vector<CubLevel> levels = cub_levels(1);
    if (levels.empty())
        notes.emplace_back(
            "CUB's determinism levels are not here: built without a CCCL of 3.1 or newer (DETREDUCE_CCCL_DIR).");
    for (std::size_t i = 0; i < levels.size(); ++i) {
        Candidate c = library(rungs_table, levels[i].name, "CUB of another CCCL, with its own allocation",
                              levels[i].guarantee, [i](std::uint64_t n) { return cub_levels(n).at(i).contender; });
        c.waits = true; // its allocator may
        c.row.note = with_latency;
        list.push_back(std::move(c));
    }
}

} // namespace

std::vector<Candidate> rung_candidates(std::uint64_t n, std::vector<std::string>& notes) {
    std::vector<Candidate> list;
    for (const Rung& rung : ladder::rungs())
        if (rung.family != Family::softmax)
            list.push_back(rung_candidate(rungs_table, rung, settings_of(rung), rung.family == Family::batched));
    list.push_back(cub(rungs_table));
    add_cub_levels(list, notes);
    Candidate thrust = library(rungs_table, "thrust::reduce", "returns its sum to the host", "run_to_run",
                               [](std::uint64_t size) { return thrust_contender(DType::f32, size); });
    thrust.waits = true;
    thrust.row.note = with_latency;
    list.push_back(std::move(thrust));
    add_cublas(list, n, notes);
    for (const Method method : our_methods)
        list.push_back(ours(rungs_table, method));
    return list;
}

std::vector<Candidate> thread_candidates() {
    std::vector<Candidate> list;
    for (const char* name : {"K0", "K4", "K6", "K7"})
        for (const std::uint32_t threads : {128u, 256u, 512u, 1024u})
            list.push_back(named(threads_table, name, {.threads = threads}, true));
    return list;
}

std::vector<Candidate> per_thread_candidates() {
    std::vector<Candidate> list;
    for (const char* name : {"K4", "K7"})
        for (std::uint32_t per_thread = 1; per_thread <= 512; per_thread *= 2)
            list.push_back(named(per_thread_table, name, {.per_thread = per_thread}, true));
    return list;
}

std::vector<Candidate> coalesced_candidates() {
    std::vector<Candidate> list;
    for (const char* name : {"K4", "K6"})
        for (const bool coalesced : {true, false})
            list.push_back(named(coalesced_table, name, {.coalesced = coalesced}, true));
    return list;
}

std::vector<Candidate> size_candidates() {
    std::vector<Candidate> list;
    for (const char* name : {"shared memory", "coarsened", "K0", "K7"})
        list.push_back(named(sizes_table, name, settings_of(*ladder::find(name)), false));
    for (const Rung& rung : ladder::rungs())
        if (rung.family == Family::three_level)
            list.push_back(rung_candidate(sizes_table, rung, settings_of(rung), false));
    list.push_back(cub(sizes_table));
    for (const Method method : {Method::tree, Method::exact})
        list.push_back(ours(sizes_table, method));
    return list;
}

std::vector<Candidate> softmax_candidates(std::uint64_t length) {
    std::vector<Candidate> list;
    const auto rows_of_length = [length](std::uint64_t n) { return Shape{n / length, length}; };
    for (const Rung& rung : ladder::rungs()) {
        if (rung.family != Family::softmax) continue;
        list.push_back(rung_candidate(softmax_table, rung, settings_of(rung), false));
        list.back().shape = rows_of_length;
    }
    Candidate own = library(softmax_table, "softmax", "ours: tree, the same bits on CPU and GPU", "device", nullptr);
    own.shape = rows_of_length;
    own.make = [](const Shape& shape) {
        return softmax_contender(DType::f32, shape.rows * shape.length, shape.length);
    };
    list.push_back(std::move(own));
    return list;
}

} // namespace detreduce::report::gpu
