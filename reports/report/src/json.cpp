#include "json.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <detreduce/version.hpp>

#include "failure.hpp"
#include "files.hpp"
#include "model_fields.hpp"

namespace detreduce::report {
namespace {

using Json = nlohmann::ordered_json;
using program::Failure;

// JSON has no infinity, and nlohmann writes null for one, which means "not measured" here.
Json to_value(const Metric& m) {
    if (!m || std::isnan(*m)) return nullptr;
    if (std::isinf(*m)) return *m > 0 ? "inf" : "-inf";
    return *m;
}
Json to_value(const std::optional<std::int64_t>& v) {
    return v ? Json(*v) : Json(nullptr);
}
Json to_value(const std::vector<std::string>& v) {
    return v;
}
Json to_value(const std::string& v) {
    return v;
}
Json to_value(bool v) {
    return v;
}
Json to_value(std::int64_t v) {
    return v;
}
Json to_value(std::uint64_t v) {
    return v;
}
Json to_value(const std::optional<Gpu>& v);
Json to_value(const std::vector<Pattern>& v);

struct Writer {
    Json object = Json::object();
    template <class T>
    void operator()(const char* key, T& value) {
        object[key] = to_value(value);
    }
    template <class T>
    void optional(const char* key, T& value) {
        if (!value.empty()) object[key] = to_value(value);
    }
};

template <class T>
Json write(const T& value) {
    Writer writer;
    T copy = value; // fields() is written once, for reading too, so it wants something it may change
    fields(writer, copy);
    return writer.object;
}

Json to_value(const std::optional<Gpu>& v) {
    return v ? write(*v) : Json(nullptr);
}
Json to_value(const std::vector<Pattern>& v) {
    Json list = Json::array();
    for (const Pattern& pattern : v)
        list.push_back(write(pattern));
    return list;
}

std::string dump(const Json& value, int indent = -1) {
    return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// One row a line: compact, and a diff of two files shows the rows that differ.
template <class T>
std::string rows(const std::vector<T>& list) {
    std::string text = "[";
    for (std::size_t i = 0; i < list.size(); ++i)
        text += (i ? ",\n    " : "\n    ") + dump(write(list[i]));
    return text + (list.empty() ? "]" : "\n  ]");
}

class Reader {
  public:
    Reader(const Json& object, std::string source, std::string path)
        : object_(object), source_(std::move(source)), path_(std::move(path)) {
        if (!object.is_object()) fail("", "an object");
    }

    template <class T>
    void operator()(const char* key, T& value) {
        read(key, at(key), value);
    }
    template <class T>
    void optional(const char* key, T& value) {
        if (object_.contains(key)) read(key, object_[key], value);
    }

    const Json& at(const char* key) const {
        const auto found = object_.find(key);
        if (found == object_.end()) throw Failure(fmt::format("{}: key '{}' is missing", source_, name(key)));
        return *found;
    }

    [[noreturn]] void fail(const char* key, const char* expected) const {
        throw Failure(fmt::format("{}: '{}' is not {}", source_, name(key), expected));
    }

  private:
    std::string name(const char* key) const { return path_.empty() ? key : *key ? path_ + "." + key : path_; }

    void read(const char* key, const Json& json, std::string& value) const {
        if (!json.is_string()) fail(key, "a string");
        value = json.get<std::string>();
    }
    void read(const char* key, const Json& json, bool& value) const {
        if (!json.is_boolean()) fail(key, "true or false");
        value = json.get<bool>();
    }
    void read(const char* key, const Json& json, std::uint64_t& value) const {
        if (!json.is_number_unsigned()) fail(key, "a whole number from 0 on");
        value = json.get<std::uint64_t>();
    }
    void read(const char* key, const Json& json, std::int64_t& value) const {
        const bool fits =
            json.is_number_unsigned() && json.get<std::uint64_t>() <= static_cast<std::uint64_t>(largest_count);
        if (!fits) fail(key, "a whole number from 0 to 2^40");
        value = json.get<std::int64_t>();
    }
    void read(const char* key, const Json& json, std::optional<std::int64_t>& value) const {
        value.reset();
        if (!json.is_null()) read(key, json, value.emplace());
    }
    void read(const char* key, const Json& json, Metric& value) const {
        value.reset();
        if (json.is_null()) return;
        if (json.is_number()) {
            value = json.get<double>();
        } else if (json == "inf" || json == "-inf") {
            value = (json == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
        } else {
            fail(key, "a number, \"inf\", \"-inf\" or null");
        }
    }
    void read(const char* key, const Json& json, std::vector<std::string>& value) const {
        if (!json.is_array()) fail(key, "an array of strings");
        for (const Json& item : json)
            read(key, item, value.emplace_back());
    }
    void read(const char* key, const Json& json, std::vector<Pattern>& value) const {
        if (!json.is_array()) fail(key, "an array of bit patterns");
        for (const Json& item : json) {
            Reader reader(item, source_, name(key));
            fields(reader, value.emplace_back());
        }
    }
    void read(const char* key, const Json& json, std::optional<Gpu>& value) const {
        value.reset();
        if (json.is_null()) return;
        Reader reader(json, source_, name(key));
        fields(reader, value.emplace());
    }

    const Json& object_;
    std::string source_, path_;
};

// A list that files need not have.
template <class T>
std::string rows_if_any(const char* key, const std::vector<T>& list) {
    return list.empty() ? "" : fmt::format(",\n  \"{}\": {}", key, rows(list));
}

template <class T>
void read_rows(const Reader& top, const char* key, std::vector<T>& rows, const std::string& source) {
    const Json& list = top.at(key);
    if (!list.is_array()) top.fail(key, "an array");
    rows.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        Reader reader(list[i], source, fmt::format("{}[{}]", key, i));
        fields(reader, rows.emplace_back());
    }
}

Json parse(std::string_view text, const std::string& source) {
    constexpr std::uint64_t most = 5'000'000; // some 100 bytes each; a full report has 200 000
    std::uint64_t values = 0;
    const auto count = [&](int, Json::parse_event_t event, Json&) {
        using Event = Json::parse_event_t;
        const bool begins = event == Event::value || event == Event::object_start || event == Event::array_start;
        if (begins && ++values > most)
            throw Failure(fmt::format("{}: has more than {} values, which no report has", source, most));
        return true;
    };
    try {
        return Json::parse(text.begin(), text.end(), count);
    } catch (const nlohmann::json::parse_error& error) {
        throw Failure(fmt::format("{}: not JSON (error at byte {}); allowed is a results.json of `detreduce report`",
                                  source, error.byte));
    } catch (const nlohmann::json::exception& error) { // e.g. a number that no double holds
        throw Failure(fmt::format("{}: not usable JSON ({})", source, error.what()));
    }
}

void check_schema(const Json& json, const std::string& source) {
    if (!json.is_object() || !json.contains("schema") || json["schema"] != schema_name)
        throw Failure(
            fmt::format("{}: not a results file of detreduce (its \"schema\" is not \"{}\")", source, schema_name));
    if (!json.contains("schema_version") || !json["schema_version"].is_number_unsigned() || json["schema_version"] == 0)
        throw Failure(fmt::format("{}: 'schema_version' is missing or not a whole number from 1 on", source));
    if (json["schema_version"] < schema_version)
        throw Failure(fmt::format("{}: written in schema version {}, and this detreduce ({}) reads version {}; measure "
                                  "again, or render it with the version that wrote it",
                                  source, dump(json["schema_version"]), detreduce::version, schema_version));
    if (json["schema_version"] > schema_version)
        throw Failure(
            fmt::format("{}: written in schema version {}, and this detreduce ({}) reads version {}; use a newer one",
                        source, dump(json["schema_version"]), detreduce::version, schema_version));
}

} // namespace

std::string to_json(const Results& results) {
    std::string provenance;
    for (const char c : dump(write(results.provenance), 2)) { // nested one level deeper than dump() believes
        provenance += c;
        if (c == '\n') provenance += "  ";
    }
    const std::string optional = rows_if_any("ladder", results.ladder) + rows_if_any("data", results.data) +
                                 rows_if_any("data_sums", results.data_sums) +
                                 rows_if_any("reference", results.reference) + rows_if_any("op_cost", results.op_cost) +
                                 rows_if_any("own", results.own);
    return fmt::format("{{\n  \"schema\": \"{}\",\n  \"schema_version\": {},\n  \"provenance\": {},\n  \"error\": {},\n"
                       "  \"edges\": {},\n  \"determinism\": {},\n  \"cost\": {}{}\n}}\n",
                       schema_name, schema_version, provenance, rows(results.error), rows(results.edges),
                       rows(results.determinism), rows(results.cost), optional);
}

Results from_json(std::string_view text, const std::string& source) {
    const Json json = parse(text, source);
    check_schema(json, source);
    const Reader top(json, source, "");
    Results results;
    Reader provenance(top.at("provenance"), source, "provenance");
    fields(provenance, results.provenance);
    read_rows(top, "error", results.error, source);
    read_rows(top, "edges", results.edges, source);
    read_rows(top, "determinism", results.determinism, source);
    read_rows(top, "cost", results.cost, source);
    if (json.contains("ladder")) read_rows(top, "ladder", results.ladder, source);
    if (json.contains("data")) read_rows(top, "data", results.data, source);
    if (json.contains("data_sums")) read_rows(top, "data_sums", results.data_sums, source);
    if (json.contains("reference")) read_rows(top, "reference", results.reference, source);
    if (json.contains("op_cost")) read_rows(top, "op_cost", results.op_cost, source);
    if (json.contains("own")) read_rows(top, "own", results.own, source);
    return results;
}

Results load_results(const std::filesystem::path& file) {
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored))
        throw Failure(fmt::format("{}: is a directory; name the results.json in it", file.string()));
    return from_json(read_file(file), file.string());
}

} // namespace detreduce::report
