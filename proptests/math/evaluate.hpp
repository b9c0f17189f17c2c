// The functions of math.hpp over arrays, compiled for several instruction sets, all of which must
// give the same bits. All but the first are compiled with contraction switched on, which must
// change nothing.
#pragma once

#include <cstddef>
#include <vector>

#include <detreduce/math/functions.hpp>

namespace detreduce::proptests {

struct Evaluator {
    const char* name;
    void (*of_f32)(math::Function f, const float* x, float* y, std::size_t n);
    void (*of_f64)(math::Function f, const double* x, double* y, std::size_t n);

    void operator()(math::Function f, const float* x, float* y, std::size_t n) const { of_f32(f, x, y, n); }
    void operator()(math::Function f, const double* x, double* y, std::size_t n) const { of_f64(f, x, y, n); }
};

/// Those that this processor can run, the slowest first.
[[nodiscard]] const std::vector<Evaluator>& evaluators();

extern const Evaluator baseline_evaluator, avx2_evaluator, avx512_evaluator, neon_evaluator;

} // namespace detreduce::proptests
