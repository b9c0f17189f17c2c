// Two runs side by side: which rows of their results are of the same thing, and what each made of
// it.
#pragma once

#include <string>
#include <vector>

#include "model.hpp"

namespace detreduce::report {

/// Results that others are compared with.
struct OtherRun {
    std::string file; ///< as it was named
    Results results;
};

/// One result in both runs.
struct ComparedBits {
    std::string run;  ///< the other: "run 2", "run 3", …
    std::string kind; ///< "reference", "edge case", "your data"
    std::string data;
    std::uint64_t n = 0;
    std::string type; ///< "f32", "f16 to f32"
    std::string candidate, device, other_device;
    std::string bits, other_bits; ///< of edge cases the shortest decimal
    bool promised = false;        ///< does the method's guarantee, and one spec_version, promise equal bits?
    [[nodiscard]] bool equal() const { return bits == other_bits; }
};

/// One time in both runs.
struct ComparedSpeed {
    std::string run, dtype, candidate, variant, data, device, other_device;
    std::uint64_t n = 0;
    double gb_per_s = 0, other_gb_per_s = 0;
    double ratio = 0;                  ///< this / other: above 1 this run is faster
    Metric deviation, other_deviation; ///< as in CostRow: how noisy each is
};

/// Rows of both runs, and how many only one has.
template <class Row>
struct Pairs {
    std::vector<Row> rows;
    std::size_t only_here = 0, only_there = 0;
};

struct Comparison {
    std::string run, file;
    const Provenance* provenance = nullptr; ///< of the other
    Pairs<ComparedBits> bits;
    Pairs<ComparedSpeed> speed;
};

/// One comparison an other run, which must stay.
[[nodiscard]] std::vector<Comparison> compare(const Results& here, const std::vector<OtherRun>& others);

template <class V>
void fields(V& visit, ComparedBits& r) {
    bool equal = r.equal();
    visit("run", r.run);
    visit("kind", r.kind);
    visit("data", r.data);
    visit("n", r.n);
    visit("type", r.type);
    visit("candidate", r.candidate);
    visit("device", r.device);
    visit("other_device", r.other_device);
    visit("bits", r.bits);
    visit("other_bits", r.other_bits);
    visit("equal", equal);
    visit("promised", r.promised);
}

template <class V>
void fields(V& visit, ComparedSpeed& r) {
    Metric here = r.gb_per_s, other = r.other_gb_per_s, ratio = r.ratio;
    visit("run", r.run);
    visit("dtype", r.dtype);
    visit("candidate", r.candidate);
    visit("variant", r.variant);
    visit("data", r.data);
    visit("n", r.n);
    visit("device", r.device);
    visit("other_device", r.other_device);
    visit("gb_per_s", here);
    visit("other_gb_per_s", other);
    visit("ratio", ratio);
    visit("deviation", r.deviation);
    visit("other_deviation", r.other_deviation);
}

} // namespace detreduce::report
