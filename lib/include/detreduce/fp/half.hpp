// The 16-bit formats as storage: two bytes with the layout of IEEE 754 binary16 and of bfloat16, so also of CUDA's __half and
// __nv_bfloat16. Arithmetic is done in float, to which both convert exactly (fp/convert.hpp).
#pragma once

#include <cstdint>

namespace detreduce {

/// IEEE 754 binary16.
struct float16 {
    std::uint16_t bits;
};

/// The upper half of a binary32.
struct bfloat16 {
    std::uint16_t bits;
};

} // namespace detreduce
