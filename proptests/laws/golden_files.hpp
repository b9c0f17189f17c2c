// Where the tables of golden results are written, if anybody asks: DETREDUCE_GOLDEN_OUT is the file
// for flat sums, DETREDUCE_GOLDEN_OPS_OUT that for everything else.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include "golden/cases.hpp"

namespace detreduce::golden {

struct File {
    const char* variable;
    std::vector<Case> cases;
};

inline std::vector<File> files() {
    return {{"DETREDUCE_GOLDEN_OUT", sum_cases()}, {"DETREDUCE_GOLDEN_OPS_OUT", op_cases()}};
}

inline bool is_asked_for(const File& f) {
    return std::getenv(f.variable) != nullptr;
}

inline void write(const File& f, const std::string& text) {
    std::ofstream file(std::getenv(f.variable));
    file << text;
    file.close();
    REQUIRE(file.good());
}

} // namespace detreduce::golden
