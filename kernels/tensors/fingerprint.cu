// Fingerprints of arrays of any dtypes: warps share the words of each, and add their sums to its
// fingerprint. The list comes as the kernel's parameters, as in list.hpp.
#include <algorithm>

#include <detreduce/fingerprint.hpp>
#include <detreduce/spec/fingerprint.hpp>

#include "cuda_backend.hpp"
#include "for_each.cuh"
#include "platform/memory.cuh"
#include "platform/warp.cuh"
#include "tensors/list.hpp"

namespace detreduce::cuda {
namespace {

/// The first bytes of a word, `pieces` of them, at p.
template <class Piece>
__device__ __forceinline__ std::uint64_t load_word(const char* p, std::uint32_t pieces = 8 / sizeof(Piece)) {
    std::uint64_t word = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < 8 / sizeof(Piece); ++i) {
        if (i < pieces)
            word |= std::uint64_t{load_read_only(reinterpret_cast<const Piece*>(p) + i)} << (8 * sizeof(Piece) * i);
    }
    return word;
}

struct FingerprintParts {
    struct Part {
        const char* x;
        std::uint64_t n, bytes;
        std::uint32_t first; ///< warp
        DType dtype;
    };
    std::uint32_t count = 0, warps = 0;
    Fingerprint* fingerprints; ///< of the first
    Part part[tensors_at_once];

    __device__ __forceinline__ void operator()(std::uint64_t i) const {
        const auto warp = static_cast<std::uint32_t>(i / warp_size), at = find_part(*this, warp);
        const Part& p = part[at];
        const std::uint64_t words = p.bytes / 8,
                            step = warp_size * ((at + 1 < count ? part[at + 1].first : warps) - p.first),
                            thread = i - std::uint64_t{warp_size} * p.first;
        Fingerprint sum{};
        const auto add = [&](auto what, std::uint64_t number) {
#pragma unroll
            for (int k = 0; k < 2; ++k)
                sum.words[k] += spec::fingerprint_term(what, number, k);
        };
        const auto add_all = [&]<class Piece>(Piece) {
#pragma unroll 4
            for (std::uint64_t j = thread; j < words; j += step)
                add(load_word<Piece>(p.x + 8 * j), j);
        };
        const auto misfit = reinterpret_cast<std::uintptr_t>(p.x) % 8;
        misfit == 0       ? add_all(static_cast<unsigned long long>(0))
        : misfit % 4 == 0 ? add_all(std::uint32_t{})
        : misfit % 2 == 0 ? add_all(std::uint16_t{})
                          : add_all(std::uint8_t{});
        if (thread == 0) {
            add(p.dtype, p.n);
            if (p.bytes % 8 != 0) add(load_word<std::uint8_t>(p.x + 8 * words, p.bytes % 8), words);
        }
#pragma unroll
        for (int mask = warp_size / 2; mask > 0; mask /= 2) {
            const Fingerprint other = shuffle_xor(sum, mask);
            for (int k = 0; k < 2; ++k)
                sum.words[k] += other.words[k];
        }
        if (i % warp_size < 2)
            atomicAdd(reinterpret_cast<unsigned long long*>(fingerprints[at].words + i % warp_size),
                      static_cast<unsigned long long>(i % 2 == 0 ? sum.words[0] : sum.words[1]));
    }
};

} // namespace

Status enqueue_fingerprint(const Device&, const Tensor* list, std::uint64_t tensors, Fingerprint* fingerprints,
                           Stream stream) noexcept {
    double all = 1;
    for (std::uint64_t i = 0; i < tensors; ++i)
        all += static_cast<double>(list[i].n * size_of(list[i].dtype));
    Status status = clear(fingerprints, tensors * sizeof *fingerprints, stream);
    for (std::uint64_t i = 0; status.ok() && i < tensors;) {
        FingerprintParts parts;
        for (parts.fingerprints = fingerprints + i; i < tensors && parts.count < tensors_at_once; ++i) {
            const Tensor& t = list[i];
            const std::uint64_t bytes = t.n * size_of(t.dtype);
            const auto useful = static_cast<double>(bytes / (32 * warp_size)),
                       share = policy::fingerprint_warps * static_cast<double>(bytes) / all;
            parts.part[parts.count++] = {static_cast<const char*>(t.data), t.n, bytes, parts.warps, t.dtype};
            parts.warps += 1 + static_cast<std::uint32_t>(std::min(share, useful));
        }
        status = for_each(std::uint64_t{parts.warps} * warp_size, parts, stream);
    }
    return status;
}

} // namespace detreduce::cuda
