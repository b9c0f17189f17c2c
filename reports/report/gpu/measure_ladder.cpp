// The ladder on a GPU: times by the bench's own means, bits and errors of many runs.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/metrics.hpp>

#include "cost_data.hpp"
#include "cost_rows.hpp"
#include "gpu.hpp"
#include "ladder_candidates.hpp"
#include "ladder_tables.hpp"
#include "row_op_names.hpp"
#include "statistics.hpp"
#include "timing.hpp"

namespace detreduce::report::gpu {
namespace {

class Ladder {
  public:
    Ladder(const Options& options, std::uint64_t n, Progress& progress, std::vector<LadderRow>& rows)
        : options_(options), progress_(progress), pool_(DType::f32, n, options.seed), rows_(rows) {}

    /// Times the candidates on n elements: appends the yardstick, if `with_read`, and a row each.
    void time(std::vector<Candidate> candidates, std::uint64_t n, bool with_read) {
        if (candidates.empty()) return;
        progress_.step(fmt::format("{} n = {}", candidates.front().row.table, n));
        std::vector<Contender> gated;
        for (Candidate& c : candidates) {
            c.row.n = n;
            const ladder::Shape shape = c.shape(n);
            c.row.rows = shape.rows;
            if (!c.waits) gated.push_back(c.make(shape));
            add_launches(c, shape);
        }
        const int repeats = default_repeats(n * sizeof(float));
        const std::vector<CostRow> costs =
            cost_rows({Data::normal, n}, std::move(gated), pool_, repeats, name_of(options_.device));
        const CostRow& read = costs.front();
        if (with_read) rows_.push_back(read_row(read, candidates.front().row.table));
        std::size_t next = 1;
        for (Candidate& c : candidates) {
            if (c.waits)
                take(c.row, time_waiting(c.make(c.shape(n)), pool_, repeats), read);
            else
                take(c.row, costs[next++]);
            rows_.push_back(c.row);
        }
    }

    /// The same for softmax, of which bytes are read and written, beside a copy.
    void time_softmax(std::vector<Candidate> candidates, std::uint64_t n, std::uint64_t length) {
        std::vector<Contender> list{copy_contender(DType::f32, n)};
        for (Candidate& c : candidates) {
            const ladder::Shape shape = c.shape(n);
            c.row.n = n;
            c.row.rows = shape.rows;
            list.push_back(c.make(shape));
            add_launches(c, shape);
        }
        progress_.step(fmt::format("softmax rows of {}", length));
        const int repeats = default_repeats(n * sizeof(float));
        std::vector<CostRow> costs =
            cost_rows({Data::normal, n}, std::move(list), pool_, repeats, name_of(options_.device));
        LadderRow copy;
        copy.table = softmax_table;
        copy.family = yardstick_family;
        copy.rung = copy_name;
        copy.title = "cudaMemcpyAsync";
        copy.n = n;
        copy.rows = n / length;
        const double copied = *costs[1].median_s;
        take_moved(copy, costs[1], copied);
        rows_.push_back(copy);
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            take_moved(candidates[i].row, costs[i + 2], copied);
            rows_.push_back(candidates[i].row);
        }
    }

  private:
    static void add_launches(Candidate& c, const ladder::Shape& shape) {
        const ladder::Rung* const rung = ladder::find(c.row.rung);
        if (rung == nullptr || c.row.family == library_family) return;
        ladder::Settings settings;
        settings.threads = static_cast<std::uint32_t>(c.row.threads);
        if (rung->coarsened) settings.per_thread = static_cast<std::uint32_t>(c.row.per_thread);
        c.row.launches = ladder::needs(*rung, shape, settings).launches;
    }

    static LadderRow read_row(const CostRow& read, const std::string& table) {
        LadderRow r;
        r.table = table;
        r.family = yardstick_family;
        r.rung = "read";
        r.title = "the read-only kernel";
        r.n = read.n;
        r.rows = 1;
        take(r, read);
        return r;
    }

    static void take(LadderRow& r, const CostRow& cost) {
        r.repeats = cost.repeats;
        r.median_s = cost.median_s;
        r.deviation = cost.deviation;
        r.gb_per_s = cost.gb_per_s;
        r.ratio_to_read = cost.ratio_to_read;
    }
    static void take(LadderRow& r, const std::vector<double>& seconds, const CostRow& read) {
        CostRow cost = read;
        cost.median_s = median(seconds);
        cost.deviation = relative_deviation(seconds);
        cost.gb_per_s = static_cast<double>(read.bytes) / *cost.median_s / 1e9;
        cost.ratio_to_read = *read.median_s / *cost.median_s;
        take(r, cost);
    }
    static void take_moved(LadderRow& r, const CostRow& cost, double copied) {
        take(r, cost);
        r.gb_per_s = 2 * *cost.gb_per_s;
        r.ratio_to_read = copied / *cost.median_s;
    }

    const Options& options_;
    Progress& progress_;
    Pool pool_;
    std::vector<LadderRow>& rows_;
};

/// Positive numbers of very different sizes: rounding is everywhere, cancellation nowhere.
std::vector<float> positive_numbers(std::uint64_t n, std::uint64_t seed) {
    std::vector<float> x(n);
    for (std::uint64_t i = 0; i < n; ++i)
        x[i] = element<float>(Data::lognormal, seed, i, n);
    return x;
}

std::vector<float> logits(std::uint64_t n, std::uint64_t seed) {
    std::vector<float> x(n);
    for (std::uint64_t i = 0; i < n; ++i)
        x[i] = 4 * element<float>(Data::normal, seed, i, n);
    return x;
}

/// FNV-1a: one number for the bits of many.
std::uint64_t hash_of(const std::vector<float>& values) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const float v : values)
        hash = (hash ^ fp::to_bits(v)) * 0x100000001b3u;
    return hash;
}

struct Bits {
    std::set<std::uint64_t> patterns;
    std::vector<float> last;
};

Bits bits_of(const Contender& contender, const void* x, int runs) {
    const OwnStream stream;
    Bits bits;
    bits.last.resize(contender.results);
    for (int i = 0; i < runs; ++i) {
        contender.launch(x, stream.get());
        check(cudaMemcpyAsync(bits.last.data(), contender.result, contender.results * sizeof(float),
                              cudaMemcpyDeviceToHost, stream.get()),
              "cudaMemcpyAsync");
        check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
        bits.patterns.insert(hash_of(bits.last));
    }
    return bits;
}

DeviceMemory uploaded(const std::vector<float>& x) {
    DeviceMemory memory(x.size() * sizeof(float));
    check(cudaMemcpy(memory.get(), x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return memory;
}

LadderRow* row_of(std::vector<LadderRow>& rows, const Candidate& c, std::uint64_t length) {
    for (LadderRow& r : rows)
        if (r.table == c.row.table && r.rung == c.row.rung && (length == 0 || r.n / r.rows == length)) return &r;
    return nullptr;
}

void add_bits_of_sums(std::vector<LadderRow>& rows, const std::vector<Candidate>& candidates, int runs,
                      std::uint64_t seed, Progress& progress) {
    constexpr std::uint64_t n = (std::uint64_t{1} << 22) + 37;
    const std::vector<float> x = positive_numbers(n, seed);
    const accuracy::ExactSum exact = accuracy::exact_sum(std::span<const float>(x));
    const DeviceMemory memory = uploaded(x);
    for (const Candidate& c : candidates) {
        progress.step("bits of " + c.row.rung);
        LadderRow* const row = row_of(rows, c, 0);
        const Contender contender = c.make({1, n});
        if (row == nullptr || contender.result == nullptr) continue;
        const Bits bits = bits_of(contender, memory.get(), runs);
        row->runs = runs;
        row->distinct = static_cast<std::int64_t>(bits.patterns.size());
        if (c.is_sum) row->error_ulp = accuracy::error_in_ulps(bits.last.front(), exact);
    }
}

/// The largest error of all results, against double.
double softmax_error(const std::vector<float>& x, const std::vector<float>& y, std::uint64_t length) {
    double largest = 0;
    for (std::size_t row = 0; row < x.size(); row += length) {
        const double m = *std::max_element(x.begin() + static_cast<std::ptrdiff_t>(row),
                                           x.begin() + static_cast<std::ptrdiff_t>(row + length));
        double sum = 0;
        for (std::size_t i = row; i < row + length; ++i)
            sum += std::exp(x[i] - m);
        for (std::size_t i = row; i < row + length; ++i) {
            const double truth = std::exp(x[i] - m) / sum;
            const auto nearest = static_cast<float>(truth);
            const double ulp = std::nextafter(nearest, INFINITY) - nearest;
            largest = std::max(largest, std::fabs(y[i] - truth) / ulp);
        }
    }
    return largest;
}

void add_bits_of_softmax(std::vector<LadderRow>& rows, std::uint64_t length, int runs, std::uint64_t seed,
                         Progress& progress) {
    const std::vector<float> x = logits(32 * length, seed);
    const DeviceMemory memory = uploaded(x);
    for (const Candidate& c : softmax_candidates(length)) {
        progress.step("bits of softmax, " + c.row.rung);
        LadderRow* const row = row_of(rows, c, length);
        if (row == nullptr) continue;
        const Bits bits = bits_of(c.make({32, length}), memory.get(), runs);
        row->runs = runs;
        row->distinct = static_cast<std::int64_t>(bits.patterns.size());
        row->error_ulp = softmax_error(x, bits.last, length);
    }
}

/// The largest power of two up to `n` of which two inputs, and the scratch of two rungs, fit.
std::uint64_t largest_that_fits(std::uint64_t n, std::vector<std::string>& notes) {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    std::uint64_t fits = n;
    while (fits > 1 && Pool::bytes_for(fits * sizeof(float)) + 5 * fits > free / 100 * 85)
        fits /= 2;
    if (fits != n)
        notes.push_back(fmt::format(
            "The ladder was measured with {} elements instead of {}, which do not fit in the device's memory.", fits,
            n));
    return fits;
}

} // namespace

void measure_ladder(const Options& options, std::uint64_t n, int runs, Progress& progress, Results& results) {
    check(cudaSetDevice(options.device.index), "cudaSetDevice");
    std::vector<std::string>& notes = results.provenance.notes;
    n = largest_that_fits(n, notes);
    const std::uint64_t largest = options.quick ? n : largest_that_fits(std::max(n, std::uint64_t{1} << 30), notes);
    const std::vector<std::uint64_t> lengths{1024, 32768};
    const std::uint64_t softmax_n =
        std::max(lengths.back(), std::min(n, std::uint64_t{1} << 28) / lengths.back() * lengths.back());
    progress.begin("ladder", 80);
    Ladder ladder(options, std::max(largest, softmax_n), progress, results.ladder);
    const std::vector<Candidate> rungs = rung_candidates(n, notes);
    ladder.time(rungs, n, true);
    ladder.time(thread_candidates(), n, false);
    ladder.time(per_thread_candidates(), n, false);
    ladder.time(coalesced_candidates(), n, false);
    for (std::uint64_t size = 1 << 10; size <= largest; size *= options.quick ? 16 : 2)
        ladder.time(size_candidates(), size, true);
    for (const std::uint64_t length : lengths)
        ladder.time_softmax(softmax_candidates(length), softmax_n, length);
    add_bits_of_sums(results.ladder, rungs, runs, options.seed, progress);
    for (const std::uint64_t length : lengths)
        add_bits_of_softmax(results.ladder, length, std::min(runs, 100), options.seed, progress);
}

} // namespace detreduce::report::gpu
