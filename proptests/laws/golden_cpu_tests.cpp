// The bits that a GPU gave are the bits that every instruction set of this processor gives.
#include <map>
#include <set>
#include <sstream>

#include <detreduce/detreduce.hpp>

#include <support/catch.hpp>

#include "golden/compare.hpp"
#include "golden/compute.hpp"
#include "laws/golden_files.hpp"

namespace detreduce::golden {
namespace {

const Table& table() {
    static const Table parsed = parse_table(embedded_table());
    return parsed;
}

} // namespace

TEST_CASE("golden bits: the tables have every case, in order", "[golden]") {
    std::vector<Case> expected = sum_cases();
    for (const Case& c : op_cases())
        expected.push_back(c);
    const std::vector<Case> found = cases_of(table());
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        INFO("case " << i << ": " << line_of({expected[i], 0}) << ", but the table has " << line_of({found[i], 0}));
        REQUIRE(found[i] == expected[i]);
    }
}

TEST_CASE("golden bits: the CPU gives what the GPU gave", "[golden]") {
    std::size_t i = 0;
    (void)compute(cases_of(table()), [&](const Case& c, const Input& in) {
        const Entry& expected = table().entries[i++];
        for (const Isa isa : available_isas()) {
            INFO(name(isa));
            REQUIRE(line_of({c, reduce_on_cpu(c, in, {.isa = isa})}) == line_of(expected));
        }
        return expected.bits;
    });
}

TEST_CASE("golden bits: the CPU gives what the GPU gave, of row ops and losses", "[golden]") {
    for (const Isa isa : available_isas()) {
        INFO(name(isa));
        const std::vector<CallResult> got = call_results(*cpu_memory({.isa = isa}));
        REQUIRE(got.size() == table().calls.size());
        for (std::size_t i = 0; i < got.size(); ++i)
            REQUIRE(line_of(got[i]) == line_of(table().calls[i]));
    }
}

TEST_CASE("golden calls: every row op and loss is there for each dtype, no two are the same", "[golden]") {
    std::map<std::string, std::set<std::string>> dtypes_of;
    std::set<std::string> calls;
    for (const CallResult& r : table().calls) {
        CHECK(calls.insert(r.call).second);
        std::istringstream words(r.call);
        std::string kind, op, method, reduction, dtype;
        words >> kind >> op >> method >> reduction >> dtype;
        dtypes_of[name_of(r)].insert(dtype);
    }
    for (const LossInfo& loss : losses)
        CHECK(dtypes_of["loss " + std::string(loss.name)].size() == 4);
#define DETREDUCE_ROW_OP(op, c_name) CHECK(dtypes_of["row_op " #op].size() == 4);
    DETREDUCE_ROW_OPS(DETREDUCE_ROW_OP)
#undef DETREDUCE_ROW_OP
}

TEST_CASE("golden bits: each file of the table says which GPU it is from", "[golden]") {
    const std::string source = table().source;
    for (const int version : {spec_version, spec_version_of(RowOp{}), spec_version_of(Loss{})})
        REQUIRE(source.find("spec_version " + std::to_string(version) + ", from NVIDIA") != std::string::npos);
    REQUIRE(source.find("CPU") == std::string::npos);
}

TEST_CASE("golden cases: every method and dtype has enough of them, no two are the same", "[golden]") {
    const std::vector<Case> cases = sum_cases();
    for (const Method method : golden_methods()) {
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
            if (!is_flat_sum(e.of) || e.of.dtype != dtype || e.of.output != dtype) continue;
            if (e.of.family == accuracy::Family::nonfinite) seen.insert(bits_text(e.of, e.bits));
        }
        const bool has_inf = with_dtype(dtype, []<class T>(T) { return fp::Format<T>::has_inf; });
        CHECK(seen.size() == (has_inf ? 3 : 1)); // exactly these, for every method
    }
}

TEST_CASE("golden table: what is written can be read, and what is malformed cannot", "[golden]") {
    std::istringstream lines{std::string(embedded_table())};
    std::string line;
    std::size_t entries = 0, calls = 0;
    while (std::getline(lines, line)) {
        if (line.starts_with('#')) continue;
        REQUIRE(line == (is_call(line) ? line_of(table().calls[calls++]) : line_of(table().entries[entries++])));
    }
    const std::string good = "tree\tf16\tf32\tnormal\t3\t4\t0x3f800000";
    CHECK(parse_table(good).entries.front().bits == 0x3f800000u);
    for (const std::string bad :
         {"", "# only a comment\n", "tree", "tree\tf16\tf32\tnormal\t3\t4", "tree\tf16\tf32\tnormal\t3\t4\t3f800000",
          "tree\tf16\tf32\tnormal\t3\t4\t0x3f80000", "bush\tf16\tf32\tnormal\t3\t4\t0x3f800000",
          "tree\tf16\tf32\todd\t3\t4\t0x3f800000", "tree\tf16\tf32\tnormal\t-3\t4\t0x3f800000",
          "tree\tf16\tf32\tnormal\t3\t4\t0x3f800000\t", "row_op\tsoftmax\t0x12", "loss\tmse\t0x123456789abcdefg"}) {
        INFO(bad);
        CHECK_THROWS_AS(parse_table(bad), std::runtime_error);
    }
    CHECK_THROWS_WITH(parse_table(good + "\nx\n"), "line 2 of the table of golden results is malformed");
}

/// For working on the tables where there is no GPU. What comes of it says so.
TEST_CASE("golden table: written by the CPU on request", "[.][golden_write]") {
    const std::string device = "the CPU, for want of a GPU";
    int written = 0;
    for (const File& f : files()) {
        if (!is_asked_for(f)) continue;
        std::ostringstream text;
        if (f.cases.empty()) {
            write_table(text, device, f.calls, *cpu_memory());
        } else {
            write_table(text, device, f.cases, [](const Case& c, const Input& in) { return reduce_on_cpu(c, in); });
        }
        write(f, text.str());
        ++written;
    }
    REQUIRE(written > 0);
}

} // namespace detreduce::golden
