"""Reductions of NumPy arrays. An array is reduced where it lies if it is contiguous, a matrix whose
rows are, or one-dimensional; any other is copied first."""

from __future__ import annotations

import math
import operator
import warnings
from typing import Any, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _core

Axis = Union[None, int, Tuple[int, ...]]

# Those of NumPy, and of ml_dtypes where that is used: bytes that the module need not know the meaning of.
_NAMES = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
}
_NATIVE = ("f32", "f64")
_BITS = {1: np.uint8, 2: np.uint16}
_BY_DTYPE = {np.dtype(name): _NAMES[name] for name in ("float16", "float32", "float64")}  # faster than a name


class Moments(NamedTuple):
    mean: Any
    var: Any


class Extremes(NamedTuple):
    min: Any
    max: Any


def _dtype_name(dtype: np.dtype, argument: str) -> str:
    name = _BY_DTYPE.get(dtype) or _NAMES.get(dtype.name)
    if name is None:
        raise TypeError(f"{argument}: there is no {dtype}; allowed are {', '.join(_NAMES)}")
    return name


def _elements(x: Any, argument: str) -> Tuple[np.ndarray, str]:
    """x as an array whose elements can be read, and what they are."""
    if type(x) is np.ndarray:
        a = x
    else:
        try:
            a = np.asarray(x)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{argument}: must be an array ({error})") from None
    dtype = a.dtype
    name = _dtype_name(dtype, argument)
    if not dtype.isnative:
        a = a.astype(dtype.newbyteorder("="))
    if not a.flags.aligned:
        a = a.copy()
    return a, name


def _axes(axis: Axis, ndim: int) -> Tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    axes = []
    for a in given:
        try:
            a = operator.index(a)
        except TypeError:
            raise TypeError(f"axis: must be None, an int or a tuple of ints, not {a!r}") from None
        if not -ndim <= a < ndim:
            raise ValueError(f"axis: {a} is not one of an array of {ndim} dimensions")
        axes.append(a % ndim)
    if len(set(axes)) != len(axes):
        raise ValueError(f"axis: {axis} names one twice")
    return tuple(sorted(axes))


class _Layout(NamedTuple):
    """`repeat` matrices, each of `groups` rows or columns of n elements; how far its rows are apart."""

    shape: str
    n: int
    groups: int
    stride: int
    repeat: int


def _is_matrix_of_rows(a: np.ndarray) -> bool:
    size = a.itemsize
    return (
        a.ndim == 2
        and a.strides[1] == size
        and a.strides[0] >= size * a.shape[1]
        and a.strides[0] % size == 0
    )


def _laid_out(a: np.ndarray, axes: Tuple[int, ...]) -> Tuple[np.ndarray, _Layout]:
    """a, or a copy of it, and where its groups are."""
    size = a.itemsize
    if len(axes) == a.ndim:
        if not a.flags.c_contiguous:
            if a.ndim == 1 and a.strides[0] > 0 and a.strides[0] % size == 0:
                return a, _Layout("columns", a.size, 1, a.strides[0] // size, 1)
            a = np.ascontiguousarray(a)
        return a, _Layout("flat", a.size, 1, 0, 1)
    if axes and axes[-1] - axes[0] + 1 != len(axes):  # not neighbours: to the end with them
        a = np.moveaxis(a, axes, range(a.ndim - len(axes), a.ndim))
        axes = tuple(range(a.ndim - len(axes), a.ndim))
    pitch = 0
    if not a.flags.c_contiguous:
        if len(axes) == 1 and a.size > 0 and _is_matrix_of_rows(a):
            pitch = a.strides[0] // size
        else:
            a = np.ascontiguousarray(a)
    first, last = (axes[0], axes[-1] + 1) if axes else (a.ndim, a.ndim)
    outer, n, inner = (math.prod(s) for s in (a.shape[:first], a.shape[first:last], a.shape[last:]))
    if inner == 1:
        return a, _Layout("rows", n, outer, pitch, 1)
    return a, _Layout("columns", n, inner, pitch, outer)


def _as_bits(a: np.ndarray, name: str) -> np.ndarray:
    return a if name in _NATIVE else a.view(_BITS[a.itemsize])


def _reduced(
    op: str,
    x: Any,
    axis: Axis,
    keepdims: bool,
    method: str,
    dtype: Any = None,
    *,
    y: Any = None,
    two_inputs: bool = False,
    results: int = 1,
    integer: bool = False,
    nan: str = "propagate",
    ddof: int = 0,
    nan_if_empty: bool = False,
) -> Any:
    a, name = _elements(x, "x")
    axes = _axes(axis, a.ndim)
    b = None
    if two_inputs:
        b, other = _elements(y, "y")
        if other != name:
            raise TypeError(f"y: must have the dtype of x, {a.dtype}, not {b.dtype}")
        if b.shape != a.shape:
            raise ValueError(f"y: must have the shape of x, {a.shape}, not {b.shape}")
        a, b = (v if v.flags.c_contiguous else np.ascontiguousarray(v) for v in (a, b))
    for argument, word in (("method", method), ("nan", nan)):
        if not isinstance(word, str):
            raise TypeError(f"{argument}: must be a str, not {word!r}")

    output = None
    out_dtype = a.dtype
    if integer:
        out_dtype = np.dtype(np.int64)
    elif dtype is not None:
        try:
            out_dtype = np.dtype(dtype)
        except TypeError as error:
            raise TypeError(f"dtype: {error}") from None
        output = _dtype_name(out_dtype, "dtype")
    if len(axes) == a.ndim and not keepdims:
        shape: Tuple[int, ...] = ()
    elif keepdims:
        shape = tuple(1 if i in axes else length for i, length in enumerate(a.shape))
    else:
        shape = tuple(length for i, length in enumerate(a.shape) if i not in axes)
    out = np.empty(shape + (results,) if results > 1 else shape, out_dtype)

    a, layout = _laid_out(a, axes)
    if b is not None:
        b, _ = _laid_out(b, axes)
    if out.size == 0:
        pass  # there are no groups
    elif nan_if_empty and layout.n <= ddof:
        warnings.warn(f"{op} of {layout.n} elements", RuntimeWarning, stacklevel=3)
        out.fill(math.nan)
    else:
        bits = out if integer else _as_bits(out, output or name)
        _core.reduce(
            op,
            method,
            name,
            output,
            layout.shape,
            layout.n,
            layout.groups,
            layout.stride,
            layout.repeat,
            ddof,
            nan,
            0,
            _as_bits(a, name),
            None if b is None else _as_bits(b, name),
            bits,
        )
    if results > 1:
        return out[..., 0][()], out[..., 1][()]
    return out[()]


def _ddof(ddof: int, correction: Optional[int]) -> int:
    if correction is not None:
        if ddof != 0:
            raise ValueError("correction: is another name of ddof; give one of them")
        ddof, argument = correction, "correction"
    else:
        argument = "ddof"
    try:
        value = operator.index(ddof)
    except TypeError:
        raise TypeError(f"{argument}: must be an int, not {ddof!r}") from None
    if not 0 <= value <= 2**40:
        raise ValueError(f"{argument}: allowed are 0 to 2^40, not {value}")
    return value


def sum(x, axis: Axis = None, dtype=None, keepdims: bool = False, *, method: str = "automatic"):
    """The sum of the elements; of none +0. `dtype` is that of the result, by default that of x."""
    return _reduced("sum", x, axis, keepdims, method, dtype)


def mean(x, axis: Axis = None, dtype=None, keepdims: bool = False, *, method: str = "automatic"):
    """The sum over the number of elements; of none NaN, with a warning."""
    return _reduced("mean", x, axis, keepdims, method, dtype, nan_if_empty=True)


def asum(x, axis: Axis = None, dtype=None, keepdims: bool = False, *, method: str = "automatic"):
    """The sum of magnitudes."""
    return _reduced("asum", x, axis, keepdims, method, dtype)


def nrm2(x, axis: Axis = None, dtype=None, keepdims: bool = False, *, method: str = "automatic"):
    """The square root of the sum of squares, without over- or underflow on the way."""
    return _reduced("nrm2", x, axis, keepdims, method, dtype)


def dot(x, y, axis: Axis = None, dtype=None, keepdims: bool = False, *, method: str = "automatic"):
    """The sum of products of the elements of two arrays of one shape and dtype."""
    return _reduced("dot", x, axis, keepdims, method, dtype, y=y, two_inputs=True)


def prod(x, axis: Axis = None, dtype=None, keepdims: bool = False, *, method: str = "automatic"):
    """The product, without over- or underflow on the way; of no elements +1."""
    return _reduced("prod", x, axis, keepdims, method, dtype)


def var(
    x,
    axis: Axis = None,
    dtype=None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    correction: Optional[int] = None,
    method: str = "automatic",
):
    """The sum of (x - mean)^2 over n - ddof; where that is none or less NaN, with a warning."""
    ddof = _ddof(ddof, correction)
    return _reduced("variance", x, axis, keepdims, method, dtype, ddof=ddof, nan_if_empty=True)


def std(
    x,
    axis: Axis = None,
    dtype=None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    correction: Optional[int] = None,
    method: str = "automatic",
):
    """The square root of the variance, rounded once by exact."""
    ddof = _ddof(ddof, correction)
    return _reduced("stddev", x, axis, keepdims, method, dtype, ddof=ddof, nan_if_empty=True)


def moments(
    x,
    axis: Axis = None,
    dtype=None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    correction: Optional[int] = None,
    method: str = "automatic",
) -> Moments:
    """Mean and variance in one pass."""
    ddof = _ddof(ddof, correction)
    return Moments(
        *_reduced("moments", x, axis, keepdims, method, dtype, ddof=ddof, results=2, nan_if_empty=True)
    )


def min(x, axis: Axis = None, keepdims: bool = False, *, nan: str = "propagate"):
    """The least element, -0 being less than +0. `nan`: "propagate", or "ignore" to pass over NaN."""
    return _reduced("min", x, axis, keepdims, "automatic", nan=nan)


def max(x, axis: Axis = None, keepdims: bool = False, *, nan: str = "propagate"):
    """The greatest element. Otherwise as min()."""
    return _reduced("max", x, axis, keepdims, "automatic", nan=nan)


def minmax(x, axis: Axis = None, keepdims: bool = False, *, nan: str = "propagate") -> Extremes:
    """The least and the greatest element in one pass."""
    return Extremes(*_reduced("minmax", x, axis, keepdims, "automatic", nan=nan, results=2))


def argmin(x, axis: Axis = None, keepdims: bool = False, *, nan: str = "propagate"):
    """The index of the least element, the lowest of equals."""
    return _reduced("argmin", x, axis, keepdims, "automatic", nan=nan, integer=True)


def argmax(x, axis: Axis = None, keepdims: bool = False, *, nan: str = "propagate"):
    """The index of the greatest element, the lowest of equals."""
    return _reduced("argmax", x, axis, keepdims, "automatic", nan=nan, integer=True)


def count_nonzero(x, axis: Axis = None, keepdims: bool = False):
    """How many elements are not zero; a NaN is not."""
    return _reduced("count_nonzero", x, axis, keepdims, "automatic", integer=True)


def count_unique(x, axis: Axis = None, keepdims: bool = False):
    """How many different values there are: zeros of both signs are one, and so are all NaN."""
    return _reduced("count_unique", x, axis, keepdims, "automatic", integer=True)
