// `detreduce reduce`: the sum of a file, its bits and what is promised about them.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <detreduce/detreduce.hpp>

#include "command.hpp"
#include "input.hpp"
#include "number_text.hpp"
#include "output.hpp"
#include "reduce_cuda.hpp"

namespace detreduce::program {
namespace {

constexpr const char* description = "Reduce the numbers of a file to one number and print it";

struct Options {
    std::string file, op = "sum", method = "tree", dtype, device = "cpu", format;
    std::uint32_t threads = 0; // 0: OpenMP's choice
    bool json = false;
};

CLI::Validator one_of(const std::vector<std::string>& names) {
    const auto check = [names](const std::string& text) {
        if (std::find(names.begin(), names.end(), text) != names.end()) return std::string();
        return fmt::format("{} is not known; allowed are {}", in_quotes(text), fmt::join(names, ", "));
    };
    return CLI::Validator(check, "");
}

CLI::Validator thread_count() {
    return decimal_number(std::numeric_limits<std::uint32_t>::max(),
                          "is not a number of threads; allowed are 1, 2, …, and 0 for all");
}

std::vector<std::string> method_names() {
    std::vector<std::string> names;
    for (const MethodInfo& m : methods())
        names.emplace_back(m.name);
    return names;
}

std::string where(const MethodInfo& m) {
    if (m.on_cpu && m.on_cuda) return "cpu, cuda";
    return m.on_cpu ? "cpu" : "cuda";
}

std::string footer() {
    std::string text = "Prints the shortest decimal that reads back to the same bits. Methods, what they guarantee and "
                       "where they run:\n";
    for (const MethodInfo& m : methods()) {
        text += fmt::format("  {:<12} guarantee {:<10} {:<9} {}\n", m.name, name(m.guarantee), where(m), m.summary);
    }
    return text +
           "Guarantees, what the bits of the result depend on:\n"
           "  none         nothing: two runs may differ\n"
           "  run_to_run   the same input on the same machine, build and launch\n"
           "  device       the input sequence only: the same bits on every CPU and GPU, for every number of threads\n"
           "  order        the numbers only: in any order\n"
           "\n"
           "Text holds one number a line: decimal, hexadecimal (0x1.8p+1), nan, inf or -inf; # starts a comment, and\n"
           "blank lines are skipped. Each number is rounded once, directly into the dtype; 1e400 is refused, while\n"
           "1e-400 becomes 0. Text or raw data without a number sum to +0. --dtype must match what a .npy holds.\n"
           "- reads text, and .npy or raw bytes with --format npy or raw.\n"
           "\n"
           "Examples:\n"
           "  detreduce reduce data.npy                          sum of a NumPy array\n"
           "  detreduce reduce data.bin --dtype f32 --json       raw floats; value, bits and guarantee as JSON\n"
           "  seq 1 100 | detreduce reduce -                     numbers as text from another program\n"
           "  detreduce reduce data.npy --threads 1              other number of threads, same bits\n"
           "  detreduce reduce data.npy --device cuda:0          on the first GPU, same bits";
}

std::string lower_case_extension(const std::string& file) {
    const std::string base = file.substr(file.rfind('/') + 1); // npos + 1 is 0
    const std::size_t dot = base.rfind('.');
    std::string extension = dot == std::string::npos ? "" : base.substr(dot);
    for (char& c : extension)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return extension;
}

Format parse_format(const Options& o) {
    if (o.format == "npy") return Format::npy;
    if (o.format == "raw") return Format::raw;
    if (o.format == "text" || o.file == "-") return Format::text;
    const std::string extension = lower_case_extension(o.file);
    if (extension == ".npy") return Format::npy;
    if (extension == ".bin" || extension == ".raw") return Format::raw;
    if (extension == ".txt") return Format::text;
    throw UsageError(fmt::format("cannot tell the format of {} from its name; allowed are .npy, .bin, .raw and .txt, "
                                 "or say --format npy, raw or text",
                                 in_quotes(o.file)));
}

Request parse_request(const Options& o) {
    Request request;
    request.op = parse_op(o.op).value();
    request.method = parse_method(o.method).value();
    request.device = parse_device(o.device);
    request.launch.threads = o.threads;
    if (o.threads != 0 && request.device.backend == Backend::cuda) {
        throw UsageError("--threads is for the CPU; allowed with --device cpu only");
    }
    return request;
}

std::optional<DType> parse_given_dtype(const Options& o, Format format) {
    if (!o.dtype.empty()) return parse_dtype(o.dtype);
    if (format == Format::raw)
        throw UsageError("raw data does not say what it holds: --dtype is needed; allowed are f32 and f64");
    return std::nullopt;
}

void fail_unless_ok(const Status& status, const std::string& device) {
    if (status.ok()) return;
    if (std::string_view(status.argument) == "launch.threads")
        throw UsageError(fmt::format("--threads: {}", status.allowed));
    if (status.code == StatusCode::no_device) throw no_such_gpu(device);
    throw Failure(to_string(status));
}

template <class T>
T reduce(const Request& request, const Options& o, const void* data) {
    T result = 0;
    if (request.device.backend == Backend::cuda) {
        reduce_on_cuda(request, data, &result);
    } else {
        fail_unless_ok(run(make_plan(request), data, &result), o.device);
    }
    return result;
}

template <class T>
std::string as_json(const Request& request, const Options& o, T value) {
    nlohmann::ordered_json json;
    json["op"] = name(request.op);
    json["method"] = name(request.method);
    json["dtype"] = name(request.dtype);
    json["n"] = request.n;
    json["device"] = o.device == "cuda" ? "cuda:0" : o.device;
    json["value"] = hexadecimal(value);
    json["bits"] = bits_text(value);
    json["decimal"] = shortest_decimal(value);
    json["guarantee"] = name(info(request.method).guarantee);
    json["spec_version"] = spec_version;
    json["version"] = version;
    return json.dump();
}

template <class T>
void reduce_and_print(const Request& request, const Options& o, const void* data) {
    const T value = reduce<T>(request, o, data);
    print((o.json ? as_json(request, o, value) : shortest_decimal(value)) + "\n");
}

void run_reduce(const Options& o) {
    const Format format = parse_format(o);
    const std::optional<DType> dtype = parse_given_dtype(o, format);
    Request request = parse_request(o);
    fail_unless_ok(make_plan(request).status(), o.device); // what cannot work fails before a large file is read
    const Numbers numbers = read_numbers(o.file, format, dtype);
    request.dtype = numbers.dtype;
    request.n = numbers.n;
    fail_unless_ok(make_plan(request).status(), o.device);
    if (request.dtype == DType::f32) {
        reduce_and_print<float>(request, o, numbers.data);
    } else {
        reduce_and_print<double>(request, o, numbers.data);
    }
}

} // namespace

void add_reduce(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("reduce", description);
    command
        ->add_option(
            "FILE", o->file,
            ".npy (1-D), .bin or .raw (little-endian, needs --dtype), .txt, or - for stdin (text without --format)")
        ->required()
        ->type_name("");
    const auto add = [command](const char* flag, std::string& value, const char* help) {
        return command->add_option(flag, value, help)->type_name("")->capture_default_str();
    };
    add("--op", o->op, "what to compute: sum")->check(one_of({"sum"}));
    add("--method", o->method, "which bits come out, see below")->check(one_of(method_names()));
    add("--dtype", o->dtype, "type of the elements: f32 or f64; text is read as f64 without it")
        ->check(one_of({"f32", "f64"}));
    add("--device", o->device, "cpu, cuda or cuda:INDEX");
    command->add_option("--threads", o->threads, "CPU threads, 1 to 1024, or 0 for all; never changes a bit of tree")
        ->type_name("N")
        ->transform(thread_count())
        ->capture_default_str();
    add("--format", o->format, "npy, raw or text, when the name of FILE does not tell")
        ->check(one_of({"npy", "raw", "text"}));
    command->add_flag("--json", o->json, "print one JSON object instead of the number")->disable_flag_override();
    command->footer(footer());
    command->callback([o] { run_reduce(*o); });
}

} // namespace detreduce::program
