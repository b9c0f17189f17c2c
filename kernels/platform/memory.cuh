// Loads from the GPU's memory, of what no thread writes while the kernel runs unless it says
// otherwise, and a store. Those with `if` load nothing, and leave what they were given, where the
// condition is false: one predicated instruction, no branch, behind which loads would wait for
// those before it.
#pragma once

#include <cstdint>

namespace detreduce::cuda {

template <class Value>
[[nodiscard]] __device__ __forceinline__ Value load_read_only(const Value* p) {
    return __ldg(p);
}
/// Of what other blocks of this launch wrote: from L2.
template <class Value>
[[nodiscard]] __device__ __forceinline__ Value load_from_l2(const Value* p) {
    return __ldcg(p);
}

/// ptxas of CUDA 13.0 moves no load past it, which PTX does not promise. Profilers see an event.
__device__ __forceinline__ void keep_order() {
    asm volatile("pmevent 0;");
}

/// 16 bytes that are read once: past L1.
[[nodiscard]] __device__ __forceinline__ uint4 load16_once(const void* p) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}
__device__ __forceinline__ void load16_once_if(bool there, const void* p, uint4& v) {
    asm volatile("{.reg .pred there; setp.ne.s32 there, %5, 0;\n"
                 "@there ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];}"
                 : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)
                 : "l"(p), "r"(static_cast<int>(there)));
}

/// The 2 bytes at p.
__device__ __forceinline__ void load2_if(bool there, const void* p, std::uint16_t& half) {
    asm volatile("{.reg .pred mine; setp.ne.s32 mine, %2, 0;\n@mine ld.global.nc.u16 %0, [%1];}"
                 : "+h"(half)
                 : "l"(p), "r"(static_cast<int>(there)));
}
/// The word at p, if more than one remains.
__device__ __forceinline__ void load4_if_more_than_one(int left, const void* p, std::uint32_t& word) {
    asm volatile("{.reg .pred there; setp.gt.s32 there, %2, 1;\n@there ld.global.nc.u32 %0, [%1];}"
                 : "+r"(word)
                 : "l"(p), "r"(left));
}
/// Four words, 128 bytes apart: of 32 threads that begin 4 bytes apart, 512 bytes in a row.
__device__ __forceinline__ void load4_of_row_if(bool there, const void* p, std::uint32_t (&words)[4]) {
    asm volatile("{.reg .pred there; setp.ne.s32 there, %5, 0;\n"
                 "@there ld.global.nc.u32 %0, [%4]; @there ld.global.nc.u32 %1, [%4 + 128];\n"
                 "@there ld.global.nc.u32 %2, [%4 + 256]; @there ld.global.nc.u32 %3, [%4 + 384];}"
                 : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3])
                 : "l"(p), "r"(static_cast<int>(there)));
}
#define DETREDUCE_LOAD_HALVES(is_there, value)                                                                         \
    asm volatile("{.reg .pred there, odd, even;\n" is_there                                                            \
                 " setp.ne.and.s32 odd, %7, 0, there; setp.eq.and.s32 even, %7, 0, there;\n"                           \
                 "mov.u32 %0, 0; mov.u32 %1, 0; mov.u32 %2, 0; mov.u32 %3, 0; mov.u32 %4, 0;\n"                        \
                 "@odd ld.global.nc.u16 %0, [%5 + -2]; @there ld.global.nc.u32 %1, [%5];\n"                            \
                 "@there ld.global.nc.u32 %2, [%5 + 4]; @there ld.global.nc.u32 %3, [%5 + 8];\n"                       \
                 "@even ld.global.nc.u32 %4, [%5 + 12]; @odd ld.global.nc.u16 %4, [%5 + 12];}"                         \
                 : "=&r"(words[0]), "=&r"(words[1]), "=&r"(words[2]), "=&r"(words[3]), "=&r"(words[4])                 \
                 : "l"(p + (odd ? 1 : 0)), "r"(value), "r"(static_cast<int>(odd)))
/// The words that hold the 16 bytes at p, or 0. Where p is `odd`, the upper half of a word, the
/// first and the last word are loaded by halves: no byte beside the 16 is read.
__device__ __forceinline__ void load16_of_halves_if(bool there, const std::uint16_t* p, bool odd,
                                                    std::uint32_t (&words)[5]) {
    DETREDUCE_LOAD_HALVES("setp.ne.s32 there, %6, 0;", static_cast<int>(there));
}
/// The same, if 8 halves or more are there. It compares here: of comparisons made before, ptxas of
/// CUDA 13.0 dropped that of the first load of a chunk that is not whole.
__device__ __forceinline__ void load16_of_halves_if_8(int there, const std::uint16_t* p, bool odd,
                                                      std::uint32_t (&words)[5]) {
    DETREDUCE_LOAD_HALVES("setp.gt.s32 there, %6, 7;", there);
}
#undef DETREDUCE_LOAD_HALVES

/// 16 bytes, to a multiple of 16: of four words that were put together the compiler would make four
/// stores.
__device__ __forceinline__ void store16(void* p, const std::uint32_t (&w)[4]) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(p), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
                 : "memory");
}

/// Copies 16 bytes to shared memory, where the thread finds them behind wait_for_copies():
/// meanwhile they take no registers. Copies up to end_copies() are a group.
__device__ __forceinline__ void copy16_to_shared(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
                 :
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))), "l"(from)
                 : "memory");
#else
    *static_cast<uint4*>(to) = __ldg(static_cast<const uint4*>(from));
#endif
}
__device__ __forceinline__ void end_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Waits for all of the thread's groups but the last ones.
template <int Last = 0>
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(Last) : "memory");
#endif
}

/// Has the line of 128 bytes in which p lies brought to L2.
__device__ __forceinline__ void prefetch_to_l2(const void* p) {
    asm volatile("prefetch.global.L2 [%0];" : : "l"(p));
}

} // namespace detreduce::cuda
