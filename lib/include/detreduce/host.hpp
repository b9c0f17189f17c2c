// Sums of data in host memory, on the CPU.
#pragma once

#include <span>

#include <detreduce/plan.hpp>

namespace detreduce {

/// Sum of `x` on the CPU: the value that run() computes, returned. The bits of every method but `atomic` are those of the CUDA backend.
///
/// formula      the true sum of all elements rounded once (exact), or added in the order that lib/SPEC.md gives for the method
/// dtypes       float16, bfloat16, float, double; sum_as<Out>(x) rounds to another of them, as Request::output does
/// guarantee    info(method).guarantee; `launch` (threads, instruction set) never changes a bit of a deterministic method
/// error bound  as run()
/// workspace    none; with one thread nothing is allocated
/// errors       throws Error when the method is not offered on the CPU or launch.threads is out of range
/// NaN, empty   as run()
template <class Out, class T>
[[nodiscard]] Out sum_as(std::span<const T> x, Method method = Method::exact, const Launch& launch = {}) {
    const Request request{.method = method,
                          .dtype = dtype_of<T>,
                          .output = dtype_of<Out>,
                          .n = x.size(),
                          .device = cpu,
                          .launch = launch};
    Out result{};
    throw_if_error(run(make_plan(request), x.data(), &result));
    return result;
}
[[nodiscard]] inline float16 sum(std::span<const float16> x, Method method = Method::exact, const Launch& launch = {}) {
    return sum_as<float16>(x, method, launch);
}
[[nodiscard]] inline bfloat16 sum(std::span<const bfloat16> x, Method method = Method::exact,
                                  const Launch& launch = {}) {
    return sum_as<bfloat16>(x, method, launch);
}
[[nodiscard]] inline float sum(std::span<const float> x, Method method = Method::exact, const Launch& launch = {}) {
    return sum_as<float>(x, method, launch);
}
[[nodiscard]] inline double sum(std::span<const double> x, Method method = Method::exact, const Launch& launch = {}) {
    return sum_as<double>(x, method, launch);
}

/// Instruction sets that this processor and this build offer, baseline first.
[[nodiscard]] std::span<const Isa> available_isas() noexcept;

} // namespace detreduce
