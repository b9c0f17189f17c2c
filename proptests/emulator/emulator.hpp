// Runs the kernels of kernels/ on the CPU: every thread of a block is a fiber, which runs until it
// waits for others. What is found: other bits, barriers and shuffles that not all threads reach,
// misaligned vector loads, memory that was never written, which is full of NaN, and copies that are
// read before they were waited for. Not: races that no order of fibers shows, and how fast a kernel
// is. Included before every source (-include).
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#undef __shared__
#undef __launch_bounds__
#undef __grid_constant__
#undef __noinline__
#define __shared__                                                                                                     \
    static // one block runs at a time, but in cooperative launches, whose kernels share memory that launches ask for
#define __launch_bounds__(...)
#define __grid_constant__
#define __noinline__ inline

extern "C" {
extern uint3 threadIdx, blockIdx; // of the fiber that runs
extern dim3 blockDim, gridDim;
}

namespace detreduce::emulator {

/// Runs `body` as every thread of every block.
void run_grid(const char* kernel, dim3 blocks, dim3 threads, std::size_t shared, bool cooperative,
              const std::function<void()>& body);

/// The same in clusters of `cluster` blocks, which run at once.
void run_clusters(const char* kernel, unsigned cluster, dim3 blocks, dim3 threads, std::size_t shared,
                  const std::function<void()>& body);

/// Of a cluster; 1 where there are none.
[[nodiscard]] unsigned cluster_blocks();
/// What the threads of a block were given of shared memory.
[[nodiscard]] void* dynamic_shared();
/// And those of another block of the cluster.
[[nodiscard]] void* dynamic_shared(unsigned rank);

enum class Barrier { plain, any, all };
/// Waits for all threads of the block; the number of those whose `vote` is true decides.
int meet_block(Barrier barrier, bool vote);
/// Waits for all threads of the block that have the same threadIdx.y.
void meet_team();
/// Waits for all threads of the warp, and gives what each of them brought. `what` must be the same
/// for all.
const std::uint64_t* meet_warp(const char* what, std::uint64_t value);
/// Waits for all threads of the grid.
void meet_grid();
/// Says that this thread of a cluster runs; do all?
void arrive_in_cluster();
[[nodiscard]] bool all_in_cluster();
/// Has block `rank` of the cluster ended? The memory of one that has is another's on a GPU.
[[nodiscard]] bool has_ended(unsigned rank);
/// Fails where the block has expected results of its cluster before: kernels wait for them once.
void expect_once();
/// 16 bytes, of which each bit is 1 until the thread has waited for them.
void copy16_later(void* to, const void* from);
/// Copies since the last call are a group.
void end_copies();
/// Waits for all of the thread's groups but the last ones.
void wait_for_copies(std::size_t last);
/// Waits until `done`, which others see to.
void wait_until(const std::function<bool()>& done);
/// This thread's number in its warp.
[[nodiscard]] unsigned lane();
/// Says what is wrong, and where, and ends the process.
[[noreturn]] void fail(const char* what);

template <class Value>
Value load(const void* p, std::size_t alignment = alignof(Value)) {
    if (reinterpret_cast<std::uintptr_t>(p) % alignment != 0) fail("a load from a misaligned address");
    Value v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

} // namespace detreduce::emulator

inline void __syncthreads() {
    detreduce::emulator::meet_block(detreduce::emulator::Barrier::plain, false);
}
inline int __syncthreads_or(int vote) {
    return detreduce::emulator::meet_block(detreduce::emulator::Barrier::any, vote != 0);
}
inline int __syncthreads_and(int vote) {
    return detreduce::emulator::meet_block(detreduce::emulator::Barrier::all, vote != 0);
}
inline void __threadfence() {}

inline float __uint_as_float(unsigned bits) {
    return std::bit_cast<float>(bits);
}
inline unsigned __float_as_uint(float x) {
    return std::bit_cast<unsigned>(x);
}
inline double __hiloint2double(int high, int low) {
    return std::bit_cast<double>(std::uint64_t{static_cast<unsigned>(high)} << 32 | static_cast<unsigned>(low));
}
inline int __double2hiint(double x) {
    return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 32);
}
inline int __double2loint(double x) {
    return static_cast<int>(std::bit_cast<std::uint64_t>(x));
}
inline int __popc(unsigned x) {
    return std::popcount(x);
}
inline int __clz(int x) {
    return std::countl_zero(static_cast<unsigned>(x));
}
inline int __clzll(long long x) {
    return std::countl_zero(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) {
    return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1;
}
inline unsigned __brev(unsigned x) {
    unsigned y = 0;
    for (int i = 0; i < 32; ++i)
        y |= (x >> i & 1u) << (31 - i);
    return y;
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned which) {
    const std::uint64_t all = std::uint64_t{high} << 32 | low;
    unsigned y = 0;
    for (int i = 0; i < 4; ++i)
        y |= static_cast<unsigned>(all >> ((which >> (4 * i) & 7u) * 8) & 0xffu) << (8 * i);
    return y;
}
/// f of each of the two halves of words, as Half.
template <class Half, class F, class... Words>
unsigned by_halves(const F& f, Words... words) {
    const auto half = [&](int shift) -> unsigned {
        return static_cast<std::uint16_t>(f(static_cast<Half>(words >> shift)...));
    };
    return half(16) << 16 | half(0);
}
inline unsigned __vmaxu2(unsigned a, unsigned b) {
    return by_halves<std::uint16_t>([](auto x, auto y) { return x < y ? y : x; }, a, b);
}
inline unsigned __vmins2(unsigned a, unsigned b) {
    return by_halves<std::int16_t>([](auto x, auto y) { return y < x ? y : x; }, a, b);
}
inline unsigned __vmaxs2(unsigned a, unsigned b) {
    return by_halves<std::int16_t>([](auto x, auto y) { return x < y ? y : x; }, a, b);
}
// The lesser or greater of a + b, which may wrap, and c.
inline unsigned __viaddmax_u32(unsigned a, unsigned b, unsigned c) {
    return a + b < c ? c : a + b;
}
inline unsigned __viaddmin_u32(unsigned a, unsigned b, unsigned c) {
    return c < a + b ? c : a + b;
}
template <class Half>
Half wrapped_sum(Half a, Half b) {
    return static_cast<Half>(static_cast<std::uint16_t>(a) + static_cast<std::uint16_t>(b));
}
inline unsigned __viaddmax_u16x2(unsigned a, unsigned b, unsigned c) {
    return by_halves<std::uint16_t>([](auto x, auto y, auto z) { return std::max(wrapped_sum(x, y), z); }, a, b, c);
}
inline unsigned __viaddmin_u16x2(unsigned a, unsigned b, unsigned c) {
    return by_halves<std::uint16_t>([](auto x, auto y, auto z) { return std::min(wrapped_sum(x, y), z); }, a, b, c);
}
inline unsigned __viaddmax_s16x2(unsigned a, unsigned b, unsigned c) {
    return by_halves<std::int16_t>([](auto x, auto y, auto z) { return std::max(wrapped_sum(x, y), z); }, a, b, c);
}
inline float __fmaf_rn(float a, float b, float c) {
    return std::fma(a, b, c);
}
inline double __fma_rn(double a, double b, double c) {
    return std::fma(a, b, c);
}
inline double __dsqrt_rn(double x) {
    return std::sqrt(x);
}

inline float __double2float_rz(double x) {
    const float nearest = static_cast<float>(x);
    return std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? std::nextafterf(nearest, 0.0f) : nearest;
}
template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
    using C = std::common_type_t<A, B>;
    return static_cast<C>(b) < static_cast<C>(a) ? static_cast<C>(b) : static_cast<C>(a);
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
    using C = std::common_type_t<A, B>;
    return static_cast<C>(a) < static_cast<C>(b) ? static_cast<C>(b) : static_cast<C>(a);
}

// One fiber runs at a time: nothing comes between.
template <class T, class U>
T atomicAdd(T* p, U value) {
    const T before = *p;
    *p = before + static_cast<T>(value);
    return before;
}
template <class T, class U>
T atomicOr(T* p, U value) {
    const T before = *p;
    *p = before | static_cast<T>(value);
    return before;
}
template <class T, class U>
T atomicMin(T* p, U value) {
    const T before = *p;
    if (static_cast<T>(value) < before) *p = static_cast<T>(value);
    return before;
}
template <class T, class U>
T atomicMax(T* p, U value) {
    const T before = *p;
    if (before < static_cast<T>(value)) *p = static_cast<T>(value);
    return before;
}
