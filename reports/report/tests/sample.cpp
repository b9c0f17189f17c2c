#include "sample.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <sys/wait.h>

#include "failure.hpp"
#include "files.hpp"
#include "plot.hpp"

namespace report_test {

using namespace detreduce::report;

namespace {

Subject subject(std::string dtype, std::string method, std::string device = "cuda:0") {
    std::string output = dtype == "bf16" ? "f32" : dtype;
    return {"sum", "flat", std::move(dtype), std::move(output), std::move(method), std::move(device)};
}

Provenance provenance() {
    Provenance p{"2024-05-06T07:08:09Z",
                 "detreduce report --out out",
                 "quick",
                 18446744073709551615u,
                 "0.1.0",
                 1,
                 "0123456789abcdef",
                 true,
                 "GNU 12.2.0",
                 "-O2",
                 "Some CPU",
                 2,
                 "avx2",
                 "Linux",
                 "cuda:0",
                 "as asked",
                 Gpu{},
                 {"two sizes were left out", nasty}};
    *p.gpu = {"Some GPU", "9.0", 132, 150'000'000'000u, 62'914'560, 4800.5, "13.0", "13.0", "3.0.1"};
    return p;
}

} // namespace

Results sample() {
    constexpr double inf = std::numeric_limits<double>::infinity();
    Results r{provenance(), {}, {}, {}, {}, {}};
    for (const std::uint64_t n : {std::uint64_t{16}, std::uint64_t{65536}})
        for (const char* method : {"tree", "serial"})
            r.error.push_back({subject("f32", method), "lognormal", n, 3, 1, 0.5 * static_cast<double>(n), 1.25e-7,
                               3e-6, 0.0625, 1.0});
    r.error.push_back({subject("f32", "tree"), "alternating", 1024, 3, 3, 0.0, inf, inf, 0.0, inf});
    r.error.push_back({subject("bf16", "exact"), "lognormal", 1024, 3, 3, 0.5, 3e-8, 6e-8, 0.5, 1.0});
    for (const double condition : {1.0, 1e4})
        r.error.push_back(
            {subject("f32", "tree"), condition_sweep, 4096, 3, 0, 9.0, 1e-7 * condition, {}, {}, condition});
    r.error.push_back({subject("f64", "tree"), nasty, 77777, 3, 0, {}, {}, {}, {}, {}});
    r.edges = {{"1e300 + 1e300", "f64", 2, "2e+300", "exact", "cuda:0", "2e+300", true},
               {"1e300 + 1e300", "f64", 2, "2e+300", "serial", "cpu", "inf", false},
               {"1e300 + 1e300", "f64", 2, "2e+300", "gpu_to_gpu, published", "", "3.67e+260", false},
               {nasty, "f32", 0, "0", nasty, "cuda:0", nasty, false}};
    r.determinism = {
        {subject("f32", "tree"), "repeated runs", "nothing", "normal", 1048613, true, 100, 1, 0.0},
        {subject("f32", "tree"), "grids", "", "normal", 1048613, true, {}, {}, {}},
        {subject("f32", "atomic"),
         "repeated runs",
         "nothing",
         "normal",
         1048613,
         false,
         100,
         37,
         12.0,
         {{"0x3f800001", 60}, {"0x3f800000", 5}}},
        {subject("f32", "serial", "cpu"), "repeated runs", "nothing", "normal", 1048613, true, 100, 2, 1.0},
        {subject("f32", nasty), "permutations", nasty, nasty, 1048613, false, 25, 1, 0.0}};
    r.cost = {{"f32", "read", "", "cuda:0", "normal", 32768, 131072, 50, 5.25e-6, 0.01, 24.966, 1.0},
              {"f32", "tree", "last_block", "cuda:0", "normal", 32768, 131072, 50, 6.875e-6, 0.02, 19.065, 0.7636},
              {"f32", "read", "", "cuda:0", "normal", 65536, 262144, 50, 5.5e-6, 0.01, 47.66, 1.0},
              {"f32", "tree", "last_block", "cuda:0", "normal", 65536, 262144, 50, {}, {}, {}, {}},
              {"f32", "exact", "", "cuda:0", "normal", 65536, 262144, 50, 5.75e-6, 0.01, 45.6, 0.957},
              {"f32", "exact", "", "cuda:0", "worst", 65536, 262144, 50, 1.1e-5, 0.01, 23.8, 0.5},
              {"f32", "exact", "", "cuda:0", nasty, 65536, 262144, 50, 1.1e-5, 0.01, 23.8, 0.5},
              {nasty, nasty, nasty, nasty, "normal", 65536, 262144, 50, 1e-5, 0.5, 26.2, 1.0}};
    r.data = {{"a.npy", "f32", 3, "0123456789abcdef", "-1", "2", "1", 0, 0, "0.5", 8.0},
              {nasty, "f16", 2, "fedcba9876543210", "", "", "", 1, 1, "nan", {}}};
    r.data_sums = {{"a.npy", subject("f32", "exact"), "0.5", "0x3f000000", true, 0.0, 0.0, 5.96e-8, 0.0},
                   {"a.npy", subject("f32", "serial", "cpu"), "0.75", "0x3f400000", false, 4e6, 0.5, 2.0, 0.25},
                   {nasty, subject("f16", "exact"), "nan", "0x7e00", true, {}, {}, {}, {}}};
    r.reference = {{subject("f32", "exact"), "normal", 1000, 1, "0xc19f63e2"},
                   {subject("f32", "atomic"), "normal", 1000, 1, "0xc19f63e1"}};
    for (const std::uint64_t n : {std::uint64_t{4096}, std::uint64_t{65536}}) {
        const auto add = [&](std::string op, std::string shape, std::string candidate, double seconds, double ratio) {
            const double bytes = 4.0 * static_cast<double>(n);
            r.op_cost.push_back({std::move(op), std::move(shape), "f32", std::move(candidate), "", "cuda:0", n, 4 * n,
                                 50, seconds, 0.015, bytes / seconds / 1e9, ratio});
        };
        add("read", "flat", "read", 4e-6, 1);
        add("dot", "flat", "exact", 5e-6, 0.8);
        add("dot", "flat", "tree", 6.4e-6, 0.625);
        add("dot", "flat", "cub::DeviceReduce::TransformReduce", 6.25e-6, 0.64);
        add("dot", "flat", "cublasSdot", 8e-6, 0.5);
        add("max", "flat", "exact", 1.6e-5, 0.25);
        add("max", "flat", "cub::DeviceReduce::Max", 8e-6, 0.5);
        add("copy", "flat", "copy", 1e-5, 0.4);
        add("softmax", "rows of 4096", "tree", 1.25e-5, 0.32);
    }
    r.op_cost.push_back({nasty, nasty, nasty, nasty, nasty, nasty, 4096, 16384, 50, {}, {}, {}, {}});
    return r;
}

std::string contents(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

bool can_draw() {
    try {
        require_gnuplot();
        return true;
    } catch (const detreduce::program::Failure&) {
        return false;
    }
}

Outcome run_program(const std::string& arguments, const std::string& before) {
    const TemporaryDirectory dir;
    const std::string out = (dir.path() / "out").string(), err = (dir.path() / "err").string();
    const int status =
        std::system((before + " '" DETREDUCE_PROGRAM "' " + arguments + " >'" + out + "' 2>'" + err + "'").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
}

} // namespace report_test
