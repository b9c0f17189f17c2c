// detreduce: reductions whose bits can be relied on. This header is the public API but for
// math.hpp, mpi.hpp (which needs MPI), transform_reduce.cuh (for nvcc) and the C header
// detreduce.h.
#pragma once

#include <detreduce/channel_norm.hpp>
#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/cosine_similarity.hpp>
#include <detreduce/cuda.hpp>
#include <detreduce/distillation.hpp>
#include <detreduce/exact_state.hpp>
#include <detreduce/host.hpp>
#include <detreduce/losses.hpp>
#include <detreduce/plan.hpp>
#include <detreduce/row_losses.hpp>
#include <detreduce/row_ops.hpp>
#include <detreduce/segments.hpp>
#include <detreduce/states.hpp>
#include <detreduce/status.hpp>
#include <detreduce/transform_reduce.hpp>
#include <detreduce/types.hpp>
#include <detreduce/version.hpp>
