// `detreduce ladder` apart from its options, because CLI11 takes long to compile.
#pragma once

#include <cstdint>
#include <string>

namespace detreduce::program {

struct LadderArguments {
    std::string out, device = "cuda";
    std::uint64_t n = std::uint64_t{1} << 29, runs = 1000, seed = 1;
    bool quick = false, measure_only = false;
};

/// Measures and writes files. Throws UsageError and Failure.
void run_ladder(const LadderArguments& a);

} // namespace detreduce::program
