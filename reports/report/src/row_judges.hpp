// What a method makes of rows, judged by GNU MPFR: logsumexp, and means of cross entropy.
#pragma once

#include <detreduce/row_ops.hpp>

#include "op_error.hpp"

namespace detreduce::report {

inline constexpr std::size_t row_length = 256; ///< of cross entropy

/// Of logsumexp of x, which has one method, tree; or of the mean of cross entropy of rows of x,
/// with targets by `seed`.
template <class T>
[[nodiscard]] Judge judge_of_row(RowOp op, std::vector<T> x, std::uint64_t seed);

/// By its error: no true value lies half-way between two numbers.
[[nodiscard]] inline Judged judged_by_error(DType output, double result, double truth, double error, double limit) {
    return {result, truth, error, limit, error <= last_place(output, truth) / 2};
}

} // namespace detreduce::report
