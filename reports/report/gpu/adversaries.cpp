// The search for data that `exact` is slow on: random parameters first, then steps from the worst.
#include <chrono>

#include <fmt/format.h>

#include "cost_rows.hpp"
#include "statistics.hpp"
#include "timing.hpp"

namespace detreduce::report::gpu {
namespace {

constexpr std::size_t search_bytes = std::size_t{1} << 28; // more than any L2 cache
constexpr int search_repeats = 3, most_log_period = 22;

int most_gap(DType dtype) {
    return dtype == DType::f64 ? 2046 : dtype == DType::f16 ? 30 : 254;
}

Adversary random_adversary(const Draws& draw, int most) {
    const std::uint64_t power = std::uint64_t{1} << draw.below(1, most_log_period);
    // Gaps are as often small as large, and every third period is no power of two.
    const int gap = 1 + draw.below(2, draw.below(3, 2) == 0 ? std::min(most, 80) : most);
    return {static_cast<Family>(draw.below(0, families)), draw.below(4, 3) == 0 ? power + power / 2 + 1 : power, gap,
            draw.below(5, 6)};
}

Adversary changed(Adversary a, const Draws& draw, int most) {
    switch (draw.below(0, 6)) {
    case 0:
        a.period = std::min(a.period * 2, std::uint64_t{1} << most_log_period);
        break;
    case 1:
        a.period = std::max<std::uint64_t>(a.period / 2, 1);
        break;
    case 2:
        a.gap += 1 + draw.below(1, 8);
        break;
    case 3:
        a.gap -= 1 + draw.below(1, 8);
        break;
    case 4:
        a.phase = draw.below(1, 6);
        break;
    default:
        a.period += 1 - 2 * static_cast<std::uint64_t>(draw.below(1, 2));
        a.period = std::max<std::uint64_t>(a.period, 1);
    }
    a.gap = std::clamp(a.gap, 1, most);
    return a;
}

Contender exact_of(DType dtype, std::uint64_t n, Op op, const std::string& variant = "") {
    auto one = method_contender(Method::exact, dtype, n, {}, variant, op);
    if (!one) throw program::Failure("exact is not offered here");
    return std::move(*one);
}

struct Found {
    Adversary worst;
    int tried;
};

Found search(DType dtype, Op op, double seconds) {
    using Clock = std::chrono::steady_clock;
    const std::uint64_t n = search_bytes / size_of(dtype);
    Pool pool(dtype, n, 1);
    pool.fill(Data::normal, n);
    const std::vector<Contender> both{fastest_read(n, pool), exact_of(dtype, n, op)};
    const auto ratio = [&](const Adversary& a) {
        pool.fill(a, n);
        const auto times = time_in_turns(both, pool, search_repeats);
        return median(times[0]) / median(times[1]);
    };
    Found found{{Family::windows, 1, most_gap(dtype), 0}, 0};
    double minimum = ratio(found.worst);
    const auto begin = Clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    while (passed() < seconds) {
        const Draws draw{static_cast<std::uint64_t>(dtype) * 64 + static_cast<std::uint64_t>(op),
                         static_cast<std::uint64_t>(++found.tried)};
        const bool random = passed() < seconds / 2 || found.tried % 4 == 0;
        const Adversary next =
            random ? random_adversary(draw, most_gap(dtype)) : changed(found.worst, draw, most_gap(dtype));
        const double here = ratio(next);
        if (here >= minimum) continue;
        minimum = here;
        found.worst = next;
    }
    return found;
}

} // namespace

std::vector<CostRow> worst_rows(DType dtype, double seconds, const std::string& device,
                                std::vector<std::string>& notes) {
    const int last = largest_exponent(dtype);
    std::vector<CostRow> all;
    for (const Op op : {Op::sum, Op::dot}) {
        const Found found = search(dtype, op, seconds);
        const Adversary& a = found.worst;
        const std::vector<std::uint64_t> sizes = sizes_that_fit(dtype, last - 4, last, notes);
        if (sizes.empty()) return all;
        const std::uint64_t n = sizes.back();
        Pool pool(dtype, n, 1);
        pool.fill(a, n);
        const std::string parameters =
            fmt::format("period {} gap {} phase {} of {} tried", a.period, a.gap, a.phase, found.tried);
        const auto rows = cost_rows_of(name(a.family), n, {exact_of(dtype, n, op, parameters)}, pool, 5, device);
        all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
}

} // namespace detreduce::report::gpu
