// A checker for the part of JSON Schema that results.schema.json uses.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace report_test {

/// What is wrong with `value`, one line each; empty when it fits. Keys that the schema does not
/// know are wrong too: whoever adds one must describe it.
[[nodiscard]] std::vector<std::string> violations(const nlohmann::json& schema, const nlohmann::json& value);

[[nodiscard]] nlohmann::json results_schema();

} // namespace report_test
