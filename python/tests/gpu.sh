#!/usr/bin/env bash
# The tests of the Python package on a GPU, with a library that was built on another machine:
#   gpu.sh pack LIBRARY INCLUDE DIR   where LIBRARY, a static libdetreduce.a with CUDA, is, and INCLUDE, the folder of its version.hpp
#                                     (build/include): collects in DIR what `run` needs
#   gpu.sh run DIR [ARG…]             where the GPU is: compiles the extension, runs all tests; ARG goes to pytest
# `run` needs g++ and a Python with nanobind, numpy, pytest, hypothesis and torch; what else there is of CuPy, JAX and mpi4py is
# tested as well.
set -euo pipefail
readonly here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly source=$(cd "$here/../.." && pwd)

pack() {
  local library=$1 include=$2 dir=$3 cuda
  cuda=$(dirname "$(dirname "$(realpath "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")")")
  rm -rf "${dir:?}"
  mkdir -p "$dir/include/detreduce"
  cp "$include/detreduce/version.hpp" "$dir/include/detreduce/"
  g++ -shared -s -Wl,-soname,libdetreduce.so -o "$dir/libdetreduce.so" -Wl,--whole-archive "$library" -Wl,--no-whole-archive \
    -L"$cuda/lib64" -lcudart_static -Wl,--exclude-libs,libcudart_static.a -lpthread -ldl -lrt
  du -sh "$dir" | awk '{ print "==> packed " $1 " in " $2 }'
}

run() {
  local dir suffix work nanobind
  dir=$(realpath "$1")
  shift
  work=$(mktemp -d)
  trap "rm -rf '$work'" EXIT
  mkdir "$work/site"
  cp -r "$source/python/detreduce" "$work/site/"
  cp "$dir/libdetreduce.so" "$work/site/detreduce/"
  nanobind=$(python3 -c 'import nanobind, os; print(os.path.dirname(nanobind.__file__))')
  suffix=$(python3 -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
  local flags=(-std=c++20 -O2 -fPIC -fvisibility=hidden -ffp-contract=off -fno-strict-aliasing -DNDEBUG
    -I"$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')" -I"$nanobind/include" -I"$nanobind/ext/robin_map/include"
    -I"$source/lib/include" -I"$dir/include")
  g++ "${flags[@]}" -c "$nanobind/src/nb_combined.cpp" -o "$work/nanobind.o" &
  g++ "${flags[@]}" -c "$source/python/src/core.cpp" -o "$work/core.o"
  wait $!
  # shellcheck disable=SC2016
  g++ -shared -o "$work/site/detreduce/_core$suffix" "$work/core.o" "$work/nanobind.o" "$work/site/detreduce/libdetreduce.so" \
    -Wl,-rpath,'$ORIGIN' -Wl,--exclude-libs,ALL
  cd "$work" # where no folder is called detreduce
  export PYTHONPATH=$work/site PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY=$work/hypothesis XLA_PYTHON_CLIENT_PREALLOCATE=false
  python3 -m pytest -q -rs -p no:cacheprovider "$source/python/tests" "$@"
}

case ${1:-} in
  pack | run) "$@" ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
