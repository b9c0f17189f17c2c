#include "markdown_table.hpp"

namespace detreduce::readme {
namespace {

using namespace report;

std::string line_of(const std::vector<std::string>& cells) {
    std::string line = "|";
    for (std::string cell : cells) {
        for (std::size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2)
            cell.insert(at, 1, '\\');
        line += " " + cell + " |";
    }
    return line + "\n";
}

} // namespace

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

} // namespace detreduce::readme
