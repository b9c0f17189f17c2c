// Sums of one's own, measured like detreduce's: a loop and OpenMP's reduction, and on a GPU a naive
// kernel and CUB (device.cu).
//     own_reduction --out DIR [--quick] [--device cpu|cuda:N] [--max-n N]
#include <detreduce/accuracy/study.hpp>

#include <cmath>
#include <limits>

#include "device.hpp"

using namespace detreduce::accuracy;

namespace {

template <class T>
T loop(const T* x, std::uint64_t n) {
    T sum = 0;
    for (std::uint64_t i = 0; i < n; ++i)
        sum += x[i];
    return sum;
}

template <class T>
T openmp(const T* x, std::uint64_t n) {
    T sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (std::uint64_t i = 0; i < n; ++i)
        sum += x[i];
    return sum;
}

// n − 1 additions, one after the other, each off by at most u = 2^−precision:
// γ = (n − 1)·u / (1 − (n − 1)·u), of Σ|x| (Higham 2002, §4.2). The factor is for the rounding of
// the bound itself.
template <class T>
ErrorBound bound_of_a_loop(std::uint64_t n) {
    const double ku = static_cast<double>(n - 1) * std::numeric_limits<T>::epsilon() / 2;
    return {0, ku < 1 ? ku / (1 - ku) * (1 + 0x1p-50) : INFINITY, 0};
}

template <class T>
void add_host_reductions(Study& study) {
    // The same additions in the same order, wherever it runs: as long as no compiler vectorizes it,
    // which is what fast-math is for.
    study.add<T>("loop", loop<T>, {.guarantee = detreduce::Guarantee::device, .bound = bound_of_a_loop<T>});
    study.add<T>("OpenMP reduction", openmp<T>, {.openmp = true}); // which thread's sum is added first is not said
}

} // namespace

int main(int argc, char** argv) {
    Study study;
    add_host_reductions<float>(study);
    add_host_reductions<double>(study);
    add_device_reductions(study);
    return study.write_report(argc, argv);
}
