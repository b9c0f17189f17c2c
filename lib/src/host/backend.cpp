// Which instruction sets there are, how many threads are worth while, and which engine runs a plan.
#include <algorithm>
#include <array>
#include <atomic>

#include <detreduce/host.hpp>

#include "host/backend.hpp"
#include "host/fp_environment.hpp"
#include "host/isa/isa_table.hpp"
#include "host/pool.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace detreduce {
namespace {

#if defined(DETREDUCE_BASELINE_ONLY) // for fuzz targets and a test
#elif defined(__x86_64__)
#define DETREDUCE_ISAS_X86
#elif defined(__aarch64__)
#define DETREDUCE_ISAS_ARM
#endif

#if defined(DETREDUCE_ISAS_X86)
constexpr std::array all_isas{Isa::baseline, Isa::avx2, Isa::avx512};
/// Does the processor convert f16? Not every compiler knows that by name.
bool has_f16c() {
    unsigned int a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
std::size_t count_isas() {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c()) return 1;
    return __builtin_cpu_supports("avx512f") ? 3 : 2;
}
#else
#if defined(DETREDUCE_ISAS_ARM)
constexpr std::array all_isas{Isa::baseline, Isa::neon}; // every such processor has NEON
#else
constexpr std::array all_isas{Isa::baseline};
#endif
std::size_t count_isas() {
    return all_isas.size();
}
#endif

} // namespace

std::span<const Isa> available_isas() noexcept {
    static constinit std::atomic<std::size_t> known{0}; // without a lock, which a child after fork() could find held
    std::size_t count = known.load(std::memory_order_relaxed);
    if (count == 0) known.store(count = count_isas(), std::memory_order_relaxed);
    return std::span(all_isas).first(count);
}

namespace host {

const IsaTable& isa_table(Isa isa) noexcept {
    if (isa == Isa::automatic) isa = available_isas().back();
#if defined(DETREDUCE_ISAS_X86)
    if (isa == Isa::avx512) return avx512::isa_table;
    if (isa == Isa::avx2) return avx2::isa_table;
#elif defined(DETREDUCE_ISAS_ARM)
    if (isa == Isa::neon) return neon::isa_table;
#endif
    return baseline::isa_table;
}

std::uint32_t default_threads(std::uint64_t n, std::size_t element_bytes) noexcept {
    constexpr std::uint64_t worth_a_thread = std::uint64_t{512} << 10; // bytes; less does not pay for its start-up
    const std::uint64_t useful = std::max<std::uint64_t>(1, n * element_bytes / worth_a_thread);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(usual_threads(), useful));
}

namespace {

/// Has the order of the elements no meaning?
bool is_of_multisets(const Plan& plan) {
    using detail::Engine;
    switch (detail::route_of(plan).engine) {
    case Engine::sums:
    case Engine::atomic:
    case Engine::products:
    case Engine::moments:
        return false;
    default:
        return true;
    }
}

} // namespace

void reduce(const Plan& plan, const Inputs& in, void* out, void* workspace) noexcept {
    const StandardFpEnvironment environment;
    if (detail::route_of(plan).engine == detail::Engine::unique) return count_unique(plan, in, out, workspace);
    is_of_multisets(plan) ? reduce_multisets(plan, in, out) : reduce_sequences(plan, in, out);
}

void reduce_computed(const Plan& plan, const detail::TermSource& source, void* out) noexcept {
    const StandardFpEnvironment environment;
    is_of_multisets(plan) ? reduce_computed_multiset(plan, source, out) : reduce_computed_sequence(plan, source, out);
}

} // namespace host
} // namespace detreduce
