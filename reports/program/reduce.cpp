// `detreduce reduce`: a reduction of a file, its bits and what is promised about them. Here are its
// options; reduce_run.cpp does it.
#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "command.hpp"
#include "help.hpp"
#include "npz.hpp"
#include "output.hpp"
#include "reduce_help.hpp"
#include "reduce_run.hpp"

namespace detreduce::program {
namespace {

constexpr const char* description = "Reduce a file, or each row, column or segment of it, and print the result";

/// The options as they were typed.
struct Options {
    std::vector<std::string> files;
    std::string with, axis, offsets, ids, groups, op = "sum", method = "automatic", dtype, output, nan = "propagate",
                                                  device = "cpu", format, column, with_column, save_state;
    std::vector<std::string> add_states;
    std::uint64_t ddof = 0;
    std::uint32_t threads = 0; // 0: the library's choice
    bool json = false, mpi = false;
};

/// Is standard input one of the files?
bool reads_input(const Options& o) {
    return std::find(o.files.begin(), o.files.end(), "-") != o.files.end();
}

/// The method that is used.
Method method_of(const Options& o) {
    return resolved(parse_method(o.method).value(), parse_op(o.op).value());
}

CLI::Validator one_of(const std::vector<std::string>& names) {
    const auto check = [names](const std::string& text) {
        if (std::find(names.begin(), names.end(), text) != names.end()) return std::string();
        return fmt::format("{} is not known; allowed are {}", in_quotes(text), fmt::join(names, ", "));
    };
    return CLI::Validator(check, "");
}

/// An empty argument, as of a shell variable that is not set, is not the same as none.
CLI::Validator not_empty(const char* what) {
    const auto check = [what](const std::string& text) {
        return text.empty() ? fmt::format("'' is not {}; allowed is one that is not empty", what) : std::string();
    };
    return CLI::Validator(check, "");
}

CLI::Validator thread_count() {
    return decimal_number(std::numeric_limits<std::uint32_t>::max(),
                          "is not a number of threads; allowed are 1 to 1024, or 0 for the library's choice");
}

template <class Named>
std::vector<std::string> names_of(std::span<const Named> all) {
    std::vector<std::string> names;
    for (const Named& one : all)
        if constexpr (std::is_same_v<Named, DType>) {
            names.emplace_back(name(one));
        } else {
            names.emplace_back(one.name);
        }
    return names;
}

Format parse_format(const Options& o, const std::string& file) {
    if (o.format == "npy") return Format::npy;
    if (o.format == "npz") return Format::npz;
    if (o.format == "raw") return Format::raw;
    if (o.format == "csv") return Format::csv;
    if (o.format == "text" || file == "-") return Format::text;
    if (names_npz(file)) return Format::npz;
    const std::string extension = lower_case_extension(file);
    if (extension == ".csv") return Format::csv;
    if (extension == ".npy") return Format::npy;
    if (extension == ".bin" || extension == ".raw") return Format::raw;
    if (extension == ".txt") return Format::text;
    throw UsageError(fmt::format("cannot tell the format of {} from its name; allowed are .npy, .npz, .bin, .raw, .txt "
                                 "and .csv, or say --format npy, npz, raw, text or csv",
                                 in_quotes(file)));
}

Request parse_request(const Options& o) {
    Request request;
    request.op = parse_op(o.op).value();
    request.method = method_of(o);
    request.device = parse_device(o.device);
    request.launch.threads = o.threads;
    request.nan = parse_nan_policy(o.nan).value();
    request.ddof = o.ddof;
    if (!o.offsets.empty() || !o.ids.empty()) request.shape = Shape::segments;
    if (!o.output.empty()) request.output = parse_dtype(o.output);
    if (o.threads != 0 && request.device.backend == Backend::cuda) {
        throw UsageError("--threads is for the CPU; allowed with --device cpu only");
    }
    return request;
}

std::optional<DType> parse_given_dtype(const Options& o, const Task& task) {
    if (!o.dtype.empty()) return parse_dtype(o.dtype);
    const bool raw = std::any_of(task.files.begin(), task.files.end(),
                                 [](const Source& file) { return file.format == Format::raw; });
    if (raw || task.with_format == Format::raw)
        throw UsageError(fmt::format("raw data does not say what it holds: --dtype is needed; allowed are {}",
                                     fmt::join(names_of(dtypes()), ", ")));
    return std::nullopt;
}

void check_inputs(const Options& o) {
    const OpInfo& op = info(parse_op(o.op).value());
    if (!o.with.empty() && o.files.empty()) throw UsageError("--with: allowed with FILE");
    if (op.inputs == 2 && o.with.empty() && !o.files.empty())
        throw UsageError(fmt::format("{} is of two files: --with FILE is needed", op.name));
    if (op.inputs == 1 && !o.with.empty())
        throw UsageError(fmt::format("--with: {} is of one file; allowed for dot, sumdiffsq, mse and mae", op.name));
    if (std::count(o.files.begin(), o.files.end(), "-") > 1)
        throw UsageError("FILE: only one of them can be standard input");
    if (reads_input(o) && o.with == "-") throw UsageError("--with: only one of the two can be standard input");
}

void check_states(const Options& o) {
    const bool none = o.add_states.empty();
    if (o.files.empty() && none) throw UsageError("FILE is required; only with --add-state there may be none");
    if (none && o.save_state.empty()) return;
    const char* const option = none ? "--save-state" : "--add-state";
    const OpInfo& op = info(parse_op(o.op).value());
    const bool sums = op.kind == Kind::sum || op.kind == Kind::moments;
    if (!sums && op.kind != Kind::order && parse_op(o.op) != Op::count_nonzero) {
        throw UsageError(fmt::format(
            "{}: {} has no state that could be saved; allowed are all ops but prod and count_unique", option, o.op));
    }
    if ((op.kind != Kind::sum || op.transform != Transform::element) && parse_device(o.device).backend == Backend::cuda)
        throw UsageError(fmt::format("{}: of {} allowed with --device cpu", option, o.op));
    if (op.kind == Kind::order && op.gives_integer && o.add_states.size() > 1) {
        throw UsageError(
            fmt::format("--add-state: of {} allowed is one, behind whose numbers those of FILE come; others "
                        "do not say where theirs come",
                        o.op));
    }
    if (sums && method_of(o) != Method::exact) {
        throw UsageError(fmt::format("{}: {} has no state that could be saved; allowed is --method exact", option,
                                     name(method_of(o))));
    }
    if (!o.axis.empty() || !o.offsets.empty() || !o.ids.empty()) {
        throw UsageError(
            fmt::format("{}: a state is that of one sum; allowed without --axis, --offsets and --ids", option));
    }
    for (const std::string& path : o.add_states) {
        if (path.empty() || path == "-")
            throw UsageError(fmt::format("--add-state: {} is not a file", in_quotes(path)));
    }
    if (o.save_state == "-") throw UsageError("--save-state: '-' is not a file; standard output is for the result");
}

std::optional<Format> first_format(const Task& task) {
    if (task.files.empty()) return std::nullopt;
    return task.files.front().format;
}

void check_groups(const Options& o, const Task& task) {
    if (!o.axis.empty() && !o.offsets.empty())
        throw UsageError("--axis, --offsets and --ids each cut the numbers; allowed is one of them");
    if (!o.ids.empty() && (!o.axis.empty() || !o.offsets.empty()))
        throw UsageError("--axis, --offsets and --ids each cut the numbers; allowed is one of them");
    if (!o.groups.empty() && o.ids.empty())
        throw UsageError("--groups: offsets and matrices say how many groups they have; allowed with --ids");
    if (o.offsets == "-" && (reads_input(o) || o.with == "-"))
        throw UsageError("--offsets: only one of the files can be standard input");
    if (o.ids == "-" && (reads_input(o) || o.with == "-"))
        throw UsageError("--ids: only one of the files can be standard input");
    const auto is_array = [](Format format) { return format == Format::npy || format == Format::npz; };
    if (!o.axis.empty() && !(is_array(first_format(task).value()) && is_array(task.with_format.value_or(Format::npy))))
        throw UsageError("--axis: text and raw data have no axes; allowed are .npy and .npz");
    if (!o.axis.empty() && task.files.size() > 1) throw UsageError("--axis: allowed is one FILE");
}

/// What processes of a job can share.
void check_job(const Options& o, const Task& task) {
    if (!o.axis.empty() || !o.offsets.empty() || !o.ids.empty())
        throw UsageError("--mpi: all numbers are one group; allowed without --axis, --offsets and --ids");
    if (!o.add_states.empty() || !o.save_state.empty())
        throw UsageError("--mpi: allowed without --add-state and --save-state");
    if (task.request.device.backend == Backend::cuda) throw UsageError("--mpi: allowed with --device cpu only");
    const auto can_be_cut = [](const std::string& path, Format format) {
        return path != "-" && (format == Format::npy || format == Format::raw);
    };
    for (const Source& file : task.files) {
        if (!can_be_cut(file.path, file.format))
            throw UsageError(fmt::format("--mpi: each process reads its part of {}; allowed are .npy and raw files",
                                         in_quotes(file.path)));
    }
    if (!o.with.empty() && !can_be_cut(o.with, *task.with_format))
        throw UsageError("--with: each process reads its part; allowed with --mpi are .npy and raw files");
}

/// Options that say which column, and of what.
void check_columns(const Options& o, const Task& task) {
    const auto has_columns = [](std::optional<Format> format) {
        return format == Format::text || format == Format::csv;
    };
    if (!o.column.empty() && !has_columns(first_format(task)))
        throw UsageError("--column: allowed of text and CSV, which have columns");
    if (!o.with_column.empty() && !has_columns(task.with_format))
        throw UsageError("--with-column: allowed where --with is text or CSV, which have columns");
}

/// An axis as it was typed; nothing if it is none.
std::optional<int> parse_axis(std::string_view text) {
    int axis = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), axis);
    const bool plain = fmt::format("{}", axis) == text; // neither 01 nor -0
    if (error != std::errc{} || stop != text.data() + text.size() || !plain || axis < -64 || axis > 63) return {};
    return axis;
}

CLI::Validator axis_number() {
    return CLI::Validator(
        [](const std::string& text) {
            if (parse_axis(text)) return std::string();
            return fmt::format("{} is not an axis; allowed is one: 0, 1, … or, from the last, -1, -2, …{}",
                               in_quotes(text),
                               text.find(',') == std::string::npos ? "" : " (several axes: axis=(0, 1) in Python)");
        },
        "");
}

/// The names that NumPy has for ops are allowed, too.
std::string op_named(std::string name) {
    if (name == "std") return "stddev";
    if (name == "var") return "variance";
    return name;
}

Task parse_task(const Options& o) {
    check_states(o);
    check_inputs(o);
    Task task;
    for (const std::string& file : o.files)
        task.files.push_back({file, parse_format(o, file)});
    if (!o.with.empty()) task.with_format = parse_format(o, o.with);
    task.with = o.with;
    check_groups(o, task);
    check_columns(o, task);
    if (!o.axis.empty()) task.axis = parse_axis(o.axis);
    task.column.text = o.column;
    task.with_column.text = o.with_column.empty() && task.with_format == first_format(task) ? o.column : o.with_column;
    task.offsets = o.offsets;
    task.ids = o.ids;
    if (!o.groups.empty()) task.groups = std::stoull(o.groups);
    task.dtype = parse_given_dtype(o, task);
    task.request = parse_request(o);
    task.device_name = o.device == "cuda" ? "cuda:0" : o.device;
    task.add_states = o.add_states;
    task.save_state = o.save_state;
    if (o.mpi) check_job(o, task);
    return task;
}

} // namespace

void add_reduce(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("reduce", description);
    command
        ->add_option("FILE", o->files,
                     "one or more: .npy, .npz or a member of it (data.npz:x), .bin or .raw "
                     "(little-endian, needs --dtype), .txt, .csv, "
                     "or - for stdin (text without --format)")
        ->type_name("");
    const auto add = [command](const char* flag, std::string& value, const std::string& help) {
        return command->add_option(flag, value, help)->type_name("")->capture_default_str();
    };
    add("--op", o->op, "what to compute; std and var are stddev and variance")
        ->transform(op_named)
        ->check(one_of(names_of(ops())));
    command->add_option("--with", o->with, "for ops of two inputs: the file with y, as many numbers as FILE has")
        ->type_name("FILE")
        ->check(not_empty("a file name"));
    command
        ->add_option(
            "--axis", o->axis,
            "of a .npy or .npz, as NumPy counts: of two dimensions 1, or -1, reduces each row, 0 each column; prints "
            "one result a line, in C order of the other axes")
        ->type_name("K")
        ->check(axis_number());
    command
        ->add_option("--column", o->column,
                     "of CSV and of text with blanks between numbers: a number from 1, or a name in the first line, "
                     "where digits take quotes: '\"2024\"'")
        ->type_name("COLUMN")
        ->check(not_empty("a column"))
        ->group(more_options);
    command->add_option("--with-column", o->with_column, "that of --with; without it --column's")
        ->type_name("COLUMN")
        ->check(not_empty("a column"))
        ->group(more_options);
    command
        ->add_option(
            "--offsets", o->offsets,
            "reduce segments: a file of whole numbers, where each begins and where the last ends; text with one "
            "a line, or a 1-D .npy of uint64, int64, uint32 or int32")
        ->type_name("FILE")
        ->check(not_empty("a file name"))
        ->group(more_options);
    command
        ->add_option("--ids", o->ids,
                     "reduce segments: a file with the number of the segment of each number, from 0, which does not "
                     "descend; text with one a line, or a 1-D .npy of uint64, int64, uint32 or int32")
        ->type_name("FILE")
        ->check(not_empty("a file name"))
        ->group(more_options);
    command
        ->add_option("--groups", o->groups, "with --ids: how many segments there are; else one more than the last id")
        ->type_name("N")
        ->transform(decimal_number(max_groups, "is not a number of segments; allowed are 0 to 2^40"))
        ->group(more_options);
    std::vector<std::string> methods_and_automatic = names_of(methods());
    methods_and_automatic.emplace_back(name(Method::automatic));
    add("--method", o->method, "which bits come out; automatic is exact, and of prod compensated")
        ->check(one_of(methods_and_automatic));
    add("--dtype", o->dtype,
        fmt::format("type of the elements: {}; without it text is read as f64, integers as f32 or f64",
                    fmt::join(names_of(dtypes()), ", ")))
        ->check(one_of(names_of(dtypes())));
    add("--output", o->output,
        "type of the result, rounded once: that of the elements without it; exact and ops that compare give any, "
        "others a wider one")
        ->check(one_of(names_of(dtypes())));
    add("--nan", o->nan,
        "for min, max, minmax, argmin, argmax and nrminf: propagate (as NumPy) or ignore (as C's fmin)")
        ->check(one_of({"propagate", "ignore"}))
        ->group(more_options);
    command
        ->add_option("--ddof", o->ddof,
                     "for variance, stddev and moments: what is taken from n in the divisor, less than n; of segments "
                     "of no more "
                     "numbers than that the result is nan")
        ->type_name("N")
        ->transform(decimal_number(max_n - 1, "cannot be taken from n; allowed are 0 to 2^40 - 1"))
        ->capture_default_str()
        ->group(more_options);
    add("--device", o->device, "cpu, cuda or cuda:INDEX");
    command
        ->add_option(
            "--threads", o->threads,
            "CPU threads, 1 to 1024, or 0 for the library's choice; changes the bits of no method that guarantees them")
        ->type_name("N")
        ->transform(thread_count())
        ->capture_default_str()
        ->group(more_options);
    add("--format", o->format, "npy, npz, raw, text or csv, when the name of FILE does not tell")
        ->check(one_of({"npy", "npz", "raw", "text", "csv"}))
        ->group(more_options);
    command
        ->add_option("--add-state", o->add_states,
                     "start from what --save-state wrote; may be given many times, and then without FILE")
        ->type_name("STATE")
        ->allow_extra_args(false)
        ->group(more_options);
    command->add_option("--save-state", o->save_state, "also write the state of the reduction, unrounded, to this file")
        ->type_name("STATE")
        ->check(not_empty("a file name"))
        ->group(more_options);
    command->add_flag("--json", o->json, "print one JSON object instead of the number")->disable_flag_override();
    command
        ->add_flag("--mpi", o->mpi,
                   "started by mpirun: each process reads its part of every FILE, which it must see, and one prints "
                   "the bits that one process would; .npy and raw files, exact, on the CPU")
        ->group(more_options)
        ->disable_flag_override();
    command->footer(reduce_footer());
    help_of(app).explain(*command, reduce_explanation());
    command->callback([o] {
        if (!o->mpi) return run_task(parse_task(*o), o->json);
        static const Job job; // to the end of the program, which says what went wrong before
        Task task;
        job.together([&] { task = parse_task(*o); });
        run_task(task, o->json, &job);
    });
}

} // namespace detreduce::program
