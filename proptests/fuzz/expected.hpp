// What lib/SPEC.md says of one group, by lib/reference and, of `exact`, by the oracle in accuracy/.
#pragma once

#include <span>
#include <vector>

#include <detreduce/accuracy/moments_oracle.hpp>
#include <detreduce/accuracy/term_oracle.hpp>

#include <group_reference.hpp>
#include <moments_reference.hpp>
#include <op_reference.hpp>
#include <product_reference.hpp>

#include "elements.hpp"

namespace detreduce::fuzz {

using Bits = std::vector<std::uint64_t>;

template <class Out>
void append(Bits& to, Out result) {
    to.push_back(fp::to_bits(result));
}
template <class Out>
constexpr std::uint64_t nan_bits = fp::Format<Out>::canonical_nan;

/// The method that Method::automatic stands for, in versions that have it.
inline Method method_of(const Request& r) {
    if (name(r.method) != "automatic") return r.method;
    return info(r.op).kind == Kind::product ? Method::compensated : Method::exact;
}

template <class Out>
void append_exact(Bits& to, const Request& r, std::span<const double> x, std::span<const double> y) {
    const OpInfo& op = info(r.op);
    if (op.kind == Kind::sum) {
        if (x.empty()) return to.push_back(op.finalize == Finalize::mean ? nan_bits<Out> : 0);
        accuracy::TermOracle oracle(op.transform);
        oracle.add(x, y);
        return append(to, oracle.round<Out>(op.finalize));
    }
    accuracy::MomentsOracle oracle;
    oracle.add(x);
    if (r.op == Op::moments) to.push_back(x.empty() ? nan_bits<Out> : fp::to_bits(oracle.round_mean<Out>()));
    to.push_back(x.size() <= r.ddof ? nan_bits<Out>
                                    : fp::to_bits(oracle.round_variance<Out>(r.ddof, r.op == Op::stddev)));
}

/// By a method that rounds on the way, which gives no narrower format than the elements'.
template <class Out, class T>
void append_rounded(Bits& to, const Request& r, std::span<const T> x, std::span<const T> y) {
    const OpInfo& op = info(r.op);
    if (op.kind == Kind::product) return append(to, reference::product<Out>(x, method_of(r)));
    if (op.kind == Kind::sum) {
        if (x.empty()) return to.push_back(op.finalize == Finalize::mean ? nan_bits<Out> : 0);
        return append(to, reference::reduce<Out>(r.op, x, y, method_of(r)));
    }
    if (x.empty()) return to.insert(to.end(), static_cast<std::size_t>(op.results), nan_bits<Out>), void();
    const auto group = reference::group_of(x, method_of(r));
    if (r.op == Op::moments) append(to, reference::mean_of<Out>(group));
    to.push_back(x.size() <= r.ddof ? nan_bits<Out>
                                    : fp::to_bits(reference::variance_of<Out>(group, r.ddof, r.op == Op::stddev)));
}

/// Appends the bits of a group's results. Of `atomic`, which promises none, nothing.
template <class T>
void append_expected(Bits& to, const Plan& plan, const std::vector<T>& x, const std::vector<T>& y) {
    const Request& r = plan.request();
    const OpInfo& op = info(r.op);
    const auto wide = as_doubles(std::span<const T>(x)), wide_y = as_doubles(std::span<const T>(y));
    if (op.gives_integer) {
        const Bits found = reference::group<std::uint64_t, double>(r.op, wide, r.nan);
        to.insert(to.end(), found.begin(), found.end());
        return;
    }
    with_dtype(plan.output(), [&]<class Out>(Out) {
        if (op.kind == Kind::order) {
            const Bits found = reference::group<Out, double>(r.op, wide, r.nan);
            to.insert(to.end(), found.begin(), found.end());
        } else if (method_of(r) == Method::exact) {
            append_exact<Out>(to, r, wide, wide_y);
        } else if constexpr (fp::embeds_in<T, Out>) {
            if (info(method_of(r)).guarantee != Guarantee::none)
                append_rounded<Out>(to, r, std::span<const T>(x), std::span<const T>(y));
        }
    });
}

} // namespace detreduce::fuzz
