# DETREDUCE_HAVE_MPI: whether there is an MPI for detreduce/mpi.hpp and its tests, as DETREDUCE_MPI
# asks.
set(DETREDUCE_HAVE_MPI OFF)
if(NOT DETREDUCE_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX ON) # the C++ bindings that MPI had once
  set(_detreduce_finds_mpi ON)
  if(TARGET MPI::MPI_CXX)
    set(_detreduce_finds_mpi OFF)
  endif()
  if(DETREDUCE_MPI STREQUAL "ON")
    find_package(MPI REQUIRED COMPONENTS CXX)
  else()
    find_package(MPI QUIET COMPONENTS CXX)
  endif()
  set(DETREDUCE_HAVE_MPI ${MPI_CXX_FOUND})
  if(DETREDUCE_HAVE_MPI AND _detreduce_finds_mpi)
    set_target_properties(MPI::MPI_CXX PROPERTIES IMPORTED_GLOBAL ON) # for the project that this one is a part of
  endif()
endif()

# For tests: Open MPI's leave to run as root and with more processes than cores; another MPI needs
# none. Its processes wait by asking again and again: let them rest.
set(DETREDUCE_MPI_ENVIRONMENT
  "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_mpi_yield_when_idle=1;OMPI_MCA_btl_vader_single_copy_mechanism=none")
