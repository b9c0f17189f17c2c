// `detreduce ladder`.
#include <memory>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "command.hpp"
#include "files.hpp"
#include "gpu.hpp"
#include "json.hpp"
#include "plot.hpp"
#include "render.hpp"

namespace detreduce::program {
namespace {

using namespace detreduce::report;

constexpr std::uint64_t largest_n = std::uint64_t{1} << 36, most_runs = 1'000'000;

struct Arguments {
    std::string out, device = "cuda";
    std::uint64_t n = std::uint64_t{1} << 29, runs = 1000, seed = 1;
    bool quick = false, measure_only = false;
};

Device gpu_of(const std::string& asked) {
    const Device device = parse_device(asked);
    if (device.backend == Backend::cpu)
        throw UsageError("--device cpu: the ladder is of kernels for GPUs; allowed are cuda, cuda:0, cuda:1, …");
    if (std::string why; cuda::devices(&why).empty())
        throw Failure(fmt::format("--device {}: no usable GPU ({}), and the ladder is of kernels for GPUs; `detreduce "
                                  "render` shows one that was measured elsewhere",
                                  asked, why.empty() ? "none found" : why));
    require_gpu(asked, device);
    return device;
}

std::string command_line(const Arguments& a) {
    std::string line = fmt::format("detreduce ladder --out {} --n {} --runs {} --device {} --seed {}", a.out, a.n,
                                   a.runs, a.device, a.seed);
    if (a.quick) line += " --quick";
    if (a.measure_only) line += " --measure-only";
    return line;
}

void run_ladder(const Arguments& a) {
    if (a.n == 0 || a.runs == 0) throw UsageError("--n and --runs: allowed are numbers from 1 on");
    const Options options{.quick = a.quick,
                          .seed = a.seed,
                          .device = gpu_of(a.device),
                          .device_choice = "as asked with --device",
                          .command = command_line(a)};
    if (!a.measure_only) require_gnuplot();
    prepare_directory(a.out);
    Progress progress(Progress::wanted());
    Results results;
    results.provenance = provenance_of(options);
    results.ladder =
        report::gpu::measure_ladder(options, a.n, static_cast<int>(a.runs), progress, results.provenance.notes);
    progress.clear();
    const std::string json = to_json(results);
    const std::filesystem::path dir = a.out, file = dir / "ladder.json";
    write_file(file, json);
    if (!a.measure_only) render(from_json(json, file.string()), dir); // exactly what `detreduce render` would read
    fmt::print("{}\nwrote {}\n", markdown_tables(from_json(json, file.string())),
               (dir / (a.measure_only ? "ladder.json" : "index.html")).string());
}

CLI::Validator count_up_to(std::uint64_t most) {
    return decimal_number(most, fmt::format("is not a count; allowed are 1 to {}", most));
}

} // namespace

void add_ladder(CLI::App& app) {
    const auto a = std::make_shared<Arguments>();
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
        ->transform(decimal_number(~std::uint64_t{0}, "is not a seed; allowed are 0 to 2^64 - 1"))
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
