#include "performance.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "files.hpp"
#include "json.hpp"
#include "op_tables.hpp"
#include "origin.hpp"
#include "read_csv.hpp"
#include "sum_tables.hpp"
#include "summary.hpp"
#include "text.hpp"

namespace detreduce::readme {
namespace {

using namespace report;

// The cells are words and figures of our own: nothing to escape but bars, and names in `code` to keep.
std::string line_of(const std::vector<std::string>& cells) {
    std::string line = "|";
    for (std::string cell : cells) {
        for (std::size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2)
            cell.insert(at, "\\");
        line += " " + cell + " |";
    }
    return line + "\n";
}

std::string markdown(const Table& table) {
    std::vector<std::string> titles;
    for (const Column& column : table.columns)
        titles.push_back(column.title);
    std::string out = line_of(titles) + "|";
    for (const Column& column : table.columns)
        out += column.figures ? "---:|" : "---|";
    out += "\n";
    for (const std::vector<Cell>& row : table.rows) {
        std::vector<std::string> cells;
        for (const Cell& cell : row)
            cells.push_back(cell.mood == Mood::absent ? "" : cell.text);
        out += line_of(cells);
    }
    return out;
}

struct Folder {
    std::filesystem::path path;
    std::string link, provenance;

    [[nodiscard]] std::string from(const std::string& file) const {
        const Origin origin = origin_of(file, provenance, (path / "provenance.txt").string());
        return fmt::format("From [{}]({}/{}): {}.\n\n", file, link, file, words_of(origin));
    }
    [[nodiscard]] std::vector<CostRow> rows(const std::string& file) const { return load_cost(path / file); }
};

std::string picture(const Folder& folder, const std::string& file, const std::string& words) {
    return fmt::format("\n![{}]({}/{})\n", words, folder.link, file);
}

// What each choice gives and costs.
std::string choices(const Folder& folder) {
    const char* const file = "results.json";
    const Results results = load_results(folder.path / file);
    const bool on_gpu = results.provenance.device != "cpu";
    const std::vector<Choice> list = choices_of(results);
    std::uint64_t most = 0; // bytes of the largest size, which is whose speed the table has
    for (const Choice& c : list)
        if (c.cost) most = std::max(most, c.cost->bytes);
    return "What each choice gives and costs: errors in ulp of the result (16-bit elements: of a result in f32), "
           "different bit patterns along "
           "what the method's guarantee covers, and speed on " +
           bytes_of(most) + ", relative to reading the same bytes.\n" + folder.from(file) +
           markdown(summary_table(list, on_gpu)) +
           picture(folder, "summary-f32.svg", "Error against cost, sums of f32");
}

std::string ladder(const Folder& folder) {
    const char* const file = "ladder.json";
    return "The kernels by which reductions are taught ([kernels/ladder/](kernels/ladder)), f32, beside libraries and "
           "these methods: "
           "bandwidth, bit patterns in 1000 runs, and error of the last of them.\n" +
           folder.from(file) + markdown(ladder_summary_table(load_results(folder.path / file)));
}

std::string sums(const Folder& folder) {
    const char* const file = sums_file;
    const std::vector<CostRow> rows = folder.rows(file);
    return "Sums of normal data: medians in µs of one run; the last columns are the speed relative to a kernel that "
           "only reads the same bytes.\n" +
           folder.from(file) + markdown(sizes_table(rows)) +
           "\nThe time of `exact` depends on what the numbers are (its bits depend on nothing else).\n" +
           folder.from(file) + markdown(data_table(rows));
}

std::string ops(const Folder& folder) {
    const char* const file = ops_file;
    return "Ops over the same bytes: those of two inputs read half as x and half as y. Those that compare or count are "
           "the same by every method.\n" +
           folder.from(file) + markdown(ops_table(folder.rows(file), code));
}

std::string small_ops(const Folder& folder) {
    const char* const file = small_ops_file;
    return "Ops on little data, where starting and finishing count: their time as a multiple of that of CUB's "
           "nearest algorithm, without what follows it (a root, a division); below 1 is faster.\n" +
           folder.from(file) + markdown(ops_and_cub_table(folder.rows(file), code));
}

std::string shapes(const Folder& folder) {
    const char* const file = shapes_file;
    return "Groups of the same elements. Many small tensors are fewer bytes, so that their time is given.\n" +
           folder.from(file) + markdown(shapes_table(folder.rows(file), code));
}

std::string row_ops(const Folder& folder) {
    const char* const file = row_ops_file;
    return "Row ops by `tree`, and means of losses, of which one half of the bytes is the target. Those that write as "
           "much as they read are beside a copy of the same bytes (c).\n" +
           folder.from(file) + markdown(row_ops_table(folder.rows(file), code));
}

} // namespace

std::string performance(const std::filesystem::path& path, const std::string& link) {
    const Folder folder{path, link, read_file(path / "provenance.txt")};
    return choices(folder) + "\n" + sums(folder) + "\n" + ops(folder) + "\n" + small_ops(folder) + "\n" +
           shapes(folder) + "\n" + row_ops(folder) + "\n" + ladder(folder);
}

} // namespace detreduce::readme
