// --device and whole numbers, which most commands have. Apart from command.hpp, because CLI11 takes
// long to compile.
#pragma once

#include <cstdint>
#include <string>

#include <detreduce/types.hpp>

#include "failure.hpp"

namespace detreduce::program {

/// `cpu`, `cuda` or `cuda:INDEX`; UsageError otherwise, which names as allowed what is in `also`
/// too.
[[nodiscard]] Device parse_device(const std::string& text, const char* also = "");

/// What to say when the GPU that was asked for cannot be used.
[[nodiscard]] Failure no_such_gpu(const std::string& asked);

/// Throws no_such_gpu() unless `device`, which `asked` is the text of, can be used.
void require_gpu(const std::string& asked, const Device& device);

/// What decimal_number() of command.hpp checks: empty, and `text` without zeros in front, or what
/// is wrong with it.
[[nodiscard]] std::string take_decimal(std::string& text, std::uint64_t largest, const std::string& refusal);

} // namespace detreduce::program
