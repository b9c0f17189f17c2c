// One column of a table of text: CSV as RFC 4180 has it, or fields with blanks between them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "input.hpp"
#include "lines.hpp"

namespace detreduce::program {

/// Hands out the fields of a column, one after the other. Each line has as many fields as the
/// first. Blank lines are skipped, and with blanks between fields # starts a comment. A column that
/// is named is that of the field in the first line, which then holds no numbers. A whole number is
/// the number of a column, from 1; in double quotes it is a name.
class ColumnReader {
  public:
    ColumnReader(ByteSource& bytes, Fields fields, const Column& column);

    /// The next field without blanks at its ends; false at the end. `field` is valid until the next
    /// call.
    bool next(std::string_view& field);

    /// Where the last field came from, for messages.
    [[nodiscard]] std::string place() const;

    /// What else might be done about a text that is no number.
    [[nodiscard]] std::string_view advice() const;

  private:
    bool next_record();
    void split_blanks(std::string_view line);
    void split_commas(std::string_view line);
    [[nodiscard]] std::string_view take_quoted(std::string_view line);
    void end_field(std::size_t begin);
    [[nodiscard]] std::string_view field(std::size_t i) const;
    void find_column();
    [[nodiscard]] std::string advice_on_names() const;
    void check_count();

    struct Range {
        std::size_t begin, end; ///< in text_
    };

    LineReader lines_;
    bool by_commas_;
    std::string wanted_; ///< as the user said it
    std::string text_;   ///< the fields of a record, without quotes
    std::vector<Range> fields_;
    std::uint64_t line_ = 0; ///< where the record began
    std::size_t count_ = 0;  ///< fields of the first record; 0: it has not been read
    std::size_t index_ = 0;  ///< of the column
    bool named_ = false;
    bool first_ = false; ///< is the record the first?
};

} // namespace detreduce::program
