"""Reductions over the processes of an mpi4py communicator, with the bits of one process that has all elements.

    import detreduce.mpi as drm
    drm.sum(x)                        # of what all processes have; every one gets the result
    drm.mean(x, axis=0, comm=comm)
    drm.reduce("moments", x)

What is sent are states, int64 words, by one Allreduce. Arrays are those of NumPy, and others in host memory. The axes that are
not reduced must be as long everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import WORDS, dtype_word, library_of
from ._state import finish, op_of, partial


def reduce(
    op: str,
    x: Any,
    y: Any = None,
    *,
    axis: Any = None,
    dtype: Any = None,
    ddof: int = 0,
    nan: str = "propagate",
    comm: Any = None,
) -> Any:
    """Any op that State has, but argmin and argmax, over what all processes of `comm`, by default MPI.COMM_WORLD, have."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD if comm is None else comm
    op = op_of(op)
    lib = library_of(x)
    if lib.place(lib.open(x, "x")) is not None:
        raise TypeError("x: must be in host memory")
    words, merge = partial(op, x, y, axis, nan)
    if merge == "pair":
        raise ValueError("op: argmin and argmax are not reduced over processes")
    words = np.ascontiguousarray(np.asarray(words))
    total = np.empty_like(words)
    comm.Allreduce([words, MPI.INT64_T], [total, MPI.INT64_T], op=MPI.MAX if merge == "max" else MPI.SUM)
    word = lib.dtype(lib.open(x, "x"), "x")
    return finish(
        op, word, total, WORDS[word] if dtype is None else WORDS[dtype_word(dtype, "dtype")], ddof, nan
    )


def sum(x: Any, axis: Any = None, *, dtype: Any = None, comm: Any = None) -> Any:
    return reduce("sum", x, axis=axis, dtype=dtype, comm=comm)


def mean(x: Any, axis: Any = None, *, dtype: Any = None, comm: Any = None) -> Any:
    return reduce("mean", x, axis=axis, dtype=dtype, comm=comm)


def nrm2(x: Any, axis: Any = None, *, dtype: Any = None, comm: Any = None) -> Any:
    return reduce("nrm2", x, axis=axis, dtype=dtype, comm=comm)


def dot(x: Any, y: Any, *, dtype: Any = None, comm: Any = None) -> Any:
    return reduce("dot", x, y, dtype=dtype, comm=comm)


def var(x: Any, axis: Any = None, *, ddof: int = 0, dtype: Any = None, comm: Any = None) -> Any:
    return reduce("var", x, axis=axis, ddof=ddof, dtype=dtype, comm=comm)


def min(x: Any, axis: Any = None, *, nan: str = "propagate", comm: Any = None) -> Any:
    return reduce("min", x, axis=axis, nan=nan, comm=comm)


def max(x: Any, axis: Any = None, *, nan: str = "propagate", comm: Any = None) -> Any:
    return reduce("max", x, axis=axis, nan=nan, comm=comm)
