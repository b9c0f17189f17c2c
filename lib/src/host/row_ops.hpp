// Row ops on the CPU.
#pragma once

#include <detreduce/row_ops.hpp>

namespace detreduce::host {

/// Runs a checked plan, of at least one row.
void run_rows(const RowPlan& plan, const RowArrays& arrays) noexcept;

} // namespace detreduce::host
