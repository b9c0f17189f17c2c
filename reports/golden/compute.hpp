// Results for the golden inputs.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include <detreduce/plan.hpp>

#include "golden/table.hpp"

namespace detreduce::golden {

/// Reduces the case's elements at x: the bits of the result, in the lowest size_of(output) bytes.
using Reduce = std::function<std::uint64_t(const Case& c, const void* x)>;

/// What a plan of the case takes.
[[nodiscard]] Request request_of(const Case& c, const Device& device);

/// Throws Error.
[[nodiscard]] std::uint64_t reduce_on_cpu(const Case& c, const void* x, const Launch& launch = {});

/// The case's elements.
[[nodiscard]] std::shared_ptr<const void> input_of(const Case& c);

/// The result of every case. Cases with the same input that stand together share it.
[[nodiscard]] std::vector<std::uint64_t> compute(const std::vector<Case>& cases, const Reduce& reduce);

/// Writes the whole table, computed by `reduce`; `device` is what its first line says of where.
void write_table(std::ostream& out, const std::string& device, const Reduce& reduce);

} // namespace detreduce::golden
