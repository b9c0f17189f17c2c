// What a launch may choose, as one draw of the conformance suite.
#pragma once

#include <detreduce/types.hpp>

namespace detreduce::proptests {

/// Parameters, and where the input lies in memory.
struct Draw {
    Launch launch;
    unsigned offset = 0; ///< the input begins this many elements after a 512-byte boundary
};

} // namespace detreduce::proptests
