#include "reduce_run.hpp"

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <detreduce/acc/finish.hpp>
#include <detreduce/detreduce.hpp>

#include "device_option.hpp"
#include "exact_sum.hpp"
#include "number_text.hpp"
#include "offsets.hpp"
#include "output.hpp"
#include "reduce_cuda.hpp"
#include "state_file.hpp"

namespace detreduce::program {
namespace {

struct Result {
    std::int64_t n = 0;
    DType dtype = DType::f64;
    std::vector<std::byte> bytes =
        std::vector<std::byte>(16); ///< elements side by side, or indices or counts of 8 bytes each

    /// Element k.
    [[nodiscard]] Value value(std::uint64_t k) const {
        Value one{dtype};
        std::memcpy(one.bytes, bytes.data() + k * size_of(dtype), size_of(dtype));
        return one;
    }

    /// Index or count k.
    [[nodiscard]] std::uint64_t integer(std::uint64_t k) const {
        std::uint64_t one = 0;
        std::memcpy(&one, bytes.data() + k * sizeof one, sizeof one);
        return one;
    }
};

Result result_of(std::int64_t n, const Value& value) {
    Result result{n, value.dtype};
    std::memcpy(result.bytes.data(), value.bytes, sizeof value.bytes);
    return result;
}

void fail_unless_ok(const Plan& plan, const std::string& device_name) {
    const Status& status = plan.status();
    if (status.ok()) return;
    const std::string_view argument = status.argument;
    if (argument == "launch.threads") throw UsageError(fmt::format("--threads: {}", status.allowed));
    if (argument == "nan") throw UsageError(fmt::format("--nan: {}", status.allowed));
    if (argument == "output" && plan.result_is_integer())
        throw UsageError("--output: leave it out; the result is a whole number");
    if (argument == "output") {
        throw UsageError(fmt::format("--output: {} does not give {} for {}; {}", name(plan.request().method),
                                     name(plan.output()), name(plan.request().dtype), status.allowed));
    }
    if (argument == "ddof")
        throw UsageError(fmt::format("--ddof: {} (here n is {})", status.allowed, plan.request().n));
    if (argument == "n" && plan.request().n == 0)
        throw Failure(fmt::format("there are no numbers; {} needs one or more", name(plan.request().op)));
    if (status.code == StatusCode::no_device) throw no_such_gpu(device_name);
    if (argument == "shape" && plan.request().shape == Shape::columns) {
        throw Failure(fmt::format("{}; columns are what --axis 0 reduces in C order, and --axis 1 in Fortran order",
                                  to_string(status)));
    }
    throw Failure(to_string(status));
}

/// What cannot work fails here, before a file is opened that may be large, or a pipe that may never end.
void check_early(const Task& task) {
    Request request = task.request;
    std::optional<DType> dtype = task.dtype;
    if (!dtype && task.format != Format::npy) dtype = DType::f64; // as open_numbers() has it
    request.dtype = dtype.value_or(DType::f64);
    request.n = request.ddof + 1;              // for means and variances; the files will say
    if (!dtype) request.output = std::nullopt; // a .npy will say
    fail_unless_ok(make_plan(request), task.device_name);
    if (!task.save_state.empty()) require_savable(task.save_state);
}

Result exact_sum(const Task& task, const Request& request, NumberFile* file) {
    const ExactState start = load_states(task.add_states);
    const auto sum = request.device.backend == Backend::cuda ? exact_sum_on_cuda(start, request.device.index)
                                                             : exact_sum_on_cpu(start, request.launch);
    if (file) file->pour_into(*sum);
    const ExactState state = sum->state();
    require_headroom(state, task.add_states);
    if (!task.save_state.empty()) save_state(task.save_state, state);
    const DType output = request.output.value_or(request.dtype);
    if (request.op == Op::sum) return result_of(state.count(), sum->round(output));
    if (state.count() <= 0) throw Failure("there are no numbers; mean needs one or more");
    Result mean{state.count(), output};
    acc::store_as(mean.bytes.data(), output,
                  [&](auto t) { return acc::exact::round<decltype(t)>(state.words().data(), Ending::mean); });
    return mean;
}

/// As NumPy says it.
std::string shape_text(const std::optional<Matrix>& matrix) {
    if (!matrix) return "one dimension";
    return fmt::format("shape ({}, {}) in {} order", matrix->rows, matrix->columns,
                       matrix->by_columns ? "Fortran" : "C");
}

/// Two .npy files must have the same shape; text and raw data have none that could differ.
void check_same_shape(const Task& task, const NumberFile& second, const NumberFile& file) {
    if (task.format != Format::npy || task.with_format != Format::npy || second.matrix() == file.matrix()) return;
    throw Failure(fmt::format("{} has {}, but {} has {}; both must have the same", in_quotes(task.with),
                              shape_text(second.matrix()), in_quotes(task.file), shape_text(file.matrix())));
}

/// The numbers of the second file, which must be as many of the same dtype.
Numbers numbers_of_with(const Task& task, const NumberFile& file, std::uint64_t n) {
    const auto second = open_numbers(task.with, *task.with_format, task.dtype);
    if (second->dtype() != file.dtype()) {
        throw Failure(fmt::format("{} holds {}, but {} holds {}; both must hold the same", in_quotes(task.with),
                                  name(second->dtype()), in_quotes(task.file), name(file.dtype())));
    }
    check_same_shape(task, *second, file);
    Numbers numbers = second->all();
    if (numbers.n != n) {
        throw Failure(fmt::format("{} has {} numbers, but {} has {}; both must have as many", in_quotes(task.with),
                                  numbers.n, in_quotes(task.file), n));
    }
    return numbers;
}

/// What the file says about rows and columns. In Fortran order its columns lie in memory as rows do in C order.
void set_shape(const Task& task, const NumberFile& file, Request& request) {
    const std::optional<Matrix> matrix = file.matrix();
    if (!task.axis && matrix && matrix->by_columns) {
        throw Failure(
            fmt::format("{} is in Fortran order (fortran_order is True); allowed is C order, or --axis 0 or 1",
                        in_quotes(task.file)));
    }
    if (!task.axis) return;
    if (!matrix) throw UsageError(fmt::format("--axis: {} has one dimension; allowed are two", in_quotes(task.file)));
    const bool each_row = *task.axis == 1;
    request.shape = each_row != matrix->by_columns ? Shape::rows : Shape::columns;
    request.n = each_row ? matrix->columns : matrix->rows;
    request.groups = each_row ? matrix->rows : matrix->columns;
}

Result run_on(const Plan& plan, std::uint64_t n, const Inputs& in) {
    const std::uint64_t bytes = plan.results() * plan.result_bytes();
    require_memory(bytes);
    Result result{static_cast<std::int64_t>(n), plan.output(), std::vector<std::byte>(bytes)};
    if (plan.request().device.backend == Backend::cuda) {
        reduce_on_cuda(plan.request(), in, result.bytes.data());
    } else {
        require_memory(plan.workspace_bytes());
        std::vector<std::uint64_t> workspace((plan.workspace_bytes() + 7) / 8); // of count_unique
        throw_if_error(run(plan, in, result.bytes.data(), workspace.data()));
    }
    return result;
}

/// Where the segments of n numbers begin and end.
std::vector<std::uint64_t> load_offsets(const Task& task, IntegerFile& file, std::uint64_t n) {
    return task.ids.empty() ? file.load_offsets(n) : file.load_ids(n, task.groups);
}

Result reduce_at_once(const Task& task, Request& request, NumberFile& file) {
    const std::string& cuts = task.ids.empty() ? task.offsets : task.ids;
    const auto cuts_file = cuts.empty() ? nullptr : std::make_unique<IntegerFile>(cuts);
    const Numbers x = file.all();
    const Numbers y = task.with.empty() ? Numbers{} : numbers_of_with(task, file, x.n);
    const auto offsets = cuts_file ? load_offsets(task, *cuts_file, x.n) : std::vector<std::uint64_t>{};
    if (cuts_file) request.groups = offsets.size() - 1;
    if (!task.axis) request.n = x.n;
    const Plan plan = make_plan(request);
    fail_unless_ok(plan, task.device_name);
    return run_on(plan, request.n, {x.data, y.data, cuts_file ? offsets.data() : nullptr});
}

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

/// The results, and how many there are of which kind, of rows, columns and segments.
void add_groups(nlohmann::ordered_json& json, const Task& task, const Request& request, const Result& result) {
    const OpInfo& op = info(request.op);
    const char* const kind = !op.gives_integer ? "values" : op.kind == Kind::count ? "counts" : "indices";
    // of the file, as --axis has it: in memory the rows of Fortran order are columns
    json["shape"] = name(task.axis ? (*task.axis == 1 ? Shape::rows : Shape::columns) : request.shape);
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

std::string as_json(const Task& task, const Request& request, const Result& result) {
    nlohmann::ordered_json json;
    json["op"] = name(request.op);
    json["method"] = name(request.method);
    json["dtype"] = name(request.dtype);
    if (!task.format && !task.dtype) json["dtype"] = nullptr; // of states alone: they do not know it
    const OpInfo& op = info(request.op);
    if (!op.gives_integer) json["output"] = name(result.dtype);
    json["n"] = result.n;
    json["device"] = task.device_name;
    if (op.kind == Kind::order) json["nan"] = name(request.nan);
    if (op.kind == Kind::moments) json["ddof"] = request.ddof;
    if (request.shape == Shape::flat) {
        add_result(json, op, result);
    } else {
        add_groups(json, task, request, result);
    }
    json["guarantee"] = name(make_plan(request).guarantee());
    json["spec_version"] = spec_version;
    json["version"] = version;
    return json.dump() + "\n";
}

std::string text_of(const OpInfo& op, const Result& result, std::uint64_t k) {
    if (!op.gives_integer) return visit(result.value(k), [](auto value) { return shortest_decimal(value); });
    const std::uint64_t integer = result.integer(k);
    return integer == no_index ? "none" : fmt::format("{}", integer);
}

/// A line a group; numbers of one group with a space between them.
std::string as_text(const OpInfo& op, const Result& result, std::uint64_t groups) {
    const auto width = static_cast<std::uint64_t>(op.results);
    std::string text;
    for (std::uint64_t k = 0; k < groups * width; ++k) {
        text += text_of(op, result, k);
        text += (k + 1) % width == 0 ? '\n' : ' ';
    }
    return text;
}

} // namespace

std::string run_task(const Task& task, bool json) {
    check_early(task);
    const auto file = task.format ? open_numbers(task.file, *task.format, task.dtype) : nullptr;
    Request request = task.request;
    request.dtype = file ? file->dtype() : task.dtype.value_or(DType::f64);
    request.n = request.ddof + 1;
    if (file) set_shape(task, *file, request);
    fail_unless_ok(make_plan(request), task.device_name);
    const OpInfo& op = info(request.op);
    const bool streams = request.method == Method::exact && op.kind == Kind::sum && op.term == Term::element &&
                         request.shape == Shape::flat;
    const Result result = streams ? exact_sum(task, request, file.get()) : reduce_at_once(task, request, *file);
    if (json) return as_json(task, request, result);
    return as_text(op, result, request.groups);
}

} // namespace detreduce::program
