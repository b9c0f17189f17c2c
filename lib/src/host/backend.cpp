// Which instruction sets there are, and the typed calls of the public API.
#include <array>

#include <detreduce/host.hpp>

#include "host/backend.hpp"
#include "host/tile.hpp"

namespace detreduce {
namespace {

#if defined(__x86_64__)
constexpr std::array all_isas{Isa::baseline, Isa::avx2, Isa::avx512};
std::size_t count_isas() {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2")) return 1;
    return __builtin_cpu_supports("avx512f") ? 3 : 2;
}
#else
constexpr std::array all_isas{Isa::baseline};
std::size_t count_isas() {
    return 1;
}
#endif

template <class T>
T sum_on_cpu(std::span<const T> x, Method method, const Launch& launch) {
    const Plan plan =
        make_plan({.method = method, .dtype = dtype_of<T>, .n = x.size(), .device = cpu, .launch = launch});
    T result;
    throw_if_error(run(plan, x.data(), &result));
    return result;
}

} // namespace

std::span<const Isa> available_isas() noexcept {
    static const std::size_t count = count_isas();
    return std::span(all_isas).first(count);
}

float sum(std::span<const float> x, Method method, const Launch& launch) {
    return sum_on_cpu(x, method, launch);
}
double sum(std::span<const double> x, Method method, const Launch& launch) {
    return sum_on_cpu(x, method, launch);
}

namespace host {

const TileTable& tile_table(Isa isa) noexcept {
    if (isa == Isa::automatic) isa = available_isas().back();
#if defined(__x86_64__)
    if (isa == Isa::avx512) return avx512::tile_table;
    if (isa == Isa::avx2) return avx2::tile_table;
#endif
    return baseline::tile_table;
}

} // namespace host
} // namespace detreduce
