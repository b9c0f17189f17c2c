// Macros shared by host and device code. Everything in spec/, fp/, acc/ and ops/ compiles for both
// from one source.
#pragma once

#if __cplusplus <= 201703L // GCC 10 calls its C++20 201709L
#error "detreduce: needs C++20; compile with -std=c++20 or later"
#endif

// Always inlined: the CPU backend compiles them once for every instruction set, and no out-of-line
// copy made for AVX-512 may end up being the one that the linker keeps for everybody.
#if defined(__CUDACC__)
#define DETREDUCE_HD __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define DETREDUCE_HD inline __attribute__((always_inline))
#else
#define DETREDUCE_HD inline
#endif

// Before a loop: how many copies of its body the GPU's compiler makes. Where a loop is seldom run,
// or waits for itself anyway, one is enough; left to itself it makes one an iteration.
#if defined(__CUDA_ARCH__)
#define DETREDUCE_PRAGMA(text) _Pragma(#text)
#define DETREDUCE_UNROLL(copies) DETREDUCE_PRAGMA(unroll copies)
#else
#define DETREDUCE_UNROLL(copies)
#endif

// The bits promised by SPEC.md need IEEE semantics. CMake refuses fast-math for our own targets;
// this line refuses it for whoever compiles these headers in another build.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) ||                               \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error                                                                                                                 \
    "detreduce: fast-math changes the bits that lib/SPEC.md promises; compile without it (no -ffast-math, -Ofast, -ffinite-math-only)"
#endif
