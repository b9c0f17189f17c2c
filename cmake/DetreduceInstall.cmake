# Install rules: the library, its headers, a CMake package (find_package(detreduce CONFIG) gives
# detreduce::detreduce) and a pkg-config file. What is installed can be moved as a whole.
include(CMakePackageConfigHelpers)

set(_detreduce_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/detreduce")
get_target_property(_detreduce_type detreduce TYPE)
if(_detreduce_type STREQUAL "STATIC_LIBRARY")
  set(_detreduce_is_static ON)
else()
  set(_detreduce_is_static OFF)
endif()

install(TARGETS detreduce detreduce_fp EXPORT detreduceTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT dev
        RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/lib/include/detreduce" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh" PATTERN "*.h")
install(FILES "${PROJECT_BINARY_DIR}/include/detreduce/version.hpp" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/detreduce" COMPONENT dev)
if(DETREDUCE_HAVE_CUDA) # for transform_reduce.cuh
  install(DIRECTORY "${PROJECT_BINARY_DIR}/include/detreduce/kernels" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/detreduce" COMPONENT dev)
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/lib/SPEC.md"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT dev)

# What a C compiler does not link by itself.
set(_detreduce_runtimes "")
foreach(_runtime IN ITEMS stdc++ c++ m)
  if(_runtime IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
    list(APPEND _detreduce_runtimes ${_runtime})
  endif()
endforeach()
list(JOIN _detreduce_runtimes " " _detreduce_runtimes)

# The CMake package.
install(EXPORT detreduceTargets NAMESPACE detreduce:: DESTINATION "${_detreduce_cmake_dir}" COMPONENT dev)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/detreduceConfig.cmake.in" "${PROJECT_BINARY_DIR}/detreduceConfig.cmake"
                              INSTALL_DESTINATION "${_detreduce_cmake_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/detreduceConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/detreduceConfig.cmake" "${PROJECT_BINARY_DIR}/detreduceConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/DetreduceCudaToolkit.cmake" "${PROJECT_SOURCE_DIR}/cmake/DetreduceNccl.cmake"
        DESTINATION "${_detreduce_cmake_dir}" COMPONENT dev)

# pkg-config. What a static library needs at link time is in Libs.private (pkg-config --static); a
# shared one brings its own. Paths follow from the place of the file itself.
file(RELATIVE_PATH _detreduce_up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" _detreduce_up "${_detreduce_up}")
set(DETREDUCE_PC_PREFIX "\${pcfiledir}/${_detreduce_up}")
foreach(_dir IN ITEMS LIB INCLUDE)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${_dir}DIR}")
    set(DETREDUCE_PC_${_dir}DIR "${CMAKE_INSTALL_${_dir}DIR}")
    set(DETREDUCE_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
  else()
    set(DETREDUCE_PC_${_dir}DIR "\${prefix}/${CMAKE_INSTALL_${_dir}DIR}")
  endif()
endforeach()
set(DETREDUCE_PC_LIBS_PRIVATE "")
if(_detreduce_is_static)
  set(DETREDUCE_PC_LIBS_PRIVATE "-pthread")
  string(REGEX REPLACE "([^ ]+)" "-l\\1" _runtime_flags "${_detreduce_runtimes}")
  string(APPEND DETREDUCE_PC_LIBS_PRIVATE " ${_runtime_flags}")
  if(DETREDUCE_HAVE_CUDA)
    foreach(_dir IN LISTS CUDAToolkit_LIBRARY_DIR)
      string(APPEND DETREDUCE_PC_LIBS_PRIVATE " -L${_dir}")
    endforeach()
    string(APPEND DETREDUCE_PC_LIBS_PRIVATE " -lcudart_static -ldl -lrt")
  endif()
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/detreduce.pc.in" "${PROJECT_BINARY_DIR}/detreduce.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/detreduce.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)
