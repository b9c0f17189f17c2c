// What ops and shapes cost on a GPU, beside a read-only pass of the same bytes and the libraries
// that have something for them.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "cost_rows.hpp"
#include "cub_ops.hpp"
#include "gpu.hpp"
#include "op_names.hpp"
#include "own.hpp"
#include "row_op_names.hpp"
#include "statistics.hpp"
#include "timing.hpp"

namespace detreduce::report::gpu {
namespace {

constexpr std::uint64_t most_to_sort = std::uint64_t{1} << 24; // which count_unique does
constexpr int first = 18;

/// Those of 2^18 … 4 GiB that are measured, and the largest that fits.
std::vector<std::uint64_t> sizes_of(const Options& options, DType dtype, std::vector<std::string>& notes) {
    const int most =
        std::min(options.quick ? 26 : largest_exponent(dtype), static_cast<int>(std::bit_width(options.largest_n)) - 1);
    std::vector<std::uint64_t> all = sizes_that_fit(dtype, std::min(first, most), most, notes), sizes;
    const auto wanted = options.quick ? std::vector<int>{20} : std::vector<int>{first, 20, 24, 28};
    for (const std::uint64_t n : all)
        if (n == all.back() || std::find(wanted.begin(), wanted.end(), std::bit_width(n) - 1) != wanted.end())
            sizes.push_back(n);
    return sizes;
}

OpCostRow row_of(const CostRow& r) {
    const bool yardstick = r.candidate == "read" || r.candidate == copy_name;
    TimedName name = yardstick ? TimedName{r.candidate, flat_shape, r.candidate} : timed_name(r.candidate, r.variant);
    if (name.shape == loss_shape) name.shape = "loss";
    return {name.op, name.shape, r.dtype,    name.candidate, "",         r.device,       r.n,
            r.bytes, r.repeats,  r.median_s, r.deviation,    r.gb_per_s, r.ratio_to_read};
}

/// Everything of one dtype.
class Sizes {
  public:
    Sizes(const Options& options, Pool& pool, Progress& progress, Results& results)
        : options_(options), pool_(pool), progress_(progress), rows_(results.op_cost),
          notes_(results.provenance.notes) {}

    void time(std::uint64_t n) {
        n_ = n;
        time_group("ops", true, [&] { return flat(); });
        time_thrust();
        time_group("shapes", false, [&] {
            return shape_contenders(dtype(), n_, {Method::tree, Method::exact},
                                    options_.quick ? ShapeSet::few : ShapeSet::all);
        });
        if (!options_.quick) time_group("row ops", false, [&] { return row_op_contenders(dtype(), n_); });
    }

  private:
    [[nodiscard]] DType dtype() const { return pool_.dtype(); }
    [[nodiscard]] std::size_t bytes() const { return n_ * size_of(dtype()); }
    [[nodiscard]] std::string words(const char* what) const {
        return fmt::format("{} of {} n = {}", what, name(dtype()), n_);
    }

    void note(const std::string& what, const program::OutOfMemory& error) {
        notes_.push_back(fmt::format("The cost of {} was left out: {}.", what, error.what()));
    }

    /// Each op by the methods that the bench chooses, and by whoever else has it.
    [[nodiscard]] std::vector<Contender> flat() {
        std::vector<Contender> list;
        for (const OpInfo& op : ops()) {
            if (op.op == Op::count_unique && n_ > most_to_sort) continue;
            const bool same_by_all = op.kind == Kind::order || op.kind == Kind::count;
            try {
                for (const Method method : {Method::exact, Method::tree})
                    if (method == Method::exact || !same_by_all)
                        if (auto c = method_contender(method, dtype(), n_, {}, "", op.op))
                            list.push_back(std::move(*c));
                if (auto c = cub_op_contender(op.op, dtype(), n_)) list.push_back(std::move(*c));
            } catch (const program::OutOfMemory& error) { // of a workspace
                note(words(std::string(op.name).c_str()), error);
            }
        }
        if (size_of(dtype()) >= 4) { // neither has these of 16 bits
            std::string why_not;
            for (Contender& c : cublas_contenders(dtype(), n_, why_not))
                list.push_back(std::move(c));
            if (!why_not.empty() && std::find(notes_.begin(), notes_.end(), why_not) == notes_.end())
                notes_.push_back(why_not);
        }
        return list;
    }

    template <class Make>
    void time_group(const char* what, bool with_read, const Make& make) {
        progress_.step(words(what), static_cast<double>(n_));
        try {
            const auto rows =
                cost_rows({Data::normal, n_}, make(), pool_, default_repeats(bytes()), name_of(options_.device));
            for (const CostRow& r : rows)
                if (with_read || r.candidate != "read") rows_.push_back(row_of(r));
            if (with_read) read_ = rows.front();
        } catch (const program::OutOfMemory& error) {
            note(words(what), error);
        }
    }

    /// It makes the host wait, whose latency is therefore in its times.
    void time_thrust() {
        if (size_of(dtype()) < 4 || read_.n != n_) return;
        progress_.check_interrupt();
        try {
            const Contender thrust = thrust_contender(dtype(), n_);
            const std::vector<double> seconds = time_waiting(thrust, pool_, default_repeats(bytes()));
            CostRow r = read_;
            r.candidate = thrust.name;
            r.median_s = median(seconds);
            r.deviation = relative_deviation(seconds);
            r.gb_per_s = static_cast<double>(bytes()) / *r.median_s / 1e9;
            r.ratio_to_read = *read_.median_s / *r.median_s;
            rows_.push_back(row_of(r));
        } catch (const program::OutOfMemory& error) {
            note(words("thrust::reduce"), error);
        }
    }

    const Options& options_;
    Pool& pool_;
    Progress& progress_;
    std::vector<OpCostRow>& rows_;
    std::vector<std::string>& notes_;
    std::uint64_t n_ = 0;
    CostRow read_; ///< of this n
};

} // namespace

void measure_op_cost(const Options& options, Progress& progress, Results& results) {
    check(cudaSetDevice(options.device.index), "cudaSetDevice");
    std::vector<std::string>&notes = results.provenance.notes, said; // the section on sums may have said the same
    const int groups = options.quick ? 2 : 3;
    int steps = 0;
    double work = 0;
    std::vector<std::pair<DType, std::vector<std::uint64_t>>> plan;
    for (const DType dtype : measured_dtypes(options)) {
        plan.emplace_back(dtype, sizes_of(options, dtype, said));
        for (const std::uint64_t n : plan.back().second)
            steps += groups, work += groups * static_cast<double>(n);
    }
    for (std::string& note : said)
        if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
    progress.begin("cost of ops", steps, work);
    for (auto& [dtype, sizes] : plan) {
        std::optional<Pool> pool = pool_that_fits(dtype, sizes, options.seed, notes);
        if (!pool) continue;
        Sizes each(options, *pool, progress, results);
        for (const std::uint64_t n : sizes)
            each.time(n);
    }
}

} // namespace detreduce::report::gpu
