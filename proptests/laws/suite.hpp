// What the laws of both backends share.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <spec_reference.hpp>

#include <support/bits.hpp>
#include <support/property.hpp>

#include "laws/same_bits.hpp"
#include "laws/test_backend.hpp"

namespace detreduce::proptests {

inline std::vector<Method> offered(bool deterministic_only) {
    std::vector<Method> found;
    for (const MethodInfo& m : methods()) {
        const bool here = TestBackend::kind == Backend::cpu ? m.on_cpu : m.on_cuda;
        if (here && (!deterministic_only || m.guarantee >= Guarantee::device)) found.push_back(m.method);
    }
    return found;
}

/// Equal as numbers: zeros of both signs are.
template <class A, class B>
bool equal(A a, B b) {
    return fp::widen(a) == fp::widen(b);
}

/// Most draws on the CPU are for one thread: others cost as much as a thousand elements, or more on
/// a busy machine.
inline Draw draw_from(Method method, std::uint64_t word) {
    static std::map<Method, std::vector<Draw>> all;
    std::vector<Draw>& draws = all[method];
    if (draws.empty()) draws = TestBackend::all_draws(method);
    Draw draw = draws[word % draws.size()];
    if (TestBackend::kind == Backend::cpu && accuracy::hash(word, 3) % 4 != 0) draw.launch.threads = 1;
    return draw;
}

/// Lengths where a backend changes its behaviour: those of `tree`; those of the CPU's blocks of
/// `exact` and of what it adds at once in them; those of a GPU's tiles of `exact`, 4 KiB a warp.
template <class T>
std::vector<std::size_t> lengths() {
    constexpr std::size_t cpu_block = 4096, gpu_tile = 4096 / sizeof(T);
    std::vector<std::size_t> all = tree_boundaries<T>(3 * spec::TreeOrder<sizeof(T)>::tile);
    for (const std::size_t n :
         {std::size_t{8}, std::size_t{16}, std::size_t{32}, cpu_block, cpu_block + 16, cpu_block + 32, 2 * cpu_block,
          3 * cpu_block + 64, gpu_tile, 2 * gpu_tile, 4 * gpu_tile, 9 * gpu_tile})
        all.push_back(n);
    return all;
}

inline DType some_output(Method method, DType input, std::uint64_t word) {
    const auto list = outputs(method, input);
    return list[accuracy::hash(word, 1) % list.size()];
}

/// A property of one vector, one random word and each of the methods that `chosen(word)` gives,
/// with one of their outputs: holds(Out{}, method, x, word).
template <class T, class Chosen, class Law>
void for_methods(const Chosen& chosen, const Scope& scope, const std::string& law, const Law& holds) {
    property(law, [&] {
        const Values<T> xs = *values<T>(scope, lengths<T>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        for (const Method method : chosen(word)) {
            const DType output = some_output(method, dtype_of<T>, word);
            RC_LOG(std::string(name(method)) + " to " + std::string(name(output)) + '\n');
            with_dtype_from_16_bits(output, [&](auto out) { holds(out, method, xs.span(), word); });
        }
    });
}
/// Each vector with each method.
template <class T, class Law>
void for_each_method(bool deterministic_only, const Scope& scope, const std::string& law, const Law& holds) {
    for_methods<T>([=](std::uint64_t) { return offered(deterministic_only); }, scope, law, holds);
}
/// Each vector with one method, the next with another: for laws that are checked several times a
/// case.
template <class T, class Law>
void for_some_method(bool deterministic_only, const Scope& scope, const std::string& law, const Law& holds) {
    const auto one = [=](std::uint64_t word) {
        const auto all = offered(deterministic_only);
        return std::vector<Method>{all[accuracy::hash(word, 2) % all.size()]};
    };
    for_methods<T>(one, scope, law, holds);
}

} // namespace detreduce::proptests

#define DETREDUCE_ALL_TYPES ::detreduce::float16, ::detreduce::bfloat16, float, double
