#include "math/evaluate.hpp"

namespace detreduce::proptests {

const std::vector<Evaluator>& evaluators() {
    static const std::vector<Evaluator> list = [] {
        std::vector<Evaluator> found{baseline_evaluator};
#if defined(__x86_64__) || defined(__amd64__)
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(avx2_evaluator);
        if (__builtin_cpu_supports("avx512f")) found.push_back(avx512_evaluator);
#elif defined(__aarch64__)
        found.push_back(neon_evaluator);
#endif
        return found;
    }();
    return list;
}

} // namespace detreduce::proptests
