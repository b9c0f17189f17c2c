// group_norm and batch_norm: what may be asked for. Statistics and sums are those of plans, whose
// checks hold here as well.
#include <algorithm>
#include <array>
#include <cmath>

#include <detreduce/channel_norm.hpp>
#include <detreduce/spec/channel_norm.hpp>

#include "each.hpp"
#include "overlap.hpp"
#include "run.hpp"

namespace detreduce {
namespace {

#define DETREDUCE_NAME(name, c_name) std::string_view(#name),
constexpr std::array norm_names{DETREDUCE_CHANNEL_NORMS(DETREDUCE_NAME)};
#undef DETREDUCE_NAME

bool by_channel(const ChannelNormRequest& r) {
    return r.norm == ChannelNorm::batch_norm;
}
DType parameters_of(const ChannelNormRequest& r) {
    return r.parameters.value_or(r.dtype);
}
std::uint64_t elements_of(const ChannelNormRequest& r) {
    return r.n * r.channels * r.size;
}
/// Elements that share a statistic.
std::uint64_t sharing(const ChannelNormRequest& r) {
    return by_channel(r) ? r.n * r.size : r.channels / r.groups * r.size;
}
/// Is a channel neither a row nor a column, so that its elements have to be brought together?
bool is_apart(const ChannelNormRequest& r) {
    return r.n > 1 && r.size > 1;
}

Status check_words(const ChannelNormRequest& r) {
    if (name(r.norm) == "?") return invalid("norm", allowed<norm_names>);
    if (!is_dtype(r.dtype)) return invalid("dtype", dtypes_from_16_bits);
    if (!is_dtype(parameters_of(r))) return invalid("parameters", dtypes_from_16_bits);
    static constexpr char no_bytes[] =
        "group_norm and batch_norm are not offered for f8e4m3 and f8e5m2; allowed are f16, bf16, f32 and f64";
    if (has_8_bits(r.dtype)) return {StatusCode::unsupported, "dtype", no_bytes};
    if (has_8_bits(parameters_of(r))) return {StatusCode::unsupported, "parameters", no_bytes};
    if (!(r.epsilon >= 0) || !std::isfinite(r.epsilon))
        return invalid("epsilon", "allowed are finite numbers that are not negative");
    if (!(r.momentum >= 0 && r.momentum <= 1)) return invalid("momentum", "allowed are 0 to 1");
    if (r.given && !by_channel(r)) return invalid("given", "must be false but for batch_norm");
    if (name(r.method) == "?") return invalid("method", "allowed are automatic, exact and tree");
    if (r.method != Method::exact && r.method != Method::tree)
        return {StatusCode::unsupported, "method", "allowed for group_norm and batch_norm are exact and tree"};
    if (r.method == Method::tree && !embeds(arithmetic_of(r.dtype), parameters_of(r)))
        return invalid("parameters", "allowed for tree are f32 and f64, of elements of f64 f64");
    return {};
}

Status check_size(const ChannelNormRequest& r) {
    if (r.n > max_n) return invalid("n", "allowed are 0 to 2^40 samples");
    if (r.channels == 0 || r.channels > max_n) return invalid("channels", "allowed are 1 to 2^40");
    if (r.size == 0 || r.size > max_n) return invalid("size", "allowed are 1 to 2^40 elements of a channel");
    if (by_channel(r) && r.groups != 1) return invalid("groups", "must be 1 but for group_norm");
    if (r.groups == 0 || r.channels % r.groups != 0)
        return invalid("groups", "must divide the number of channels: so many of them make a group");
    if (r.channels > max_extent / r.size || (r.n > 0 && r.channels * r.size > max_extent / r.n))
        return invalid("size", "allowed are 2^46 elements in all");
    if (sharing(r) > max_n) return invalid("size", "allowed are 2^40 elements that share a mean");
    if (by_channel(r) && !r.given && sharing(r) < 2)
        return invalid("n", "a channel must have 2 elements or more, unless its statistics are given");
    return {};
}

/// Of as many groups of elements as there are statistics, or channels.
Plan plan_of(const ChannelNormRequest& r, Op op, DType dtype, DType output, bool channels) {
    const bool across = channels && r.size == 1;
    return make_plan({.op = op,
                      .method = r.method,
                      .dtype = dtype,
                      .output = output,
                      .shape = across ? Shape::columns : Shape::rows,
                      .n = channels ? r.n * r.size : sharing(r),
                      .groups = channels ? r.channels : r.n * r.groups,
                      .device = r.device,
                      .launch = r.launch});
}

/// In the workspace: two numbers a statistic that sums give, and two that forward keeps; terms;
/// what sums need.
struct Room {
    double *sums, *mean, *rstd;
    char *terms, *rest;
    Room(const ChannelNormPlan& plan, void* workspace, bool gradient)
        : sums(static_cast<double*>(workspace)), mean(sums + 2 * plan.statistics()), rstd(mean + plan.statistics()),
          terms(static_cast<char*>(workspace) + bytes_of_numbers(plan)),
          rest(terms + bytes_of_terms(plan.request(), gradient)) {}

    static std::size_t bytes_of_numbers(const ChannelNormPlan& plan) {
        return rounded_up(4 * plan.statistics() * sizeof(double));
    }
    static std::size_t bytes_of_terms(const ChannelNormRequest& r, bool gradient) {
        if (gradient) return rounded_up(elements_of(r) * size_of(arithmetic_of(r.dtype)));
        return by_channel(r) && !r.given && is_apart(r) ? rounded_up(elements_of(r) * size_of(r.dtype)) : 0;
    }
    static std::size_t rounded_up(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
};

/// An array of a call.
struct Argument {
    const char* name;
    const void* p;
    DType dtype;
    std::uint64_t n;
    bool needed, written;
    bool in_place = false; ///< may be out
    [[nodiscard]] Area area() const { return list_of(p, n, size_of(dtype)); }
};

/// No two of them overlap of which one is written, but for out and what it may take the place of.
template <std::size_t N>
Status check_all(const Argument (&list)[N], const void* out, const void* workspace, std::size_t bytes) {
    for (const Argument& a : list) {
        if (a.p == nullptr && a.needed && a.n > 0) return invalid(a.name, "must not be null");
        if (const Status askew = check_alignment(a.name, a.p, a.dtype); !askew.ok()) return askew;
    }
    for (const Argument& a : list) {
        if (overlap(a.area(), list_of(workspace, bytes, 1)))
            return invalid("workspace", "must not overlap what is read or what else is written");
        for (const Argument& b : list) {
            if (!a.written || &a == &b || (a.p == out && b.in_place && b.p == out)) continue;
            if (overlap(a.area(), b.area()))
                return invalid(a.name, "must not overlap what is read or what else is written; out may be x, and a "
                                       "gradient upstream");
        }
    }
    return {};
}
Status must_be_null(std::initializer_list<std::pair<const char*, const void*>> list) {
    for (const auto& [argument, p] : list) {
        if (p != nullptr) return invalid(argument, "must be null: this call has none");
    }
    return {};
}

Status check_forward(const ChannelNormPlan& plan, const ChannelNormArrays& a, const void* workspace) {
    const ChannelNormRequest& r = plan.request();
    const std::uint64_t all = elements_of(r), c = r.channels, k = plan.statistics();
    const DType own = plan.parameters();
    if (const Status bad = must_be_null({{"upstream", a.upstream},
                                         {"scale_gradient", a.scale_gradient},
                                         {"shift_gradient", a.shift_gradient},
                                         {"running_mean", by_channel(r) ? nullptr : a.running_mean},
                                         {"running_variance", by_channel(r) ? nullptr : a.running_variance}});
        !bad.ok())
        return bad;
    const Argument list[] = {{"x", a.x, r.dtype, all, true, false, true},
                             {"out", a.out, r.dtype, all, true, true},
                             {"scale", a.scale, own, c, false, false},
                             {"shift", a.shift, own, c, false, false},
                             {"mean", a.mean, DType::f64, k, false, true},
                             {"rstd", a.rstd, DType::f64, k, false, true},
                             {"running_mean", a.running_mean, own, c, r.given, !r.given},
                             {"running_variance", a.running_variance, own, c, r.given, !r.given}};
    return check_all(list, a.out, workspace, plan.workspace_bytes());
}
Status check_gradient(const ChannelNormPlan& plan, const ChannelNormArrays& a, const void* workspace) {
    const ChannelNormRequest& r = plan.request();
    const std::uint64_t all = elements_of(r), c = r.channels, k = r.n > 0 ? plan.statistics() : 0;
    const DType own = plan.parameters();
    if (const Status bad = must_be_null(
            {{"shift", a.shift}, {"running_mean", a.running_mean}, {"running_variance", a.running_variance}});
        !bad.ok())
        return bad;
    const Argument list[] = {{"x", a.x, r.dtype, all, true, false, true},
                             {"upstream", a.upstream, r.dtype, all, true, false, true},
                             {"out", a.out, r.dtype, all, true, true},
                             {"scale", a.scale, own, c, false, false},
                             {"mean", a.mean, DType::f64, k, true, false},
                             {"rstd", a.rstd, DType::f64, k, true, false},
                             {"scale_gradient", a.scale_gradient, own, c, false, true},
                             {"shift_gradient", a.shift_gradient, own, c, false, true}};
    return check_all(list, a.out, workspace, plan.gradient_workspace_bytes());
}

/// One call.
struct ChannelNormRun {
    const ChannelNormPlan& plan;
    const ChannelNormArrays& arrays;
    Room room;
    Stream stream;
    const ChannelNormRequest& r = plan.request();
    spec::ChannelLayout at{r.n, r.channels, r.size, by_channel(r) ? 0 : sharing(r)};
    spec::ChannelFactors scale{arrays.scale, plan.parameters()}, shift{arrays.shift, plan.parameters()};
    spec::ChannelStatistics kept{arrays.mean != nullptr ? arrays.mean : room.mean,
                                 arrays.rstd != nullptr ? arrays.rstd : room.rstd};

    template <class F>
    [[nodiscard]] Status each(std::uint64_t count, const F& f) const {
        return for_each_on(r.device, plan.sums().launch().threads, count, f, stream);
    }

    [[nodiscard]] Status forward() const {
        if (!r.given) {
            const void* from = arrays.x;
            if (by_channel(r) && is_apart(r)) {
                const spec::ChannelNormTerms copy{at, arrays.x, r.dtype, {}, nullptr, {}, room.terms, r.dtype, true};
                if (const Status bad = each(elements_of(r), copy); !bad.ok()) return bad;
                from = room.terms;
            }
            if (const Status bad = run(plan.moments(), from, room.sums, room.rest, stream); !bad.ok()) return bad;
        }
        const auto m = static_cast<double>(sharing(r));
        const spec::ChannelNormStatistics statistics{r.given ? nullptr : room.sums,
                                                     r.epsilon,
                                                     r.momentum,
                                                     host::in_standard_environment([m] { return m / (m - 1); }),
                                                     arrays.running_mean,
                                                     arrays.running_variance,
                                                     plan.parameters(),
                                                     arrays.mean != nullptr ? arrays.mean : room.mean,
                                                     arrays.rstd != nullptr ? arrays.rstd : room.rstd};
        if (const Status bad = each(plan.statistics(), statistics); !bad.ok()) return bad;
        return each(elements_of(r), spec::ChannelNormValues{at, arrays.x, r.dtype, kept, scale, shift, arrays.out});
    }

    /// What `of` gives of upstream times a factor of the channel, and the normalized x if
    /// `products`.
    [[nodiscard]] Status add(const Plan& of, const spec::ChannelFactors& factors, bool products, bool channels,
                             void* out) const {
        const spec::ChannelNormTerms terms{at,
                                           arrays.upstream,
                                           r.dtype,
                                           factors,
                                           products ? arrays.x : nullptr,
                                           kept,
                                           room.terms,
                                           arithmetic_of(r.dtype),
                                           channels && is_apart(r)};
        if (const Status bad = each(elements_of(r), terms); !bad.ok()) return bad;
        return run(of, room.terms, out, room.rest, stream);
    }
    [[nodiscard]] Status gradient() const {
        const spec::ChannelFactors none{nullptr, plan.parameters()};
        for (const bool products : {true, false}) {
            void* const out = products ? arrays.scale_gradient : arrays.shift_gradient;
            if (out == nullptr) continue;
            if (const Status bad = add(plan.sums(), none, products, true, out); !bad.ok()) return bad;
        }
        if (r.n == 0) return {};
        double *const means = room.sums, *const of_products = room.sums + plan.statistics();
        for (const bool products : {true, false}) {
            if (r.given) break;
            const Status bad = add(plan.means(), scale, products, by_channel(r), products ? of_products : means);
            if (!bad.ok()) return bad;
        }
        return each(elements_of(r), spec::ChannelNormSlopes{at, arrays.x, arrays.upstream, r.dtype, kept, scale,
                                                            r.given ? nullptr : means, of_products, arrays.out});
    }
};

} // namespace

std::string_view name(ChannelNorm norm) noexcept {
    const auto i = static_cast<std::size_t>(norm);
    return i < norm_names.size() ? norm_names[i] : "?";
}

ChannelNormPlan make_channel_norm_plan(const ChannelNormRequest& asked) noexcept {
    ChannelNormPlan plan;
    plan.request_ = asked;
    plan.request_.method = resolved(asked.method, Op::sum);
    ChannelNormRequest& r = plan.request_;
    plan.status_ = check_words(r);
    if (plan.status_.ok()) plan.status_ = check_size(r);
    if (!plan.status_.ok()) return plan;
    const DType terms = arithmetic_of(r.dtype);
    plan.sums_ = plan_of(r, Op::sum, terms, parameters_of(r), true);
    plan.status_ = plan.sums_.status();
    if (!plan.status_.ok()) return plan;
    std::size_t rest = 0, gradient_rest = plan.sums_.workspace_bytes();
    if (!r.given) {
        plan.moments_ = plan_of(r, Op::moments, r.dtype, DType::f64, by_channel(r));
        plan.means_ = plan_of(r, Op::mean, terms, DType::f64, by_channel(r));
        for (const Plan* const part : {&plan.moments_, &plan.means_}) {
            if (plan.status_.ok()) plan.status_ = part->status();
        }
        rest = plan.moments_.workspace_bytes();
        gradient_rest = std::max(gradient_rest, plan.means_.workspace_bytes());
    }
    if (!plan.status_.ok()) return plan;
    r.device = plan.sums_.request().device;
    const std::size_t numbers = Room::bytes_of_numbers(plan);
    plan.workspace_bytes_ = numbers + Room::bytes_of_terms(r, false) + rest;
    plan.gradient_workspace_bytes_ = numbers + Room::bytes_of_terms(r, true) + gradient_rest;
    return plan;
}

Status run(const ChannelNormPlan& plan, const ChannelNormArrays& arrays, void* workspace, Stream stream) noexcept {
    const Status bad = check_call(plan, workspace, [&] { return check_forward(plan, arrays, workspace); });
    if (!bad.ok() || plan.request().n == 0) return bad;
    return ChannelNormRun{plan, arrays, Room(plan, workspace, false), stream}.forward();
}

Status run_gradient(const ChannelNormPlan& plan, const ChannelNormArrays& arrays, void* workspace,
                    Stream stream) noexcept {
    if (!plan.status().ok()) return plan.status();
    if (const Status bad = check_gradient(plan, arrays, workspace); !bad.ok()) return bad;
    const Status none = check_workspace(plan.request().device, plan.gradient_workspace_bytes(), workspace);
    if (!none.ok()) return none;
    return ChannelNormRun{plan, arrays, Room(plan, workspace, true), stream}.gradient();
}

} // namespace detreduce
