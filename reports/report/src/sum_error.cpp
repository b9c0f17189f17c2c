#include "sum_error.hpp"

namespace detreduce::report {

using accuracy::cpp_int;

std::vector<Contender> contenders(const Options& options, DType dtype, DType output) {
    std::vector<Contender> list;
    for (const auto& [method, device] : placed_methods(options))
        list.push_back({method, device});
    if (output == accuracy::accumulator_of(dtype))
        for (const OwnReduction* own : own_here(options, dtype))
            list.push_back({Method::serial, device_of(*own, options), own});
    return list;
}

std::optional<cpp_int> limit_of(const Contender& c, DType input, DType output, const accuracy::ExactSum& exact) {
    const std::uint64_t n = exact.count();
    if (c.own && !c.own->claims.bound) return std::nullopt;
    const accuracy::ErrorBound bound = c.own ? bound_of(*c.own, n) : accuracy::error_bound(c.method, input, output, n);
    for (const double part : {bound.of_sum, bound.of_abs, bound.absolute})
        if (!std::isfinite(part)) return std::nullopt;
    if (!accuracy::cannot_overflow(exact, c.method, input, output)) return std::nullopt;
    // what a GPU's atomics lose by flushing subnormals
    const double flushed = c.device.backend == Backend::cuda ? accuracy::flush_bound(c.method, input, n) : 0;
    return accuracy::scaled_limit(bound, exact, flushed);
}

double quotient(const cpp_int& part, const cpp_int& whole) {
    return part == 0 ? 0 : whole == 0 ? INFINITY : accuracy::round_quotient(part, whole);
}

} // namespace detreduce::report
