#include "reduce_result.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "number_text.hpp"

namespace detreduce::program {
namespace {

nlohmann::ordered_json json_of(const Value& number) {
    nlohmann::ordered_json json;
    visit(number, [&](auto value) {
        json["value"] = hexadecimal(value);
        json["bits"] = bits_text(value);
        json["decimal"] = shortest_decimal(value);
    });
    return json;
}

nlohmann::ordered_json json_of_integer(std::uint64_t integer) {
    if (integer == no_index) return nullptr;
    return integer;
}

/// The results of group i: where there are two, both.
nlohmann::ordered_json json_of_group(const OpInfo& op, const Result& result, std::uint64_t i) {
    if (op.gives_integer) return json_of_integer(result.integer(i));
    if (op.results == 1) return json_of(result.value(i));
    const auto width = static_cast<std::uint64_t>(op.results);
    auto both = nlohmann::ordered_json::array();
    for (std::uint64_t k = 0; k < width; ++k)
        both.push_back(json_of(result.value(i * width + k)));
    return both;
}

/// `rows` or `columns` of two dimensions, as --axis has it: in memory the rows of Fortran order are
/// columns. Of others, the axis.
void add_axis(nlohmann::ordered_json& json, const Axis& axis) {
    if (axis.remaining.size() == 1) {
        json["shape"] = name(axis.index == 1 ? Shape::rows : Shape::columns);
    } else {
        json["shape"] = "axis";
        json["axis"] = axis.index;
        json["remaining"] = axis.remaining;
    }
}

/// The results, and how many there are of which kind, of segments or along an axis.
void add_groups(nlohmann::ordered_json& json, const Axis* axis, const Request& request, const Result& result) {
    const OpInfo& op = info(request.op);
    const char* const kind = !op.gives_integer ? "values" : op.kind == Kind::count ? "counts" : "indices";
    if (axis != nullptr) {
        add_axis(json, *axis);
    } else {
        json["shape"] = name(request.shape);
    }
    json["groups"] = request.groups;
    auto& all = json[kind] = nlohmann::ordered_json::array();
    for (std::uint64_t i = 0; i < request.groups; ++i)
        all.push_back(json_of_group(op, result, i));
}

void add_result(nlohmann::ordered_json& json, const OpInfo& op, const Result& result) {
    if (op.gives_integer) {
        json[op.kind == Kind::count ? "count" : "index"] = result.integer(0);
    } else if (op.results == 1) {
        json.update(json_of(result.value(0)));
    } else {
        for (int k = 0; k < op.results; ++k)
            json["values"].push_back(json_of(result.value(static_cast<std::uint64_t>(k))));
    }
}

std::string text_of(const OpInfo& op, const Result& result, std::uint64_t k) {
    if (!op.gives_integer) return visit(result.value(k), [](auto value) { return shortest_decimal(value); });
    const std::uint64_t integer = result.integer(k);
    return integer == no_index ? "none" : fmt::format("{}", integer);
}

} // namespace

std::string as_json(const Task& task, const Request& request, const Axis* axis, const Result& result, const Job* job) {
    nlohmann::ordered_json json;
    const OpInfo& op = info(request.op);
    const bool by_any_method = op.kind == Kind::order || op.kind == Kind::count;
    json["op"] = name(request.op);
    json["method"] = by_any_method ? nlohmann::ordered_json() : nlohmann::ordered_json(name(request.method));
    json["dtype"] = name(request.dtype);
    const bool unknown = task.files.empty() && !task.dtype && of_elements(op); // states alone do not know it
    if (unknown) json["dtype"] = nullptr;
    if (!op.gives_integer) json["output"] = name(result.dtype);
    json["n"] = result.n < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(result.n);
    json["device"] = task.device_name;
    if (job != nullptr) json["ranks"] = job->ranks();
    if (op.kind == Kind::order) json["nan"] = name(request.nan);
    if (op.kind == Kind::moments) json["ddof"] = request.ddof;
    if (request.shape == Shape::flat && axis == nullptr) {
        add_result(json, op, result);
    } else {
        add_groups(json, axis, request, result);
    }
    json["guarantee"] = name(make_plan(request).guarantee());
    json["spec_version"] = spec_version_of(request.op);
    json["version"] = version;
    return json.dump() + "\n";
}

std::string as_text(const OpInfo& op, const Result& result, std::uint64_t groups) {
    const auto width = static_cast<std::uint64_t>(op.results);
    std::string text;
    for (std::uint64_t k = 0; k < groups * width; ++k) {
        text += text_of(op, result, k);
        text += (k + 1) % width == 0 ? '\n' : ' ';
    }
    return text;
}

} // namespace detreduce::program
