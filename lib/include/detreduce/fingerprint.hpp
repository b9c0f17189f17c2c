// Fingerprints of arrays: 128 bits that say whether two of them have the same bits, wherever they
// are. mpi.hpp and nccl.hpp compare those of all ranks.
#pragma once

#include <cstdint>

#include <detreduce/plan.hpp>

#pragma GCC visibility push(default)
namespace detreduce {

struct Fingerprint {
    std::uint64_t words[2];
    friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

/// Writes the fingerprint of each of `tensors` arrays in host memory to `fingerprints`. Arrays with
/// the same dtype, length and bits have the same. Of others it differs for certain if they differ
/// in 8 neighbouring bytes alone, and else but for one chance in 2^128, unless somebody means them
/// to agree: it is no cryptographic hash.
///
/// dtypes       all; NaN with different bits are different, and so are +0 and −0
/// guarantee    a function of dtype, length and bits: of neither the number of threads nor the
///              processor
/// threads      so many work; 0: the library's choice
/// errors       invalid_argument for `threads`, for `fingerprints` where it is null, and for `list`
///              where it is null or, with its index, an array is null, misaligned, of no dtype or
///              of more than 2^40 elements; out_of_memory. Nothing is written then
/// source       lib/SPEC.md, section 19
Status fingerprint(const Tensor* list, std::uint64_t tensors, Fingerprint* fingerprints,
                   std::uint32_t threads = 0) noexcept;

/// The same of arrays in memory of `device`, a GPU say, to `fingerprints` there. The list itself is
/// in host memory, and read before this returns.
///
/// stream       CUDA: enqueued on `stream` of the device, not synchronised, nothing allocated, may
///              be captured in a graph. CPU: returns when all is written
/// errors       as above; those of make_plan() for `device`; cuda_error
Status fingerprint(const Tensor* list, std::uint64_t tensors, Fingerprint* fingerprints, Device device,
                   Stream stream = nullptr) noexcept;

} // namespace detreduce
#pragma GCC visibility pop
