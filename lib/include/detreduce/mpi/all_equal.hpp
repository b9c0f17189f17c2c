// Do all processes of an MPI communicator hold the same bits?
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <vector>

#include <detreduce/fingerprint.hpp>
#include <detreduce/mpi/operation.hpp>
#include <detreduce/ranks.hpp>

namespace detreduce::mpi {

/// Writes to `first` the index of the first array of the list that has not the same dtype, length
/// and bits on all processes of `comm`, or no_index if there is none: what tells where two
/// processes part. All must call it.
///
/// list         arrays in host memory, as many on every process; they are compared by their
///              fingerprints (fingerprint.hpp)
/// messages     two MPI_Allreduce by MPI_MIN, the second of 32 bytes an array
/// errors       the same on every process: invalid_argument for `tensors` if not all have as many,
///              for `list` if that of a process is refused by fingerprint(), and for `comm`;
///              out_of_memory. `first` is not written then
Status all_equal(const Tensor* list, std::uint64_t tensors, MPI_Comm comm, std::uint64_t& first) noexcept;

/// A bit pattern and its complement: by MPI_MIN both the smallest and the largest are known.
inline Status all_equal(const Tensor* list, std::uint64_t tensors, MPI_Comm comm, std::uint64_t& first) noexcept {
    if (!detail::usable(comm)) return detail::failed();
    Status own;
    std::vector<Fingerprint> found;
    std::vector<std::uint64_t> words;
    try {
        found.resize(tensors);
        words.resize(4 * tensors);
        own = fingerprint(list, tensors, found.data());
    } catch (const std::exception&) {
        own = {StatusCode::out_of_memory, "tensors", "there is no room for the fingerprints of so many tensors"};
    }
    const std::uint64_t code = own.ok() ? 2 : own.code == StatusCode::out_of_memory ? 1 : 0;
    std::array<std::uint64_t, 3> minimum{tensors, ~tensors, code};
    if (MPI_Allreduce(MPI_IN_PLACE, minimum.data(), 3, MPI_UINT64_T, MPI_MIN, comm) != MPI_SUCCESS)
        return detail::failed();
    if (minimum[0] != ~minimum[1]) return detreduce::detail::differs("tensors");
    if (minimum[2] == 1) return detreduce::detail::no_room_for_fingerprints();
    if (minimum[2] == 0) return own.ok() ? detreduce::detail::other_list() : own;
    for (std::uint64_t i = 0; i < tensors; ++i) {
        for (int k = 0; k < 2; ++k) {
            words[4 * i + 2 * k] = found[i].words[k];
            words[4 * i + 2 * k + 1] = ~found[i].words[k];
        }
    }
    constexpr std::uint64_t most = std::uint64_t{1} << 28;
    for (std::uint64_t begin = 0; begin < words.size(); begin += most) {
        const int count = static_cast<int>(std::min<std::uint64_t>(most, words.size() - begin));
        if (MPI_Allreduce(MPI_IN_PLACE, words.data() + begin, count, MPI_UINT64_T, MPI_MIN, comm) != MPI_SUCCESS)
            return detail::failed();
    }
    first = no_index;
    for (std::uint64_t i = 0; i < words.size() && first == no_index; i += 2)
        if (words[i] != ~words[i + 1]) first = i / 4;
    return {};
}

} // namespace detreduce::mpi
