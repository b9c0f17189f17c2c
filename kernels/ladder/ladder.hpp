// The ladder: the kernels by which reductions are taught (Harris, Optimizing Parallel Reduction in
// CUDA, 2007; Mao, CUDA Reduction; Hwu, Kirk & El Hajj, Programming Massively Parallel Processors,
// ch. 10; GPU MODE, lecture 9; kathsucurry, "Reduction (Sum)", parts 1 and 2, 2025), each as a rung
// that runs: any n, any pointer, no input overwritten. To be read, tested and measured; not
// installed, and nothing that the library offers is made of them.
//
// Each rung is a file, which begins with what changed since the rung below and why that should
// help. What it measured is in the tables of `detreduce ladder`, of the page and of
// reports/results/, one line a rung under the rung's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <detreduce/plan.hpp>

namespace detreduce::ladder {

enum class Family : std::uint8_t {
    flat,        ///< GPU MODE, lecture 9, and PMPP, ch. 10
    batched,     ///< "Reduction (Sum): part 2": one block a row
    three_level, ///< threads, warps, blocks; and how the grid ends
    softmax,
};

/// Rows of f32, one behind the other; each is summed, or its softmax taken.
struct Shape {
    std::uint64_t rows = 1, length = 0;
};

/// What the literature varies. It changes speed, and, as each rung adds in an order of its own,
/// bits.
struct Settings {
    std::uint32_t threads = 128;   ///< a block: 64, 128, 256, 512 or 1024
    std::uint32_t per_thread = 32; ///< elements, 1 … 512; of rungs before coarsening 1 or 2, whatever this says
    bool coalesced = true;         ///< false: the elements of a thread lie next to each other
};

/// What a call needs and does, before anything runs.
struct Needs {
    Status status;
    std::size_t workspace = 0;  ///< bytes of device memory, aligned to 256
    std::size_t pinned = 0;     ///< bytes of pinned host memory
    std::uint32_t launches = 0; ///< kernels, copies, memsets and host functions that are enqueued
    std::uint64_t additions =
        0; ///< the most that an element goes through: |result − Σx| ≤ γ_additions · Σ|x| (accuracy/bounds.hpp)
};

struct Call {
    Shape shape;
    Settings settings;
    const float* x = nullptr;
    float* out = nullptr; ///< one sum a row; of softmax as many as x
    void* workspace = nullptr;
    void* pinned = nullptr;
};

struct Rung {
    std::string_view name;  ///< "K4"
    std::string_view title; ///< what changed, in a few words
    Family family;
    /// `none`, where atomics add in the order in which blocks end, or else `run_to_run`: of this
    /// launch, on this GPU
    Guarantee guarantee;
    std::uint32_t passes; ///< over the input
    bool coarsened;       ///< does Settings::per_thread mean anything?
    Needs (*needs)(const Shape& shape, const Settings& settings);
    Status (*run)(const Call& call, const Needs& needs, Stream stream);
};

/// All of them, from the bottom up.
[[nodiscard]] std::span<const Rung> rungs();
/// Null if there is none of that name.
[[nodiscard]] const Rung* find(std::string_view name);

/// With a status that says what is wrong with shape or settings, if anything is. Of a three-level
/// rung of more than one row: unsupported.
[[nodiscard]] Needs needs(const Rung& rung, const Shape& shape, const Settings& settings);

/// formula     Σx of each row; the softmax of each row, e^(x − m) / Σe^(x − m), m the maximum of
///             the row
/// shapes      call.shape; x aligned to its element
/// guarantee   rung.guarantee
/// error bound sums: Needs::additions
/// passes      rung.passes
/// workspace   as needs() says, not initialised, private to the call; must not overlap x or out,
///             nor these one another
/// stream      enqueued on `stream` of the current device, not synchronised
/// errors      that of needs(); invalid_argument for a null or misaligned pointer; cuda_error
/// NaN, empty  a NaN, or infinities of both signs, in a row: NaN, of whatever bits. The sum of no
///             elements is +0; that of zeros a zero
[[nodiscard]] Status run(const Rung& rung, const Call& call, Stream stream = nullptr);

} // namespace detreduce::ladder
