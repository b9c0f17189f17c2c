// group_norm and batch_norm, of the mean and the variance that elements share, for host and device
// alike (lib/SPEC.md, section 17.9). All is computed in binary64.
#pragma once

#include <detreduce/spec/numbers.hpp>
#include <detreduce/spec/row_math.hpp>

namespace detreduce::spec {

/// Where the elements of [n][channels][size] belong.
struct ChannelLayout {
    std::uint64_t n, channels, size;
    std::uint64_t elements; ///< next to each other that share a statistic; 0: a channel has one

    [[nodiscard]] DETREDUCE_HD std::uint64_t channel_of(std::uint64_t i) const { return i / size % channels; }
    [[nodiscard]] DETREDUCE_HD std::uint64_t statistic_of(std::uint64_t i) const {
        return elements == 0 ? channel_of(i) : i / elements;
    }
    /// Where element i lies in [channels][n][size].
    [[nodiscard]] DETREDUCE_HD std::uint64_t moved(std::uint64_t i) const {
        const std::uint64_t run = i / size;
        return (run % channels * n + run / channels) * size + i % size;
    }
};

/// What forward keeps, a number a statistic.
struct ChannelStatistics {
    const double *mean, *rstd;
    [[nodiscard]] DETREDUCE_HD double normalized(double x, std::uint64_t k) const { return (x - mean[k]) * rstd[k]; }
};

/// Numbers that belong to channels: 1 each, or those of an array.
struct ChannelFactors {
    const void* p; ///< or null
    DType dtype;
    [[nodiscard]] DETREDUCE_HD double times(double v, std::uint64_t channel) const {
        return p == nullptr ? v : v * number_at(p, dtype, channel);
    }
};

/// Terms of a sum, of each element: itself, times the factor of its channel, times the element of
/// x, normalized.
struct ChannelNormTerms {
    ChannelLayout at;
    const void* of;
    DType dtype;
    ChannelFactors scale;
    const void* x; ///< or null, for 1
    ChannelStatistics statistics;
    void* to;
    DType to_dtype;
    bool by_channel; ///< in [channels][n][size]

    DETREDUCE_HD void operator()(std::uint64_t i) const {
        double v = scale.times(number_at(of, dtype, i), at.channel_of(i));
        if (x != nullptr) v = v * statistics.normalized(number_at(x, dtype, i), at.statistic_of(i));
        put_number(to, to_dtype, by_channel ? at.moved(i) : i, v);
    }
};

/// What becomes of a mean and a variance.
struct ChannelNormStatistics {
    const double* moments; ///< mean, variance, mean, …; null: those that run along are used
    double epsilon, momentum;
    double unbiased;                       ///< the variance times this is the one that runs along
    void *running_mean, *running_variance; ///< or null
    DType dtype;                           ///< of these
    double *mean, *rstd;

    DETREDUCE_HD void follow(void* running, std::uint64_t k, double value) const {
        if (running == nullptr) return;
        put_number(running, dtype, k, fp::fused(momentum, value, (1 - momentum) * number_at(running, dtype, k)));
    }
    DETREDUCE_HD void operator()(std::uint64_t k) const {
        const bool given = moments == nullptr;
        const double average = given ? number_at(running_mean, dtype, k) : moments[2 * k],
                     variance = given ? number_at(running_variance, dtype, k) : moments[2 * k + 1];
        if (!given) {
            follow(running_mean, k, average);
            follow(running_variance, k, variance * unbiased);
        }
        mean[k] = fp::canonical(average);
        rstd[k] = variance > fp::from_bits<double>(fp::Format<double>::largest)
                      ? quiet_nan<double>
                      : reciprocal_deviation<double>(variance, epsilon);
    }
};

/// The results, an element at a time.
struct ChannelNormValues {
    ChannelLayout at;
    const void* x;
    DType dtype;
    ChannelStatistics statistics;
    ChannelFactors scale, shift;
    void* out;

    DETREDUCE_HD void operator()(std::uint64_t i) const {
        const double z = statistics.normalized(number_at(x, dtype, i), at.statistic_of(i));
        const std::uint64_t c = at.channel_of(i);
        const double factor = scale.times(1, c);
        put_number(out, dtype, i, shift.p == nullptr ? z * factor : fp::fused(z, factor, shift.times(1, c)));
    }
};

/// The gradient with respect to x, an element at a time.
struct ChannelNormSlopes {
    ChannelLayout at;
    const void *x, *upstream;
    DType dtype;
    ChannelStatistics statistics;
    ChannelFactors scale;
    const double *means, *products; ///< of g, and of g · z, that share a statistic; null where this was given
    void* dx;

    DETREDUCE_HD void operator()(std::uint64_t i) const {
        const std::uint64_t k = at.statistic_of(i);
        const double g = scale.times(number_at(upstream, dtype, i), at.channel_of(i)), r = statistics.rstd[k];
        if (means == nullptr) return put_number(dx, dtype, i, g * r);
        const double z = statistics.normalized(number_at(x, dtype, i), k);
        put_number(dx, dtype, i, fp::fused(-z, products[k], g - means[k]) * r);
    }
};

} // namespace detreduce::spec
