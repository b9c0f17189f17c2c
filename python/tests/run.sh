#!/usr/bin/env bash
# The Python package as pip builds and installs it, in a virtual environment, and its tests. Run by ctest:
#   run.sh SOURCE FOLDER PROGRAM [PACKAGE…]
# PACKAGEs (torch, jax, mpi4py, ...) are installed, too: what is not there is skipped, and said to be. FOLDER keeps the
# environment and what was compiled. The bits are compared with those of PROGRAM, the program `detreduce`.
set -euo pipefail
readonly source=$1 folder=$2 program=$3
readonly python=${PYTHON:-python3} venv=$folder/venv
skip() {
  echo "skipped: $1"
  exit 77
}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || skip "there is no Python 3.10 or newer"
"$python" -c 'import os, sysconfig; raise SystemExit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
  skip "there is no Python.h (Debian: python3-dev)"
mkdir -p "$folder"
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
if [[ ! -f $folder/made ]]; then
  rm -rf "$venv"
  "$python" -m venv "$venv" || skip "Python cannot make an environment (Debian: python3-venv)"
  pip install numpy ml_dtypes pytest hypothesis scikit-build-core nanobind || skip "PyPI cannot be reached"
  touch "$folder/made"
fi
(($# == 3)) || pip install "${@:4}"
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
DETREDUCE_CUDA=OFF CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-2} pip install --no-build-isolation --no-deps --force-reinstall \
  "-Cbuild-dir=$folder/build" "$source"
cd "$folder" # where no folder is called detreduce
export DETREDUCE_PROGRAM=$program HYPOTHESIS_STORAGE_DIRECTORY=$folder/hypothesis PYTHONDONTWRITEBYTECODE=1
"$venv/bin/python" -m pytest -q -rs -p no:cacheprovider "$source/python/tests"
