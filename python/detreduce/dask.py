"""Reductions of Dask arrays: how they are chunked changes no bit.

    import detreduce.dask as drk
    drk.sum(a, axis=0).compute()      # the bits of detreduce.sum(a.compute(), axis=0)

A chunk becomes its states, int64 words; those of the chunks that are reduced together are merged.
"""

from __future__ import annotations

from typing import Any, List

import numpy as np

from . import _core
from ._arrays import NUMPY, dtype_word
from ._reduce import axes_of, ddof_of
from ._state import INTEGERS, finish, op_of, partial


def _states(x: Any, op: str, axes: tuple, nan: str) -> np.ndarray:
    return partial(op, np.asarray(x), None, axes, nan)[0]


def _merged(parts: List[np.ndarray], op: str, word: str, nan: str) -> np.ndarray:
    total = parts[0].copy()
    for part in parts[1:]:
        if total.size > 0:
            _core.merge_states(
                op, word, nan, total.size // total.shape[-1], total, np.ascontiguousarray(part), None
            )
    return total


def _finished(
    states: np.ndarray, op: str, word: str, dtype: Any, ddof: int, nan: str, shape: tuple
) -> np.ndarray:
    return np.asarray(finish(op, word, states, dtype, ddof, nan)).reshape(shape)


def reduce(
    op: str,
    a: Any,
    axis: Any = None,
    keepdims: bool = False,
    *,
    dtype: Any = None,
    ddof: int = 0,
    nan: str = "propagate",
) -> Any:
    """An op of one result that State has, but argmin and argmax, of a Dask array: a Dask array of the results."""
    import dask
    import dask.array as da

    if not isinstance(a, da.Array):
        raise TypeError(f"a: must be a dask.array.Array, not {type(a).__name__}")
    op = op_of(op)
    if op in ("argmin", "argmax", "minmax", "moments", "dot", "sumdiffsq", "mse", "mae"):
        raise ValueError(f"op: {op} is not offered for Dask arrays")
    axes, ddof = axes_of(axis, a.ndim), ddof_of(None, ddof, None)
    word = dtype_word(a.dtype, "a")
    if np.isnan(np.asarray(a.shape, np.float64)).any():
        raise ValueError("a: must have a shape that is known; a.compute_chunk_sizes() finds it")
    result = (
        np.dtype(np.int64)
        if op in INTEGERS
        else NUMPY._dtype_of(word if dtype is None else dtype_word(dtype, "dtype"))
    )
    output = None if op in INTEGERS else dtype
    blocks = a.to_delayed()
    kept = [i for i in range(a.ndim) if i not in axes]
    states, merged, finished = (
        dask.delayed(_states, pure=True),
        dask.delayed(_merged, pure=True),
        dask.delayed(_finished, pure=True),
    )
    grid = np.empty([len(a.chunks[i]) for i in kept], object)
    for at in np.ndindex(*grid.shape):
        index = [slice(None)] * a.ndim
        for i, k in zip(kept, at):
            index[i] = slice(k, k + 1)
        parts = [states(block, op, axes, nan) for block in blocks[tuple(index)].ravel()]
        lengths = iter(a.chunks[i][k] for i, k in zip(kept, at))
        shape = tuple(next(lengths) if i in kept else 1 for i in range(a.ndim) if keepdims or i in kept)
        value = finished(merged(parts, op, word, nan), op, word, output, ddof, nan, shape)
        grid[at] = da.from_delayed(value, shape=shape, dtype=result)
    if not keepdims:
        return da.block(grid.tolist()) if kept else grid[()]
    whole = np.empty([len(a.chunks[i]) if i in kept else 1 for i in range(a.ndim)], object)
    whole[...] = grid.reshape(whole.shape)
    return da.block(whole.tolist()) if a.ndim else grid[()]


def sum(a: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    return reduce("sum", a, axis, keepdims, dtype=dtype)


def mean(a: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    return reduce("mean", a, axis, keepdims, dtype=dtype)


def nrm2(a: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    return reduce("nrm2", a, axis, keepdims, dtype=dtype)


def var(a: Any, axis: Any = None, keepdims: bool = False, *, ddof: int = 0, dtype: Any = None) -> Any:
    return reduce("var", a, axis, keepdims, ddof=ddof, dtype=dtype)


def std(a: Any, axis: Any = None, keepdims: bool = False, *, ddof: int = 0, dtype: Any = None) -> Any:
    return reduce("std", a, axis, keepdims, ddof=ddof, dtype=dtype)


def min(a: Any, axis: Any = None, keepdims: bool = False, *, nan: str = "propagate") -> Any:
    return reduce("min", a, axis, keepdims, nan=nan)


def max(a: Any, axis: Any = None, keepdims: bool = False, *, nan: str = "propagate") -> Any:
    return reduce("max", a, axis, keepdims, nan=nan)
