// Section 3: one sum, one thing varied at a time, and the bits that come out.
#include <algorithm>

#include <fmt/format.h>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/metrics.hpp>

#include "determinism_axes.hpp"
#include "failure.hpp"
#include "fresh_sums.hpp"
#include "measure.hpp"

namespace detreduce::report {
namespace {

constexpr accuracy::Family family = accuracy::Family::normal;

template <class T>
std::vector<T> data_of(const Options& options) {
    return accuracy::generate<T>(family, determinism_elements(options.quick), options.seed);
}

// 16-bit elements are summed to f32: a 16-bit result would hide most differences.
template <class T>
using Out = fp::Arithmetic<T>;

// Every method wherever it is offered: the devices under test first, then the CPU.
std::vector<Job> subjects(const Options& options) {
    std::vector<Job> list;
    for (const Device& device : devices_of(options))
        for (const MethodInfo& m : methods())
            if (device.backend == Backend::cuda && m.on_cuda)
                list.push_back({.method = m.method, .device = device, .launch = {}});
    for (const MethodInfo& m : methods())
        if (m.on_cpu) list.push_back({.method = m.method, .device = {}, .launch = {}});
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

// Measures the axes of one dtype.
template <class T>
class Cells {
  public:
    Cells(const Options& options, const std::vector<std::string>& fresh, Progress& progress, Results& results)
        : options_(options), data_(data_of<T>(options)), fresh_(fresh), progress_(progress), results_(results) {}

    void measure(const Job& base, const Axis& axis) {
        const std::string what = fmt::format("{} {} {}", name(dtype_of<T>), name(base.method), axis.name);
        progress_.step(what);
        DeterminismRow row;
        row.subject.dtype = name(dtype_of<T>);
        row.subject.output = name(dtype_of<Out<T>>);
        row.subject.method = name(base.method);
        row.subject.device = name_of(base.device);
        row.axis = axis.name;
        row.family = accuracy::name(family);
        row.n = data_.size();
        row.promised = info(base.method).guarantee >= axis.needs;
        try {
            const Variation plan = axis.plan(base, options_.quick);
            if (!plan.varied.empty()) take(plan, base, row);
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

    void take(const Variation& plan, const Job& base, DeterminismRow& row) {
        Patterns patterns;
        if (plan.way == Way::processes)
            for (const std::string& text : fresh_)
                patterns.add(fp::from_bits<Out<T>>(
                    static_cast<fp::Bits<Out<T>>>(fresh_bits(text, dtype_of<T>, base.method, base.device))));
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
    const std::vector<std::string>& fresh_;
    Progress& progress_;
    Results& results_;
};

// f({}) for each element type.
template <class F>
void for_each_dtype(const F& f) {
    for (const DType dtype : dtypes())
        with_dtype(dtype, f);
}

} // namespace

std::string fresh_sums(const Options& options) {
    std::string text;
    for_each_dtype([&]<class T>(T) {
        const std::vector<T> data = data_of<T>(options);
        for (const Job& job : subjects(options))
            text += fmt::format("{} {} {} {}\n", name(dtype_of<T>), name(job.method), name_of(job.device),
                                hexadecimal(results_of<T, Out<T>>(job, std::span<const T>(data)).front()));
    });
    return text;
}

void measure_determinism(const Options& options, Progress& progress, Results& results) {
    const std::vector<Job> list = subjects(options);
    const std::size_t processes = static_cast<std::size_t>(fresh_processes(options.quick));
    progress.begin("determinism",
                   static_cast<int>(processes + dtypes().size() * list.size() * determinism_axes().size()));
    std::vector<std::string> fresh;
    while (fresh.size() < processes) {
        progress.step("fresh processes");
        fresh.push_back(run_fresh_process(options, progress));
    }
    for_each_dtype([&]<class T>(T) {
        Cells<T> cells(options, fresh, progress, results);
        for (const Job& base : list)
            for (const Axis& axis : determinism_axes())
                cells.measure(base, axis);
    });
}

} // namespace detreduce::report
