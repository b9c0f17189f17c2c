#include "sum_error.hpp"

namespace detreduce::report {

using accuracy::cpp_int;

std::vector<Contender> contenders(const Options& options) {
    std::vector<Contender> list;
    for (const MethodInfo& m : methods()) {
        const bool on_gpu = options.device.backend == Backend::cuda && m.on_cuda;
        if (on_gpu || m.on_cpu) list.push_back({m.method, on_gpu ? options.device : Device{}});
    }
    return list;
}

std::optional<cpp_int> limit_of(const Contender& c, DType input, DType output, const accuracy::ExactSum& exact) {
    const std::uint64_t n = exact.count();
    const accuracy::ErrorBound bound = accuracy::error_bound(c.method, input, output, n);
    if (!accuracy::cannot_overflow(exact, c.method, input, output) || !std::isfinite(bound.of_abs)) return std::nullopt;
    // what a GPU's atomics lose by flushing subnormals
    const double flushed = c.device.backend == Backend::cuda ? accuracy::flush_bound(c.method, input, n) : 0;
    return accuracy::scaled_limit(bound, exact, flushed);
}

double quotient(const cpp_int& part, const cpp_int& whole) {
    return part == 0 ? 0 : whole == 0 ? INFINITY : accuracy::round_quotient(part, whole);
}

} // namespace detreduce::report
