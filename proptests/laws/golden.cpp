#include "laws/golden.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include <detreduce/fp/bits.hpp>
#include <detreduce/spec/tree_order.hpp>

namespace detreduce::proptests {
namespace {

using accuracy::Family;

/// Sizes around every boundary of the order, and one beyond a full second level.
std::vector<std::uint64_t> sizes(DType dtype) {
    const std::uint64_t lanes = spec::row_bytes / size_of(dtype), chunk = 8 * lanes, tile = 8 * chunk;
    std::vector<std::uint64_t> all{0, 1, 2, 3, 31};
    for (const std::uint64_t edge : {lanes, 2 * lanes, chunk, 2 * chunk, 5 * chunk, tile, 2 * tile, 100 * tile}) {
        for (const std::uint64_t n : {edge - 1, edge, edge + 1})
            all.push_back(n);
    }
    all.push_back(1000003);
    all.push_back(3000017);
    all.push_back(tile * tile + tile + 1);
    return all;
}

void add_cases(DType dtype, std::vector<GoldenCase>& cases) {
    for (const std::uint64_t n : sizes(dtype))
        cases.push_back({Method::tree, dtype, Family::normal, n, 1000 + n});
    for (const Family family : accuracy::families()) {
        for (const std::uint64_t seed : {1, 2, 3, 4})
            cases.push_back({Method::tree, dtype, family, 12345 + seed, seed});
    }
}

} // namespace

std::vector<GoldenCase> golden_cases() {
    std::vector<GoldenCase> cases;
    add_cases(DType::f32, cases);
    add_cases(DType::f64, cases);
    return cases;
}

std::string golden_line(const GoldenCase& c, const std::string& bits) {
    return std::string(name(c.method)) + '\t' + std::string(name(c.dtype)) + '\t' +
           std::string(accuracy::name(c.family)) + '\t' + std::to_string(c.n) + '\t' + std::to_string(c.seed) + '\t' +
           bits;
}

std::string golden_path() {
    const char* elsewhere = std::getenv("DETREDUCE_GOLDEN_IN");
    return elsewhere ? elsewhere : DETREDUCE_GOLDEN;
}

std::vector<std::string> read_golden(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        if (!line.empty() && line[0] != '#') lines.push_back(line);
    }
    return lines;
}

template <class T>
std::string hex_bits(T value) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%0*llx", static_cast<int>(2 * sizeof(T)),
                  static_cast<unsigned long long>(fp::to_bits(value)));
    return text;
}
template std::string hex_bits(float);
template std::string hex_bits(double);

} // namespace detreduce::proptests
