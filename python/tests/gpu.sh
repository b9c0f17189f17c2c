#!/usr/bin/env bash
# The tests of the Python package on a GPU, without a network: compiles it with CUDA, installs it into a folder, runs all tests.
#   gpu.sh [FOLDER [ARG…]]   FOLDER (build-python-gpu) keeps what was compiled for the next call, and the package: it is used by
#                            PYTHONPATH=FOLDER/site. ARG goes to pytest
# DETREDUCE_WHEEL may name a wheel: that is installed, and nothing compiled.
# CUDAARCHS says for which architectures (90). DETREDUCE_PREBUILT may name a static library detreduce with CUDA that was built
# elsewhere from these sources; then the extension alone is compiled. Needs nvcc, CMake, a C++ compiler and a Python with NumPy,
# nanobind, scikit-build-core, pytest, Hypothesis, torch, CuPy and JAX. Fails where a test does, and where one that can run on a
# machine with a GPU was skipped.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly source
folder=$(realpath -m "${1:-$source/build-python-gpu}")
readonly folder site=$folder/site python=${PYTHON:-python3}
shift $(($# > 0))
say() { printf '==> %s\n' "$*"; }
die() { printf 'gpu.sh: %s\n' "$1" >&2; exit 1; }
nvidia-smi -L 2>/dev/null | grep -q '^GPU ' || die "there is no GPU"
mkdir -p "$folder"

compile() {
  export CUDAARCHS=${CUDAARCHS:-90} DETREDUCE_CUDA=ON CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)}
  rm -rf "$site"
  if [[ ${DETREDUCE_WHEEL:-} ]]; then
    "$python" -m pip --disable-pip-version-check --quiet install --no-index --no-deps --no-compile --target "$site" "$DETREDUCE_WHEEL"
    return
  fi
  "$python" -m pip --disable-pip-version-check install -v --no-index --no-build-isolation --no-deps --no-compile --target "$site" \
    "-Cbuild-dir=$folder/build" "-Ccmake.define.DETREDUCE_PREBUILT=${DETREDUCE_PREBUILT:-}" "$source" >"$folder/build.log" 2>&1 ||
    { tail -50 "$folder/build.log" >&2; die "the package cannot be built; all of it is in $folder/build.log"; }
}
SECONDS=0
compile
say "compiled and installed into $site in $SECONDS s"

cd "$folder" # where no folder is called detreduce
export PYTHONPATH=$site PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY=$folder/hypothesis XLA_PYTHON_CLIENT_PREALLOCATE=false
"$python" - <<'PYTHON'
import detreduce as dr

assert dr._core.built_with_cuda, "this build has no CUDA"
print("\n".join(f"    {d.name:8} {d.what}" for d in dr.devices()))
assert any(check.device == "cuda:0" for check in dr.verify()), "nothing was verified on a GPU"
PYTHON

SECONDS=0
parallel=()
if "$python" -c 'import xdist' 2>/dev/null; then parallel=(-n "$(($(nproc) < 8 ? $(nproc) : 8))"); fi
"$python" -m pytest -q -p no:cacheprovider "${parallel[@]}" --junitxml="$folder/tests.xml" --durations=10 "$source/python/tests" "$@" &&
  status=0 || status=$?
# What was skipped for another reason than these could have run.
"$python" - "$folder/tests.xml" <<'PYTHON' || status=1
import collections
import re
import sys
import xml.etree.ElementTree

MAY_LACK = "has no such dtype|CuPy has no|DETREDUCE_PROGRAM names|dask|mpi4py|mpiexec|matplotlib|mypy|two GPUs"
kinds = {"torch": r"cuda|gpu", "CuPy": "cupy", "JAX": "jax-cuda"}
passed, red = collections.Counter(), collections.Counter()
for case in xml.etree.ElementTree.parse(sys.argv[1]).iter("testcase"):
    ended = [child for child in case if child.tag in ("skipped", "failure", "error")]
    if not ended:
        passed["all"] += 1
        name = next((k for k in ("JAX", "CuPy", "torch") if re.search(kinds[k], case.get("name"))), "CPU alone")
        passed[name] += 1
    elif ended[0].tag == "skipped":
        why = ended[0].get("message", "")
        if why == "collection skipped":  # of a whole file: the reason stands behind its path
            why = ended[0].text.rpartition("Skipped: ")[2]
        print(f"    skipped: {case.get('classname')} {case.get('name')}: {why}")
        red["skipped, though they could have run"] += not re.search(MAY_LACK, why)
    else:
        red["failed"] += 1
for kind in kinds:
    red[f"of {kind} on CUDA: none passed"] += passed[kind] == 0
print("==> passed:", ", ".join(f"{n} {kind}" for kind, n in passed.items()))
for what, n in red.items():
    if n:
        print(f"*** {n} {what} ***")
sys.exit(sum(red.values()) > 0)
PYTHON
say "$([[ $status == 0 ]] && echo green || echo RED), in $SECONDS s"
exit "$status"
