#include "columns.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "failure.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

constexpr std::size_t most_columns = 65536;

bool is_whole_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_quoted_number(std::string_view text) {
    return text.size() > 2 && text.front() == '"' && text.back() == '"' &&
           is_whole_number(text.substr(1, text.size() - 2));
}

/// `1 column`, `3 columns`.
std::string columns_text(std::size_t count) {
    return fmt::format("{} column{}", count, count == 1 ? "" : "s");
}

} // namespace

ColumnReader::ColumnReader(ByteSource& bytes, Fields fields, const Column& column)
    : lines_(bytes), by_commas_(fields == Fields::by_commas), wanted_(column.text),
      named_(!column.text.empty() && !is_whole_number(column.text)) {
    if (is_quoted_number(wanted_)) wanted_ = wanted_.substr(1, wanted_.size() - 2);
}

bool ColumnReader::next(std::string_view& to) {
    if (!next_record()) {
        if (named_ && count_ == 0)
            throw Failure(
                fmt::format("{} has no first line that could name a column {}", lines_.name(), excerpt(wanted_)));
        return false;
    }
    if (count_ == 0) {
        count_ = fields_.size();
        find_column();
        first_ = true;
        if (named_) return next(to); // the first line holds names
    } else {
        first_ = false;
        check_count();
    }
    to = field(index_);
    return true;
}

std::string ColumnReader::place() const {
    return fmt::format("{}, line {}, column {}", lines_.name(), line_, index_ + 1);
}

std::string_view ColumnReader::advice() const {
    return first_ ? "; a first line with names takes --column NAME" : "";
}

std::string_view ColumnReader::field(std::size_t i) const {
    return without_blanks(std::string_view(text_).substr(fields_[i].begin, fields_[i].end - fields_[i].begin));
}

/// Reads the next line, or lines, that are a record, and splits it; false at the end.
bool ColumnReader::next_record() {
    for (std::string_view line; lines_.next(line);) {
        const std::string_view content = by_commas_ ? line : without_comment_and_blanks(line);
        if (without_blanks(content).empty()) continue;
        line_ = lines_.number();
        text_.clear();
        fields_.clear();
        if (by_commas_) {
            split_commas(line);
        } else {
            split_blanks(content);
        }
        return true;
    }
    return false;
}

void ColumnReader::end_field(std::size_t begin) {
    if (fields_.size() == most_columns)
        throw Failure(fmt::format("{}, line {} has more than {}; allowed are no more", lines_.name(), line_,
                                  columns_text(most_columns)));
    fields_.push_back({begin, text_.size()});
}

void ColumnReader::split_blanks(std::string_view line) {
    for (std::size_t at = 0; at < line.size();) {
        const std::size_t end = std::min(line.find_first_of(blanks, at), line.size()), begin = text_.size();
        text_.append(line.substr(at, end - at));
        end_field(begin);
        at = std::min(line.find_first_not_of(blanks, end), line.size());
    }
}

void ColumnReader::split_commas(std::string_view line) {
    for (;;) {
        const std::size_t begin = text_.size(), first = line.find_first_not_of(" \t");
        if (first != std::string_view::npos && line[first] == '"') {
            line = take_quoted(line.substr(first + 1));
            end_field(begin);
            const std::size_t rest = line.find_first_not_of(" \t");
            if (rest == std::string_view::npos) return;
            if (line[rest] != ',') {
                throw Failure(fmt::format("{}, line {}, column {}: {} follows the closing quote; allowed is a comma",
                                          lines_.name(), lines_.number(), fields_.size(), excerpt(line.substr(rest))));
            }
            line.remove_prefix(rest + 1);
            continue;
        }
        const std::size_t comma = line.find(',');
        text_.append(line.substr(0, comma));
        end_field(begin);
        if (comma == std::string_view::npos) return;
        line.remove_prefix(comma + 1);
    }
}

/// Takes what stands before the closing quote, also on further lines; two quotes are one. What
/// remains of the line.
std::string_view ColumnReader::take_quoted(std::string_view line) {
    for (;;) {
        const std::size_t quote = line.find('"');
        text_.append(line.substr(0, quote));
        if (quote != std::string_view::npos) {
            line.remove_prefix(quote + 1);
            if (!line.starts_with('"')) return line;
            text_ += '"';
            line.remove_prefix(1);
            continue;
        }
        text_ += '\n';
        if (text_.size() > LineReader::longest_line || !lines_.next(line)) {
            throw Failure(fmt::format("{}, line {}, column {}: a quote is not closed; allowed are two of them around "
                                      "a field",
                                      lines_.name(), line_, fields_.size() + 1));
        }
    }
}

/// Which column of the first record it is.
void ColumnReader::find_column() {
    if (wanted_.empty()) {
        if (count_ == 1) return;
        throw Failure(fmt::format("{} has {}; say which, by --column and its number or name", lines_.name(),
                                  columns_text(count_)));
    }
    if (!named_) {
        std::size_t number = 0;
        const auto [stop, error] = std::from_chars(wanted_.data(), wanted_.data() + wanted_.size(), number);
        if (error != std::errc{} || number < 1 || number > count_) {
            throw Failure(fmt::format("{} has no column {}; allowed are {}{}", lines_.name(), wanted_,
                                      count_ == 1 ? "1" : fmt::format("1 to {}", count_), advice_on_names()));
        }
        index_ = number - 1;
        return;
    }
    std::vector<std::string> names;
    std::size_t found = 0; // columns of that name
    for (std::size_t i = 0; i < count_; ++i) {
        if (names.size() < 20) names.push_back(excerpt(field(i)));
        if (field(i) != wanted_) continue;
        ++found;
        index_ = i;
    }
    if (found == 1) return;
    if (found > 1) {
        throw Failure(fmt::format("{} has {} columns named {}; allowed is the number of one, 1 to {}", lines_.name(),
                                  found, excerpt(wanted_), count_));
    }
    throw Failure(fmt::format("{} has no column {}; its first line names {}{}", lines_.name(), excerpt(wanted_),
                              fmt::join(names, ", "), count_ > names.size() ? ", …" : ""));
}

/// What else a number that is too large may be.
std::string ColumnReader::advice_on_names() const {
    for (std::size_t i = 0; i < count_; ++i)
        if (field(i) == wanted_) return fmt::format("; the column with that name is --column '\"{}\"'", wanted_);
    return "";
}

void ColumnReader::check_count() {
    if (fields_.size() == count_) return;
    throw Failure(fmt::format("{}, line {} has {}, but the first has {}; each line must have as many", lines_.name(),
                              line_, columns_text(fields_.size()), count_));
}

} // namespace detreduce::program
