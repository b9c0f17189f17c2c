// The bits that a GPU gave are the bits that every instruction set of this processor gives.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <detreduce/detreduce.hpp>

#include <support/catch.hpp>

#include "golden/compare.hpp"
#include "golden/compute.hpp"

namespace detreduce::golden {
namespace {

const Table& table() {
    static const Table parsed = parse_table(embedded_table());
    return parsed;
}

} // namespace

TEST_CASE("golden bits: the table has every case, in order", "[golden]") {
    const std::vector<Case> expected = all_cases(), found = cases_of(table());
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        INFO("case " << i << ": " << line_of({expected[i], 0}) << ", but the table has " << line_of({found[i], 0}));
        REQUIRE(found[i] == expected[i]);
    }
}

TEST_CASE("golden bits: the CPU gives what the GPU gave", "[golden]") {
    std::size_t i = 0;
    (void)compute(cases_of(table()), [&](const Case& c, const void* x) {
        const Entry& expected = table().entries[i++];
        for (const Isa isa : available_isas()) {
            INFO(name(isa));
            REQUIRE(line_of({c, reduce_on_cpu(c, x, {.isa = isa})}) == line_of(expected));
        }
        return expected.bits;
    });
}

TEST_CASE("golden bits: the table says which GPU they are from", "[golden]") {
    REQUIRE(table().source.starts_with("spec_version " + std::to_string(spec_version) + ", from "));
    REQUIRE(table().source.find("NVIDIA") != std::string::npos);
}

TEST_CASE("golden cases: every method and dtype has enough of them, no two are the same", "[golden]") {
    const std::vector<Case> cases = all_cases();
    for (const Method method : {Method::exact, Method::compensated, Method::kahan, Method::tree}) {
        for (const DType dtype : dtypes()) {
            std::set<std::uint64_t> sizes;
            std::set<accuracy::Family> families;
            for (const Case& c : cases) {
                if (c.method != method || c.dtype != dtype) continue;
                sizes.insert(c.n);
                families.insert(c.family);
            }
            INFO(name(method) << ' ' << name(dtype));
            CHECK(sizes.size() >= 25);
            CHECK(families.size() == accuracy::families().size());
        }
    }
    std::set<std::string> lines;
    for (const Case& c : cases)
        CHECK(lines.insert(line_of({c, 0})).second);
}

TEST_CASE("golden cases: NaN, both infinities and numbers come out", "[golden]") {
    for (const DType dtype : dtypes()) {
        std::set<std::string> seen;
        for (const Entry& e : table().entries) {
            if (e.of.dtype != dtype || e.of.family != accuracy::Family::nonfinite || e.of.output != dtype) continue;
            seen.insert(bits_text(dtype, e.bits));
        }
        CHECK(seen.size() == 3); // exactly these, for every method
    }
}

TEST_CASE("golden table: what is written can be read, and what is malformed cannot", "[golden]") {
    std::istringstream lines{std::string(embedded_table())};
    std::string line;
    for (std::size_t i = 0; std::getline(lines, line);) {
        if (!line.starts_with('#')) REQUIRE(line == line_of(table().entries[i++]));
    }
    const std::string good = "tree\tf16\tf32\tnormal\t3\t4\t0x3f800000";
    CHECK(parse_table(good).entries.front().bits == 0x3f800000u);
    for (const std::string bad :
         {"", "# only a comment\n", "tree", "tree\tf16\tf32\tnormal\t3\t4", "tree\tf16\tf32\tnormal\t3\t4\t3f800000",
          "tree\tf16\tf32\tnormal\t3\t4\t0x3f80000", "bush\tf16\tf32\tnormal\t3\t4\t0x3f800000",
          "tree\tf16\tf32\todd\t3\t4\t0x3f800000", "tree\tf16\tf32\tnormal\t-3\t4\t0x3f800000",
          "tree\tf16\tf32\tnormal\t3\t4\t0x3f800000\t"}) {
        INFO(bad);
        CHECK_THROWS_AS(parse_table(bad), std::runtime_error);
    }
    CHECK_THROWS_WITH(parse_table(good + "\nx\n"), "line 2 of the table of golden results is malformed");
}

/// DETREDUCE_GOLDEN_OUT=FILE writes the table from this CPU: for working on the table where there is no GPU. It is not to be kept.
TEST_CASE("golden table: written by the CPU on request", "[.][golden_write]") {
    const char* const path = std::getenv("DETREDUCE_GOLDEN_OUT");
    REQUIRE(path != nullptr);
    std::ofstream file(path);
    write_table(file, "the CPU, for want of a GPU", [](const Case& c, const void* x) { return reduce_on_cpu(c, x); });
    REQUIRE(file.good());
}

} // namespace detreduce::golden
