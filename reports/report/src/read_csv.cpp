#include "read_csv.hpp"

#include <charconv>

#include <fmt/format.h>

#include "failure.hpp"
#include "files.hpp"
#include "model_fields.hpp"
#include "render.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

using program::Failure;

// Undoes csv_escaped(): a quote within quotes is written twice.
std::vector<std::string> fields_of(std::string_view line) {
    std::vector<std::string> out(1);
    bool quoted = false;
    char before = 0;
    for (const char c : line) {
        if (c == ',' && !quoted) {
            out.emplace_back();
        } else if (c != '"') {
            out.back() += c;
        } else {
            if (!quoted && before == '"') out.back() += c;
            quoted = !quoted;
        }
        before = c;
    }
    return out;
}

struct Reader {
    std::vector<std::string> texts;
    std::string where;
    std::size_t next = 0;

    template <class T>
    void operator()(const char* key, T& value) {
        if (next == texts.size()) throw Failure(fmt::format("{}: '{}' is missing", where, key));
        read(key, texts[next++], value);
    }

    static void read(const char*, const std::string& text, std::string& value) { value = csv_unescaped(text); }
    void read(const char* key, const std::string& text, bool& value) const {
        if (text != "true" && text != "false")
            throw Failure(fmt::format("{}: '{}' is not true or false but '{}'", where, key, text));
        value = text == "true";
    }
    void read(const char* key, const std::string& text, Metric& value) const {
        value.reset();
        if (!text.empty()) read(key, text, value.emplace());
    }
    template <class Number>
    void read(const char* key, const std::string& text, Number& value) const {
        const char* const end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, value);
        if (error != std::errc() || rest != end)
            throw Failure(fmt::format("{}: '{}' is not a number but '{}'", where, key, text));
    }
};

template <class Row>
Row row_of(std::string_view line, const std::string& where) {
    Reader reader{fields_of(line), where};
    Row row;
    fields(reader, row);
    if (reader.next != reader.texts.size()) throw Failure(fmt::format("{}: more fields than the header has", where));
    return row;
}

// `header` has its end of line.
template <class Row>
std::vector<Row> rows_of(std::string_view text, const std::string& header, const std::string& source) {
    if (!text.starts_with(header))
        throw Failure(fmt::format("{}: not a CSV file of detreduce_gpu_bench: its first line is not {}", source,
                                  header.substr(0, header.size() - 1)));
    std::vector<Row> rows;
    std::size_t line = 2;
    for (std::size_t from = header.size(); from < text.size(); ++line) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        rows.push_back(row_of<Row>(text.substr(from, end - from), fmt::format("{}:{}", source, line)));
        from = end + 1;
    }
    return rows;
}

} // namespace

std::vector<CostRow> cost_from_csv(std::string_view text, const std::string& source) {
    return rows_of<CostRow>(text, cost_csv({}), source);
}

std::vector<PublishedRow> published_from_csv(std::string_view text, const std::string& source) {
    return rows_of<PublishedRow>(text, published_csv({}), source);
}

std::vector<CostRow> load_cost(const std::filesystem::path& file) {
    return cost_from_csv(read_file(file), file.string());
}

} // namespace detreduce::report
