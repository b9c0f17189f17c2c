// What dispatch.cpp calls: one function an element type.
#pragma once

#include <cstdint>

#include <detreduce/plan.hpp>

namespace detreduce::cuda {

struct FlatTuning {
    std::uint32_t fine_tiles; ///< tiles at the end that are dealt one a team
    std::uint32_t sms;
};

template <class T>
[[nodiscard]] Status launch_flat(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                                 const FlatTuning& tuned);

extern template Status launch_flat<float>(const Plan&, const void*, void*, void*, Stream, const FlatTuning&);
extern template Status launch_flat<double>(const Plan&, const void*, void*, void*, Stream, const FlatTuning&);

} // namespace detreduce::cuda
