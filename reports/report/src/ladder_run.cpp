// `detreduce ladder`, when its options have been read.
#include "ladder_run.hpp"

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "device_option.hpp"
#include "files.hpp"
#include "gpu.hpp"
#include "json.hpp"
#include "plot.hpp"
#include "render.hpp"
#include "text.hpp"

namespace detreduce::program {
namespace {

using namespace detreduce::report;

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

std::string command_line(const LadderArguments& a) {
    std::string line = fmt::format("detreduce ladder --out {} --n {} --runs {} --device {} --seed {}",
                                   shell_word(a.out), a.n, a.runs, shell_word(a.device), a.seed);
    if (a.quick) line += " --quick";
    if (a.measure_only) line += " --measure-only";
    return line;
}

} // namespace

void run_ladder(const LadderArguments& a) {
    if (a.n == 0 || a.runs == 0) throw UsageError("--n and --runs: allowed are numbers from 1 on");
    const Options options{.quick = a.quick,
                          .seed = a.seed,
                          .device = gpu_of(a.device),
                          .device_choice = "as asked with --device",
                          .command = command_line(a)};
    if (!a.measure_only) require_gnuplot();
    const OutputDirectory out(a.out);
    const std::string file = "ladder.json";
    out.require_writable(file); // before it is measured
    Results expected;
    expected.ladder.resize(1);
    if (!a.measure_only) require_renderable(expected, out, false);
    Progress progress(Progress::wanted());
    Results results;
    results.provenance = provenance_of(options);
    report::gpu::measure_ladder(options, a.n, static_cast<int>(a.runs), progress, results);
    progress.clear();
    const std::string json = to_json(results);
    out.write(file, json);
    const Results read = from_json(json, out.path_of(file)); // exactly what `detreduce render` would read
    if (!a.measure_only) render(read, out);
    fmt::print("{}\nwrote {}\n", markdown_tables(read), out.path_of(a.measure_only ? file : "index.html"));
    out.require_in_place();
}

} // namespace detreduce::program
