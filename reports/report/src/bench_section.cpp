// Section 5, where the figures are there: how fast other ops and shapes are.
#include <fmt/format.h>

#include "op_tables.hpp"

namespace detreduce::report {
namespace {

Table table_of(const BenchFile& file) {
    if (file.name == shapes_file) return shapes_table(file.rows, plain_name);
    if (file.name == row_ops_file) return row_ops_table(file.rows, plain_name);
    return file.name == ops_file ? ops_table(file.rows, plain_name) : ops_and_cub_table(file.rows, plain_name);
}

} // namespace

Section bench_section(const std::vector<BenchFile>& files) {
    Section section{"ops", "Cost of ops and shapes, by detreduce_gpu_bench", {}, {}, {}, {}, {}};
    section.text = {
        "All ops are timed over the same bytes; those of two inputs read half of them as x and half as y. Those that "
        "compare or count are the same by every method, and stand under exact.",
        "Shapes divide the same elements into groups. Where only a part of the bytes is read, the time is given."};
    for (const BenchFile& file : files) {
        section.tables.push_back(table_of(file));
        section.tables.back().caption += fmt::format(" ({}: {})", file.name, file.origin);
    }
    return section;
}

} // namespace detreduce::report
