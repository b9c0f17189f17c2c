// Data for norms of channels, and section 17.9 of lib/SPEC.md in plain code.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include <detreduce/channel_norm.hpp>
#include <detreduce/host.hpp>

#include <support/bits.hpp>
#include <support/catch.hpp>

#include "laws/loss_draws.hpp"

namespace detreduce::proptests {

template <class T>
double wide(T x) {
    return static_cast<double>(fp::widen(x));
}
template <class T>
std::vector<T> rounded(const std::vector<double>& x) {
    std::vector<T> out;
    for (const double v : x)
        out.push_back(fp::round_to<T>(v));
    return out;
}

/// x and what comes from upstream, elements of T; numbers of P that belong to channels.
template <class T, class P>
struct NormData {
    std::vector<T> x, upstream;
    std::vector<P> scale, shift, running_mean, running_variance;

    NormData(const ChannelNormRequest& r, std::uint64_t seed) {
        const std::uint64_t all = r.n * r.channels * r.size;
        for (std::uint64_t i = 0; i < all; ++i) {
            const double around = scattered(seed + 3, i / r.size % r.channels, -3, 5);
            x.push_back(fp::round_to<T>(around + scattered(seed, i, -6, 2)));
            upstream.push_back(fp::round_to<T>(scattered(seed + 1, i, -6, 3)));
        }
        for (std::uint64_t i = 0; i < r.channels; ++i) {
            scale.push_back(fp::round_to<P>(scattered(seed + 2, i, -3, 2)));
            shift.push_back(fp::round_to<P>(scattered(seed + 4, i, -3, 2)));
            running_mean.push_back(fp::round_to<P>(scattered(seed + 5, i, -3, 2)));
            running_variance.push_back(fp::round_to<P>(std::fabs(scattered(seed + 6, i, -3, 2))));
        }
    }
};

/// Where the elements of each statistic lie, and of each channel, in order.
struct NormIndices {
    std::vector<std::vector<std::uint64_t>> of_statistic, of_channel;
    std::vector<std::uint64_t> statistic, channel; ///< of each element

    explicit NormIndices(const ChannelNormRequest& r) : of_channel(r.channels) {
        const bool batch = r.norm == ChannelNorm::batch_norm;
        of_statistic.resize(batch ? r.channels : r.n * r.groups);
        const std::uint64_t together = r.channels / r.groups;
        std::uint64_t i = 0;
        for (std::uint64_t sample = 0; sample < r.n; ++sample) {
            for (std::uint64_t c = 0; c < r.channels; ++c) {
                for (std::uint64_t j = 0; j < r.size; ++j, ++i) {
                    const std::uint64_t k = batch ? c : sample * r.groups + c / together;
                    of_statistic[k].push_back(i), of_channel[c].push_back(i);
                    statistic.push_back(k), channel.push_back(c);
                }
            }
        }
    }
};

/// The flat reduction of some elements, on the CPU.
template <class Out, class T>
std::vector<Out> flat(Op op, Method method, const std::vector<T>& all, const std::vector<std::uint64_t>& indices) {
    std::vector<T> some;
    for (const std::uint64_t i : indices)
        some.push_back(all[i]);
    const Plan plan = make_plan(
        {.op = op, .method = method, .dtype = dtype_of<T>, .output = dtype_of<Out>, .n = some.size(), .device = cpu});
    throw_if_error(plan.status());
    std::vector<Out> out(plan.results());
    throw_if_error(run(plan, some.data(), out.data()));
    return out;
}

template <class T, class P>
struct NormResults {
    std::vector<T> out;
    std::vector<double> mean, rstd;
    std::vector<P> running_mean, running_variance, scale_gradient, shift_gradient;
};
template <class T>
void require_same(const std::vector<T>& a, const std::vector<T>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        INFO("element " << i << ' ' << wide(a[i]) << ' ' << wide(b[i]));
        REQUIRE(fp::to_bits(a[i]) == fp::to_bits(b[i]));
    }
}
template <class T, class P>
void require_same(const NormResults<T, P>& a, const NormResults<T, P>& b) {
    require_same(a.out, b.out);
    require_same(a.mean, b.mean);
    require_same(a.rstd, b.rstd);
    require_same(a.running_mean, b.running_mean);
    require_same(a.running_variance, b.running_variance);
    require_same(a.scale_gradient, b.scale_gradient);
    require_same(a.shift_gradient, b.shift_gradient);
}

/// Section 17.9 of lib/SPEC.md.
template <class T, class P>
struct NormReference {
    const ChannelNormRequest& r;
    const NormData<T, P>& data;
    bool with_scale, with_shift;
    NormIndices at = NormIndices(r);

    [[nodiscard]] double scale(std::uint64_t i) const { return with_scale ? wide(data.scale[at.channel[i]]) : 1; }
    [[nodiscard]] NormResults<T, P> forward() const {
        NormResults<T, P> result;
        result.running_mean = data.running_mean, result.running_variance = data.running_variance;
        for (std::size_t k = 0; k < at.of_statistic.size(); ++k) {
            double mean = wide(data.running_mean[r.given ? k : 0]),
                   variance = wide(data.running_variance[r.given ? k : 0]);
            if (!r.given) {
                const auto moments = flat<double>(Op::moments, r.method, data.x, at.of_statistic[k]);
                mean = moments[0], variance = moments[1];
                if (r.norm == ChannelNorm::batch_norm) {
                    const auto m = static_cast<double>(at.of_statistic[k].size());
                    const double old = 1 - r.momentum;
                    result.running_mean[k] =
                        fp::round_to<P>(std::fma(r.momentum, mean, old * wide(data.running_mean[k])));
                    result.running_variance[k] = fp::round_to<P>(
                        std::fma(r.momentum, variance * (m / (m - 1)), old * wide(data.running_variance[k])));
                }
            }
            result.mean.push_back(mean);
            result.rstd.push_back(1 / std::sqrt(variance + r.epsilon));
        }
        for (std::size_t i = 0; i < data.x.size(); ++i) {
            const double z = (wide(data.x[i]) - result.mean[at.statistic[i]]) * result.rstd[at.statistic[i]];
            const double v = with_shift   ? std::fma(z, scale(i), wide(data.shift[at.channel[i]]))
                             : with_scale ? z * scale(i)
                                          : z;
            result.out.push_back(fp::round_to<T>(v));
        }
        return result;
    }
    [[nodiscard]] NormResults<T, P> gradient() const {
        using V = fp::Arithmetic<T>;
        NormResults<T, P> result;
        const NormResults<T, P> kept = forward();
        std::vector<double> g, z;
        std::vector<V> terms, products, scale_terms, shift_terms;
        for (std::size_t i = 0; i < data.x.size(); ++i) {
            const double d = wide(data.upstream[i]);
            g.push_back(with_scale ? d * scale(i) : d);
            z.push_back((wide(data.x[i]) - kept.mean[at.statistic[i]]) * kept.rstd[at.statistic[i]]);
            terms.push_back(fp::round_to<V>(g[i])), products.push_back(fp::round_to<V>(g[i] * z[i]));
            shift_terms.push_back(fp::round_to<V>(d)), scale_terms.push_back(fp::round_to<V>(d * z[i]));
        }
        for (const auto& channel : at.of_channel) {
            result.scale_gradient.push_back(flat<P>(Op::sum, r.method, scale_terms, channel)[0]);
            result.shift_gradient.push_back(flat<P>(Op::sum, r.method, shift_terms, channel)[0]);
        }
        result.out.resize(data.x.size());
        for (std::size_t k = 0; k < at.of_statistic.size(); ++k) {
            const auto& own = at.of_statistic[k];
            const double a = r.given ? 0 : flat<double>(Op::mean, r.method, terms, own)[0],
                         b = r.given ? 0 : flat<double>(Op::mean, r.method, products, own)[0];
            for (const std::uint64_t i : own)
                result.out[i] =
                    fp::round_to<T>(r.given ? g[i] * kept.rstd[k] : std::fma(-z[i], b, g[i] - a) * kept.rstd[k]);
        }
        return result;
    }
};

} // namespace detreduce::proptests
