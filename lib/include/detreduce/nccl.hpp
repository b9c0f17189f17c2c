// Reductions by all ranks of an NCCL communicator: each has some of the elements on its GPU, or
// none, and the bits are those of one GPU that has all. Header-only, over states.hpp, nccl.h and
// the CUDA runtime; CMake: find_package(detreduce COMPONENTS nccl) and link detreduce::nccl.
#pragma once

#include <detreduce/nccl/plan.hpp>
#include <detreduce/nccl/calls.hpp>
#include <detreduce/nccl/all_equal.hpp>
#include <detreduce/nccl/clip.hpp>
