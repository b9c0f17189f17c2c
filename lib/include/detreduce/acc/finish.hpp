// An accumulator's value, rounded once to the dtype that was asked for.
#pragma once

#include <detreduce/config.hpp>
#include <detreduce/types.hpp>

namespace detreduce::acc {

template <class Acc>
DETREDUCE_HD void finish_into(void* out, DType dtype, const Acc& acc) {
    switch (dtype) {
    case DType::f16:
        *static_cast<float16*>(out) = acc.template finish<float16>();
        break;
    case DType::bf16:
        *static_cast<bfloat16*>(out) = acc.template finish<bfloat16>();
        break;
    case DType::f32:
        *static_cast<float*>(out) = acc.template finish<float>();
        break;
    case DType::f64:
        *static_cast<double*>(out) = acc.template finish<double>();
        break;
    }
}

} // namespace detreduce::acc
