#include "reduce_run.hpp"

#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <detreduce/acc/finish.hpp>
#include <detreduce/detreduce.hpp>

#include "command.hpp"
#include "exact_sum.hpp"
#include "number_text.hpp"
#include "output.hpp"
#include "reduce_cuda.hpp"
#include "state_file.hpp"

namespace detreduce::program {
namespace {

struct Result {
    std::int64_t n = 0;
    DType dtype = DType::f64;
    alignas(8) std::byte bytes[16] = {}; ///< one element or two, side by side; or 8 bytes of an index or a count

    /// Element k.
    [[nodiscard]] Value value(int k) const {
        Value one{dtype};
        std::memcpy(one.bytes, bytes + static_cast<std::size_t>(k) * size_of(dtype), size_of(dtype));
        return one;
    }
};

Result result_of(std::int64_t n, const Value& value) {
    Result result{n, value.dtype};
    std::memcpy(result.bytes, value.bytes, sizeof value.bytes);
    return result;
}

std::uint64_t integer_of(const Result& result) {
    std::uint64_t integer = 0;
    std::memcpy(&integer, result.bytes, sizeof integer);
    return integer;
}

/// What cannot be found where there are no numbers.
std::string_view missing(Op op) {
    if (info(op).kind == Kind::sum) return "mean";
    if (op == Op::minmax) return "least and no greatest";
    return op == Op::min || op == Op::argmin ? "least" : "greatest";
}

void fail_unless_ok(const Plan& plan, const std::string& device_name) {
    const Status& status = plan.status();
    if (status.ok()) return;
    const std::string_view argument = status.argument;
    if (argument == "launch.threads") throw UsageError(fmt::format("--threads: {}", status.allowed));
    if (argument == "nan") throw UsageError(fmt::format("--nan: {}", status.allowed));
    if (argument == "output" && plan.result_is_integer()) throw UsageError(fmt::format("--output: {}", status.allowed));
    if (argument == "output") {
        throw UsageError(fmt::format("--output: {} does not give {} for {}; {}", name(plan.request().method),
                                     name(plan.output()), name(plan.request().dtype), status.allowed));
    }
    if (argument == "ddof") throw UsageError(fmt::format("--ddof: {}", status.allowed));
    if (argument == "n" && plan.request().n == 0)
        throw Failure(fmt::format("there are no numbers, and nothing has no {}", missing(plan.request().op)));
    if (status.code == StatusCode::no_device) throw no_such_gpu(device_name);
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
    if (!task.save_state.empty()) save_state(task.save_state, state);
    const DType output = request.output.value_or(request.dtype);
    if (request.op == Op::sum) return result_of(state.count(), sum->round(output));
    if (state.count() <= 0) throw Failure("there are no numbers, and nothing has no mean");
    Result mean{state.count(), output};
    acc::store_as(mean.bytes, output,
                  [&](auto t) { return acc::exact::round<decltype(t)>(state.words().data(), Ending::mean); });
    return mean;
}

/// The numbers of the second file, which must be as many of the same dtype.
Numbers numbers_of_with(const Task& task, const NumberFile& file, std::uint64_t n) {
    const auto second = open_numbers(task.with, *task.with_format, task.dtype);
    if (second->dtype() != file.dtype()) {
        throw Failure(fmt::format("{} holds {}, but {} holds {}; both must hold the same", in_quotes(task.with),
                                  name(second->dtype()), in_quotes(task.file), name(file.dtype())));
    }
    Numbers numbers = second->all();
    if (numbers.n != n) {
        throw Failure(fmt::format("{} has {} numbers, but {} has {}; both must have as many", in_quotes(task.with),
                                  numbers.n, in_quotes(task.file), n));
    }
    return numbers;
}

Result reduce_at_once(const Task& task, Request& request, NumberFile& file) {
    const Numbers x = file.all();
    const Numbers y = task.with.empty() ? Numbers{} : numbers_of_with(task, file, x.n);
    request.n = x.n;
    const Plan plan = make_plan(request);
    fail_unless_ok(plan, task.device_name);
    Result result{static_cast<std::int64_t>(x.n), plan.output()};
    if (request.device.backend == Backend::cuda) {
        reduce_on_cuda(request, {x.data, y.data}, result.bytes);
    } else {
        require_memory(plan.workspace_bytes());
        std::vector<std::uint64_t> workspace((plan.workspace_bytes() + 7) / 8); // of count_unique
        throw_if_error(run(plan, {x.data, y.data}, result.bytes, workspace.data()));
    }
    return result;
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

std::string as_json(const Task& task, const Request& request, const Result& result) {
    nlohmann::ordered_json json;
    json["op"] = name(request.op);
    json["method"] = name(request.method);
    json["dtype"] = name(request.dtype);
    const OpInfo& op = info(request.op);
    if (!op.gives_integer) json["output"] = name(result.dtype);
    json["n"] = result.n;
    json["device"] = task.device_name;
    if (op.kind == Kind::order) json["nan"] = name(request.nan);
    if (op.kind == Kind::moments) json["ddof"] = request.ddof;
    if (op.gives_integer) {
        json[op.kind == Kind::count ? "count" : "index"] = integer_of(result);
    } else if (op.results == 1) {
        json.update(json_of(result.value(0)));
    } else {
        for (int k = 0; k < op.results; ++k)
            json["values"].push_back(json_of(result.value(k)));
    }
    json["guarantee"] = name(make_plan(request).guarantee());
    json["spec_version"] = spec_version;
    json["version"] = version;
    return json.dump();
}

/// Numbers with a space between them.
std::string as_text(const OpInfo& op, const Result& result) {
    if (op.gives_integer) return fmt::format("{}", integer_of(result));
    std::string text;
    for (int k = 0; k < op.results; ++k) {
        if (k > 0) text += ' ';
        text += visit(result.value(k), [](auto value) { return shortest_decimal(value); });
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
    fail_unless_ok(make_plan(request), task.device_name);
    const OpInfo& op = info(request.op);
    const bool streams = request.method == Method::exact && op.kind == Kind::sum && op.term == Term::element;
    const Result result = streams ? exact_sum(task, request, file.get()) : reduce_at_once(task, request, *file);
    if (json) return as_json(task, request, result);
    return as_text(op, result);
}

} // namespace detreduce::program
