// Rows by the line and the column of a table, so that a table takes as long as it has rows and
// cells.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace detreduce::report {

/// Of what results may have any number of, a page shows so many: columns of a table, lines of a
/// plot, plots of a kind. All are in the CSV files.
inline constexpr std::size_t most_columns = 64, most_series = 32, most_plots = 128;

/// The values of `key(row)` in the order in which they first occur, with the places of their rows.
template <class Rows, class Key>
[[nodiscard]] std::vector<std::pair<std::string, std::vector<std::size_t>>> places_by(const Rows& rows, Key key) {
    std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
    std::unordered_map<std::string, std::size_t> known;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto [at, is_new] = known.try_emplace(key(rows[i]), groups.size());
        if (is_new) groups.push_back({at->first, {}});
        groups[at->second].second.push_back(i);
    }
    return groups;
}

/// Those values alone.
template <class Rows, class Key>
[[nodiscard]] std::vector<std::string> distinct_of(const Rows& rows, Key key) {
    std::vector<std::string> out;
    for (auto& group : places_by(rows, key))
        out.push_back(std::move(group.first));
    return out;
}

/// The rows of each value.
template <class Row, class Key>
[[nodiscard]] std::vector<std::pair<std::string, std::vector<Row>>> rows_by(const std::vector<Row>& rows, Key key) {
    std::vector<std::pair<std::string, std::vector<Row>>> groups;
    for (const auto& [value, places] : places_by(rows, key)) {
        groups.push_back({value, {}});
        for (const std::size_t i : places)
            groups.back().second.push_back(rows[i]);
    }
    return groups;
}

/// The rows of each cell of a table whose lines and columns are the values of two keys. The rows
/// must stay.
template <class Row>
class Crossing {
  public:
    template <class LineOf, class ColumnOf>
    Crossing(const std::vector<Row>& rows, LineOf line_of, ColumnOf column_of)
        : Crossing(rows, line_of, column_of, distinct_of(rows, column_of)) {}

    /// With the columns in that order; rows of others are in no cell.
    template <class LineOf, class ColumnOf>
    Crossing(const std::vector<Row>& rows, LineOf line_of, ColumnOf column_of, std::vector<std::string> columns)
        : columns_(std::move(columns)) {
        if (columns_.size() > most_columns) columns_.resize(most_columns);
        std::unordered_map<std::string, std::size_t> place;
        for (std::size_t i = 0; i < columns_.size(); ++i)
            place.emplace(columns_[i], i);
        for (auto& [line, places] : places_by(rows, line_of)) {
            std::vector<std::vector<const Row*>> cells(columns_.size());
            for (const std::size_t i : places)
                if (const auto at = place.find(column_of(rows[i])); at != place.end())
                    cells[at->second].push_back(&rows[i]);
            lines_.push_back({line, &rows[places.front()], std::move(cells)});
        }
    }

    struct Line {
        std::string name;
        const Row* first; ///< of its rows
        std::vector<std::vector<const Row*>> cells;
    };
    [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }
    [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }

  private:
    std::vector<std::string> columns_;
    std::vector<Line> lines_;
};

} // namespace detreduce::report
