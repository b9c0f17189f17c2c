#include "schema.hpp"

#include <fstream>
#include <set>
#include <stdexcept>

namespace report_test {
namespace {

using nlohmann::json;

class Checker {
  public:
    explicit Checker(const json& root) : root_(root) {}

    void check(const json& schema, const json& value, const std::string& path, std::vector<std::string>& wrong) const {
        know(schema);
        if (schema.contains("$ref"))
            return check(root_.at(json::json_pointer(schema["$ref"].get<std::string>().substr(1))), value, path, wrong);
        if (schema.contains("anyOf")) return check_any(schema["anyOf"], value, path, wrong);
        if (schema.contains("const") && value != schema["const"]) wrong.push_back(path + ": not the constant");
        if (schema.contains("enum") && !contains(schema["enum"], value))
            wrong.push_back(path + ": not one of the allowed values");
        if (schema.contains("type") && !has_type(schema["type"], value)) wrong.push_back(path + ": wrong type");
        if (schema.contains("minimum") && value.is_number() && value < schema["minimum"])
            wrong.push_back(path + ": too small");
        if (schema.contains("maximum") && value.is_number() && value > schema["maximum"])
            wrong.push_back(path + ": too large");
        if (value.is_object() && schema.contains("properties")) check_object(schema, value, path, wrong);
        if (value.is_array() && schema.contains("items"))
            for (std::size_t i = 0; i < value.size(); ++i)
                check(schema["items"], value[i], path + "/" + std::to_string(i), wrong);
    }

  private:
    // A word that this checker does not know would be a check that never happens.
    static void know(const json& schema) {
        static const std::set<std::string> words{"$schema",    "title",   "description", "type",  "required",
                                                 "properties", "$defs",   "items",       "const", "enum",
                                                 "minimum",    "maximum", "anyOf",       "$ref"};
        for (const auto& [word, unused] : schema.items())
            if (!words.contains(word))
                throw std::logic_error("the schema uses '" + word + "', which the checker does not know");
    }

    static bool contains(const json& list, const json& value) {
        for (const json& item : list)
            if (item == value) return true;
        return false;
    }

    static bool has_type(const json& type, const json& value) {
        if (type.is_array()) {
            for (const json& one : type)
                if (has_type(one, value)) return true;
            return false;
        }
        if (type == "integer") return value.is_number_integer();
        if (type == "number") return value.is_number();
        return type == value.type_name();
    }

    void check_any(const json& choices, const json& value, const std::string& path,
                   std::vector<std::string>& wrong) const {
        std::vector<std::string> last;
        for (const json& choice : choices) {
            last.clear();
            check(choice, value, path, last);
            if (last.empty()) return;
        }
        wrong.insert(wrong.end(), last.begin(), last.end());
    }

    void check_object(const json& schema, const json& value, const std::string& path,
                      std::vector<std::string>& wrong) const {
        for (const json& key : schema.value("required", json::array()))
            if (!value.contains(key.get<std::string>()))
                wrong.push_back(path + ": " + key.get<std::string>() + " is missing");
        for (const auto& [key, item] : value.items()) {
            if (!schema["properties"].contains(key))
                wrong.push_back(path + "/" + key + ": unknown key");
            else
                check(schema["properties"][key], item, path + "/" + key, wrong);
        }
    }

    const json& root_;
};

} // namespace

std::vector<std::string> violations(const json& schema, const json& value) {
    std::vector<std::string> wrong;
    Checker(schema).check(schema, value, "", wrong);
    return wrong;
}

json results_schema() {
    std::ifstream in(DETREDUCE_SCHEMA);
    return json::parse(in);
}

} // namespace report_test
