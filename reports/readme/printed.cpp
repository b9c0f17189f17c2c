#include "printed.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "failure.hpp"
#include "markdown_table.hpp"

namespace detreduce::readme {
namespace {

constexpr std::size_t names = 2; // columns that say which sum

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// "| a | b |"
std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    for (std::size_t at = 1; at < line.size();) {
        const std::size_t end = std::min(line.find('|', at), line.size());
        cells.push_back(trimmed(line.substr(at, end - at)));
        at = end + 1;
    }
    return cells;
}

} // namespace

std::string Printed::at(const std::string& sum, const std::string& dtype, std::size_t column) const {
    for (const std::vector<std::string>& row : rows)
        if (row[0] == sum && row[1] == dtype) return row[column];
    return "";
}

Printed printed(const std::string& text, const std::string& source) {
    Printed found;
    std::istringstream in(text);
    std::size_t number = 0;
    const auto refuse = [&](const char* why) {
        throw program::Failure(
            fmt::format("{}:{}: {}; allowed is what a program of docs/edge-cases/ prints: where it ran, an empty line "
                        "and a table",
                        source, number, why));
    };
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (number == 1) {
            found.origin = line;
        } else if (line.starts_with("|---")) {
            if (found.heads.empty()) refuse("a table without heads");
        } else if (line.starts_with('|')) {
            std::vector<std::string> cells = cells_of(line);
            if (found.heads.empty()) {
                found.heads = std::move(cells);
                if (found.heads.size() <= names) refuse("fewer than three columns");
            } else {
                if (cells.size() != found.heads.size()) refuse("another number of columns than in the head");
                found.rows.push_back(std::move(cells));
            }
        } else if (!line.empty()) {
            refuse("a line that is in no table");
        }
    }
    if (found.origin.empty() || found.origin.starts_with('|')) refuse("no line says where it ran");
    if (found.rows.empty()) refuse("no table");
    return found;
}

std::string printed_table(const Printed& p, const std::string& link) {
    report::Table table;
    for (std::size_t column = 0; column < p.heads.size(); ++column)
        table.columns.push_back({p.heads[column], column >= 2});
    for (const std::vector<std::string>& row : p.rows) {
        std::vector<report::Cell>& cells = table.rows.emplace_back();
        for (const std::string& text : row)
            cells.push_back({text});
    }
    return fmt::format("From {}: {}.\n\n", link, p.origin) + markdown(table);
}

} // namespace detreduce::readme
