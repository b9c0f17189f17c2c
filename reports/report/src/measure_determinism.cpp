// Section 3: one sum, one thing varied at a time, and the bits that come out.
#include <algorithm>

#include <fmt/format.h>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/metrics.hpp>

#include "determinism_axes.hpp"
#include "failure.hpp"
#include "fresh_sums.hpp"
#include "measure.hpp"
#include "own.hpp"
#include "rank_sums.hpp"

namespace detreduce::report {
namespace {

constexpr accuracy::Family family = accuracy::Family::normal;

template <class T>
std::vector<T> data_of(const Options& options) {
    const std::uint64_t n = std::min(determinism_elements(options.quick), options.largest_n);
    return accuracy::generate<T>(family, n, options.seed);
}

// 16-bit elements are summed to f32: a 16-bit result would hide most differences.
template <class T>
using Out = fp::Arithmetic<T>;

// What can be varied about a reduction that is somebody's own.
bool varies(const OwnReduction& own, const Axis& axis) {
    constexpr std::string_view names[] = {"repeated runs", "alignment", "streams under load", "permutations"};
    if (std::string_view(axis.name) == "CPU threads") return own.claims.openmp;
    return std::find(std::begin(names), std::end(names), axis.name) != std::end(names);
}

// Every method wherever it is offered: the devices under test first, then the CPU. Then reductions
// of somebody's own.
std::vector<Job> subjects(const Options& options, DType dtype) {
    std::vector<Job> list;
    for (const Device& device : devices_of(options))
        for (const MethodInfo& m : measured_methods(options))
            if (device.backend == Backend::cuda && m.on_cuda)
                list.push_back({.method = m.method, .device = device, .launch = {}});
    for (const MethodInfo& m : measured_methods(options))
        if (m.on_cpu) list.push_back({.method = m.method, .device = {}, .launch = {}});
    for (const OwnReduction* own : own_here(options, dtype))
        list.push_back({.device = device_of(*own, options), .launch = {}, .own = own});
    return list;
}

template <class T>
std::string hexadecimal(T value) {
    return fmt::format("0x{:0{}x}", fp::to_bits(value), 2 * sizeof value);
}

// A matrix in which every watched row is `row` and the others are taken from `data` as it comes.
template <class T>
std::vector<T> matrix_around(std::span<const T> row, std::uint64_t rows, const std::vector<T>& data) {
    std::vector<T> matrix(rows * row.size());
    for (std::size_t i = 0; i < matrix.size(); ++i)
        matrix[i] = data[(i + row.size() + 1) % data.size()];
    for (std::uint64_t i = 0; i < rows; ++i)
        if (is_watched(i, rows))
            std::copy(row.begin(), row.end(), matrix.begin() + static_cast<std::ptrdiff_t>(i * row.size()));
    return matrix;
}

// What other processes print of the same sums.
struct PrintedSums {
    std::vector<std::string> fresh, mpi, nccl;

    // Those of a way, and what a line of them says in the place of a device.
    [[nodiscard]] const std::vector<std::string>* of(Way way) const {
        return way == Way::processes ? &fresh : way == Way::mpi ? &mpi : way == Way::nccl ? &nccl : nullptr;
    }
    [[nodiscard]] static std::string where(Way way, const Device& device) {
        return way == Way::mpi ? "mpi" : way == Way::nccl ? "nccl" : name_of(device);
    }
};

// Measures the axes of one dtype.
template <class T>
class Cells {
  public:
    Cells(const Options& options, const PrintedSums& printed, Progress& progress, Results& results)
        : options_(options), data_(data_of<T>(options)), printed_(printed), progress_(progress), results_(results) {}

    void measure(const Job& base, const Axis& axis) {
        const std::string what = fmt::format("{} {} {}", name(dtype_of<T>), name_of(base), axis.name);
        progress_.step(what);
        DeterminismRow row;
        row.subject.dtype = name(dtype_of<T>);
        row.subject.output = name(dtype_of<Out<T>>);
        row.subject.method = name_of(base);
        row.subject.device = name_of(base.device);
        row.axis = axis.name;
        row.family = accuracy::name(family);
        row.n = data_.size();
        row.promised = (base.own ? base.own->claims.guarantee : info(base.method).guarantee) >= axis.needs;
        try {
            const Variation plan = axis.plan(base, options_.quick);
            if (applies(plan, base, axis)) take(plan, base, row);
        } catch (const program::OutOfMemory& error) {
            results_.provenance.notes.push_back(
                fmt::format("{} on {} was not measured: {}.", what, row.subject.device, error.what()));
        } catch (const program::Failure& error) {
            throw program::Failure(fmt::format("{} on {}: {}", what, row.subject.device, error.what()));
        }
        results_.determinism.push_back(std::move(row));
    }

  private:
    using Patterns = accuracy::BitPatterns<Out<T>>;

    [[nodiscard]] bool applies(const Variation& plan, const Job& base, const Axis& axis) const {
        if (plan.varied.empty() || plan.n > data_.size()) return false;
        if (base.own && !varies(*base.own, axis)) return false;
        const auto* const texts = printed_.of(plan.way);
        return texts == nullptr || !texts->empty();
    }

    void take(const Variation& plan, const Job& base, DeterminismRow& row) {
        Patterns patterns;
        if (const auto* const texts = printed_.of(plan.way))
            for (const std::string& text : *texts)
                patterns.add(fp::from_bits<Out<T>>(static_cast<fp::Bits<Out<T>>>(
                    fresh_bits(text, dtype_of<T>, base.method, PrintedSums::where(plan.way, base.device)))));
        for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
            progress_.check_interrupt();
            add(plan, i, patterns);
        }
        if (plan.n > 0) row.n = plan.n;
        row.varied = plan.varied;
        row.runs = static_cast<std::int64_t>(patterns.total());
        row.distinct = static_cast<std::int64_t>(patterns.distinct());
        row.spread_ulp = static_cast<double>(patterns.max_ulp_distance());
        row.patterns = most_frequent(patterns);
    }

    // The results of job i.
    void add(const Variation& plan, std::size_t i, Patterns& patterns) {
        const Job& job = plan.jobs[i];
        const std::uint64_t seed = accuracy::hash(options_.seed, i);
        if (plan.way == Way::batch) return add_watched(plan, job, patterns);
        if (plan.way == Way::ranks) return add_ranks(job, i + 1, patterns);
        if (plan.way != Way::permuted && plan.way != Way::split) return add_all(job, data_, patterns);
        std::vector<T> permuted = data_;
        accuracy::shuffle(std::span<T>(permuted), seed);
        if (plan.way == Way::permuted) return add_all(job, permuted, patterns);
        Out<T> result{};
        run_split(job.device, random_split(permuted.size(), 1 + i % 64, seed), input_of(std::span<const T>(permuted)),
                  dtype_of<Out<T>>, &result);
        patterns.add(result);
    }

    void add_all(const Job& job, std::span<const T> data, Patterns& patterns) {
        for (const Out<T> result : results_of<T, Out<T>>(job, data))
            patterns.add(result);
    }

    void add_ranks(const Job& job, std::size_t ranks, Patterns& patterns) {
        const std::span<const T> all(data_);
        const Split split = even_split(all.size(), ranks);
        Out<T> result{};
        if (job.method == Method::exact) {
            run_split(job.device, split, input_of(all), dtype_of<Out<T>>, &result);
        } else {
            for (std::size_t r = 0; r < ranks; ++r) {
                const auto piece = all.subspan(split.cuts[r], split.cuts[r + 1] - split.cuts[r]);
                const Out<T> sum = results_of<T, Out<T>>(job, piece).front();
                result = r == 0 ? sum : result + sum;
            }
        }
        patterns.add(result);
    }

    void add_watched(const Variation& plan, const Job& job, Patterns& patterns) {
        const std::span<const T> row = std::span<const T>(data_).first(plan.n);
        if (job.rows == 0) return add_all(job, row, patterns);
        const std::vector<T> matrix = matrix_around(row, job.rows, data_);
        const auto results = results_of<T, Out<T>>(job, std::span<const T>(matrix));
        for (std::uint64_t i = 0; i < job.rows; ++i)
            if (is_watched(i, job.rows)) patterns.add(results[i]);
    }

    static std::vector<Pattern> most_frequent(const Patterns& patterns) {
        std::vector<std::pair<fp::Bits<Out<T>>, std::uint64_t>> list(patterns.counts().begin(),
                                                                     patterns.counts().end());
        std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
        if (list.size() > most_patterns) list.resize(most_patterns);
        std::vector<Pattern> out;
        for (const auto& [bits, count] : list)
            out.push_back({hexadecimal(fp::from_bits<Out<T>>(bits)), static_cast<std::int64_t>(count)});
        return out;
    }

    const Options& options_;
    std::vector<T> data_;
    const PrintedSums& printed_;
    Progress& progress_;
    Results& results_;
};

// f({}) for each element type.
template <class F>
void for_each_dtype(const Options& options, const F& f) {
    for (const DType dtype : measured_dtypes(options))
        with_dtype(dtype, f);
}

} // namespace

std::string fresh_sums(const Options& options) {
    std::string text;
    for_each_dtype(options, [&]<class T>(T) {
        const std::vector<T> data = data_of<T>(options);
        for (const Job& job : subjects(options, dtype_of<T>))
            text += fmt::format("{} {} {} {}\n", name(dtype_of<T>), name(job.method), name_of(job.device),
                                hexadecimal(results_of<T, Out<T>>(job, std::span<const T>(data)).front()));
    });
    return text;
}

void measure_determinism(const Options& options, Progress& progress, Results& results) {
    // They are processes of this program; that of somebody's own reductions is another one.
    const auto processes = static_cast<std::size_t>(options.own.empty() ? fresh_processes(options.quick) : 0);
    std::size_t steps = processes + (processes > 0 ? 2 : 0);
    for (const DType dtype : measured_dtypes(options))
        steps += subjects(options, dtype).size() * determinism_axes().size();
    progress.begin("determinism", static_cast<int>(steps));
    PrintedSums printed;
    try {
        while (printed.fresh.size() < processes) {
            progress.step("fresh processes");
            printed.fresh.push_back(run_fresh_process(options, progress));
        }
    } catch (const program::Failure& error) { // a GPU may be of one process alone
        printed.fresh.clear();
        results.provenance.notes.push_back(fmt::format("Fresh processes were not measured: {}.", error.what()));
    }
    const auto by_ranks = [&](const char* what, const auto& sums, std::vector<std::string>& texts) {
        progress.step(what);
        try {
            texts = sums(options, progress);
        } catch (const program::Failure& error) {
            results.provenance.notes.push_back(fmt::format("{} were not measured: {}.", what, error.what()));
        }
    };
    const auto devices = devices_of(options);
    const bool has_gpu = std::any_of(devices.begin(), devices.end(),
                                     [](const Device& device) { return device.backend == Backend::cuda; });
    if (processes > 0) by_ranks("MPI ranks", mpi_sums, printed.mpi);
    if (processes > 0 && has_gpu) by_ranks("NCCL ranks", nccl_sums, printed.nccl);
    for_each_dtype(options, [&]<class T>(T) {
        Cells<T> cells(options, printed, progress, results);
        for (const Job& base : subjects(options, dtype_of<T>))
            for (const Axis& axis : determinism_axes())
                cells.measure(base, axis);
    });
}

} // namespace detreduce::report
