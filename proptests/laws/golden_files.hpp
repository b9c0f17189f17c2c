// Where the tables of golden results are written, if anybody asks: DETREDUCE_GOLDEN_OUT is the file
// for flat sums, DETREDUCE_GOLDEN_OPS_OUT that for other reductions, DETREDUCE_GOLDEN_ROW_OPS_OUT
// and DETREDUCE_GOLDEN_LOSSES_OUT those for row ops and losses.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include "golden/calls.hpp"
#include "golden/cases.hpp"

namespace detreduce::golden {

struct File {
    const char* variable;
    std::vector<Case> cases; ///< or, of calls, none
    CallTable calls = {};
};

inline std::vector<File> files() {
    return {{"DETREDUCE_GOLDEN_OUT", sum_cases()},
            {"DETREDUCE_GOLDEN_OPS_OUT", op_cases()},
            {"DETREDUCE_GOLDEN_ROW_OPS_OUT", {}, row_op_table()},
            {"DETREDUCE_GOLDEN_LOSSES_OUT", {}, loss_table()}};
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
