// Sums that are the same in every run, whatever its options: their bits are what two runs are
// compared by.
#include <fmt/format.h>

#include <detreduce/accuracy/generators.hpp>

#include "measure.hpp"
#include "number_text.hpp"
#include "out_of_memory.hpp"
#include "runner.hpp"
#include "sum_error.hpp"

namespace detreduce::report {
namespace {

using accuracy::Family;

struct Case {
    Family family;
    std::uint64_t n;
};

// A change of any of these is a change of what runs of different versions can compare: add, rather
// than replace.
constexpr std::uint64_t seed = 1;
constexpr Case cases[] = {{Family::normal, 1000},
                          {Family::normal, (1 << 18) + 37}, // not a multiple of anything
                          {Family::lognormal, (1 << 18) + 37},
                          {Family::wide, (1 << 16) + 37},
                          {Family::ill_conditioned, (1 << 16) + 37}};

// 16-bit elements are summed to f32: a 16-bit result would hide most differences.
template <class T>
void measure_case(const Options& options, const Case& c, std::vector<ReferenceRow>& rows) {
    using Out = fp::Arithmetic<T>;
    const std::vector<T> data = accuracy::generate<T>(c.family, c.n, seed);
    for (const Contender& contender : contenders(options, dtype_of<T>, dtype_of<Out>)) {
        const Job job{.method = contender.method, .device = contender.device, .launch = {}, .own = contender.own};
        rows.push_back({{.dtype = std::string(name(dtype_of<T>)),
                         .output = std::string(name(dtype_of<Out>)),
                         .method = contender.label(),
                         .device = name_of(contender.device)},
                        std::string(accuracy::name(c.family)),
                        c.n,
                        seed,
                        program::bits_text(results_of<T, Out>(job, data).front())});
    }
}

} // namespace

void measure_reference(const Options& options, Progress& progress, Results& results) {
    const std::vector<DType> list = measured_dtypes(options);
    progress.begin("reference", static_cast<int>(list.size() * std::size(cases)));
    for (const DType dtype : list) {
        for (const Case& c : cases) {
            const std::string what = fmt::format("{} {}", name(dtype), accuracy::name(c.family));
            progress.step(what);
            unless_out_of_memory(results, fmt::format("Part of the reference results of {}", what), [&] {
                with_dtype(dtype, [&]<class T>(T) { measure_case<T>(options, c, results.reference); });
            });
        }
    }
}

} // namespace detreduce::report
