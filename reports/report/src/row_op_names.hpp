// How the bench calls what it times of row ops and losses, and the tables find it again.
#pragma once

#include <string>
#include <string_view>

namespace detreduce::report {

inline constexpr const char* copy_name = "copy";  ///< of all elements, by cudaMemcpyAsync
inline constexpr const char* loss_shape = "mean"; ///< of the terms of a loss

/// Does this row op write as much as it reads?
[[nodiscard]] inline bool writes_rows(std::string_view op) {
    return op == "softmax" || op == "log_softmax" || op == "layernorm" || op == "rmsnorm" || op.ends_with("_gradient");
}

} // namespace detreduce::report
