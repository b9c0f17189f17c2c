// `detreduce report` and `detreduce render`, when their options have been read.
#include "report_run.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "device_option.hpp"
#include "files.hpp"
#include "fresh_sums.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "measure.hpp"
#include "output.hpp"
#include "own.hpp"
#include "render.hpp"
#include "report_inputs.hpp"
#include "text.hpp"

namespace detreduce::program {
namespace {

using namespace detreduce::report;

constexpr const char* results_file = "results.json";

// Without being asked: the first GPU, or else the CPU.
void choose_device(Options& options) {
    std::string why;
    const std::vector<cuda::DeviceInfo> devices = cuda::devices(&why);
    if (devices.empty()) {
        options.device_choice =
            fmt::format("chosen because no GPU is usable here: {}", why.empty() ? "none was found" : why);
        return;
    }
    options.device_choice = "chosen because it is the first GPU here";
    options.device = {Backend::cuda, devices.front().index};
}

// All GPUs and the CPU: what is said of "the" device is of the first GPU.
void choose_all_devices(Options& options) {
    std::string why;
    std::vector<Device> list;
    for (const cuda::DeviceInfo& d : cuda::devices(&why))
        list.push_back({Backend::cuda, d.index});
    list.push_back({});
    options.device = list.front();
    options.more_devices.assign(list.begin() + 1, list.end());
    options.device_choice = list.size() == 1 ? fmt::format("--device all, and no GPU is usable here: {}",
                                                           why.empty() ? "none was found" : why)
                                             : "the first of --device all; what ran elsewhere says where";
}

void choose_device(const std::string& asked, Options& options) {
    if (asked.empty()) return choose_device(options);
    if (asked == "all") return choose_all_devices(options);
    options.device_choice = "as asked with --device";
    options.device = parse_device(asked, "all, ");
    if (options.device.backend == Backend::cpu) return;
    require_gpu(asked, options.device);
}

// The ladder alone would be measured nowhere.
void check_sections(const Options& options) {
    const auto& asked = options.sections;
    if (options.device.backend == Backend::cpu && std::find(asked.begin(), asked.end(), "ladder") != asked.end())
        throw UsageError("--sections ladder: its kernels are for GPUs, and this measures on the CPU; leave it out");
}

// Rows where measure() will write some, as far as they make a file of their own.
Results expected_results(const Options& options) {
    const auto is_asked = [&](const char* section) {
        const auto& asked = options.sections;
        return asked.empty() || std::find(asked.begin(), asked.end(), section) != asked.end();
    };
    Results expected;
    expected.error.resize(1); // which makes it more than the ladder alone
    expected.data.resize(options.data.size());
    if (options.own.empty()) {
        expected.reference.resize(is_asked("reference") ? 1 : 0);
        expected.op_cost.resize(is_asked("op_cost") ? 1 : 0);
        expected.ladder.resize(is_asked("ladder") && options.device.backend == Backend::cuda ? 1 : 0);
    }
    return expected;
}

// Measures what is there until it is done, the user presses Ctrl-C, or something fails: then what
// stopped it.
std::exception_ptr measured(const Options& options, Results& results) {
    const NoteInterrupt note;
    Progress progress(Progress::wanted());
    try {
        measure(options, progress, results);
    } catch (...) {
        if (results.provenance.incomplete.empty()) throw; // before anything was measured
        return std::current_exception();
    }
    return nullptr;
}

// What a reader has to know, but what was said `before`.
void print_notes(const std::vector<std::string>& notes, const std::vector<std::string>& before) {
    for (const std::string& note : notes)
        if (std::find(before.begin(), before.end(), note) == before.end()) fmt::print("note: {}\n", one_line(note));
}

} // namespace

std::string command_line(const ReportArguments& a) {
    std::string line = shell_word(a.program);
    if (a.own.empty()) line += " report";
    const auto add = [&](const char* option, const std::string& value) {
        line += fmt::format(" {} {}", option, shell_word(value));
    };
    add("--out", a.out);
    if (a.quick) line += " --quick";
    if (a.full) line += " --full";
    if (!a.sections.empty()) add("--sections", fmt::format("{}", fmt::join(a.sections, ",")));
    if (!a.device.empty()) add("--device", a.device);
    line += fmt::format(" --seed {}", a.seed);
    if (a.max_n != max_report_n) line += fmt::format(" --max-n {}", a.max_n);
    if (a.measure_only) line += " --measure-only";
    for (const std::string& file : a.data)
        add("--data", file);
    for (const std::string& file : a.compare)
        add("--compare", file);
    return line;
}

void run_report(const ReportArguments& a) {
    if (a.measure_only && !a.compare.empty())
        throw UsageError("--compare: --measure-only makes no page to compare on; allowed is one of them");
    Options options{.quick = a.quick,
                    .seed = a.seed,
                    .device = {},
                    .device_choice = {},
                    .command = command_line(a),
                    .largest_n = a.max_n,
                    .own = a.own};
    options.sections = a.sections;
    choose_device(a.device, options);
    check_sections(options);
    options.data = load_data(a.data);
    const std::vector<OtherRun> others = load_others(a.compare);
    if (!a.measure_only) require_gnuplot(); // before minutes of measuring, not after
    const OutputDirectory out(a.out);
    out.require_writable(results_file); // before minutes of measuring, too
    if (!a.measure_only) require_renderable(expected_results(options), out, !others.empty());
    fmt::print("measuring on {} ({})\n", name_of(options.device), options.device_choice);
    const std::vector<std::string> known = own_notes(options);
    print_notes(known, {});
    std::fflush(stdout);
    Results gathered;
    const std::exception_ptr stopped = measured(options, gathered);
    const std::string json = to_json(gathered);
    out.write(results_file, json);
    print_notes(gathered.provenance.notes, known);
    fmt::print("wrote {}\n", out.path_of(results_file));
    if (!a.measure_only) {
        const Results results =
            from_json(json, out.path_of(results_file)); // exactly what `detreduce render` would read
        render(results, out, {}, others);
        fmt::print("wrote {}\n", out.path_of("index.html"));
    }
    if (stopped) std::rethrow_exception(stopped);
    out.require_in_place();
}

void print_fresh_sums(const ReportArguments& a) {
    Options options{.quick = a.quick, .seed = a.seed, .device = {}, .device_choice = {}, .command = {}};
    std::vector<Device> list;
    for (const std::string& device : a.fresh_devices)
        list.push_back(parse_device(device));
    options.largest_n = a.max_n;
    options.device = list.front();
    options.more_devices.assign(list.begin() + 1, list.end());
    print(fresh_sums(options));
}

void run_render(const ReportArguments& a) {
    Results results = load_results(a.results);
    const std::vector<OtherRun> others = load_others(a.compare);
    const std::filesystem::path folder = std::filesystem::path(a.results).parent_path();
    const std::vector<BenchFile> bench = load_bench_files(folder);
    if (results.ladder.empty() && may_exist(folder / "ladder.json"))
        results.ladder = load_results(folder / "ladder.json").ladder;
    require_gnuplot();
    const OutputDirectory out(a.out);
    render(results, out, bench, others);
    fmt::print("wrote {}\n", out.path_of("index.html"));
    out.require_in_place();
}

} // namespace detreduce::program
