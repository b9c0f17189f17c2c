// Elementary functions with the same bits on every CPU and GPU: exp, expm1, log, log1p, sigmoid,
// softplus, tanh and rsqrt of float and double. Those of libm and of CUDA differ from each other
// and from release to release; these are part of lib/SPEC.md (section 14), so that a loss that is
// made of them has the guarantees of the library's own ops:
//
//     float loss = dr::transform_reduce([](float x) { return dr::math::softplus(-x); }, margins);
//
// formula      each function says its own
// dtypes       float and double. Nothing converts: math::exp(1) does not compile
// guarantee    device: made of +, −, ×, explicit fma, comparisons and bits; no libm, no intrinsics,
//              no tables
// error bound  max_ulp<T>(function), in units of the last place at the true value, also where that
//              is subnormal (math/functions.hpp). Those of float were measured over all 2^32
//              inputs, those of double over millions, with a margin: not proved. Against GNU MPFR
// order        of float, none of the functions but softplus falls where the true one rises (rsqrt:
//              rises where it falls), at any of the 2^32 inputs; softplus falls, by one unit,
//              between 9 pairs of neighbours. Of double, as far as was seen, where one falls it
//              does so by one unit
// special      as C23, Annex F; a NaN is the canonical quiet NaN. Subnormals are neither flushed on
//              input nor on output
// speed        no branch but what a compiler makes of a selection, so that loops vectorize and
//              warps do not diverge. On a CPU compile for one that has fma (-mfma,
//              -march=x86-64-v3): without it every fma is a call, and slow, with the same bits
// compiling    C++20. In round-to-nearest, without fast-math and without flushing (nvcc's
//              --ftz=true, -mdaz-ftz): config.hpp refuses what it can see.
//              The functions do not depend on contraction: there is nothing in them to contract
//              (math/parts.hpp). Code around them does: link detreduce::reproducible_fp, or pass
//              -ffp-contract=off to the C++ compiler and --fmad=false to nvcc
#pragma once

#include <detreduce/math/exp.hpp>
#include <detreduce/math/functions.hpp>
#include <detreduce/math/log.hpp>
#include <detreduce/math/rsqrt.hpp>
#include <detreduce/math/sigmoid.hpp>
