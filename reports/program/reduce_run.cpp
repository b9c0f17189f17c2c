#include "reduce_run.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <detreduce/acc/finish.hpp>
#include <detreduce/detreduce.hpp>
#include <detreduce/states.hpp>

#include "axis.hpp"
#include "device_option.hpp"
#include "exact_sum.hpp"
#include "file_list.hpp"
#include "npz.hpp"
#include "offsets.hpp"
#include "output.hpp"
#include "parts.hpp"
#include "reduce_cuda.hpp"
#include "reduce_result.hpp"
#include "state_file.hpp"

namespace detreduce::program {
namespace {

/// A file, in a message.
std::string words_of(const std::string& path) {
    return path == "-" ? "standard input" : in_quotes(path);
}

/// What messages call all that is reduced.
std::string words_of_files(const Task& task) {
    return task.files.size() == 1 ? words_of(task.files.front().path) : "FILE";
}

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
    if (argument == "method") throw UsageError(fmt::format("--method: {}", status.allowed));
    if (argument == "nan") throw UsageError(fmt::format("--nan: {}", status.allowed));
    if (argument == "output" && plan.result_is_integer())
        throw UsageError("--output: leave it out; the result is a whole number");
    if (argument == "output") {
        throw UsageError(fmt::format("--output: {} does not give {} for {}; {}", name(plan.request().method),
                                     name(plan.output()), name(plan.request().dtype), status.allowed));
    }
    if (argument == "ddof" && info(plan.request().op).kind != Kind::moments)
        throw UsageError(fmt::format("--ddof: {} is not for {}; it {}", plan.request().ddof, name(plan.request().op),
                                     status.allowed));
    if (argument == "ddof") throw Failure(fmt::format("--ddof: {} (here n is {})", status.allowed, plan.request().n));
    if (argument == "n" && plan.request().n == 0)
        throw Failure(fmt::format("there are no numbers; {} needs one or more", name(plan.request().op)));
    if (status.code == StatusCode::no_device) throw no_such_gpu(device_name);
    if (argument == "shape" && plan.request().shape == Shape::columns) {
        throw Failure(fmt::format(
            "{}; columns are what an --axis but the last reduces in C order, and but the first in Fortran order",
            to_string(status)));
    }
    throw Failure(to_string(status));
}

bool gives_index(Op op) {
    return info(op).kind == Kind::order && info(op).gives_integer;
}

/// .npy, or one in an .npz.
bool is_npy(Format format) {
    return format == Format::npy || format == Format::npz;
}

/// What cannot work fails here, before a file is opened that may be large, or a pipe that may never
/// end.
void check_early(const Task& task) {
    Request request = task.request;
    std::optional<DType> dtype = task.dtype;
    const bool tells = !task.files.empty() && is_npy(task.files.front().format);
    if (!dtype && !tells) dtype = DType::f64; // as open_numbers() has it
    request.dtype = dtype.value_or(DType::f64);
    request.n = request.ddof + 1;              // for means and variances; the files will say
    if (!dtype) request.output = std::nullopt; // a .npy will say
    fail_unless_ok(make_plan(request), task.device_name);
    if (task.save_state.empty()) return;
    if (task.files.empty()) require_apart(task.save_state, "");
    for (const Source& file : task.files)
        require_apart(task.save_state, file.format == Format::npz ? archive_of(file.path) : file.path);
    require_savable(task.save_state);
}

Result exact_sum(const Task& task, const Request& request, NumberFile* file) {
    const ExactState start = load_states(task.add_states, request);
    const auto sum = request.device.backend == Backend::cuda ? exact_sum_on_cuda(start, request.device.index)
                                                             : exact_sum_on_cpu(start, request.launch);
    if (file) file->pour_into(*sum);
    const ExactState state = sum->state();
    require_headroom(state, task.add_states);
    const DType output = request.output.value_or(request.dtype);
    const auto bytes = state.serialize();
    const std::vector<std::byte> kept(bytes.begin(), task.save_state.empty() ? bytes.begin() : bytes.end());
    if (request.op == Op::sum) {
        Result result = result_of(state.count(), sum->round(output));
        result.state = kept;
        return result;
    }
    if (state.count() <= 0) throw Failure("there are no numbers; mean needs one or more");
    Result mean{state.count(), output};
    mean.state = kept;
    acc::store_as(mean.bytes.data(), output,
                  [&](auto t) { return acc::exact::round<decltype(t)>(state.words().data(), Finalize::mean); });
    return mean;
}

std::string layout_text(const Layout& layout) {
    if (layout.shape.size() == 1) return fmt::format("one dimension, {}", shape_text(layout.shape));
    return fmt::format("shape {} in {} order", shape_text(layout.shape), layout.fortran ? "Fortran" : "C");
}

/// The second file, whose numbers must be of the same dtype, and, where both are arrays, of the
/// same shape.
std::unique_ptr<NumberFile> open_second(const Task& task, const NumberFile& file) {
    auto second = open_numbers(task.with, *task.with_format, task.dtype, task.with_column);
    if (second->dtype() != file.dtype()) {
        throw Failure(fmt::format("{} holds {}, but {} holds {}; both must hold the same", words_of(task.with),
                                  name(second->dtype()), words_of_files(task), name(file.dtype())));
    }
    const auto first_layout = file.layout(), its_layout = second->layout();
    if (first_layout && its_layout && first_layout != its_layout) {
        throw Failure(fmt::format("{} has {}, but {} has {}; both must have the same", words_of(task.with),
                                  layout_text(*its_layout), words_of_files(task), layout_text(*first_layout)));
    }
    return second;
}

void check_order(const std::string& name, const NumberFile& file) {
    const std::optional<Layout> layout = file.layout();
    if (!layout || !layout->fortran) return;
    throw Failure(fmt::format("{} is in Fortran order (fortran_order is True); allowed is C order, or --axis", name));
}

std::unique_ptr<FileList> open_files(const Task& task) {
    std::vector<FileList::Named> files;
    for (const Source& file : task.files) {
        files.push_back({words_of(file.path), open_numbers(file.path, file.format, task.dtype, task.column)});
        if (!task.axis) check_order(files.back().name, *files.back().file);
    }
    return std::make_unique<FileList>(std::move(files));
}

/// Runs a plan on the CPU or a GPU; of many calls the memory is got once.
class Runner {
  public:
    explicit Runner(const Plan& plan) : plan_(plan) {
        if (plan.request().device.backend == Backend::cuda) return; // it has memory of its own
        require_memory(plan.workspace_bytes());
        workspace_.resize((plan.workspace_bytes() + 7) / 8); // of count_unique
    }
    void run(const Inputs& in, std::byte* out) {
        if (plan_.request().device.backend == Backend::cuda) {
            reduce_on_cuda(plan_.request(), in, out);
        } else {
            throw_if_error(detreduce::run(plan_, in, out, workspace_.data()));
        }
    }

  private:
    const Plan& plan_;
    std::vector<std::uint64_t> workspace_;
};

/// Room for so many results of a plan.
Result room_for(const Plan& plan, std::uint64_t n, std::uint64_t results) {
    const std::uint64_t bytes = results * plan.result_bytes();
    require_memory(bytes);
    return {static_cast<std::int64_t>(n), plan.output(), std::vector<std::byte>(bytes)};
}

/// Where the segments of n numbers begin and end.
std::vector<std::uint64_t> load_offsets(const Task& task, IntegerFile& file, std::uint64_t n) {
    return task.ids.empty() ? file.load_offsets(n) : file.load_ids(n, task.groups);
}

/// Says how many numbers offsets leave out, which nobody would see.
void note_left_out(const std::vector<std::uint64_t>& offsets, std::uint64_t n) {
    const std::uint64_t before = offsets.front(), after = n - offsets.back();
    if (before + after == 0) return;
    print_error(
        fmt::format("detreduce: note: --offsets: {} of {} numbers are in no segment, {} before the first offset "
                    "and {} from the last on\n",
                    before + after, n, before, after));
}

/// Throws Failure unless the second file has as many numbers as the first.
void require_as_many(const Task& task, std::uint64_t second, std::uint64_t first) {
    if (second == first) return;
    throw Failure(fmt::format("{} has {} numbers, but {} has {}; both must have as many", words_of(task.with), second,
                              words_of_files(task), first));
}

/// All of the second file, which must have n numbers.
Numbers numbers_of_with(const Task& task, NumberFile& second, std::uint64_t n) {
    Numbers numbers = second.all();
    require_as_many(task, numbers.n, n);
    return numbers;
}

Result reduce_at_once(const Task& task, Request& request, NumberFile& file, NumberFile* second) {
    const std::string& cuts = task.ids.empty() ? task.offsets : task.ids;
    const auto cuts_file = cuts.empty() ? nullptr : std::make_unique<IntegerFile>(cuts);
    const Numbers x = file.all();
    const Numbers y = second ? numbers_of_with(task, *second, x.n) : Numbers{};
    const auto offsets = cuts_file ? load_offsets(task, *cuts_file, x.n) : std::vector<std::uint64_t>{};
    if (cuts_file) {
        request.groups = offsets.size() - 1;
        if (task.ids.empty()) note_left_out(offsets, x.n);
    }
    request.n = x.n;
    const Plan plan = make_plan(request);
    fail_unless_ok(plan, task.device_name);
    Result result = room_for(plan, request.n, plan.results());
    Runner(plan).run({x.data, y.data, cuts_file ? offsets.data() : nullptr}, result.bytes.data());
    return result;
}

/// One block of the array, which is a matrix: its rows, or its columns, are reduced.
Request block_request(const Request& request, const Axis& axis) {
    Request block = request;
    block.shape = axis.inner == 1 ? Shape::rows : Shape::columns;
    block.n = axis.n;
    block.groups = axis.inner == 1 ? axis.outer : axis.inner;
    return block;
}

Result reduce_along(const Task& task, const Request& request, const Axis& axis, NumberFile& file, NumberFile* second) {
    const Numbers x = file.all();
    const Numbers y = second ? numbers_of_with(task, *second, x.n) : Numbers{};
    const Plan plan = make_plan(block_request(request, axis));
    fail_unless_ok(plan, task.device_name);
    const std::uint64_t blocks = axis.inner == 1 ? 1 : axis.outer, step = axis.n * axis.inner * size_of(x.dtype);
    Result result = room_for(plan, axis.n, blocks * plan.results());
    Runner runner(plan);
    const auto block_of = [&](const Numbers& all, std::uint64_t i) -> const void* {
        return all.data == nullptr ? nullptr : static_cast<const std::byte*>(all.data) + i * step;
    };
    for (std::uint64_t i = 0; i < blocks; ++i)
        runner.run({block_of(x, i), block_of(y, i), nullptr},
                   result.bytes.data() + i * plan.results() * plan.result_bytes());
    if (axis.results() > 0)
        result.bytes = in_c_order(axis, std::move(result.bytes), result.bytes.size() / axis.results());
    return result;
}

/// Part by part, as it is read.
Result reduce_parts(const Task& task, Request& request, NumberFile& file, NumberFile* second) {
    const Named x{file, words_of_files(task)}, y{second ? *second : file, words_of(task.with)};
    host::Partial partial = reduce_parts(request, x, second ? &y : nullptr);
    request.n = partial.count();
    const Plan plan = make_plan(request);
    fail_unless_ok(plan, task.device_name);
    Result result{static_cast<std::int64_t>(request.n), plan.output()};
    partial.finish(plan, result.bytes.data());
    return result;
}

/// How many numbers went into this state, where it says so.
std::optional<std::uint64_t> count_in(const Plan& plan, const std::vector<std::int64_t>& state) {
    const Kind kind = info(plan.request().op).kind;
    if (kind == Kind::sum || kind == Kind::moments) // word 71 of 74, 139 of 142
        return static_cast<std::uint64_t>(state[state.size() - 3]);
    return std::nullopt;
}

/// What is saved of the states of others, and of the numbers behind them.
Result reduce_states(const Task& task, Request& request, NumberFile* file, NumberFile* second) {
    Request own = request;
    own.state = true;
    own.n = 0;
    Plan plan = make_plan(own);
    fail_unless_ok(plan, task.device_name);
    std::vector<std::int64_t> state(plan.state_words());
    throw_if_error(run(plan, nullptr, state.data()));
    for (const std::string& path : task.add_states) {
        own.first_index = gives_index(own.op) ? request_of_state(path).first_index : 0;
        add_state(path, plan, state.data());
    }
    std::optional<std::uint64_t> n = 0;
    if (file != nullptr) {
        const Named x{*file, words_of_files(task)}, y{second ? *second : *file, words_of(task.with)};
        n = add_parts(own, x, second ? &y : nullptr, state.data());
    }
    own.n = *n;
    if (gives_index(own.op)) {
        n = own.first_index + own.n;
    } else if (!task.add_states.empty()) {
        n = count_in(plan, state);
    }
    plan = make_plan(own); // which knows where it ends
    request.n = std::min(n.value_or(1), max_n);
    fail_unless_ok(make_plan(request), task.device_name);
    Result result{n ? static_cast<std::int64_t>(*n) : -1, plan.output()};
    throw_if_error(finish(plan, state.data(), result.bytes.data()));
    if (!task.save_state.empty()) result.state = throwing::serialize(plan, state.data());
    return result;
}

/// The state of the next n numbers, read block after block.
std::vector<std::int64_t> state_of(Request request, std::uint64_t n, NumberFile& x, NumberFile* y) {
    const std::uint64_t most = Sink::block_bytes / size_of(request.dtype);
    std::vector<std::byte> of_x(Sink::block_bytes), of_y(y != nullptr ? Sink::block_bytes : 0);
    std::vector<std::int64_t> all(make_plan(request).state_words()), block(all.size());
    request.n = 0;
    throw_if_error(run(make_plan(request), nullptr, all.data()));
    for (std::uint64_t done = 0; done < n; done += request.n) {
        request.n = std::min(most, n - done);
        if (x.read(of_x.data(), request.n) != request.n ||
            (y != nullptr && y->read(of_y.data(), request.n) != request.n))
            throw Failure("a file became shorter while it was being read");
        const Plan plan = make_plan(request);
        throw_if_error(plan.status());
        throw_if_error(run(plan, {of_x.data(), y != nullptr ? of_y.data() : nullptr}, block.data()));
        throw_if_error(merge(plan, all.data(), block.data()));
        if (gives_index(request.op)) request.first_index += request.n;
    }
    return all;
}

/// Each process of the job its part. The result is that of rank 0.
Result reduce_by_all(const Task& task, Request& request, const Job& job) {
    Request own;
    std::vector<std::int64_t> state;
    const std::uint32_t threads = job.threads();
    job.together([&] {
        check_early(task);
        const auto files = open_files(task);
        const auto second = task.with.empty() ? nullptr : open_second(task, *files);
        request.dtype = files->dtype();
        request.n = files->count().value();
        fail_unless_ok(make_plan(request), task.device_name); // as that of one process
        const auto rank = static_cast<std::uint64_t>(job.rank()), ranks = static_cast<std::uint64_t>(job.ranks());
        const auto cut = [&](std::uint64_t r) { return request.n / ranks * r + request.n % ranks * r / ranks; };
        own = request;
        own.state = true;
        own.n = cut(rank + 1) - cut(rank);
        if (gives_index(own.op)) own.first_index = cut(rank);
        if (own.launch.threads == 0) own.launch.threads = threads;
        fail_unless_ok(make_plan(own), task.device_name);
        if (second) {
            const auto n = second->count();
            if (!n) throw Failure(fmt::format("{} does not say how many numbers it holds", words_of(task.with)));
            require_as_many(task, *n, request.n);
            second->skip(cut(rank));
        }
        files->skip(cut(rank));
        state = state_of(own, own.n, *files, second.get());
    });
    Result result{static_cast<std::int64_t>(request.n), request.output.value_or(request.dtype)};
    const Status status = job.reduce(own, state.data(), result.bytes.data());
    job.together([&] { throw_if_error(status); });
    return result;
}

} // namespace

void run_task(const Task& task, bool json, const Job* job) {
    Request request = task.request;
    const OpInfo& op = info(request.op);
    if (job != nullptr) {
        const Result result = reduce_by_all(task, request, *job);
        if (job->rank() == 0)
            print(json ? as_json(task, request, nullptr, result, job) : as_text(op, result, request.groups));
        return;
    }
    check_early(task);
    const auto file = task.files.empty() ? nullptr : open_files(task);
    request.dtype = file              ? file->dtype()
                    : task.dtype      ? *task.dtype
                    : of_elements(op) ? DType::f64
                                      : request_of_state(task.add_states.front()).dtype;
    request.n = request.ddof + 1;
    std::optional<Axis> axis;
    if (task.axis) axis = find_axis(words_of_files(task), file->layout().value_or(Layout{}), *task.axis);
    fail_unless_ok(make_plan(axis ? block_request(request, *axis) : request), task.device_name);
    const auto second = task.with.empty() ? nullptr : open_second(task, *file);
    Result result;
    if (axis) {
        result = reduce_along(task, request, *axis, *file, second.get());
        request.n = axis->n;
        request.groups = axis->results();
    } else if (request.method == Method::exact && of_elements(op) && request.shape == Shape::flat &&
               !(request.device.backend == Backend::cuda && has_8_bits(request.dtype) && !task.has_states())) {
        result = exact_sum(task, request, file.get()); // which can be saved, and runs on GPUs
    } else if (task.has_states()) {
        result = reduce_states(task, request, file.get(), second.get());
    } else if (host::Partial::can(request)) {
        result = reduce_parts(task, request, *file, second.get());
    } else {
        result = reduce_at_once(task, request, *file, second.get());
    }
    print(json ? as_json(task, request, axis ? &*axis : nullptr, result, nullptr)
               : as_text(op, result, request.groups));
    if (result.state.empty()) return;
    // Written out first: who saw no result tries again, and a saved state would then hold the
    // numbers twice.
    finish_output();
    save_state(task.save_state, result.state);
}

} // namespace detreduce::program
