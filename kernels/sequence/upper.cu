#include "sequence/upper.cuh"

#include <detreduce/acc/product.hpp>

#include "sequence/moments/tile.cuh"

namespace detreduce::cuda {

template Status reduce_upper_levels<acc::Rounded<float>, 4>(const SequenceLaunch<acc::Rounded<float>>&);
template Status reduce_upper_levels<acc::Rounded<double>, 4>(const SequenceLaunch<acc::Rounded<double>>&);

#define DETREDUCE_UPPER_LEVELS(...)                                                                                    \
    template Status reduce_upper_levels<__VA_ARGS__, block_warps>(const SequenceLaunch<__VA_ARGS__>&);                 \
    template Status reduce_large_groups(const SequenceLaunch<__VA_ARGS__>&, const WorkTable&, __VA_ARGS__*);
#define DETREDUCE_UPPER_LEVELS_OF(method, Acc) DETREDUCE_UPPER_LEVELS(Acc<float>) DETREDUCE_UPPER_LEVELS(Acc<double>)
DETREDUCE_ACCUMULATORS(DETREDUCE_UPPER_LEVELS_OF)
DETREDUCE_UPPER_LEVELS(acc::Product<float, false>)
DETREDUCE_UPPER_LEVELS(acc::Product<double, false>)
DETREDUCE_UPPER_LEVELS(acc::Product<float, true>)
DETREDUCE_UPPER_LEVELS(acc::Product<double, true>)
DETREDUCE_UPPER_LEVELS(acc::Moments<float>)
DETREDUCE_UPPER_LEVELS(acc::Moments<double>)

} // namespace detreduce::cuda
