#!/usr/bin/env bash
# Uses detreduce as another project would. Run by ctest:  consumer.sh CASE SOURCE BUILD WORK  (in the environment: CC, CXX, CXXFLAGS, CMAKE,
# and CUDA=ON|OFF: does BUILD have the CUDA backend?)
#   installed     the library of BUILD, installed: find_package, pkg-config, after the installed tree was moved
#   subdirectory  FetchContent in another project, CPU backend only: with a static library; then with a shared one, which that project installs, and
#                 which is used as in `installed`, without the tests of the examples. Where BUILD has CUDA, one of its kernels is compiled in that project too (all of them
#                 would take as long as everything else: `installed` links them)
# The library of `subdirectory` is a Debug build without what a debugger reads: BUILD's tests are for the optimized one, which takes three times as long
# to compile. It has one instruction set, and is compiled once: static or shared, its objects are the same (lib/CMakeLists.txt). So are its examples; those of `installed` are optimized.
set -euo pipefail
readonly case=$1 source=$2 build=$3 work=$4
cmake=${CMAKE:-cmake}
ctest=${cmake%cmake}ctest # beside it
rm -rf "$work"
mkdir -p "$work"

# Runs an example; one that found no GPU says so and is not a failure.
run() {
  local status=0
  echo "--- $1"
  "$@" || status=$?
  if [[ $status != 0 && $status != 77 ]]; then
    echo "$1 ended with $status" >&2
    exit 1
  fi
}

use_installed() { # PREFIX BUILD_TYPE [static]
  local prefix=$1 type=$2 static=${3:-} pc example
  # CMake
  "$cmake" -S "$source/examples" -B "$work/examples" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE="$type"
  grep -q "^detreduce_DIR:PATH=$prefix/" "$work/examples/CMakeCache.txt" || { echo "another detreduce was found" >&2; exit 1; }
  "$cmake" --build "$work/examples"
  for example in first ops shapes losses host_sum; do run "$work/examples/$example"; done
  # README has the first of them.
  sed -n '/^```cpp$/,/^```$/p' "$source/README.md" | sed '/^```/d' | diff - "$source/examples/first.cpp"
  "$work/examples/first" | while read -r line; do
    for page in README.md docs/start.md; do grep -qF -- "$line" "$source/$page" || { echo "$page: first.cpp prints: $line" >&2; exit 1; }; done
  done
  run "$work/examples/c_sum"
  run "$work/examples/c_cross_entropy"
  run "$work/examples/custom_loss"
  if [[ -x $work/examples/device_sum ]]; then run "$work/examples/device_sum"; fi
  if [[ -x $work/examples/custom_loss_gpu ]]; then run "$work/examples/custom_loss_gpu"; fi
  # Not of the other installation, which is not optimized.
  [[ -z $static ]] || "$ctest" --test-dir "$work/examples" --verbose --no-tests=error
  if [[ -x $work/examples/mpi_norm ]]; then
    # Leave for Open MPI to run as root and with more processes than cores; another MPI needs none.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    for example in mpi_norm mpi_loss; do
      mpiexec -n 1 "$work/examples/$example" >"$work/one_rank"
      mpiexec -n 3 "$work/examples/$example" | diff "$work/one_rank" -
    done
  else
    [[ -z $(command -v mpicxx) ]] || { echo "mpi_norm was not built" >&2; exit 1; }
    echo "skipped: mpi_norm, as there is no MPI"
  fi
  # A project in C alone, which finds no C++ compiler.
  mkdir "$work/c_only"
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES C)\nfind_package(detreduce CONFIG REQUIRED)\nadd_executable(c_only "%s")\ntarget_link_libraries(c_only PRIVATE detreduce::detreduce)\n' \
    "$source/examples/c_sum.c" >"$work/c_only/CMakeLists.txt"
  CXX=/nowhere/c++ "$cmake" -S "$work/c_only" -B "$work/c_only/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
  "$cmake" --build "$work/c_only/build"
  run "$work/c_only/build/c_only"
  # A wrong version is refused.
  mkdir "$work/version"
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(p CXX)\nfind_package(detreduce 99 CONFIG REQUIRED)\n' >"$work/version/CMakeLists.txt"
  if "$cmake" -S "$work/version" -B "$work/version/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$work/version/log" 2>&1; then
    echo "find_package(detreduce 99) was satisfied" >&2
    exit 1
  fi
  grep -q 'considered but not accepted' "$work/version/log"
  # pkg-config
  pc=$(find "$prefix" -name detreduce.pc)
  export PKG_CONFIG_PATH=${pc%/*}
  echo "pkg-config: $(pkg-config ${static:+--static} --cflags --libs detreduce)"
  # shellcheck disable=SC2046,SC2086 # several words each
  "${CXX:-c++}" ${CXXFLAGS:-} -std=c++20 -O2 "$source/examples/host_sum.cpp" -o "$work/pkg_host_sum" \
    $(pkg-config ${static:+--static} --cflags --libs detreduce)
  LD_LIBRARY_PATH=$(pkg-config --variable=libdir detreduce) run "$work/pkg_host_sum"
  # shellcheck disable=SC2046 # several words
  "${CC:-cc}" -std=c11 -Wall -Wextra -pedantic -Werror -O2 "$source/examples/c_sum.c" -o "$work/pkg_c_sum" \
    $(pkg-config ${static:+--static} --cflags --libs detreduce)
  LD_LIBRARY_PATH=$(pkg-config --variable=libdir detreduce) run "$work/pkg_c_sum"
}

# Those of one installation are those of the other.
check_headers() { # PREFIX
  local prefix=$1
  # Every public header compiles by itself, and without CUDA's headers.
  local header standard
  for header in "$prefix"/include/detreduce/{,acc/,fp/,math/,spec/}*.hpp; do
    [[ ! ${header##*/} =~ ^(mpi|mpi_cuda|nccl|ranks_cuda|cuda_scope)\.hpp$ ]] || continue # which need others': mpi_norm and the tests of MPI and NCCL include them
    printf '#include <%s>\n' "${header#"$prefix"/include/}" >"$work/header.cpp"
    "${CXX:-c++}" -std=c++20 -Wall -Wextra -Werror -fsyntax-only "-I$prefix/include" "$work/header.cpp"
  done
  # The C headers are C, old and new, and C++, old and new; so is each of their parts by itself.
  for header in "$prefix"/include/detreduce/c/*.h; do
    printf '#include <%s>\n' "${header#"$prefix"/include/}" >"$work/header.c"
    "${CC:-cc}" -std=c99 -Wall -Wextra -pedantic -Werror -fsyntax-only "-I$prefix/include" "$work/header.c"
    "${CXX:-c++}" -std=c++11 -Wall -Wextra -pedantic -Werror -fsyntax-only "-I$prefix/include" -x c++ "$work/header.c"
  done
  printf '#include <%s>\n' detreduce/losses.h detreduce/detreduce.h >"$work/header.c"
  printf 'detreduce_row_request r = DETREDUCE_ROW_REQUEST_INIT;\n' >>"$work/header.c"
  printf 'detreduce_loss_inputs use(void) { detreduce_loss_inputs in = DETREDUCE_LOSS_INPUTS_INIT; return in; }\n' >>"$work/header.c"
  for standard in c99 c11 c17; do
    "${CC:-cc}" -std=$standard -Wall -Wextra -pedantic -Werror -fsyntax-only "-I$prefix/include" "$work/header.c"
  done
  for standard in c++11 c++20; do
    "${CXX:-c++}" -std=$standard -Wall -Wextra -pedantic -Werror -fsyntax-only "-I$prefix/include" -x c++ "$work/header.c"
  done
}

case $case in
  installed)
    "$cmake" --install "$build" --prefix "$work/first"
    mv "$work/first" "$work/moved"
    if grep -rn --include='*.cmake' --include='*.pc' -e "$work/first" -e "$source" -e "$build" "$work/moved"; then
      echo "the installed package names folders of the build" >&2
      exit 1
    fi
    use_installed "$work/moved" Release static
    [[ $CUDA == OFF || -x $work/examples/device_sum ]] || { echo "device_sum was not built" >&2; exit 1; }
    [[ $CUDA == OFF || -x $work/examples/custom_loss_gpu ]] || { echo "custom_loss_gpu was not built" >&2; exit 1; }
    [[ $CUDA == OFF || -x $work/examples/training_gpu ]] || { echo "training_gpu was not built" >&2; exit 1; }
    ;;
  subdirectory)
    project() { # FOLDER ON|OFF CMAKE_ARG…
      local to=$1 cuda=$2
      shift 2
      "$cmake" -S "$source/cmake/tests/subdirectory" -B "$to" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DDETREDUCE_SOURCE="$source" \
        -DDETREDUCE_BASELINE_ONLY=ON -DDETREDUCE_CUDA="$cuda" "$@"
    }
    project "$work/all" OFF -DDETREDUCE_BASELINE_ONLY=OFF # all instruction sets: configured
    project "$work/build" OFF
    "$cmake" --build "$work/build"
    run "$work/build/host_sum"
    run "$work/build/c_sum"
    run "$work/build/custom_loss"
    "$source/examples/training/same_curve.sh" "$work/build/training"
    project "$work/build" OFF -DBUILD_SHARED_LIBS=ON -DDETREDUCE_INSTALL=ON -DASKED_FOR=INSTALL
    "$cmake" --build "$work/build" | tee "$work/shared.log"
    if grep -q 'Building CXX object .*detreduce.dir' "$work/shared.log"; then
      echo "the library was compiled twice" >&2
      exit 1
    fi
    "$cmake" --install "$work/build" --prefix "$work/first"
    mv "$work/first" "$work/moved"
    library=$(find "$work/moved" -name libdetreduce.so)
    if nm -D "$library" | grep -E 'GOMP|omp_'; then
      echo "the library needs OpenMP" >&2
      exit 1
    fi
    "${CC:-cc}" -std=c11 -Wall -Wextra -Werror "-I$work/moved/include" "$source/cmake/tests/unload.c" -o "$work/unload" -pthread -ldl
    DETREDUCE_NUM_THREADS=4 "$work/unload" "$library"
    use_installed "$work/moved" Debug
    check_headers "$work/moved"
    if [[ $CUDA == ON ]]; then
      project "$work/cuda" ON
      kernel=$(ninja -C "$work/cuda" -t targets all | sed -n 's#^\([^ ]*segments\(/segments\|_rest\)\.cu\.o\):.*#\1#p') # _rest: of joined sources
      ninja -C "$work/cuda" "${kernel:?no kernel is compiled in a project with CUDA}"
    fi
    ;;
  *)
    echo "no case '$case'" >&2
    exit 2
    ;;
esac
