# The sources of the CUDA backend, for the target ${detreduce_kernels}: those in
# ${detreduce_kernels_dir}, and some for each dtype.
target_sources(${detreduce_kernels} PRIVATE
  ${detreduce_kernels_dir}/backend.cpp
  ${detreduce_kernels_dir}/dispatch.cpp
  ${detreduce_kernels_dir}/devices.cpp
  ${detreduce_kernels_dir}/route.cpp
  ${detreduce_kernels_dir}/multiset/count/unique_16.cu
  ${detreduce_kernels_dir}/multiset/count/unique_groups.cu
  ${detreduce_kernels_dir}/multiset/exact/exact_finish.cu
  ${detreduce_kernels_dir}/multiset/exact/exact_tensors.cu
  ${detreduce_kernels_dir}/sequence/upper.cu
  ${detreduce_kernels_dir}/losses/losses.cpp
  ${detreduce_kernels_dir}/multiset/join.cu
  ${detreduce_kernels_dir}/multiset/states.cu
  ${detreduce_kernels_dir}/row_ops/each.cu
  ${detreduce_kernels_dir}/row_ops/row_ops.cpp
  ${detreduce_kernels_dir}/segments/segments.cu
  ${detreduce_kernels_dir}/tensors/clip.cu
  ${detreduce_kernels_dir}/tensors/fingerprint.cu
  ${detreduce_kernels_dir}/tensors/upload.cu
  ${detreduce_kernels_dir}/f8/bytes.cu
  ${detreduce_kernels_dir}/f8/widen.cu)

# f16=float16 and so on: the dtypes that have kernels (those of 8 bits are f8/'s), and the C++ type
# of each.
set(detreduce_format "${PROJECT_SOURCE_DIR}/lib/include/detreduce/fp/format.hpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${detreduce_format}")
file(READ "${detreduce_format}" detreduce_dtypes)
string(REGEX REPLACE ".*#define DETREDUCE_FORMATS_FROM_16_BITS([^#]*).*" "\\1" detreduce_dtypes "${detreduce_dtypes}")
string(REGEX MATCHALL "\n +X\\([^)]+\\)" detreduce_dtypes "${detreduce_dtypes}")
list(TRANSFORM detreduce_dtypes REPLACE "\n +X\\(([^,]+), [^,]+, ([^)]+)\\)" "\\1=\\2")

# A source for each dtype: detreduce_dtype_sources(<header>… <function template>… [ONLY <dtype>…])
# instantiates the functions, which the headers define.
function(detreduce_dtype_sources)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "ONLY")
  set(includes "")
  set(functions ${arg_UNPARSED_ARGUMENTS})
  list(FILTER functions EXCLUDE REGEX "\\.cuh$")
  foreach(header IN LISTS arg_UNPARSED_ARGUMENTS)
    if(header MATCHES "\\.cuh$")
      string(APPEND includes "#include \"${header}\"\n")
    endif()
  endforeach()
  string(REGEX REPLACE "\\.cuh.*" "" stem "${arg_UNPARSED_ARGUMENTS}") # of the first header
  string(REGEX REPLACE "^((.*/)?)([^/]+)/launch" "\\1\\3/\\3" stem "${stem}")
  foreach(dtype_and_type IN LISTS detreduce_dtypes)
    string(REGEX REPLACE "=.*" "" dtype "${dtype_and_type}")
    string(REGEX REPLACE ".*=" "" type "${dtype_and_type}")
    if(arg_ONLY AND NOT dtype IN_LIST arg_ONLY)
      continue()
    endif()
    set(text "${includes}\nnamespace detreduce::cuda {\n")
    foreach(function IN LISTS functions)
      string(APPEND text "template decltype(${function}<${type}>) ${function}<${type}>;\n")
    endforeach()
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${stem}_${dtype}.cu")
    file(CONFIGURE OUTPUT "${source}" CONTENT "${text}}\n" @ONLY) # touches what has changed alone
    target_sources(${detreduce_kernels} PRIVATE "${source}")
  endforeach()
endfunction()

detreduce_dtype_sources(multiset/count/unique.cuh launch_count_unique sort_bytes ONLY f32 f64)
detreduce_dtype_sources(multiset/exact/launch_groups.cuh launch_exact_groups find_exact_list)
detreduce_dtype_sources(multiset/exact/launch_small.cuh launch_exact_small)
detreduce_dtype_sources(multiset/exact/launch_sum.cuh launch_exact launch_exact_add)
detreduce_dtype_sources(multiset/exact/launch_terms.cuh launch_exact_terms)
detreduce_dtype_sources(sequence/launch_flat.cuh launch_flat)
detreduce_dtype_sources(sequence/launch_sums.cuh launch_groups)
detreduce_dtype_sources(losses/launch.cuh launch_loss launch_loss_gradient)
detreduce_dtype_sources(sequence/moments/launch.cuh launch_moments)
detreduce_dtype_sources(multiset/launch.cuh launch_multiset multiset::look_at_list)
detreduce_dtype_sources(sequence/product/launch.cuh launch_product)
detreduce_dtype_sources(row_ops/launch.cuh launch_rows)
detreduce_dtype_sources(row_ops/grad_launch.cuh launch_row_grads)
detreduce_dtype_sources(row_ops/scale_gradient.cuh launch_scale_gradient)
