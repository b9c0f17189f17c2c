#include "compare.hpp"

#include <deque>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include <detreduce/types.hpp>

#include "op_names.hpp"
#include "table.hpp"

namespace detreduce::report {
namespace {

/// One result of one run.
struct Bits {
    std::string kind, fingerprint, data; ///< the fingerprint tells data that may differ under one name
    std::uint64_t n, seed;
    std::string type, candidate, device, bits;
};

/// "cuda" of "cuda:0"
std::string kind_of(const std::string& device) {
    return device.substr(0, device.find(':'));
}

std::vector<Bits> bits_in(const Results& results) {
    std::vector<Bits> list;
    for (const ReferenceRow& r : results.reference)
        list.push_back(
            {"reference", "", r.family, r.n, r.seed, type_of(r.subject), r.subject.method, r.subject.device, r.bits});
    for (const EdgeRow& r : results.edges)
        if (!r.device.empty()) // else it was not measured
            list.push_back({"edge case", "", r.data, r.n, 0, r.dtype, r.candidate, r.device, r.result});
    std::map<std::string, const DataRow*> files;
    for (const DataRow& file : results.data)
        files.emplace(file.file, &file);
    for (const DataSumRow& r : results.data_sums)
        if (const auto file = files.find(r.file); file != files.end())
            list.push_back({"your data", file->second->fingerprint, r.file, file->second->n, 0, type_of(r.subject),
                            r.subject.method, r.subject.device, r.bits});
    return list;
}

std::string key_of(const Bits& b) {
    const std::string data = b.fingerprint.empty() ? b.data : b.fingerprint; // a file may have moved
    return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", b.kind, data, b.n, b.seed, b.type, b.candidate);
}

std::string key_of(const CostRow& r) {
    return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", r.dtype, r.candidate, r.variant, r.data, r.n, r.bytes,
                       kind_of(r.device));
}

/// Which row of `there` is of the same thing as each of `here`, or `none`. A run may have several
/// of one thing, on different devices: the same device first, then one of its kind, then any that
/// the key allows. Each row has one partner at most.
constexpr std::size_t none = static_cast<std::size_t>(-1);

template <class Row>
std::vector<std::size_t> partners(const std::vector<Row>& here, const std::vector<Row>& there) {
    std::vector<std::size_t> found(here.size(), none);
    std::vector<bool> taken(there.size(), false);
    const auto pair_by = [&](const auto& part_of) { // of the device: that has to be the same
        const auto key = [&](const Row& r) { return key_of(r) + "\n" + part_of(r.device); };
        std::unordered_map<std::string, std::deque<std::size_t>> free;
        for (std::size_t i = 0; i < there.size(); ++i)
            if (!taken[i]) free[key(there[i])].push_back(i);
        for (std::size_t i = 0; i < here.size(); ++i) {
            if (found[i] != none) continue;
            const auto at = free.find(key(here[i]));
            if (at == free.end() || at->second.empty()) continue;
            found[i] = at->second.front();
            taken[found[i]] = true;
            at->second.pop_front();
        }
    };
    pair_by([](const std::string& device) { return device; });
    pair_by(kind_of);
    pair_by([](const std::string&) { return std::string(); });
    return found;
}

/// pair(row here, row there) of all rows that both have.
template <class Compared, class Row, class Pair>
Pairs<Compared> pairs_of(const std::vector<Row>& here, const std::vector<Row>& there, const Pair& pair) {
    Pairs<Compared> pairs;
    const std::vector<std::size_t> partner = partners(here, there);
    for (std::size_t i = 0; i < here.size(); ++i)
        if (partner[i] != none) pairs.rows.push_back(pair(here[i], there[partner[i]]));
    pairs.only_here = here.size() - pairs.rows.size();
    pairs.only_there = there.size() - pairs.rows.size();
    return pairs;
}

bool same_on_all_devices(const std::string& candidate) {
    for (const MethodInfo& m : methods())
        if (m.name == candidate) return m.guarantee >= Guarantee::device;
    return false; // another library
}

std::vector<CostRow> timed(const Results& results) {
    std::vector<CostRow> rows;
    for (const CostRow& r : results.cost)
        if (r.gb_per_s && *r.gb_per_s > 0) rows.push_back(r);
    for (const OpCostRow& r : results.op_cost) { // whose read-only passes are those of the sums once more
        if (!r.gb_per_s || *r.gb_per_s <= 0 || r.op == r.candidate) continue;
        const std::string shape = r.shape == flat_shape ? "" : " of " + r.shape;
        rows.push_back({r.dtype, fmt::format("{}{} by {}", r.op, shape, r.candidate), r.variant, r.device, plain_data,
                        r.n, r.bytes, r.repeats, r.median_s, r.deviation, r.gb_per_s, r.ratio_to_read});
    }
    return rows;
}

Comparison compare(const Results& here, const OtherRun& other, const std::string& run) {
    const Results& there = other.results;
    Comparison c{run, other.file, &there.provenance, {}, {}};
    const bool one_spec = here.provenance.spec_version == there.provenance.spec_version;
    c.bits = pairs_of<ComparedBits>(bits_in(here), bits_in(there), [&](const Bits& a, const Bits& b) {
        return ComparedBits{run,
                            a.kind,
                            a.data,
                            a.n,
                            a.type,
                            a.candidate,
                            a.device,
                            b.device,
                            a.bits,
                            b.bits,
                            one_spec && same_on_all_devices(a.candidate)};
    });
    c.speed = pairs_of<ComparedSpeed>(timed(here), timed(there), [&](const CostRow& a, const CostRow& b) {
        return ComparedSpeed{run,
                             a.dtype,
                             a.candidate,
                             a.variant,
                             a.data,
                             a.device,
                             b.device,
                             a.n,
                             *a.gb_per_s,
                             *b.gb_per_s,
                             *a.gb_per_s / *b.gb_per_s,
                             a.deviation,
                             b.deviation};
    });
    return c;
}

} // namespace

std::vector<Comparison> compare(const Results& here, const std::vector<OtherRun>& others) {
    std::vector<Comparison> list;
    for (const OtherRun& other : others)
        list.push_back(compare(here, other, fmt::format("run {}", list.size() + 2))); // this one is the first
    return list;
}

} // namespace detreduce::report
