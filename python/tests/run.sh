#!/usr/bin/env bash
# The Python package as pip builds and installs it, in a virtual environment, and its tests. Run by ctest:
#   run.sh SOURCE FOLDER PROGRAM [packages]   with `packages` it makes the environment, and no more
# DETREDUCE_PYTHON_PACKAGES names packages to install from PyPI, too ("torch dask[array] mpi4py", as .ci/run does); where it is
# not set, those of the machine are used. What is not there is skipped, and FOLDER/skipped says what and why; ./dev test prints
# it. FOLDER keeps the environment and what was compiled. DETREDUCE_PREBUILT may name a static library detreduce that was built
# from these sources; then the extension alone is compiled. The bits are compared with those of PROGRAM, the program `detreduce`.
set -euo pipefail
readonly source=$1 folder=$2 program=$3
readonly python=${PYTHON:-python3} venv=$folder/venv
mkdir -p "$folder"
exec 9>"$folder/lock" # .ci/run makes the environment beforehand
flock 9
: >"$folder/skipped"
without() { echo "$1" | tee -a "$folder/skipped"; }
skip() {
  without "the Python package: $1"
  exit 77
}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || skip "there is no Python 3.10 or newer"
"$python" -c 'import os, sysconfig; raise SystemExit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
  skip "there is no Python.h (Debian: python3-dev)"
# What is imported is compiled once, and not beside the sources. The tests start dozens of processes.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$folder/bytecode
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
# By uv, which takes a third of pip's time, where the environment has it.
install() {
  if [[ -x $venv/bin/uv ]] && "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" "$@"; then return; fi
  pip install --no-compile "$@"
}
readonly own=(numpy ml_dtypes pytest hypothesis mypy scikit-build-core nanobind)
readonly packages="${own[*]}, and ${DETREDUCE_PYTHON_PACKAGES-of the machine}"
if [[ $(cat "$folder/made" 2>/dev/null) != "$packages" ]]; then
  rm -rf "$venv" "$folder/made"
  options=(--system-site-packages)
  if [[ -n ${DETREDUCE_PYTHON_PACKAGES+set} ]]; then options=(); fi
  "$python" -m venv "${options[@]}" "$venv" || skip "Python cannot make an environment (Debian: python3-venv)"
  if [[ -n ${DETREDUCE_PYTHON_PACKAGES:-} ]]; then pip install uv || true; fi # it does not see packages of the machine
  install "${own[@]}" || skip "PyPI cannot be reached"
  read -ra wanted <<<"${DETREDUCE_PYTHON_PACKAGES:-}"
  if ((!${#wanted[@]})) || install "${wanted[@]}"; then
    echo "$packages" >"$folder/made"
  else
    without "${wanted[*]}: pip cannot install them"
  fi
fi
if [[ ${4:-} == packages ]]; then exit; fi
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
DETREDUCE_CUDA=OFF CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-2} pip install --no-build-isolation --no-deps --force-reinstall \
  "-Cbuild-dir=$folder/build" "-Ccmake.define.DETREDUCE_PREBUILT=${DETREDUCE_PREBUILT:-}" "$source"
cd "$folder" # where no folder is called detreduce
export DETREDUCE_PROGRAM=$program HYPOTHESIS_STORAGE_DIRECTORY=$folder/hypothesis
"$venv/bin/python" -m pytest -q -rs -p no:cacheprovider --durations=10 "$source/python/tests" | tee "$folder/pytest.log"
grep '^SKIPPED' "$folder/pytest.log" >>"$folder/skipped" || true
