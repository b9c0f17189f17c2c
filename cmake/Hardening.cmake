# Flags that make a mistake in memory an end of the program instead of an opening: for the library
# and for programs. They change no result.
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

set(_detreduce_hardening -fstack-protector-strong)
# Not where there is no optimization, which it needs; nor under sanitizers, which see more without;
# nor where somebody has chosen another.
if(NOT "${CMAKE_CXX_FLAGS} $ENV{CXXFLAGS}" MATCHES "-fsanitize|_FORTIFY_SOURCE")
  list(APPEND _detreduce_hardening $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=2>)
endif()

function(detreduce_harden target)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${_detreduce_hardening}>")
  get_target_property(type ${target} TYPE)
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND type MATCHES "EXECUTABLE|SHARED_LIBRARY")
    target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now,-z,noexecstack)
  endif()
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
endfunction()
