"""Reductions of arrays. An array is reduced where it lies if it is contiguous, a matrix whose rows or columns are, or
one-dimensional, or, where the order of the elements means nothing, if it has no gaps; any other is copied first.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple, Optional, Sequence, Tuple, Union

from numpy import bool_, ndarray

from . import _core
from ._arrays import dtype_word, library_of

Axis = Union[None, int, Sequence[int]]
_COPIES = 16  # a GPU reduces that many matrices one by one; more are laid out as one


class Moments(NamedTuple):
    mean: Any
    var: Any


class Extremes(NamedTuple):
    min: Any
    max: Any


def axes_of(axis: Axis, ndim: int, argument: str = "axis") -> Tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = []
    for a in given:
        try:
            a = operator.index(a)
        except (TypeError, RuntimeError):  # which torch has for what is no number
            raise TypeError(f"{argument}: must be None, an int or a tuple of ints, not {a!r}") from None
        if not -ndim <= a < ndim:
            raise ValueError(f"{argument}: {a} is not one of an array of {ndim} dimensions")
        axes.append(a % ndim)
    if len(set(axes)) != len(axes):
        raise ValueError(f"{argument}: {axis} names one twice")
    return tuple(sorted(axes))


class Layout(NamedTuple):
    """`repeat` matrices, each of `groups` rows or columns of n elements; how far its rows are apart."""

    shape: str
    n: int
    groups: int
    stride: int
    repeat: int


def dense(lib, a):
    """a with its dimensions in the order in which they lie in memory, if it has no gaps there; else a."""
    strides = lib.strides(a)
    order = sorted(range(a.ndim), key=lambda i: -strides[i])
    expected = 1
    for i in reversed(order):
        if strides[i] != expected and a.shape[i] != 1:
            return a
        expected *= a.shape[i]
    return lib.permuted(a, order)


def laid_out(lib, a, axes: Tuple[int, ...], any_order: bool = False, most: int = 0) -> Tuple[Any, Layout]:
    """a, or a copy of it, and where its groups are: in `most` matrices at most, if that is not 0."""
    if len(axes) == a.ndim:
        if not lib.is_contiguous(a) and any_order:
            a = dense(lib, a)
        if not lib.is_contiguous(a):
            if a.ndim == 1 and (stride := lib.strides(a)[0]) > 0:
                return a, Layout("columns", a.shape[0], 1, stride, 1)
            a = lib.contiguous(a)
        return a, Layout("flat", math.prod(a.shape), 1, 0, 1)
    if axes and axes[-1] - axes[0] + 1 != len(axes):  # not neighbours: to the end with them
        kept = tuple(i for i in range(a.ndim) if i not in axes)
        a = lib.permuted(a, kept + axes)
        axes = tuple(range(len(kept), a.ndim))
    pitch = 0
    if not lib.is_contiguous(a):
        rows, pitch = _pitch(lib, a) if a.ndim == 2 and len(axes) == 1 else (None, 0)
        if rows is None:
            a = lib.contiguous(a)
        elif not rows:
            a, axes = lib.permuted(a, (1, 0)), (1 - axes[0],)
    first, last = (axes[0], axes[-1] + 1) if axes else (a.ndim, a.ndim)
    outer, n, inner = (math.prod(s) for s in (a.shape[:first], a.shape[first:last], a.shape[last:]))
    if inner == 1 and (pitch == 0 or last == a.ndim):  # else one column, whose elements are a pitch apart
        return a, Layout("rows", n, outer, pitch, 1)
    if most and outer > most:
        kept = tuple(range(first)) + tuple(range(last, a.ndim))
        return lib.contiguous(lib.permuted(a, kept + axes)), Layout("rows", n, outer * inner, 0, 1)
    return a, Layout("columns", n, inner, pitch, outer)


def _pitch(lib, a):
    """Is a matrix one of rows (True), of columns (False) or of neither (None), and how far are these apart?"""
    (rows, columns), (down, along) = a.shape, lib.strides(a)
    if rows == 0 or columns == 0:
        return None, 0
    if along == 1 and down >= columns:
        return True, down
    if down == 1 and along >= rows:
        return False, along
    return None, 0


def words_of(**words) -> None:
    for argument, word in words.items():
        if not isinstance(word, str):
            raise TypeError(f"{argument}: must be a str, not {word!r}")


def second_of(lib, x, a, word: str, y: Any, argument: str = "y"):
    """y, which goes with x: of its library, dtype, device and shape."""
    if library_of(y) is not lib:
        raise TypeError(
            f"{argument}: must be an array of the library of x, {lib.name}, not {type(y).__name__}"
        )
    b = lib.open(y, argument)
    if lib.dtype(b, argument) != word:
        raise TypeError(f"{argument}: must have the dtype of x, {a.dtype}, not {b.dtype}")
    if tuple(b.shape) != tuple(a.shape):
        raise ValueError(f"{argument}: must have the shape of x, {tuple(a.shape)}, not {tuple(b.shape)}")
    same_device(lib, a, b, argument)
    return b


def same_device(lib, a, b, argument: str) -> None:
    if lib.device(a) != lib.device(b):
        raise ValueError(f"{argument}: must be on the device of x")


def reduced(
    op: str,
    x: Any,
    axis: Axis = None,
    keepdims: bool = False,
    method: str = "automatic",
    dtype: Any = None,
    *,
    y: Any = None,
    two_inputs: bool = False,
    results: int = 1,
    integer: bool = False,
    nan: str = "propagate",
    ddof: int = 0,
    nan_if_empty: bool = False,
    any_order: bool = True,
    axis_name: str = "axis",
    isa: Optional[str] = None,
    threads: int = 0,
) -> Any:
    lib = library_of(x)
    a = lib.open(x, "x")
    word = lib.dtype(a, "x")
    ndim = a.ndim
    axes = axes_of(axis, ndim, axis_name)
    if type(method) is not str or type(nan) is not str:
        words_of(method=method, nan=nan)
    b = None
    if two_inputs:
        b = second_of(lib, x, a, word, y)
        a, b = lib.contiguous(a), lib.contiguous(b)
    output = None if integer or dtype is None else dtype_word(dtype, "dtype")
    if len(axes) == ndim and not keepdims:
        shape: Tuple[int, ...] = ()
    elif keepdims:
        shape = tuple(1 if i in axes else length for i, length in enumerate(a.shape))
    else:
        shape = tuple(length for i, length in enumerate(a.shape) if i not in axes)
    n = math.prod([a.shape[i] for i in axes])
    out_word = "int64" if integer else output or word
    out_shape = shape + (results,) if results > 1 else shape
    too_few = nan_if_empty and n <= ddof and math.prod(shape) > 0
    if too_few:
        lib.warn(f"{op} of {n} elements")
    if too_few and (n == 0 or op != "moments"):
        out = lib.filled(out_shape, out_word, math.nan, a)
    else:
        out = lib.empty(out_shape, out_word, a)
        if math.prod(shape) > 0:
            place = lib.place(a)
            in_any_order = (
                any_order and b is None and method in ("exact", "automatic") and not integer and op != "prod"
            )
            a, layout = laid_out(lib, a, axes, in_any_order, _COPIES if place else 0)
            if b is not None:
                b, _ = laid_out(lib, b, axes, False, _COPIES if place else 0)
            _core.reduce(
                op,
                method,
                word,
                output,
                *layout,
                0 if too_few else ddof,
                nan,
                threads,
                isa,
                lib.at(a),
                None if b is None else lib.at(b),
                lib.at(out),
                place,
            )
            lib.done(place)
    if results > 1:
        second = lib.filled(shape, out_word, math.nan, a) if too_few else lib.picked(out, 1)
        return lib.close(lib.picked(out, 0), x), lib.close(second, x)
    return lib.close(out, x)


def chosen(axis: Axis, dim: Axis, keepdims: bool, keepdim: Optional[bool]):
    """Axis and keepdims by either of their names, and which it was."""
    if dim is not None and axis is not None:
        raise ValueError("dim: is another name of axis; give one of them")
    keepdims, name = (keepdims, "keepdims") if keepdim is None else (keepdim, "keepdim")
    if type(keepdims) is not bool and not isinstance(keepdims, (int, bool_)):
        raise TypeError(f"{name}: must be True or False, not {keepdims!r}")
    return (axis, keepdims, "axis") if dim is None else (dim, keepdims, "dim")


def _of_torch(x: Any):
    """detreduce.torch, if that has to know of what is done with x."""
    if not library_of(x).tracked(x):
        return None
    from . import torch

    return torch


def _without_gradient(op: str, integer: bool, *arrays: Any) -> None:
    for array in arrays:
        lib = library_of(array)
        if not lib.tracked(array):
            continue
        if lib.traced():
            raise TypeError(f"x: {op} cannot be traced or transformed; allowed are tensors outside of these")
        if not integer:
            raise TypeError(f"x: {op} has no gradient here; allowed are tensors that need none (x.detach())")


def _flat(op, x, method, ddof=0, nan="propagate"):
    """The short way of all elements of an array of NumPy in one piece; None if it is another."""
    if type(method) is not str or type(nan) is not str:
        return None
    value = _core.flat(op, method, ddof, nan, x)
    return None if value is None else x.dtype.type(value)


def _summed(op, x, axis, dtype, keepdims, method, dim, keepdim, **more):
    if (
        type(x) is ndarray
        and axis is None
        and dtype is None
        and dim is None
        and keepdims is False
        and keepdim is None
    ):
        value = _flat(op, x, method, more.get("ddof", 0))
        if value is not None:
            return value
    axis, keepdims, axis_name = chosen(axis, dim, keepdims, keepdim)
    torch = _of_torch(x)
    if torch is not None:
        return torch.reduced(op, x, axis, keepdims, dtype=dtype, method=method, ddof=more.get("ddof", 0))
    return reduced(op, x, axis, keepdims, method, dtype, axis_name=axis_name, **more)


def _compared(op, x, axis, keepdims, dim, keepdim, nan="propagate", **more):
    if type(x) is ndarray and axis is None and dim is None and keepdims is False and keepdim is None:
        value = _flat(op, x, "automatic", 0, nan)
        if value is not None:
            return value
    axis, keepdims, axis_name = chosen(axis, dim, keepdims, keepdim)
    _without_gradient(op, more.get("integer", False), x)
    return reduced(op, x, axis, keepdims, "automatic", nan=nan, axis_name=axis_name, **more)


def ddof_of(x: Any, ddof: Any, correction: Any) -> int:
    """By default that of the library of x."""
    if correction is not None:
        if ddof is not None:
            raise ValueError("correction: is another name of ddof; give one of them")
        ddof, argument = correction, "correction"
    else:
        argument = "ddof"
    if ddof is None:
        return library_of(x).ddof
    try:
        value = operator.index(ddof)
    except (TypeError, RuntimeError):
        if not (isinstance(ddof, float) and ddof.is_integer()):
            raise TypeError(f"{argument}: must be an int, not {ddof!r}") from None
        value = int(ddof)
    if not 0 <= value <= 2**40:
        raise ValueError(f"{argument}: allowed are 0 to 2^40, not {value}")
    return value


def sum(
    x,
    axis: Axis = None,
    dtype=None,
    keepdims: bool = False,
    *,
    method: str = "automatic",
    dim: Axis = None,
    keepdim=None,
) -> Any:
    """The sum of the elements; of none +0. `dtype` is that of the result, by default that of x."""
    return _summed("sum", x, axis, dtype, keepdims, method, dim, keepdim)


def mean(
    x,
    axis: Axis = None,
    dtype=None,
    keepdims: bool = False,
    *,
    method: str = "automatic",
    dim: Axis = None,
    keepdim=None,
) -> Any:
    """The sum over the number of elements; of none NaN, with a warning where the library of x warns."""
    return _summed("mean", x, axis, dtype, keepdims, method, dim, keepdim, nan_if_empty=True)


def asum(
    x,
    axis: Axis = None,
    dtype=None,
    keepdims: bool = False,
    *,
    method: str = "automatic",
    dim: Axis = None,
    keepdim=None,
) -> Any:
    """The sum of magnitudes."""
    return _summed("asum", x, axis, dtype, keepdims, method, dim, keepdim)


def nrm2(
    x,
    axis: Axis = None,
    dtype=None,
    keepdims: bool = False,
    *,
    method: str = "automatic",
    dim: Axis = None,
    keepdim=None,
) -> Any:
    """The square root of the sum of squares, without over- or underflow on the way."""
    return _summed("nrm2", x, axis, dtype, keepdims, method, dim, keepdim)


def dot(
    x,
    y,
    axis: Axis = None,
    dtype=None,
    keepdims: bool = False,
    *,
    method: str = "automatic",
    dim: Axis = None,
    keepdim=None,
) -> Any:
    """The sum of products of the elements of two arrays of one shape and dtype."""
    axis, keepdims, axis_name = chosen(axis, dim, keepdims, keepdim)
    _without_gradient("dot", False, x, y)
    return reduced("dot", x, axis, keepdims, method, dtype, y=y, two_inputs=True, axis_name=axis_name)


def prod(
    x,
    axis: Axis = None,
    dtype=None,
    keepdims: bool = False,
    *,
    method: str = "automatic",
    dim: Axis = None,
    keepdim=None,
) -> Any:
    """The product, without over- or underflow on the way; of no elements +1."""
    axis, keepdims, axis_name = chosen(axis, dim, keepdims, keepdim)
    _without_gradient("prod", False, x)
    return reduced("prod", x, axis, keepdims, method, dtype, axis_name=axis_name)


def var(
    x,
    axis: Axis = None,
    dtype=None,
    ddof: Optional[int] = None,
    keepdims: bool = False,
    *,
    correction: Optional[int] = None,
    method: str = "automatic",
    dim: Axis = None,
    keepdim=None,
) -> Any:
    """The sum of (x - mean)^2 over n - ddof; where that is none or less NaN, with a warning. ddof is 0, of torch 1."""
    ddof = ddof_of(x, ddof, correction)
    return _summed("variance", x, axis, dtype, keepdims, method, dim, keepdim, ddof=ddof, nan_if_empty=True)


def std(
    x,
    axis: Axis = None,
    dtype=None,
    ddof: Optional[int] = None,
    keepdims: bool = False,
    *,
    correction: Optional[int] = None,
    method: str = "automatic",
    dim: Axis = None,
    keepdim=None,
) -> Any:
    """The square root of the variance, rounded once by exact."""
    ddof = ddof_of(x, ddof, correction)
    return _summed("stddev", x, axis, dtype, keepdims, method, dim, keepdim, ddof=ddof, nan_if_empty=True)


def moments(
    x,
    axis: Axis = None,
    dtype=None,
    ddof: Optional[int] = None,
    keepdims: bool = False,
    *,
    correction: Optional[int] = None,
    method: str = "automatic",
    dim: Axis = None,
    keepdim=None,
) -> Moments:
    """Mean and variance in one pass."""
    ddof = ddof_of(x, ddof, correction)
    axis, keepdims, axis_name = chosen(axis, dim, keepdims, keepdim)
    torch = _of_torch(x)
    if torch is not None:
        return Moments(*torch._moments(x, axis, keepdims, dtype, method, ddof))
    return Moments(
        *reduced(
            "moments",
            x,
            axis,
            keepdims,
            method,
            dtype,
            ddof=ddof,
            results=2,
            nan_if_empty=True,
            axis_name=axis_name,
        )
    )


def min(
    x, axis: Axis = None, keepdims: bool = False, *, nan: str = "propagate", dim: Axis = None, keepdim=None
) -> Any:
    """The minimum, -0 being less than +0. `nan`: "propagate", or "ignore" to pass over NaN."""
    return _compared("min", x, axis, keepdims, dim, keepdim, nan)


def max(
    x, axis: Axis = None, keepdims: bool = False, *, nan: str = "propagate", dim: Axis = None, keepdim=None
) -> Any:
    """The maximum. Otherwise as min()."""
    return _compared("max", x, axis, keepdims, dim, keepdim, nan)


def minmax(
    x, axis: Axis = None, keepdims: bool = False, *, nan: str = "propagate", dim: Axis = None, keepdim=None
) -> Extremes:
    """The minimum and the maximum in one pass."""
    return Extremes(*_compared("minmax", x, axis, keepdims, dim, keepdim, nan, results=2))


def argmin(
    x, axis: Axis = None, keepdims: bool = False, *, nan: str = "propagate", dim: Axis = None, keepdim=None
) -> Any:
    """The index of the minimum, the lowest of equals."""
    return _compared("argmin", x, axis, keepdims, dim, keepdim, nan, integer=True)


def argmax(
    x, axis: Axis = None, keepdims: bool = False, *, nan: str = "propagate", dim: Axis = None, keepdim=None
) -> Any:
    """The index of the maximum, the lowest of equals."""
    return _compared("argmax", x, axis, keepdims, dim, keepdim, nan, integer=True)


def count_nonzero(x, axis: Axis = None, keepdims: bool = False, *, dim: Axis = None, keepdim=None) -> Any:
    """How many elements are not zero; a NaN is not."""
    return _compared("count_nonzero", x, axis, keepdims, dim, keepdim, integer=True)


def count_unique(x, axis: Axis = None, keepdims: bool = False, *, dim: Axis = None, keepdim=None) -> Any:
    """How many different values there are: zeros of both signs are one, and so are all NaN."""
    return _compared("count_unique", x, axis, keepdims, dim, keepdim, integer=True)
