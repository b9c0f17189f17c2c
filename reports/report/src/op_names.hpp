// How what is timed of ops and shapes is called, in the bench's files and in the report's.
#pragma once

#include <string>
#include <string_view>

namespace detreduce::report {

inline constexpr const char* flat_shape = "flat";

struct TimedName {
    std::string op, shape, candidate; ///< "sum", "rows of 32" or flat_shape, "tree"
    friend bool operator==(const TimedName&, const TimedName&) = default;
};

/// Is it an algorithm of another library: of C++'s, CUB, Thrust, cuBLAS?
[[nodiscard]] bool is_peer(std::string_view candidate);

/// Of CostRow::candidate and variant. Methods: "tree" of the flat sum, else "mean tree" and
/// "sum tree rows of 32"; a variant belongs to the shape, but "automatic". Peers: the variant is
/// the op, and the shape behind it; none is the flat sum.
[[nodiscard]] TimedName timed_name(const std::string& candidate, const std::string& variant);

} // namespace detreduce::report
