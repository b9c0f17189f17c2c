# Headers that take seconds to read, read once a target instead of once a source. Sources include what they need all the same: the presets asan and
# tidy compile without (CMAKE_DISABLE_PRECOMPILE_HEADERS), and consumers of the library never see this.

# detreduce_precompile(TARGET <header>… | TARGET REUSE OTHER), where OTHER has the same flags. A source with an -O or -fopenmp that the rest have not must
# have SKIP_PRECOMPILE_HEADERS: GCC 12 does without them for -fopenmp, and crashes for -O.
function(detreduce_precompile target)
  if(ARGV1 STREQUAL "REUSE")
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # without it ccache keeps nothing that was compiled so
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endfunction()
