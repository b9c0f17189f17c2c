# Headers that take seconds to read, read once a target instead of once a source. Sources include
# what they need all the same: the presets asan and tidy compile without
# (CMAKE_DISABLE_PRECOMPILE_HEADERS), and consumers of the library never see this.

# GCC looks for garbage in its memory from 128 MiB on, which takes 4 to 7 % of its time. A source
# takes up to 1 GiB without.
if(DETREDUCE_QUICK)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=2097152>)
endif()

# detreduce_precompile(TARGET <header>… | TARGET REUSE OTHER), where OTHER has the same flags. A
# source with an -O that the rest have not must have SKIP_PRECOMPILE_HEADERS: GCC 12 crashes.
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

# detreduce_together(TARGET <source>…): sources of TARGET that are one source to the compiler. They
# draw the same headers and make the same templates; each alone takes seconds for these. No name
# that one of them keeps to itself may be a word of another. A source that is in no such list is
# compiled alone. clang-tidy would take all but the last for headers.
function(detreduce_together target first)
  if(CMAKE_CXX_CLANG_TIDY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  cmake_path(GET first STEM group)
  set(sources ${first} ${ARGN})
  list(TRANSFORM sources PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  set_source_files_properties(${sources} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
endfunction()

# detreduce_join_cuda_sources(TARGET [ALL]): where nothing but PTX is asked for
# (CUDAARCHS=90-virtual, as CI does), what the CUDA sources of all dtypes but f64 of a folder share
# is compiled once. ALL: the others of a folder are one source, too, which goes all the way: what
# ptxas alone can refuse is seen there, which is inline assembly, and too much shared memory or too
# many registers, of which double has the most. Elsewhere a source for each keeps many processors
# busy.
function(detreduce_join_cuda_sources target)
  if(NOT CMAKE_CUDA_ARCHITECTURES MATCHES "^([0-9]+)-virtual$")
    return()
  endif()
  set(all_the_way "--generate-code=arch=compute_${CMAKE_MATCH_1},code=sm_${CMAKE_MATCH_1}")
  get_target_property(sources ${target} SOURCES)
  set(kept "")
  set(joined "")
  foreach(source IN LISTS sources)
    if(source MATCHES "_b?f[0-9][0-9a-z]*\\.cu$" AND NOT source MATCHES "_f64\\.cu$")
      set(kind narrow)
    elseif(source MATCHES "\\.cu$" AND ARGV1 STREQUAL "ALL")
      set(kind rest)
    else()
      list(APPEND kept "${source}")
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    list(APPEND joined ${folder}_${kind})
    string(APPEND text_${folder}_${kind} "#include \"${source}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES joined)
  foreach(name IN LISTS joined)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/joined/${target}_${name}.cu")
    file(CONFIGURE OUTPUT "${file}" CONTENT "${text_${name}}" @ONLY)
    list(APPEND kept "${file}")
    if(name MATCHES "_rest$")
      set_source_files_properties("${file}" TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS "${all_the_way}")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${kept}")
endfunction()
