// Results for the golden inputs.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "golden/input.hpp"
#include "golden/table.hpp"

namespace detreduce::golden {

/// Reduces the case's elements: what bits_of() makes of the results.
using Reduce = std::function<std::uint64_t(const Case& c, const Input& in)>;

/// What a plan of the case takes.
[[nodiscard]] Request request_of(const Case& c, const Device& device);

/// What the table holds of the results that run() wrote: the bits of the one, or a fingerprint of
/// them all.
[[nodiscard]] std::uint64_t bits_of(const Case& c, const void* results);

/// Throws Error.
[[nodiscard]] std::uint64_t reduce_on_cpu(const Case& c, const Input& in, const Launch& launch = {});

/// The bits of every case. Cases with the same input that stand together share it.
[[nodiscard]] std::vector<std::uint64_t> compute(const std::vector<Case>& cases, const Reduce& reduce);

/// Writes a whole table, computed by `reduce`; `device` is what its first line says of where.
void write_table(std::ostream& out, const std::string& device, const std::vector<Case>& cases, const Reduce& reduce);

} // namespace detreduce::golden
