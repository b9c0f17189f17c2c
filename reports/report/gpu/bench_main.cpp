// detreduce_gpu_bench: data × n × {read, CUB, every method}, in µs with the speed relative to the
// read-only kernel; --launch adds launches to try. For tuning; the report measures with the same
// code.
#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <detreduce/cuda.hpp>

#include "cost_rows.hpp"
#include "cub_ops.hpp"
#include "files.hpp"
#include "gpu.hpp"
#include "json.hpp"
#include "render.hpp"
#include "text.hpp"

namespace detreduce::report::gpu {
namespace {

using program::Failure;

struct Arguments {
    std::string out, sizes;
    std::vector<std::string> dtypes{"f16", "bf16", "f32", "f64"}, ops{"sum"}, methods, data, launches;
    int repeats = 0, device = 0;
    bool shapes = false, row_ops = false, adversaries = false;
    double seconds = 24; ///< of all searches for adversaries
};

std::pair<int, int> exponents(const std::string& text, DType dtype) {
    if (text.empty()) return {15, largest_exponent(dtype)};
    if (text == "last") return {largest_exponent(dtype), largest_exponent(dtype)};
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

std::vector<Launch> launches_of(const Arguments& a) {
    std::vector<Launch> list;
    for (const std::string& text : a.launches)
        for (const Launch& l : combinations(text))
            list.push_back(l);
    return list;
}

std::vector<Method> methods_of(const Arguments& a, Data data) {
    if (a.methods.empty()) return methods_for(data);
    std::vector<Method> list;
    for (const std::string& text : a.methods)
        list.push_back(*parse_method(text));
    return list;
}

std::vector<CostPoint> points_of(const Arguments& a, const std::vector<std::uint64_t>& sizes) {
    if (a.data.empty()) return default_points(sizes);
    std::vector<CostPoint> points;
    for (const std::string& text : a.data)
        for (const std::uint64_t n : sizes)
            points.push_back({*parse_data(text), n});
    return points;
}

// Ops other than sum: by tree and exact unless methods were named; for those that compare or count,
// these are the same. And the nearest algorithm of CUB, beside whose sum all are timed.
void add_ops(const Arguments& a, DType dtype, const CostPoint& point, std::vector<Contender>& list) {
    const std::vector<Method> methods =
        a.methods.empty() ? std::vector{Method::tree, Method::exact} : methods_of(a, point.data);
    for (const std::string& op : a.ops) {
        for (const Method method : methods) {
            const Kind kind = info(*parse_op(op)).kind;
            const bool same = kind == Kind::order || kind == Kind::count;
            if (a.methods.empty() && method != Method::exact && same) continue;
            if (auto one = method_contender(method, dtype, point.n, {}, "", *parse_op(op)); one && op != "sum")
                list.push_back(std::move(*one));
        }
        if (op == "sum") continue;
        if (auto cub = cub_op_contender(*parse_op(op), dtype, point.n)) list.push_back(std::move(*cub));
    }
}

// What is always measured, and the launches that were asked for: of the methods that were, or else
// of tree.
std::vector<Contender> contenders(const Arguments& a, DType dtype, const CostPoint& point) {
    if (a.row_ops) return row_op_contenders(dtype, point.n);
    if (a.shapes) {
        return shape_contenders(
            dtype, point.n, a.methods.empty() ? std::vector{Method::tree, Method::exact} : methods_of(a, point.data));
    }
    const bool sums = std::find(a.ops.begin(), a.ops.end(), "sum") != a.ops.end();
    std::vector<Contender> list =
        standard_contenders(dtype, point, sums ? methods_of(a, point.data) : std::vector<Method>{});
    add_ops(a, dtype, point, list);
    for (const Launch& l : launches_of(a))
        for (const Method method : a.methods.empty() ? std::vector{Method::tree} : methods_of(a, point.data))
            if (auto more = method_contender(method, dtype, point.n, l,
                                             fmt::format("{} block {} grid {}", name(l.schedule), l.block, l.grid)))
                list.push_back(std::move(*more));
    return list;
}

std::string title_of(const CostRow& r) {
    const std::string candidate = r.candidate.starts_with("cub:") ? "cub" : r.candidate;
    return r.variant.empty() ? candidate : candidate + " " + r.variant;
}

std::size_t width_of(const CostRow& r) {
    return std::max<std::size_t>(20, title_of(r).size());
}

std::string heading_of(const std::vector<CostRow>& rows) {
    std::string line = fmt::format("{:>5} {:>10} {:>6}", "dtype", "data", "n");
    for (const CostRow& r : rows)
        line += fmt::format(" {:>{}}", title_of(r), width_of(r));
    return line;
}

void print_row(const std::vector<CostRow>& rows) {
    fmt::print("{:>5} {:>10} {:>6}", rows.front().dtype, rows.front().data, count_of(rows.front().n));
    for (const CostRow& r : rows)
        fmt::print(" {:>{}}",
                   fmt::format("{} ±{:.1f}% {:.3f}", microseconds(r.median_s), *r.deviation * 100, *r.ratio_to_read),
                   width_of(r));
    fmt::print("\n");
    std::fflush(stdout);
}

void measure_dtype(const Arguments& a, DType dtype, Results& results) {
    const auto [first, last] = exponents(a.sizes, dtype);
    const std::vector<std::uint64_t> sizes = sizes_that_fit(dtype, first, last, results.provenance.notes);
    if (sizes.empty()) return;
    Pool pool(dtype, sizes.back(), 1);
    std::string heading;
    for (const CostPoint& point : points_of(a, sizes)) {
        const int repeats = a.repeats > 0 ? a.repeats : default_repeats(point.n * size_of(dtype));
        const auto rows =
            cost_rows(point, contenders(a, dtype, point), pool, repeats, fmt::format("cuda:{}", a.device));
        if (heading != heading_of(rows)) fmt::print("{}\n", heading = heading_of(rows));
        print_row(rows);
        results.cost.insert(results.cost.end(), rows.begin(), rows.end());
    }
}

// The worst of each dtype, a line each.
void find_adversaries(const Arguments& a, Results& results) {
    const double each = a.seconds / (2.0 * static_cast<double>(a.dtypes.size()));
    for (const std::string& text : a.dtypes) {
        for (const CostRow& r :
             worst_rows(*parse_dtype(text), each, fmt::format("cuda:{}", a.device), results.provenance.notes)) {
            if (r.candidate != "read")
                fmt::print("{:>5} {:>10} {:.3f} {:>12} {}\n", r.dtype, r.candidate, *r.ratio_to_read, r.data,
                           r.variant);
            results.cost.push_back(r);
        }
        std::fflush(stdout);
    }
}

void measure(const Arguments& a) {
    Results results;
    results.provenance = provenance_of(
        {.device = {Backend::cuda, a.device}, .device_choice = "as asked", .command = "detreduce_gpu_bench"});
    fmt::print("{}: median µs, median absolute deviation, speed relative to the read-only kernel\n",
               results.provenance.gpu->name);
    check(cudaSetDevice(a.device), "cudaSetDevice");
    if (a.adversaries) find_adversaries(a, results);
    for (const std::string& text : a.adversaries ? std::vector<std::string>{} : a.dtypes)
        measure_dtype(a, *parse_dtype(text), results);
    for (const std::string& note : results.provenance.notes)
        fmt::print("note: {}\n", note);
    if (!a.out.empty()) write_file(a.out, a.out.ends_with(".csv") ? cost_csv(results) : to_json(results));
}

} // namespace
} // namespace detreduce::report::gpu

namespace {
std::vector<std::string> method_names() {
    std::vector<std::string> names;
    for (const detreduce::MethodInfo& m : detreduce::methods())
        if (m.on_cuda) names.emplace_back(m.name);
    return names;
}
std::vector<std::string> op_names() {
    std::vector<std::string> names;
    for (const detreduce::OpInfo& op : detreduce::ops())
        names.emplace_back(op.name);
    return names;
}
} // namespace

int main(int argc, char** argv) {
    using namespace detreduce;
    constexpr int no_gpu = 77; // what CTest and Automake call "skipped"
    report::gpu::Arguments a;
    CLI::App app("Time read-only, CUB and the methods of the library on one GPU");
    app.add_option("--out", a.out, "Write the figures to FILE (.csv, or else the JSON of results.json)")
        ->type_name("FILE");
    app.add_option("--sizes", a.sizes, "n = 2^FIRST … 2^LAST, or last for 4 GiB (default: 2^15 … 4 GiB)")
        ->type_name("FIRST:LAST");
    app.add_option("--dtype", a.dtypes, "Element types: f16, bf16, f32, f64, f8e4m3, f8e5m2")
        ->delimiter(',')
        ->check(CLI::IsMember({"f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2"}))
        ->capture_default_str();
    app.add_flag("--shapes", a.shapes,
                 "Rows, columns, segments and tensors instead of flat arrays; --op is not looked at");
    app.add_flag("--row-ops", a.row_ops, "softmax, layernorm and the like of rows, and losses; --op is not looked at");
    app.add_flag("--adversaries", a.adversaries,
                 "Search for data that sum and dot by exact are slow on, and time the worst of each --dtype");
    app.add_option("--seconds", a.seconds, "How long all searches for adversaries take together")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    app.add_option(
           "--op", a.ops,
           "Ops, each beside the nearest algorithm of CUB; those of two inputs read half of the n elements as x "
           "and half as y")
        ->delimiter(',')
        ->check(CLI::IsMember(op_names()))
        ->capture_default_str();
    app.add_option("--method", a.methods,
                   "Methods (default: all on normal data, exact on the rest; tree and exact of other ops)")
        ->delimiter(',')
        ->check(CLI::IsMember(method_names()));
    app.add_option("--data", a.data,
                   "Kinds of data, all sizes of each (default: normal, and the rest at the largest size)")
        ->delimiter(',')
        ->check(CLI::IsMember(std::vector<std::string>(std::begin(report::data_names), std::end(report::data_names))));
    app.add_option("--repeat", a.repeats, "Calls of each (0: 50 for small inputs, 20 for large ones)")
        ->capture_default_str();
    app.add_option("--device", a.device, "CUDA device")->capture_default_str();
    app.add_option("--launch", a.launches,
                   "Launches to try as well, of the --method, or else of tree, e.g. last_block,two_pass:128,256:0,264")
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
