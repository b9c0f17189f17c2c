// Which instruction sets there are, and the typed calls of the public API.
#include <array>
#include <atomic>

#include <detreduce/host.hpp>

#include "host/backend.hpp"
#include "host/isa_table.hpp"

namespace detreduce {
namespace {

#if defined(__x86_64__)
constexpr std::array all_isas{Isa::baseline, Isa::avx2, Isa::avx512};
std::size_t count_isas() {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 1;
    return __builtin_cpu_supports("avx512f") ? 3 : 2;
}
#elif defined(__aarch64__)
constexpr std::array all_isas{Isa::baseline, Isa::neon}; // every such processor has NEON
std::size_t count_isas() {
    return all_isas.size();
}
#else
constexpr std::array all_isas{Isa::baseline};
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
#if defined(__x86_64__)
    if (isa == Isa::avx512) return avx512::isa_table;
    if (isa == Isa::avx2) return avx2::isa_table;
#elif defined(__aarch64__)
    if (isa == Isa::neon) return neon::isa_table;
#endif
    return baseline::isa_table;
}

} // namespace host
} // namespace detreduce
