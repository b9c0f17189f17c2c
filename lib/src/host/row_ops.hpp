// Row ops on the CPU.
#pragma once

#include <detreduce/row_ops.hpp>

namespace detreduce::spec {
struct Quotient;
}

namespace detreduce::host {

/// Runs a checked plan, of at least one row. Of nll x and out may be null: then it is the weights
/// that are wanted.
void run_rows(const RowPlan& plan, const RowArrays& arrays) noexcept;
void write_quotient(const spec::Quotient& quotient) noexcept;

} // namespace detreduce::host
