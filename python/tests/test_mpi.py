"""mpi4py: the bits of one process, whatever the number of processes."""

import shutil
import subprocess
import sys

import pytest

pytest.importorskip("mpi4py")
# In a process of its own: one that has begun to use MPI cannot start others that do.
tried = subprocess.run([sys.executable, "-c", "from mpi4py import MPI"], capture_output=True, text=True)
if tried.returncode != 0:
    pytest.skip(f"mpi4py cannot be used: {tried.stderr.splitlines()[-1]}", allow_module_level=True)

RANK = """
import numpy as np
from mpi4py import MPI
import detreduce as dr
import detreduce.mpi as drm

comm = MPI.COMM_WORLD
x, y = np.random.default_rng(0).standard_normal((2, 60, 7)).astype(np.float32)
begin, end = (60 * r * r // comm.size**2 for r in (comm.rank, comm.rank + 1))
part, other = x[begin:end], y[begin:end]
for axis in (None, 0):
    for name in ("sum", "mean", "nrm2", "var", "min", "max"):
        if name in ("mean", "var"):
            got = drm.reduce(name, part, axis=axis)
        else:
            got = getattr(drm, name)(part, axis)
        want = getattr(dr, name)(x, axis)
        assert got.dtype == want.dtype and got.tobytes() == want.tobytes(), (name, axis)
assert drm.dot(part, other, dtype="float64") == dr.dot(x, y, dtype="float64")
assert drm.reduce("count_nonzero", part, comm=comm) == 420
x[3] = x[40] = 9.0
x[7, 2] = np.nan
for nan in ("propagate", "ignore"):
    for axis in (None, 0):
        assert np.array_equal(drm.argmax(part, axis, nan=nan), dr.argmax(x, axis, nan=nan)), (nan, axis)
        assert np.array_equal(drm.argmin(part, axis, nan=nan), dr.argmin(x, axis, nan=nan)), (nan, axis)
"""


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_bits_are_those_of_one_process(ranks, tmp_path):
    mpiexec = shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    (tmp_path / "rank.py").write_text(RANK)
    said = subprocess.run([mpiexec, "--version"], capture_output=True, text=True).stdout
    more = ["--allow-run-as-root", "--oversubscribe"] if "Open MPI" in said or "OpenRTE" in said else []
    subprocess.run(
        [mpiexec, *more, "-n", str(ranks), sys.executable, str(tmp_path / "rank.py")], check=True, timeout=300
    )
