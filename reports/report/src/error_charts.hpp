// The plots of the errors of sums.
#pragma once

#include <string>
#include <vector>

#include "model.hpp"
#include "plot.hpp"

namespace detreduce::report {

/// The family whose error is drawn against n, that of most sizes: a well-conditioned sum, where all
/// that one sees is the method.
[[nodiscard]] std::string plotted_family(const Results& results);

/// Errors of a family against n, with the bounds: of `rows`, which are those of one type, "f32" or
/// "bf16 to f32".
[[nodiscard]] LineChart error_chart(const Results& results, const std::vector<ErrorRow>& rows, const std::string& type,
                                    const std::string& family);

/// Errors of the condition sweep against the condition number: within half an ulp of 1, and 1,
/// where there are as many digits wrong as there are.
[[nodiscard]] LineChart condition_chart(const Results& results, const std::vector<ErrorRow>& rows,
                                        const std::string& type);

} // namespace detreduce::report
