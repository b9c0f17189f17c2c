// The names of what is measured or shows beside the methods.
#pragma once

namespace detreduce::report {

inline constexpr const char *read_name = "read", *accumulate_name = "std::accumulate", *reduce_name = "std::reduce",
                            *openmp_name = "OpenMP reduction(+)", *numpy_name = "numpy.sum",
                            *cub_name = "cub::DeviceReduce::Sum";

/// All of them: names that a study's reductions cannot have.
inline constexpr const char* peer_names[] = {read_name,   accumulate_name, reduce_name,
                                             openmp_name, numpy_name,      cub_name};

} // namespace detreduce::report
