# Floating-point semantics, once, as the target `detreduce_fp`, and the guard that refuses to
# configure when a flag that changes results reaches our targets. lib/SPEC.md promises bits; these
# flags are part of keeping the promise. A user's function in transform_reduce() needs them too, so
# they are installed, as detreduce::reproducible_fp.
add_library(detreduce_fp INTERFACE)
add_library(detreduce::reproducible_fp ALIAS detreduce_fp)
set_target_properties(detreduce_fp PROPERTIES EXPORT_NAME reproducible_fp)
target_compile_options(detreduce_fp INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false --ftz=false --prec-div=true --prec-sqrt=true -Xcompiler=-ffp-contract=off>)

# Each pattern is a flag that lets a compiler change a result.
set(_detreduce_forbidden
  -ffast-math -Ofast -funsafe-math-optimizations -fassociative-math -freciprocal-math -ffinite-math-only -fno-signed-zeros
  -fno-honor-nans -fno-honor-infinities -ffp-contract=fast -ffp-model=fast -ffp-model=aggressive -mdaz-ftz -fdenormal-fp-math
  -use_fast_math --use_fast_math -ftz=true --ftz=true -fmad=true --fmad=true -prec-div=false --prec-div=false
  -prec-sqrt=false --prec-sqrt=false /fp:fast -fp-model=fast)

function(detreduce_refuse_fast_math where)
  string(REPLACE "," ";" words "${ARGN}")       # -Xcompiler=-a,-b
  string(REGEX REPLACE "[ \t=:>\"']+(-|/)" ";\\1" words "${words}") # several in one string, generator expressions
  foreach(word IN LISTS words)
    string(REGEX REPLACE "[>\"' ]+$" "" word "${word}")
    if(word IN_LIST _detreduce_forbidden OR word MATCHES "^-fdenormal-fp-math=[^i]")
      message(FATAL_ERROR "detreduce: the flag '${word}' (from ${where}) lets the compiler change results, and detreduce promises "
                          "the bits of its results (lib/SPEC.md). Remove it for this project; to use it elsewhere, set it on your "
                          "own targets only.")
    endif()
  endforeach()
endfunction()

# Flags that are known before any target exists.
foreach(_lang IN ITEMS CXX CUDA)
  foreach(_suffix IN ITEMS "" _DEBUG _RELEASE _RELWITHDEBINFO _MINSIZEREL)
    detreduce_refuse_fast_math("CMAKE_${_lang}_FLAGS${_suffix}" "${CMAKE_${_lang}_FLAGS${_suffix}}")
  endforeach()
endforeach()
# At link time -ffast-math makes GCC set flush-to-zero for the whole process.
foreach(_kind IN ITEMS EXE SHARED MODULE)
  detreduce_refuse_fast_math("CMAKE_${_kind}_LINKER_FLAGS" "${CMAKE_${_kind}_LINKER_FLAGS}")
endforeach()
foreach(_variable IN ITEMS NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS) # nvcc reads these by itself
  detreduce_refuse_fast_math("${_variable}" "$ENV{${_variable}}")
endforeach()
get_directory_property(_options COMPILE_OPTIONS)
detreduce_refuse_fast_math("add_compile_options" "${_options}")

# What the compiler really does, for flags that hide in a wrapper or a specs file.
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("
  #if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
  #error fast-math
  #endif
  int main() {}" DETREDUCE_COMPILER_IS_IEEE)
if(NOT DETREDUCE_COMPILER_IS_IEEE)
  message(FATAL_ERROR "detreduce: ${CMAKE_CXX_COMPILER} compiles with fast-math switched on (__FAST_MATH__ is defined), and detreduce "
                      "promises the bits of its results (lib/SPEC.md). Remove -ffast-math, -Ofast and the like.")
endif()

# Options of `target` and, through all links, of what it links. `ours` is the target of ours that
# the walk began at.
function(_detreduce_check_target target ours)
  get_property(seen GLOBAL PROPERTY _detreduce_checked)
  if(target IN_LIST seen)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY _detreduce_checked ${target})
  get_property(all_of_ours GLOBAL PROPERTY DETREDUCE_TARGETS)
  set(where "target ${target}")
  set(properties INTERFACE_COMPILE_OPTIONS INTERFACE_LINK_OPTIONS)
  set(link_properties INTERFACE_LINK_LIBRARIES)
  if(target IN_LIST all_of_ours)
    list(APPEND properties COMPILE_OPTIONS LINK_OPTIONS)
    list(APPEND link_properties LINK_LIBRARIES)
  else()
    string(APPEND where ", which ${ours} links")
  endif()
  foreach(property IN LISTS properties)
    get_target_property(options ${target} ${property})
    if(options)
      detreduce_refuse_fast_math("${where}" "${options}")
    endif()
  endforeach()
  foreach(property IN LISTS link_properties)
    get_target_property(libraries ${target} ${property})
    foreach(library IN LISTS libraries)
      string(REGEX REPLACE "^\\$<(LINK_ONLY|BUILD_INTERFACE):(.*)>$" "\\2" library "${library}")
      if(TARGET "${library}")
        _detreduce_check_target(${library} ${ours})
      endif()
    endforeach()
  endforeach()
endfunction()

# Called last: options of our targets and of what they link.
function(detreduce_refuse_fast_math_in_targets)
  set_property(GLOBAL PROPERTY _detreduce_checked "")
  get_property(targets GLOBAL PROPERTY DETREDUCE_TARGETS)
  foreach(target IN LISTS targets)
    _detreduce_check_target(${target} ${target})
  endforeach()
endfunction()

# Every target of ours: IEEE flags, warnings, and a place on the guard's list.
function(detreduce_target target)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:detreduce_fp>)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow $<$<BOOL:${DETREDUCE_WERROR}>:-Werror>>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra $<$<BOOL:${DETREDUCE_WERROR}>:-Werror=all-warnings>>)
  set_property(GLOBAL APPEND PROPERTY DETREDUCE_TARGETS ${target})
endfunction()
