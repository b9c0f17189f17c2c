# detreduce_find_nccl(): target detreduce_nccl_library with NCCL's header and library, if both are
# there; else DETREDUCE_NCCL_FOUND is false. NCCL has no package of its own that CMake could find.
# Installed beside detreduceConfig.cmake. Hints: NCCL_ROOT, or DETREDUCE_NCCL_INCLUDE_DIR and
# DETREDUCE_NCCL_LIBRARY.
macro(detreduce_find_nccl)
  find_path(DETREDUCE_NCCL_INCLUDE_DIR nccl.h HINTS "${NCCL_ROOT}" ENV NCCL_ROOT PATHS /usr/local/cuda PATH_SUFFIXES include)
  find_library(DETREDUCE_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS "${NCCL_ROOT}" ENV NCCL_ROOT PATHS /usr/local/cuda PATH_SUFFIXES lib lib64)
  mark_as_advanced(DETREDUCE_NCCL_INCLUDE_DIR DETREDUCE_NCCL_LIBRARY)
  set(DETREDUCE_NCCL_FOUND OFF)
  if(DETREDUCE_NCCL_INCLUDE_DIR AND DETREDUCE_NCCL_LIBRARY)
    set(DETREDUCE_NCCL_FOUND ON)
    if(NOT TARGET detreduce_nccl_library)
      add_library(detreduce_nccl_library INTERFACE IMPORTED GLOBAL)
      target_include_directories(detreduce_nccl_library INTERFACE "${DETREDUCE_NCCL_INCLUDE_DIR}")
      target_link_libraries(detreduce_nccl_library INTERFACE "${DETREDUCE_NCCL_LIBRARY}")
    endif()
  endif()
endmacro()
