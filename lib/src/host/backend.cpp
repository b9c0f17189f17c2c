// Which instruction sets there are, and the typed calls of the public API.
#include <array>

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
#else
constexpr std::array all_isas{Isa::baseline};
std::size_t count_isas() {
    return 1;
}
#endif

} // namespace

std::span<const Isa> available_isas() noexcept {
    static const std::size_t count = count_isas();
    return std::span(all_isas).first(count);
}

namespace host {

const IsaTable& isa_table(Isa isa) noexcept {
    if (isa == Isa::automatic) isa = available_isas().back();
#if defined(__x86_64__)
    if (isa == Isa::avx512) return avx512::isa_table;
    if (isa == Isa::avx2) return avx2::isa_table;
#endif
    return baseline::isa_table;
}

} // namespace host
} // namespace detreduce
