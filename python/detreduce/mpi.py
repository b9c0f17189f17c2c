"""Reductions over the processes of an mpi4py communicator, with the bits of one process that has all elements.

    import detreduce.mpi as drm
    drm.sum(x)                        # of what all processes have; every one gets the result
    drm.mean(x, axis=0, comm=comm)
    drm.reduce("moments", x)

What is sent are states, int64 words, by one Allreduce, or, of argmin and argmax, by one Allgather. Arrays are those of NumPy, and others in host memory. The axes that are
not reduced must be as long everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import WORDS, dtype_word, library_of
from ._state import PLACES, finish, length_of, merged, op_of, partial


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
    """Any op that State has over what all processes of `comm`, by default MPI.COMM_WORLD, have. Of argmin and argmax it is the
    index in the elements of all processes, those of rank 0 first."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD if comm is None else comm
    op = op_of(op)
    lib = library_of(x)
    if lib.place(lib.open(x, "x")) is not None:
        raise TypeError("x: must be in host memory")
    word = lib.dtype(lib.open(x, "x"), "x")
    first = 0
    if op in PLACES:  # which need to know what comes before them
        first = comm.exscan(length_of(x, axis)) or 0
    words, merge = partial(op, x, y, axis, nan, first)
    words = np.ascontiguousarray(np.asarray(words))
    if merge == "pair":
        every = np.empty((comm.size,) + words.shape, np.int64)
        comm.Allgather([words, MPI.INT64_T], [every, MPI.INT64_T])
        total = merged(op, word, nan, every)
    else:
        total = np.empty_like(words)
        comm.Allreduce([words, MPI.INT64_T], [total, MPI.INT64_T], op=MPI.MAX if merge == "max" else MPI.SUM)
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


def argmin(x: Any, axis: Any = None, *, nan: str = "propagate", comm: Any = None) -> Any:
    return reduce("argmin", x, axis=axis, nan=nan, comm=comm)


def argmax(x: Any, axis: Any = None, *, nan: str = "propagate", comm: Any = None) -> Any:
    return reduce("argmax", x, axis=axis, nan=nan, comm=comm)
