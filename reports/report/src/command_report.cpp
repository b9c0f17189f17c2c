// `detreduce report`, `detreduce render` and the options of `detreduce ladder`.
#include <algorithm>
#include <exception>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "command.hpp"
#include "files.hpp"
#include "fresh_sums.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "ladder_run.hpp"
#include "measure.hpp"
#include "output.hpp"
#include "own.hpp"
#include "own_report.hpp"
#include "render.hpp"
#include "report_inputs.hpp"

namespace detreduce::program {
namespace {

using namespace detreduce::report;

constexpr std::uint64_t largest_n = std::uint64_t{1} << 36, most_runs = 1'000'000; // of the ladder
constexpr std::uint64_t min_report_n = 16, max_report_n = std::uint64_t{1} << 40;
constexpr std::uint64_t largest_seed = std::numeric_limits<std::uint64_t>::max();

struct Arguments {
    std::string out, device, results;
    std::vector<std::string> data, compare;
    bool quick = false, measure_only = false;
    std::uint64_t seed = 1, max_n = max_report_n;
    std::string program = "detreduce report";
    std::vector<accuracy::OwnReduction> own = {};
    bool full = false;
    std::vector<std::string> sections;
};

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

std::string command_line(const Arguments& a) {
    std::string line = a.program + " --out " + a.out;
    if (a.quick) line += " --quick";
    if (a.full) line += " --full";
    if (!a.sections.empty()) line += fmt::format(" --sections {}", fmt::join(a.sections, ","));
    if (!a.device.empty()) line += " --device " + a.device;
    line += fmt::format(" --seed {}", a.seed);
    if (a.max_n != max_report_n) line += fmt::format(" --max-n {}", a.max_n);
    if (a.measure_only) line += " --measure-only";
    for (const std::string& file : a.data)
        line += " --data " + file;
    return line;
}

// Measures what is there until it is done, the user presses Ctrl-C, or something fails: then what stopped it.
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

void run_report(const Arguments& a) {
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
    prepare_directory(a.out);
    fmt::print("measuring on {} ({})\n", name_of(options.device), options.device_choice);
    for (const std::string& note : own_notes(options))
        fmt::print("note: {}\n", note);
    std::fflush(stdout);
    Results gathered;
    const std::exception_ptr stopped = measured(options, gathered);
    const std::string json = to_json(gathered);
    const std::filesystem::path dir = a.out, file = dir / "results.json";
    write_file(file, json);
    fmt::print("wrote {}\n", file.string());
    if (!a.measure_only) {
        const Results results = from_json(json, file.string()); // exactly what `detreduce render` would read
        for (const std::string& note : results.provenance.notes)
            fmt::print("note: {}\n", note);
        render(results, dir, {}, others);
        fmt::print("wrote {}\n", (dir / "index.html").string());
    }
    if (stopped) std::rethrow_exception(stopped);
}

void print_fresh_sums(const Arguments& a) {
    Options options{.quick = a.quick, .seed = a.seed, .device = {}, .device_choice = {}, .command = {}};
    std::vector<Device> list;
    for (const std::string& device : CLI::detail::split(a.device, ','))
        list.push_back(parse_device(device));
    options.largest_n = a.max_n;
    options.device = list.front();
    options.more_devices.assign(list.begin() + 1, list.end());
    print(fresh_sums(options));
}

void run_render(const Arguments& a) {
    Results results = load_results(a.results);
    const std::vector<OtherRun> others = load_others(a.compare);
    const std::filesystem::path folder = std::filesystem::path(a.results).parent_path();
    const std::vector<BenchFile> bench = load_bench_files(folder);
    if (results.ladder.empty() && std::filesystem::exists(folder / "ladder.json"))
        results.ladder = load_results(folder / "ladder.json").ladder;
    require_gnuplot();
    prepare_directory(a.out);
    render(results, a.out, bench, others);
    fmt::print("wrote {}\n", (std::filesystem::path(a.out) / "index.html").string());
}

void add_compare(CLI::App& command, Arguments& a) {
    command
        .add_option("--compare", a.compare,
                    "results.json of other runs, to show beside this one: bits that differ, speed as ratios")
        ->type_name("FILE");
}

CLI::Validator a_seed() {
    return decimal_number(largest_seed, fmt::format("is not a seed; allowed are 0 to {}", largest_seed));
}
CLI::Validator a_size() {
    const std::string refusal = fmt::format("is not a size; allowed are {} to {}", min_report_n, max_report_n);
    const auto check = [refusal](std::string& text) {
        const std::string wrong = take_decimal(text, max_report_n, refusal);
        return wrong.empty() && std::stoull(text) < min_report_n ? fmt::format("{} {}", in_quotes(text), refusal)
                                                                 : wrong;
    };
    return CLI::Validator(check, "");
}
CLI::Validator a_section(bool of_own) {
    const auto check = [of_own](std::string& text) -> std::string {
        const std::vector<std::string> names = section_names(of_own);
        if (std::find(names.begin(), names.end(), text) != names.end()) return "";
        return fmt::format("{} is not a section; allowed are {}", in_quotes(text), fmt::join(names, ", "));
    };
    return CLI::Validator(check, "");
}
CLI::Validator count_up_to(std::uint64_t most) {
    return decimal_number(most, fmt::format("is not a count; allowed are 1 to {}", most));
}

void add_options(CLI::App* command, const std::shared_ptr<Arguments>& a) {
    command->add_option("--out", a->out, "Directory for index.html, report.md, results.json, *.csv and plots")
        ->required()
        ->type_name("DIR");
    CLI::Option* const quick =
        command->add_flag("--quick", a->quick, "Fewer sizes and repeats: under a minute instead of some");
    command->add_flag("--full", a->full, "All sizes and repeats, up to 15 minutes (default)")->excludes(quick);
    command
        ->add_option("--device", a->device,
                     "Where the methods under test run: cpu, cuda, cuda:N, or all: the CPU and every GPU (default: a "
                     "GPU if there is one)")
        ->type_name("DEVICE");
    const bool of_own = !a->own.empty();
    command
        ->add_option("--sections", a->sections,
                     fmt::format("Measure only these, separated by commas: {} (default: all)",
                                 fmt::join(section_names(of_own), ", ")))
        ->delimiter(',')
        ->check(a_section(of_own))
        ->type_name("NAME");
    command->add_option("--seed", a->seed, "Seed of the data")
        ->transform(a_seed())
        ->capture_default_str()
        ->type_name("N");
    command
        ->add_option(
            "--max-n", a->max_n,
            "No sums of more elements than this, but --data, edge cases, reference results and the ladder: for what is "
            "slow")
        ->transform(a_size())
        ->type_name("N");
    command->add_flag("--measure-only", a->measure_only, "Write results.json only; needs no gnuplot");
    command
        ->add_option("--data", a->data,
                     ".npy files of f16, f32 or f64, any shape: the sum of each by every method, its error and bound")
        ->type_name("FILE");
    add_compare(*command, *a);
    command->callback([a] { run_report(*a); });
}

void run_own_report(int argc, const char* const* argv, const std::vector<accuracy::OwnReduction>& own) {
    const auto a = std::make_shared<Arguments>();
    a->own = own;
    a->program = std::filesystem::path(argv[0]).filename().string();
    CLI::App app("Measures the error, determinism and cost of its reductions, and writes a page about them",
                 a->program);
    app.get_formatter()->label("REQUIRED", "");
    add_options(&app, a);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        print(app.help());
    } catch (const CLI::ParseError& error) {
        throw UsageError(error.what());
    }
    finish_output();
}

} // namespace

int own_report(int argc, const char* const* argv, const std::vector<accuracy::OwnReduction>& own) noexcept {
    const std::filesystem::path program = argc > 0 ? argv[0] : "report";
    const auto complain = [&](const char* text) {
        print_error(fmt::format("{}: {}\n", program.filename().string(), one_line(text)));
    };
    try {
        if (argc < 1 || own.empty()) throw Failure("there is nothing to measure: the study has no reductions");
        run_own_report(argc, argv, own);
        return 0;
    } catch (const UsageError& error) {
        complain(error.what());
        return 2;
    } catch (const Interrupted& error) {
        complain(error.what());
        return 130;
    } catch (const std::exception& error) {
        complain(error.what());
        return 1;
    } catch (...) {
        complain("something that is not a std::exception was thrown");
        return 1;
    }
}

void add_report(CLI::App& app) {
    CLI::App* command =
        app.add_subcommand("report", "Measure error, determinism and cost here, and write a page about it");
    add_options(command, std::make_shared<Arguments>());
    command->footer(
        "Examples:\n"
        "  detreduce report --out report --quick           a first look, in under a minute\n"
        "  detreduce report --out report --quick --data losses.npy gradients.npy\n"
        "                                                  and what each method makes of your own numbers\n"
        "  detreduce report --out new --compare old/results.json\n"
        "                                                  bits and speed beside those of an earlier run\n"
        "  detreduce report --out here --measure-only      results.json for `detreduce render` elsewhere\n"
        "  detreduce report --out bits --sections determinism\n"
        "\n"
        "Ctrl-C ends measuring: what was measured becomes a report that says that it is incomplete, and the "
        "exit status is 130. A second one ends at once.");

    const auto fresh = std::make_shared<Arguments>();
    CLI::App* hidden = app.add_subcommand("fresh-sums", "The sums of one fresh process, for the determinism section");
    hidden->group("");
    hidden->add_option("--devices", fresh->device)->required();
    hidden->add_option("--seed", fresh->seed)->transform(a_seed());
    hidden->add_flag("--quick", fresh->quick);
    hidden->add_option("--max-n", fresh->max_n)->transform(a_size());
    hidden->callback([fresh] { print_fresh_sums(*fresh); });
}

void add_render(CLI::App& app) {
    const auto a = std::make_shared<Arguments>();
    CLI::App* command =
        app.add_subcommand("render", "Make the page from a results.json that was measured earlier or elsewhere");
    command
        ->add_option("RESULTS", a->results, "results.json of `detreduce report`, or ladder.json of `detreduce ladder`")
        ->required()
        ->type_name("FILE");
    command->add_option("--out", a->out, "Directory for index.html, report.md, *.csv and plots")
        ->required()
        ->type_name("DIR");
    add_compare(*command, *a);
    command->footer("ops.csv, ops_small.csv and shapes.csv of detreduce_gpu_bench, and ladder.json of `detreduce "
                    "ladder`, are shown too if they lie beside it.\n\n"
                    "Examples:\n"
                    "  detreduce render here/results.json --out page   the page, without measuring again\n"
                    "  detreduce render h200/results.json --out page --compare a100/results.json\n"
                    "                                                  two runs side by side");
    command->callback([a] { run_render(*a); });
}

void add_ladder(CLI::App& app) {
    const auto a = std::make_shared<LadderArguments>();
    CLI::App* command = app.add_subcommand(
        "ladder", "Measure the kernels by which reductions are taught beside libraries and these methods, on a GPU");
    command->add_option("--out", a->out, "Directory for index.html, report.md, ladder.json, ladder.csv and plots")
        ->required()
        ->type_name("DIR");
    command->add_option("--n", a->n, "Elements of f32 in the tables; sizes go from 2^10 to 2^30 beside")
        ->transform(count_up_to(largest_n))
        ->capture_default_str()
        ->type_name("N");
    command->add_option("--device", a->device, "cuda or cuda:N")->capture_default_str()->type_name("DEVICE");
    command->add_option("--runs", a->runs, "Runs in which bit patterns are counted")
        ->transform(count_up_to(most_runs))
        ->capture_default_str()
        ->type_name("N");
    command->add_option("--seed", a->seed, "Seed of the data")
        ->transform(a_seed())
        ->capture_default_str()
        ->type_name("N");
    command->add_flag("--quick", a->quick, "Every fourth size only, and none beyond --n");
    command->add_flag("--measure-only", a->measure_only, "Write ladder.json only; needs no gnuplot");
    command->footer("Examples:\n"
                    "  detreduce ladder --out ladder                    tables here, and a page in ladder/\n"
                    "  detreduce ladder --out here --measure-only       ladder.json for `detreduce render` elsewhere");
    command->callback([a] { run_ladder(*a); });
}

} // namespace detreduce::program
