# find_package(CUDAToolkit), past a mistake in CMake 3.25.1 (Debian 12): where the toolkit has no
# nvToolsExt (CUDA 12.9 and later) and the project asks for CMake 3.25, that version's own module
# stops with an error. Installed beside detreduceConfig.cmake.
macro(detreduce_find_cuda_toolkit)
  set(_detreduce_minimum "${CMAKE_MINIMUM_REQUIRED_VERSION}")
  if(CMAKE_VERSION VERSION_LESS 3.26 AND NOT CMAKE_MINIMUM_REQUIRED_VERSION VERSION_LESS 3.25)
    set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
  endif()
  find_package(CUDAToolkit ${ARGN})
  set(CMAKE_MINIMUM_REQUIRED_VERSION "${_detreduce_minimum}")
endmacro()
