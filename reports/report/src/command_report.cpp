// The options of `detreduce report`, `detreduce render` and `detreduce ladder`.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "command.hpp"
#include "ladder_run.hpp"
#include "measure.hpp"
#include "output.hpp"
#include "own_report.hpp"
#include "report_run.hpp"

namespace detreduce::program {
namespace {

using namespace detreduce::report;

constexpr std::uint64_t largest_n = std::uint64_t{1} << 36, most_runs = 1'000'000; // of the ladder
constexpr std::uint64_t largest_seed = std::numeric_limits<std::uint64_t>::max();

void add_compare(CLI::App& command, ReportArguments& a) {
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

void add_options(CLI::App* command, const std::shared_ptr<ReportArguments>& a) {
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
                     fmt::format("Measure only these, separated by commas: {} (default: all){}",
                                 fmt::join(section_names(of_own), ", "),
                                 of_own ? "" : "; ops: the error of ops, op_cost: the cost of ops and shapes"))
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
    const auto a = std::make_shared<ReportArguments>();
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
    add_options(command, std::make_shared<ReportArguments>());
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
        "On the CPU numpy.sum is timed, too, where python3 has NumPy.\n"
        "Ctrl-C ends measuring: what was measured becomes a report that says that it is incomplete, and the "
        "exit status is 130. A second one ends at once.");

    const auto fresh = std::make_shared<ReportArguments>();
    CLI::App* hidden = app.add_subcommand("fresh-sums", "The sums of one fresh process, for the determinism section");
    hidden->group("");
    hidden->add_option("--devices", fresh->fresh_devices)->delimiter(',')->required();
    hidden->add_option("--seed", fresh->seed)->transform(a_seed());
    hidden->add_flag("--quick", fresh->quick);
    hidden->add_option("--max-n", fresh->max_n)->transform(a_size());
    hidden->callback([fresh] { print_fresh_sums(*fresh); });
}

void add_render(CLI::App& app) {
    const auto a = std::make_shared<ReportArguments>();
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
    CLI::App* command = app.add_subcommand("ladder", "Measure, on a GPU, the kernels by which reductions are taught");
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
