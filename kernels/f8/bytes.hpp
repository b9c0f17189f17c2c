// Elements of 8 bits, read as they are: sums by `exact`, and ops that compare, of flat arrays and
// of rows that are not short. What else there is of them is converted to f16 first (widen.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <detreduce/plan.hpp>

#include "policies.hpp"
#include "sequence/launch.hpp"

namespace detreduce::cuda {

/// Is r, with this route in f16, reduced so? Not if a state or computed terms are asked for.
[[nodiscard]] bool reduces_bytes(const Request& r, const detail::Route& route);

/// A warp reduces a row, or, of few rows, one of equal parts of it.
struct ByteParts {
    static constexpr std::uint64_t room_words = 4; ///< of 8 bytes, for each row that has parts
    std::uint64_t parts, length;                   ///< of a row; elements of a part, but of the last one

    ByteParts(const Request& r, const DeviceTraits& device) {
        const auto pieces = [](std::uint64_t n, std::uint64_t of) { return (n + of - 1) / of; };
        const std::uint64_t wanted = pieces(policy::warps_of_bytes * device.sms, r.groups),
                            most = pieces(r.n, policy::shortest_byte_part);
        parts = std::max(std::min(wanted, most), pieces(r.n, policy::longest_byte_part));
        length = pieces(pieces(r.n, parts), policy::byte_batch) * policy::byte_batch;
        parts = pieces(r.n, length);
    }
    [[nodiscard]] std::size_t workspace_bytes(const Request& r) const {
        return parts == 1 ? 0 : r.groups * room_words * sizeof(std::int64_t);
    }
};

[[nodiscard]] Status launch_bytes(const Run& run);

} // namespace detreduce::cuda
