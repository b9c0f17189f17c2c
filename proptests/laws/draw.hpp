// What a launch may choose, as one draw of the conformance suite; and what a request may combine.
#pragma once

#include <vector>

#include <detreduce/types.hpp>

namespace detreduce::proptests {

/// Parameters, and where the input lies in memory.
struct Draw {
    Launch launch;
    unsigned offset = 0; ///< the input begins this many elements after a 512-byte boundary
};

/// May a result have the format `output`, as Request::output says?
inline bool gives(Method method, DType input, DType output) {
    return method == Method::exact || embeds(input, output);
}
/// Those of 8 bits have laws of their own (eight_bit_laws.cpp).
inline std::vector<DType> outputs(Method method, DType input) {
    std::vector<DType> list;
    for (const DType output : dtypes()) {
        if (gives(method, input, output) && (has_8_bits(input) || !has_8_bits(output))) list.push_back(output);
    }
    return list;
}

/// The ops that add, and those that compare and have one result.
inline std::vector<OpInfo> ops_of(Kind kind) {
    std::vector<OpInfo> list;
    for (const OpInfo& op : ops()) {
        if (op.kind == kind && op.results == 1) list.push_back(op);
    }
    return list;
}
inline std::vector<OpInfo> sum_ops() {
    return ops_of(Kind::sum);
}
inline std::vector<OpInfo> order_ops() {
    return ops_of(Kind::order);
}

} // namespace detreduce::proptests
