// Reductions by all processes of an MPI communicator: each has some of the elements, or none, and
// the bits are those of one process that has all. Header-only, over states.hpp and mpi.h; CMake:
// find_package(detreduce COMPONENTS mpi) and link detreduce::mpi. Where elements are on GPUs,
// include mpi_cuda.hpp.
#pragma once

#include <detreduce/mpi/plan.hpp>
#include <detreduce/mpi/calls.hpp>
#include <detreduce/mpi/all_equal.hpp>
#include <detreduce/mpi/clip.hpp>
