// What distillation does beside row ops and losses, for host and device alike (lib/SPEC.md, section
// 17.10).
#pragma once

#include <detreduce/spec/numbers.hpp>

namespace detreduce::spec {

/// Rows of logits over the temperature, next to each other.
struct TemperedLogits {
    const void* x;
    DType dtype;
    std::uint64_t n, stride;
    double temperature;
    void* to;
    DType to_dtype;

    DETREDUCE_HD void operator()(std::uint64_t i) const {
        put_number(to, to_dtype, i, number_at(x, dtype, i / n * stride + i % n) / temperature);
    }
};

/// The gradient, of the probabilities of both, an element at a time.
struct DistillationSlopes {
    const void *student, *teacher;
    DType arithmetic;
    double factor;
    const void* upstream; ///< or null, for 1
    void* dx;
    DType dtype;
    std::uint64_t n, stride;

    DETREDUCE_HD void operator()(std::uint64_t i) const {
        const double f = upstream == nullptr ? factor : factor * number_at(upstream, dtype, 0);
        put_number(dx, dtype, i / n * stride + i % n,
                   (number_at(student, arithmetic, i) - number_at(teacher, arithmetic, i)) * f);
    }
};

} // namespace detreduce::spec
