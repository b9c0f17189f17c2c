// What the fuzz targets share. Each is a source of its own with LLVMFuzzerTestOneInput(); libFuzzer
// has main(). `./dev fuzz` builds and runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include <fuzzer/FuzzedDataProvider.h>

#include <detreduce/status.hpp>

namespace detreduce::fuzz {

/// Ends the process, so that libFuzzer keeps the input, unless the law holds.
inline void require(bool holds, const char* law, const std::string& detail = "") {
    if (holds) return;
    std::fprintf(stderr, "fuzz: does not hold: %s\n%s%s", law, detail.c_str(), detail.empty() ? "" : "\n");
    std::abort();
}

/// An error names the argument and what is allowed; no error names nothing.
inline void require_well_formed(const Status& status) {
    const bool known = name(status.code) != "unknown status";
    const bool says = *status.argument != '\0' && *status.allowed != '\0';
    const bool says_nothing = *status.argument == '\0' && *status.allowed == '\0' && status.index == Status::no_element;
    require(known && (status.ok() ? says_nothing : says), "a status is well-formed", to_string(status));
}

/// One of the integers that programs get wrong, or a small one, or any.
inline std::uint64_t any_integer(FuzzedDataProvider& in) {
    constexpr std::uint64_t corners[] = {0,
                                         1,
                                         std::uint64_t{1} << 31,
                                         std::uint64_t{1} << 32,
                                         std::uint64_t{1} << 40,
                                         (std::uint64_t{1} << 40) + 1,
                                         std::uint64_t{1} << 46,
                                         std::uint64_t{1} << 63,
                                         ~std::uint64_t{0} - 1,
                                         ~std::uint64_t{0}};
    switch (in.ConsumeIntegralInRange<int>(0, 3)) {
    case 0:
        return in.PickValueInArray(corners);
    case 1:
        return in.ConsumeIntegral<std::uint64_t>();
    default:
        return in.ConsumeIntegral<std::uint8_t>();
    }
}

} // namespace detreduce::fuzz
