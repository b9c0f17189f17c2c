// What an a-priori bound says. Apart from bounds.hpp, which needs integers of any length.
#pragma once

namespace detreduce::accuracy {

/// |result − Σx| ≤ of_sum·|Σx| + of_abs·Σ|x| + absolute. The numbers are rounded up; +inf where
/// nothing is promised.
struct ErrorBound {
    double of_sum, of_abs, absolute;
    friend bool operator==(const ErrorBound&, const ErrorBound&) = default;
};

} // namespace detreduce::accuracy
