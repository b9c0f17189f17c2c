// detreduce_gpu_bench: n × {read, CUB, every schedule, atomic}, in µs with the speed relative to the read-only
// kernel; --launch adds launches to try. For tuning; the report measures with the same code.
#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <detreduce/cuda.hpp>

#include "cost_rows.hpp"
#include "files.hpp"
#include "gpu.hpp"
#include "json.hpp"
#include "render.hpp"
#include "text.hpp"

namespace detreduce::report::gpu {
namespace {

using program::Failure;

struct Arguments {
    std::string out, sizes = "15:30";
    std::vector<std::string> dtypes{"f32", "f64"}, launches;
    int repeats = 0, device = 0;
};

std::pair<int, int> exponents(const std::string& text) {
    int first = -1, last = -1;
    char rest = 0;
    const int got = std::sscanf(text.c_str(), "%d:%d%c", &first, &last, &rest);
    if (got == 1) last = first;
    if (got > 2 || first < 0 || last < first || last > 36)
        throw Failure("--sizes " + text + ": write FIRST:LAST, exponents of 2 from 0 to 36");
    return {first, last};
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == separator)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

unsigned number(const std::string& text) {
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
        throw Failure("--launch: '" + text + "' is not a whole number");
    return static_cast<unsigned>(std::stoul(text));
}

// "two_pass,last_block:128,256:0,264": every combination
std::vector<Launch> combinations(const std::string& text) {
    const std::vector<std::string> parts = split(text, ':');
    if (parts.size() != 3)
        throw Failure("--launch " + text +
                      ": write SCHEDULES:BLOCKS:GRIDS, each a list with commas; 0 leaves the choice open");
    std::vector<Launch> list;
    for (const std::string& s : split(parts[0], ',')) {
        const auto schedule = parse_schedule(s);
        if (!schedule) throw Failure("--launch: '" + s + "' is not a schedule");
        for (const std::string& block : split(parts[1], ','))
            for (const std::string& grid : split(parts[2], ','))
                list.push_back({.schedule = *schedule, .grid = number(grid), .block = number(block)});
    }
    return list;
}

std::vector<Contender> contenders(DType dtype, std::uint64_t n, const std::vector<Launch>& launches) {
    std::vector<Contender> list = standard_contenders(dtype, n);
    for (const Launch& l : launches) {
        auto more = method_contender(Method::tree, dtype, n, l,
                                     fmt::format("{} block {} grid {}", name(l.schedule), l.block, l.grid));
        if (more) list.push_back(std::move(*more));
    }
    return list;
}

void print_heading(const std::vector<CostRow>& rows) {
    fmt::print("{:>5} {:>6}", "dtype", "n");
    for (const CostRow& r : rows) {
        const std::string title =
            r.variant.empty() ? r.candidate.substr(0, 4) == "cub:" ? "cub" : r.candidate : r.variant;
        fmt::print(" {:>{}}", title, std::max<std::size_t>(19, title.size()));
    }
    fmt::print("\n");
}

void print_row(const std::vector<CostRow>& rows) {
    fmt::print("{:>5} {:>6}", rows.front().dtype, count_of(rows.front().n));
    for (const CostRow& r : rows) {
        const std::string cell =
            fmt::format("{} ±{:.1f}% {:.3f}", microseconds(r.median_s), *r.deviation * 100, *r.ratio_to_read);
        fmt::print(" {:>{}}", cell, std::max<std::size_t>(19, r.variant.size()));
    }
    fmt::print("\n");
    std::fflush(stdout);
}

void measure_dtype(const Arguments& a, DType dtype, Results& results) {
    const auto [first, last] = exponents(a.sizes);
    std::vector<Launch> launches;
    for (const std::string& text : a.launches)
        for (const Launch& l : combinations(text))
            launches.push_back(l);
    const std::vector<std::uint64_t> sizes = sizes_that_fit(dtype, first, last, results.provenance.notes);
    if (sizes.empty()) return;
    Pool pool(Pool::bytes_for(sizes.back() * size_of(dtype)), dtype, 1);
    for (const std::uint64_t n : sizes) {
        const int repeats = a.repeats > 0 ? a.repeats : default_repeats(n * size_of(dtype));
        const auto rows =
            cost_rows(dtype, n, contenders(dtype, n, launches), pool, repeats, fmt::format("cuda:{}", a.device));
        if (n == sizes.front()) print_heading(rows);
        print_row(rows);
        results.cost.insert(results.cost.end(), rows.begin(), rows.end());
    }
}

void measure(const Arguments& a) {
    Results results;
    results.provenance = provenance_of(
        {.device = {Backend::cuda, a.device}, .device_choice = "as asked", .command = "detreduce_gpu_bench"});
    fmt::print("{}: median µs, median absolute deviation, speed relative to the read-only kernel\n",
               results.provenance.gpu->name);
    check(cudaSetDevice(a.device), "cudaSetDevice");
    for (const std::string& text : a.dtypes)
        measure_dtype(a, *parse_dtype(text), results);
    for (const std::string& note : results.provenance.notes)
        fmt::print("note: {}\n", note);
    if (!a.out.empty()) write_file(a.out, a.out.ends_with(".csv") ? cost_csv(results) : to_json(results));
}

} // namespace
} // namespace detreduce::report::gpu

int main(int argc, char** argv) {
    using namespace detreduce;
    constexpr int no_gpu = 77; // what CTest and Automake call "skipped"
    report::gpu::Arguments a;
    CLI::App app("Time read-only, CUB and every schedule of the library on one GPU");
    app.add_option("--out", a.out, "Write the figures to FILE (.csv, or else the JSON of results.json)")
        ->type_name("FILE");
    app.add_option("--sizes", a.sizes, "n = 2^FIRST … 2^LAST")->capture_default_str()->type_name("FIRST:LAST");
    app.add_option("--dtype", a.dtypes, "f32, f64")
        ->delimiter(',')
        ->check(CLI::IsMember({"f32", "f64"}))
        ->capture_default_str();
    app.add_option("--repeat", a.repeats, "Calls of each (0: 50 for small inputs, 20 for large ones)")
        ->capture_default_str();
    app.add_option("--device", a.device, "CUDA device")->capture_default_str();
    app.add_option("--launch", a.launches,
                   "Launches of tree to try as well, e.g. last_block,two_pass:128,256,512:0,264")
        ->type_name("SCHEDULES:BLOCKS:GRIDS");
    CLI11_PARSE(app, argc, argv);
    std::string why;
    if (cuda::devices(&why).empty()) {
        std::fputs(fmt::format("detreduce_gpu_bench: there is no usable GPU ({})\n", why).c_str(), stderr);
        return no_gpu;
    }
    try {
        report::gpu::measure(a);
    } catch (const std::exception& error) {
        std::fputs(fmt::format("detreduce_gpu_bench: {}\n", error.what()).c_str(), stderr);
        return 1;
    }
    return 0;
}
