// The bits that a GPU gave are the bits that every instruction set of this processor gives.
#include <fstream>

#include <detreduce/detreduce.hpp>

#include <support/catch.hpp>

#include "laws/golden.hpp"

namespace detreduce::proptests {

TEST_CASE("golden bits: the CPU gives what the GPU gave", "[golden]") {
    const std::vector<std::string> table = read_golden(golden_path());
    const std::vector<GoldenCase> cases = golden_cases();
    REQUIRE(table.size() == cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
        with_input(cases[i], [&](const GoldenCase& c, const auto& x) {
            for (const Isa isa : available_isas()) {
                INFO(name(isa));
                REQUIRE(golden_line(c, hex_bits(sum(x, c.method, {.isa = isa}))) == table[i]);
            }
        });
    }
}

TEST_CASE("golden bits: the table says which GPU they are from", "[golden]") {
    std::ifstream file(golden_path());
    std::string first;
    std::getline(file, first);
    REQUIRE(first.rfind("# spec_version " + std::to_string(spec_version) + ", from ", 0) == 0);
    REQUIRE(first.find("NVIDIA") != std::string::npos);
}

} // namespace detreduce::proptests
