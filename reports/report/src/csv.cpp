// One CSV file a section: the columns are the keys of results.json, a header line first, an empty
// field for what was not measured.
#include "model_fields.hpp"
#include "render.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

struct Header {
    std::string line;
    template <class T>
    void operator()(const char* key, T&) {
        line += (line.empty() ? "" : ",") + std::string(key);
    }
    template <class T>
    void optional(const char* key, T& value) {
        (*this)(key, value);
    }
};

struct Line {
    std::string line;
    bool first = true;
    template <class T>
    void operator()(const char*, T& value) {
        line += (first ? "" : ",") + text(value);
        first = false;
    }
    template <class T>
    void optional(const char* key, T& value) {
        (*this)(key, value);
    }
    static std::string text(const std::string& v) { return csv_escaped(v); }
    static std::string text(bool v) { return v ? "true" : "false"; }
    static std::string text(std::int64_t v) { return std::to_string(v); }
    static std::string text(std::uint64_t v) { return std::to_string(v); }
    static std::string text(const std::optional<std::int64_t>& v) { return v ? text(*v) : ""; }
    static std::string text(const Metric& v) { return v ? exact_decimal(*v) : ""; }
    static std::string text(const std::vector<Pattern>& v) {
        std::string all;
        for (const Pattern& pattern : v)
            all += (all.empty() ? "" : " ") + pattern.bits + ":" + std::to_string(pattern.count);
        return csv_escaped(all);
    }
};

template <class Row>
std::string csv(const std::vector<Row>& rows) {
    Header header;
    Row none{};
    fields(header, none);
    std::string out = header.line + "\n";
    for (Row row : rows) {
        Line line;
        fields(line, row);
        out += line.line + "\n";
    }
    return out;
}

} // namespace

std::string error_csv(const Results& results) {
    return csv(results.error);
}
std::string edges_csv(const Results& results) {
    return csv(results.edges);
}
std::string determinism_csv(const Results& results) {
    return csv(results.determinism);
}
std::string cost_csv(const Results& results) {
    return csv(results.cost);
}
std::string ladder_csv(const Results& results) {
    return csv(results.ladder);
}
std::string data_csv(const Results& results) {
    return csv(results.data);
}
std::string data_sums_csv(const Results& results) {
    return csv(results.data_sums);
}
std::string reference_csv(const Results& results) {
    return csv(results.reference);
}
std::string op_cost_csv(const Results& results) {
    return csv(results.op_cost);
}
std::string compared_bits_csv(const std::vector<ComparedBits>& rows) {
    return csv(rows);
}
std::string compared_speed_csv(const std::vector<ComparedSpeed>& rows) {
    return csv(rows);
}
std::string published_csv(const std::vector<PublishedRow>& rows) {
    return csv(rows);
}

} // namespace detreduce::report
