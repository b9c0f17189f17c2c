"""Losses, what is done to the rows of a matrix, and clipping. Arrays with elements to differentiate go to detreduce.torch."""

from __future__ import annotations

import math
import operator
from typing import Any, Optional

import numpy as np

from . import _core
from ._arrays import NUMPY, arithmetic_of, dtype_word, library_of
from ._reduce import _of_torch, axes_of, chosen, dense, same_device, second_of, words_of

REDUCTIONS = ("none", "sum", "mean")
LOSSES = dict.fromkeys(
    ("mse", "mae", "huber", "smooth_l1", "bce", "bce_with_logits", "focal", "kl_div", "kl_div_log_target")
)
EPS = {"f32": 2.0**-23, "f64": 2.0**-52}  # of rms_norm where none is given, as in torch


def number_of(value: Any, argument: str) -> float:
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # which torch has for what is no number
        raise TypeError(f"{argument}: must be a number, not {value!r}") from None


def limit_of(value: Any, argument: str) -> float:
    """A number of at least 0, or infinity."""
    value = number_of(value, argument)
    if not 0 <= value:
        raise ValueError(f"{argument}: must be a number from 0 on, or infinity, not {value}")
    return value


def parameter_of(value: Any, argument: str, above: bool = False) -> float:
    """A finite number of at least 0, or above 0."""
    value = number_of(value, argument)
    if not (0 < value if above else 0 <= value) or value == math.inf:
        what = "above 0" if above else "not negative"
        raise ValueError(f"{argument}: must be finite and {what}, not {value}")
    return value


def pos_weight_of(value: Any) -> float:
    return parameter_of(value, "pos_weight")


def ignore_index_of(value: Any) -> int:
    try:
        index = operator.index(value)
    except (TypeError, RuntimeError):
        raise TypeError(f"ignore_index: must be an int, not {value!r}") from None
    if not -(2**63) <= index < 2**63:
        raise ValueError("ignore_index: must be an int64")
    return index


def groups_of(value: Any) -> int:
    try:
        groups = operator.index(value)
    except (TypeError, RuntimeError):
        raise TypeError(f"num_groups: must be an int, not {value!r}") from None
    if not 1 <= groups <= 2**40:
        raise ValueError(f"num_groups: allowed are divisors of the number of channels, not {groups}")
    return groups


def flag_of(value: Any, argument: str) -> bool:
    if not isinstance(value, (bool, int, np.bool_)):
        raise TypeError(f"{argument}: must be True or False, not {value!r}")
    return bool(value)


def reduction_of(reduction: str, allowed=REDUCTIONS) -> str:
    if type(reduction) is not str:
        words_of(reduction=reduction)
    if reduction not in allowed:
        raise ValueError(f"reduction: allowed are {', '.join(allowed)}, not {reduction!r}")
    return reduction


def loss_of(name: str) -> str:
    words_of(name=name)
    if name not in LOSSES:
        raise ValueError(f"name: allowed are {', '.join(LOSSES)}, not {name!r}")
    return name


def widened(lib, weight: Any, a, word: str, shape, argument: str = "weight", broadcast: bool = True):
    """weight as an array of `shape`, in one piece."""
    if library_of(weight) is not lib:
        raise TypeError(
            f"{argument}: must be an array of the library of x, {lib.name}, not {type(weight).__name__}"
        )
    w = lib.open(weight, argument)
    if lib.dtype(w, argument) != word:
        raise TypeError(f"{argument}: must have the dtype of x, {a.dtype}, not {w.dtype}")
    same_device(lib, a, w, argument)
    if tuple(w.shape) != tuple(shape):
        try:
            if not broadcast:
                raise ValueError
            w = lib.broadcast(w, shape)
        except (ValueError, RuntimeError, TypeError):
            raise ValueError(
                f"{argument}: must have the shape {tuple(shape)}, not {tuple(w.shape)}"
            ) from None
    return lib.contiguous(w)


def _of_any(*arrays: Any):
    """detreduce.torch, if that has to know of what is done with one of these."""
    for array in arrays:
        torch = None if array is None else _of_torch(array)
        if torch is not None:
            return torch
    return None


# ---- Losses of elements ----------------------------------------------------------------------------------------


def _terms(name: str, x: Any, target: Any, weight: Any):
    lib = library_of(x)
    a = lib.open(x, "x")
    word = lib.dtype(a, "x")
    t = second_of(lib, x, a, word, target, "target")
    w = None if weight is None else widened(lib, weight, a, word, a.shape)
    return lib, lib.contiguous(a), lib.contiguous(t), w, word


def _batch(reduction: str, a) -> tuple:
    """ "batchmean" is a mean over the length of axis 0."""
    if reduction != "batchmean":
        return reduction, 0
    return "mean", a.shape[0] if len(a.shape) > 0 else 1


def loss(
    name: str, x: Any, target: Any, weight: Any, parameter: float, reduction: str, method: str, dtype: Any
) -> Any:
    lib, a, t, w, word = _terms(name, x, target, weight)
    reduction_of(reduction, REDUCTIONS + ("batchmean",))
    words_of(method=method)
    output = None if dtype is None else dtype_word(dtype, "dtype")
    n = math.prod(a.shape)
    reduction, batch = _batch(reduction, a)
    if reduction == "mean" and n == 0:
        return lib.close(lib.filled((), output or word, math.nan, a), x)
    out = lib.empty(tuple(a.shape) if reduction == "none" else (), output or word, a)
    place = lib.place(a)
    at = (lib.at(a), lib.at(t), None if w is None else lib.at(w), lib.at(out)) # w, which may be a copy, stays
    _core.loss(name, reduction, method, word, output, n, parameter, batch, *at, place)
    lib.done(place)
    return lib.close(out, x)


def loss_gradient(
    name: str,
    x: Any,
    target: Any,
    weight: Any,
    parameter: float,
    reduction: str,
    upstream: Any,
    argument: str = "x",
) -> Any:
    """The gradient with respect to x, target or weight, times `upstream`: None for 1, one number, or with reduction none
    one an element."""
    lib, a, t, w, word = _terms(name, x, target, weight)
    u = None
    if upstream is not None:
        u = widened(lib, upstream, a, word, a.shape if reduction == "none" else (), "upstream")
    out, n, place = lib.empty(tuple(a.shape), word, a), math.prod(a.shape), lib.place(a)
    reduction, batch = _batch(reduction, a)
    if n > 0:
        at = (
            lib.at(a),
            lib.at(t),
            None if w is None else lib.at(w),
            None if u is None else lib.at(u),
            lib.at(out),
        )
        _core.loss_gradient(name, argument, reduction, word, n, parameter, batch, *at, place)
        lib.done(place)
    return lib.close(out, x)


def _loss(name, x, target, weight, parameter, reduction, method, dtype, allowed=REDUCTIONS):
    reduction_of(reduction, allowed)
    torch = _of_any(x, target, weight)
    if torch is not None:
        return torch.loss(
            name, x, target, weight, parameter=parameter, reduction=reduction, method=method, dtype=dtype
        )
    return loss(name, x, target, weight, parameter, reduction, method, dtype)


def mse(x, target, weight=None, *, reduction: str = "mean", method: str = "automatic", dtype=None) -> Any:
    """(x - target)^2; their mean by exact is the true one, rounded once. A mean with weights is over their sum."""
    return _loss("mse", x, target, weight, 1.0, reduction, method, dtype)


def mae(x, target, weight=None, *, reduction: str = "mean", method: str = "automatic", dtype=None) -> Any:
    """|x - target|; torch calls it l1_loss. A mean with weights is over their sum."""
    return _loss("mae", x, target, weight, 1.0, reduction, method, dtype)


def huber(
    x,
    target,
    weight=None,
    *,
    delta: float = 1.0,
    reduction: str = "mean",
    method: str = "automatic",
    dtype=None,
) -> Any:
    """d^2 / 2 up to |d| = delta, from there delta (|d| - delta / 2)."""
    return _loss("huber", x, target, weight, parameter_of(delta, "delta", True), reduction, method, dtype)


def smooth_l1(
    x,
    target,
    weight=None,
    *,
    beta: float = 1.0,
    reduction: str = "mean",
    method: str = "automatic",
    dtype=None,
) -> Any:
    """d^2 / (2 beta) up to |d| = beta, from there |d| - beta / 2."""
    return _loss("smooth_l1", x, target, weight, parameter_of(beta, "beta"), reduction, method, dtype)


def bce(x, target, weight=None, *, reduction: str = "mean", method: str = "automatic", dtype=None) -> Any:
    """Binary cross entropy of probabilities, whose logarithms end at -100."""
    return _loss("bce", x, target, weight, 1.0, reduction, method, dtype)


def bce_with_logits(
    x,
    target,
    weight=None,
    *,
    pos_weight: float = 1.0,
    reduction: str = "mean",
    method: str = "automatic",
    dtype=None,
) -> Any:
    """Binary cross entropy of sigmoid(x). pos_weight, a number, multiplies the part of target 1."""
    return _loss("bce_with_logits", x, target, weight, pos_weight_of(pos_weight), reduction, method, dtype)


def focal(
    x,
    target,
    weight=None,
    *,
    gamma: float = 2.0,
    reduction: str = "mean",
    method: str = "automatic",
    dtype=None,
) -> Any:
    """bce_with_logits times (1 - p)^gamma, p being the probability of the target; alpha is a weight of each element."""
    return _loss("focal", x, target, weight, parameter_of(gamma, "gamma"), reduction, method, dtype)


def kl_div(
    x,
    target,
    weight=None,
    *,
    reduction: str = "mean",
    log_target: bool = False,
    method: str = "automatic",
    dtype=None,
) -> Any:
    """target (log(target) - x); x is the logarithm of a probability, and so, with log_target, is target. "batchmean" is
    the sum over the length of axis 0."""
    name = "kl_div_log_target" if flag_of(log_target, "log_target") else "kl_div"
    return _loss(name, x, target, weight, 1.0, reduction, method, dtype, REDUCTIONS + ("batchmean",))


# ---- Rows ------------------------------------------------------------------------------------------------------


class Rows:
    """x with one axis, or the last few, as the rows of a matrix; where it lies if only its rows are apart."""

    def __init__(
        self,
        x: Any,
        axis: Any = -1,
        argument: str = "x",
        last: int = 0,
        axis_name: str = "axis",
        lib: Any = None,
    ) -> None:
        self.lib = lib or library_of(x)
        a = self.lib.open(x, argument) if lib is None else x  # which is open
        lib = self.lib
        self.word = lib.dtype(a, argument)
        self.x = x
        self.back = None
        shape = tuple(a.shape)
        ndim = len(shape)
        contiguous = lib.is_contiguous(a)
        if last:
            self.axis = ndim - last
            self.n = shape[-1] if last == 1 else math.prod(shape[self.axis :])
        else:
            if ndim == 0:
                raise ValueError(f"{argument}: must have an axis")
            if type(axis) is int and axis == -1:
                self.axis = ndim - 1
            else:
                if isinstance(axis, (tuple, list)) or axis is None:
                    raise TypeError(f"{axis_name}: must be an int, not {axis!r}")
                (self.axis,) = axes_of(axis, ndim, axis_name)
            if self.axis != ndim - 1:
                order = tuple(i for i in range(ndim) if i != self.axis) + (self.axis,)
                a = lib.permuted(a, order)
                self.back = tuple(sorted(range(ndim), key=lambda i: order[i]))
                shape = tuple(a.shape)
                contiguous = lib.is_contiguous(a)
            self.n = shape[-1]
        self.kept, self.shape = (shape[: self.axis] if last else shape[:-1]), shape
        self.rows = math.prod(self.kept)
        self.stride = self.n
        if not contiguous:
            strides = lib.strides(a)
            pitched = ndim == 2 and len(self.kept) == 1 and self.rows > 0
            if pitched and strides[1] == 1 and strides[0] >= self.n > 0:
                self.stride = strides[0]
            else:
                a = lib.contiguous(a)
        self.a = a
        self.place = lib.place(a)

    def like(self, y: Any, argument: str) -> "Rows":
        """Another array of the shape and dtype of x, by rows."""
        if library_of(y) is not self.lib:
            raise TypeError(
                f"{argument}: must be an array of the library of x, {self.lib.name}, not {type(y).__name__}"
            )
        if self.back is None and self.axis != len(self.shape) - 1:
            r = Rows(y, argument=argument, last=len(self.shape) - self.axis)
        else:
            r = Rows(y, self.axis, argument)
        if r.word != self.word:
            raise TypeError(f"{argument}: must have the dtype of x, {self.a.dtype}, not {r.a.dtype}")
        if r.shape != self.shape:
            raise ValueError(f"{argument}: must have the shape of x, {self.shape}, not {r.shape}")
        same_device(self.lib, self.a, r.a, argument)
        return r

    def run(self, op: str, output: Optional[str], options: dict, arrays: dict) -> None:
        """Arrays as Python has them become addresses; None stays away."""
        if self.stride != self.n:
            options["stride"] = self.stride
        at = self.lib.at
        where = {name: at(a) for name, a in arrays.items() if a is not None}
        _core.row_op(op, self.word, output, self.n, self.rows, options, where, self.place)
        self.lib.done(self.place)

    def empty(self, shape, word: str):
        return self.lib.empty(shape, word, self.a)

    def close(self, out: Any) -> Any:
        """A result of the shape of the rows, with the axis back where it was."""
        if self.back is not None:
            out = self.lib.contiguous(self.lib.permuted(out, self.back))
        return self.lib.close(out, self.x)


def logsumexp(
    x, axis: Any = None, keepdims: bool = False, *, dtype=None, dim: Any = None, keepdim=None
) -> Any:
    """log of the sum of e^x, as near to the true one for -1000 as for 0. Of no elements -inf."""
    axis, keepdims, name = chosen(axis, dim, keepdims, keepdim)
    torch = _of_torch(x)
    if torch is not None:
        return torch._logsumexp(x, axis, keepdims, torch._dtype(dtype))
    return logsumexp_of(x, axis, keepdims, dtype, name)


def logsumexp_of(x, axis, keepdims, dtype, name="axis"):
    lib = library_of(x)
    a = lib.open(x, "x")
    lib.dtype(a, "x")
    axes = axes_of(axis, a.ndim, name)
    shape = tuple(1 if i in axes else length for i, length in enumerate(a.shape) if keepdims or i not in axes)
    flat = tuple(i for i in range(a.ndim) if i not in axes) + axes
    if flat != tuple(range(a.ndim)):
        a = lib.permuted(a, flat)
    r = (
        Rows(a, last=len(axes), lib=lib)
        if axes
        else Rows(lib.reshaped(a, tuple(a.shape) + (1,)), last=1, lib=lib)
    )
    word = None if dtype is None else dtype_word(dtype, "dtype")
    out = r.empty(shape, word or r.word)
    if r.rows > 0:
        r.run("logsumexp", word, {}, {"x": r.a, "out": out})
    return lib.close(out, x)


def _row_wise(op: str, x: Any, axis: Any, dtype: Any, dim: Any):
    if dim is not None and not (type(axis) is int and axis == -1):
        raise ValueError("dim: is another name of axis; give one of them")
    axis = axis if dim is None else dim
    torch = _of_torch(x)
    if torch is not None:
        return torch._row_wise(op, x, axis, torch._dtype(dtype))
    return row_wise(op, x, axis, dtype)


def row_wise(op: str, x: Any, axis: Any, dtype: Any):
    r = Rows(x, axis)
    word = None if dtype is None else dtype_word(dtype, "dtype")
    out = r.empty(r.shape, word or r.word)
    if r.rows * r.n > 0:
        r.run(op, word, {}, {"x": r.a, "out": out})
    return r.close(out)


def softmax(x, axis: int = -1, *, dtype=None, dim: Any = None) -> Any:
    """e^x over the sum of e^x."""
    return _row_wise("softmax", x, axis, dtype, dim)


def log_softmax(x, axis: int = -1, *, dtype=None, dim: Any = None) -> Any:
    """x less the log of the sum of e^x."""
    return _row_wise("log_softmax", x, axis, dtype, dim)


def row_wise_gradient(op: str, y: Any, upstream: Any, axis: int, dtype: Any = None):
    """Of softmax and log_softmax, whose result is y."""
    r = Rows(y, axis)
    u = r.like(upstream, "upstream")
    out = r.empty(r.shape, r.word)
    if r.rows * r.n > 0:
        options = {} if u.stride == u.n else {"upstream_stride": u.stride}
        r.run(op + "_gradient", None, options, {"x": r.a, "upstream": u.a, "out": out})
    return r.close(out)


def logsumexp_gradient(x: Any, upstream: Any, axes) -> Any:
    """upstream: one number a group, in the shape of the groups that are kept."""
    lib = library_of(x)
    axes = axes_of(axes, len(x.shape))
    kept = tuple(i for i in range(len(x.shape)) if i not in axes)
    a = x if kept + axes == tuple(range(len(x.shape))) else lib.permuted(x, kept + axes)
    r = (
        Rows(a, last=len(axes), lib=lib)
        if axes
        else Rows(lib.reshaped(a, tuple(a.shape) + (1,)), last=1, lib=lib)
    )
    u = lib.contiguous(lib.cast(upstream, arithmetic_of(r.word)))
    out = r.empty(tuple(a.shape), r.word)
    if r.rows * r.n > 0:
        r.run("logsumexp_gradient", None, {}, {"x": r.a, "upstream": u, "out": out})
    if a is not x:
        order = kept + axes
        out = lib.permuted(out, tuple(sorted(range(len(order)), key=lambda i: order[i])))
    return out


def _cosine_rows(x: Any, y: Any, axis: Any, axis_name: str):
    """Rows of x and y, equally far apart."""
    a = Rows(x, axis, axis_name=axis_name)
    b = a.like(y, "y")
    if a.place is not None and a.place[2] is None:
        raise TypeError(
            "x: must be in host memory; cosine_similarity is not offered for arrays of JAX on a GPU"
        )
    if a.stride != b.stride:
        a.a, b.a, a.stride = a.lib.contiguous(a.a), b.lib.contiguous(b.a), a.n
    return a, b


def cosine_of(x: Any, y: Any, axis: Any, eps: Any, method: str, dtype: Any, axis_name: str = "axis") -> Any:
    a, b = _cosine_rows(x, y, axis, axis_name)
    if type(method) is not str:
        words_of(method=method)
    eps, word = parameter_of(eps, "eps"), None if dtype is None else dtype_word(dtype, "dtype")
    lib, out = a.lib, a.empty(a.kept, word or a.word)
    if a.rows > 0:
        at = lib.at(a.a), lib.at(b.a), None, lib.at(out), a.place
        _core.cosine(a.word, word, a.n, a.rows, a.stride, eps, method, False, *at)
        lib.done(a.place)
    return lib.close(out, x)


def cosine_gradient(x: Any, y: Any, upstream: Any, axis: int, eps: float, method: str) -> Any:
    """With respect to x; upstream: one number a row."""
    a, b = _cosine_rows(x, y, axis, "axis")
    lib, out = a.lib, a.empty(a.shape, a.word)
    if a.rows * a.n > 0:
        if a.stride != a.n:
            a.a, b.a = lib.contiguous(a.a), lib.contiguous(b.a)
        u = lib.contiguous(upstream)
        at = lib.at(a.a), lib.at(b.a), lib.at(u), lib.at(out), a.place
        _core.cosine(a.word, None, a.n, a.rows, a.n, eps, method, True, *at)
        lib.done(a.place)
    return a.close(out)


def cosine_similarity(
    x, y, axis: int = -1, *, eps: float = 1e-8, method: str = "automatic", dtype=None, dim: Any = None
) -> Any:
    """x y / (|x| |y|) along an axis, within -1 and 1; norms are at least eps."""
    if dim is not None and not (type(axis) is int and axis == -1):
        raise ValueError("dim: is another name of axis; give one of them")
    name, axis = ("axis", axis) if dim is None else ("dim", dim)
    torch = _of_any(x, y)
    if torch is not None:
        return torch.cosine_similarity(x, y, axis, eps, method=method, dtype=dtype)
    return cosine_of(x, y, axis, eps, method, dtype, name)


def _normalized(x: Any, normalized_shape: Any) -> int:
    # torch.compile follows no operator.index() of a tuple.
    sizes = normalized_shape if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
    try:
        shape = tuple(operator.index(n) for n in sizes)
    except (TypeError, RuntimeError):
        raise TypeError(
            f"normalized_shape: must be an int or a tuple of ints, not {normalized_shape!r}"
        ) from None
    if len(shape) == 0 or tuple(x.shape[len(x.shape) - len(shape) :]) != shape:
        raise ValueError(f"normalized_shape: must be how the shape of x, {tuple(x.shape)}, ends, not {shape}")
    return len(shape)


def norm(
    op: str,
    x: Any,
    normalized_shape: Any,
    weight: Any,
    bias: Any,
    eps: Any,
    kept: bool = False,
    dtype: Any = None,
):
    """layernorm or rmsnorm; with `kept` also mean and reciprocal of the deviation of each row, which gradients need."""
    lib = library_of(x)
    x_opened = lib.open(x, "x")
    r = Rows(x_opened, last=_normalized(x_opened, normalized_shape), lib=lib)
    r.x = x
    arithmetic = arithmetic_of(r.word)
    eps = EPS[arithmetic] if eps is None else parameter_of(eps, "eps")
    ends = r.shape[r.axis :]
    scale = None if weight is None else widened(lib, weight, r.a, r.word, ends, broadcast=False)
    shift = None if bias is None else widened(lib, bias, r.a, r.word, ends, "bias", broadcast=False)
    if shift is not None and scale is None:
        scale = lib.filled(ends, r.word, 1, r.a)
    word = None if dtype is None else dtype_word(dtype, "dtype")
    out = r.empty(r.shape, word or r.word)
    mean = r.empty(r.kept, arithmetic) if kept and op == "layernorm" else None
    rstd = r.empty(r.kept, arithmetic) if kept else None
    if r.n == 0:
        raise ValueError("x: must have elements to normalize")
    if r.rows > 0:
        arrays = {"x": r.a, "out": out, "scale": scale, "shift": shift, "mean": mean, "rstd": rstd}
        r.run(op, word, {"epsilon": eps}, arrays)
    out = lib.close(out, x)
    return (out, mean, rstd) if kept else out


def norm_gradient(
    op: str,
    x,
    upstream,
    last: int,
    weight,
    mean,
    rstd,
    bias: bool,
    parameters: bool,
    method: str = "automatic",
):
    """Gradients with respect to x and, if asked for, to weight and bias, summed over the rows by `method`."""
    r = Rows(x, last=last)
    u = r.like(upstream, "upstream")
    lib, ends = r.lib, r.shape[r.axis :]
    scale = None if weight is None else widened(lib, weight, r.a, r.word, ends)
    out = r.empty(r.shape, r.word)
    dw = r.empty(ends, r.word) if parameters else None
    db = r.empty(ends, r.word) if parameters and bias else None
    options: dict = {"parameters": parameters, "method": method}
    if u.stride != u.n:
        options["upstream_stride"] = u.stride
    arrays = {
        "x": r.a,
        "out": out,
        "scale": scale,
        "mean": mean,
        "rstd": rstd,
        "upstream": u.a,
        "scale_gradient": dw,
        "shift_gradient": db,
    }
    r.run(op + "_gradient", None, options, arrays)
    return out, dw, db


def layer_norm(x, normalized_shape, weight=None, bias=None, eps: float = 1e-5, *, dtype=None) -> Any:
    """(x - mean) / sqrt(variance + eps) of the last axes, times weight, plus bias."""
    torch = _of_any(x, weight, bias)
    if torch is not None:
        return torch._norm("layernorm", x, normalized_shape, weight, bias, eps, dtype)
    return norm("layernorm", x, normalized_shape, weight, bias, eps, dtype=dtype)


def rms_norm(x, normalized_shape, weight=None, eps: Optional[float] = None, *, dtype=None) -> Any:
    """x / sqrt(mean of squares + eps) of the last axes, times weight. eps is by default that of the arithmetic, as in torch."""
    torch = _of_any(x, weight)
    if torch is not None:
        return torch._norm("rmsnorm", x, normalized_shape, weight, None, eps, dtype)
    return norm("rmsnorm", x, normalized_shape, weight, None, eps, dtype=dtype)


def check_channels(shape: Any, argument: str = "x") -> None:
    if len(shape) < 2:
        raise ValueError(f"{argument}: must have the axes (N, C, …), not {tuple(shape)}")


class Channels:
    """x of (N, C, …), with what belongs to its channels: weight, bias and running statistics, of one dtype, which need not
    be that of x."""

    def __init__(
        self, norm: str, x: Any, groups: Any, eps: Any, given: bool, method: str, momentum: Any, **of_channels
    ):
        lib = self.lib = library_of(x)
        self.x, a = x, lib.open(x, "x")
        self.word = lib.dtype(a, "x")
        check_channels(a.shape)
        self.a = a = lib.contiguous(a)
        self.shape = tuple(a.shape)
        n, channels, *more = self.shape
        self.sizes = (n, channels, math.prod(more))
        self.groups = groups_of(groups)
        if self.groups < 1 or channels % self.groups:
            raise ValueError(f"num_groups: must divide the number of channels, {channels}, not {groups}")
        self.eps, self.momentum = parameter_of(eps, "eps"), number_of(momentum, "momentum")
        if not 0 <= self.momentum <= 1:
            raise ValueError(f"momentum: allowed are 0 to 1, not {momentum}")
        words_of(method=method)
        self.norm, self.given, self.method = norm, given, method
        self.parameters = arithmetic_of(self.word)  # where nothing of channels is given
        self.of_channels: dict = {}
        for argument, value in of_channels.items():
            if value is not None:
                self.add(argument, value)
        if given and not {"running_mean", "running_var"} <= set(self.of_channels):
            raise ValueError("running_mean, running_var: must be given unless training")

    def add(self, argument: str, value: Any) -> None:
        lib = self.lib
        if library_of(value) is not lib:
            raise TypeError(
                f"{argument}: must be an array of the library of x, {lib.name}, not {type(value).__name__}"
            )
        a = lib.open(value, argument)
        word = lib.dtype(a, argument)
        if not self.of_channels:
            self.parameters = word
        elif word != self.parameters:
            raise TypeError(
                f"{argument}: must have the dtype of weight, bias and running statistics, not {a.dtype}"
            )
        same_device(lib, self.a, a, argument)
        if tuple(a.shape) != self.sizes[1:2]:
            raise ValueError(f"{argument}: must have the shape {self.sizes[1:2]}, not {tuple(a.shape)}")
        self.of_channels[argument] = lib.contiguous(a)

    def empty(self, shape, word: str):
        return self.lib.empty(shape, word, self.a)

    def run(self, gradient: bool, arrays: dict) -> None:
        lib = self.lib
        at = {name: lib.at(a) for name, a in arrays.items() if a is not None}
        place = lib.place(self.a)
        n, channels, size = self.sizes
        request = self.norm, self.word, self.parameters, n, channels, size, self.groups, self.eps
        try:
            _core.channel_norm(*request, self.momentum, self.given, self.method, gradient, at, place)
        except ValueError as error:
            if not str(error).startswith("parameters: "):
                raise
            argument = next(iter(self.of_channels))  # all of which have that dtype
            raise ValueError(str(error).replace("parameters", argument, 1)) from None
        lib.done(place)

    def forward(self, kept: bool = False):
        """The result; with `kept` also means, reciprocal deviations, and running statistics as they become."""
        own = self.of_channels
        out = self.empty(self.shape, self.word)
        statistics = (self.sizes[1] if self.norm == "batch_norm" else self.sizes[0] * self.groups,)
        mean, rstd = (self.empty(statistics, "f64") if kept else None for _ in range(2))
        running = [own.get("running_mean"), own.get("running_var")]
        if not self.given:
            for i, old in enumerate(running):
                if old is not None:
                    new = running[i] = self.empty(old.shape, self.parameters)
                    new[...] = old
        if math.prod(self.shape) > 0:
            arrays = {
                "x": self.a,
                "out": out,
                "scale": own.get("weight"),
                "shift": own.get("bias"),
                "mean": mean,
            }
            arrays.update(rstd=rstd, running_mean=running[0], running_variance=running[1])
            self.run(False, arrays)
        elif self.norm == "batch_norm" and not self.given:
            raise ValueError("x: must have 2 elements a channel or more in training")
        return self.lib.close(out, self.x), mean, rstd, running

    def gradient(self, upstream: Any, mean: Any, rstd: Any, parameters: bool):
        """With respect to x, and, if asked for, to weight and bias."""
        lib = self.lib
        u = lib.contiguous(second_of(lib, self.x, self.a, self.word, upstream, "upstream"))
        out = self.empty(self.shape, self.word)
        dw, db = (
            lib.filled(self.sizes[1:2], self.parameters, 0, self.a) if parameters else None for _ in range(2)
        )
        if math.prod(self.shape) > 0:
            arrays = {
                "x": self.a,
                "out": out,
                "scale": self.of_channels.get("weight"),
                "mean": mean,
                "rstd": rstd,
            }
            arrays.update(upstream=u, scale_gradient=dw, shift_gradient=db)
            self.run(True, arrays)
        return out, dw, db


def group_norm(
    x, num_groups: int, weight=None, bias=None, eps: float = 1e-5, *, method: str = "automatic"
) -> Any:
    """(x - mean) / sqrt(variance + eps) of each group of channels of a sample of (N, C, …), times weight, plus bias."""
    torch = _of_any(x, weight, bias)
    if torch is not None:
        return torch.group_norm(x, num_groups, weight, bias, eps, method=method)
    return Channels("group_norm", x, num_groups, eps, False, method, 0, weight=weight, bias=bias).forward()[0]


def batch_norm(
    x,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    method: str = "automatic",
) -> Any:
    """(x - mean) / sqrt(variance + eps) of each channel of (N, C, …), times weight, plus bias. In training mean and variance
    are those of x, which running_mean and running_var, unless None, follow in place; else they are these."""
    training = flag_of(training, "training")
    torch = _of_any(x, weight, bias)
    if torch is not None:
        return torch.batch_norm(
            x, running_mean, running_var, weight, bias, training, momentum, eps, method=method
        )
    running = {"running_mean": running_mean, "running_var": running_var}
    channels = Channels(
        "batch_norm", x, 1, eps, not training, method, momentum, weight=weight, bias=bias, **running
    )
    if training:
        for argument, array in running.items():
            if array is not None:
                channels.lib.writable(array, argument)
    out, _, _, new = channels.forward()
    if training:
        for array, value in zip(running.values(), new):
            if array is not None:
                array[...] = value
    return out


class Classes:
    """Logits of (C), (N, C) or (N, C, …) by rows of C, and what they are compared with."""

    def __init__(
        self,
        op: str,
        x: Any,
        target: Any,
        weight: Any,
        ignore_index: Any,
        label_smoothing: Any,
        z_loss: Any = 0.0,
    ) -> None:
        lib = self.lib = library_of(x)
        a = lib.open(x, "x")
        if a.ndim == 0:
            raise ValueError("x: must have an axis of classes")
        r = self.r = Rows(a, 0 if a.ndim == 1 else 1, lib=lib)
        r.x = x
        if library_of(target) is not lib:
            raise TypeError(
                f"target: must be an array of the library of x, {lib.name}, not {type(target).__name__}"
            )
        t = lib.open(target, "target")
        same_device(lib, a, t, "target")
        expected = r.kept
        self.options: dict = {}
        self.arrays: dict = {"x": r.a}
        classes = t if lib.is_int64(t) else lib.as_int64(t)
        self.probabilities = classes is None
        if classes is not None:
            if tuple(classes.shape) != expected:
                raise ValueError(
                    f"target: must have the shape {expected} of classes, not {tuple(classes.shape)}"
                )
            self.arrays["targets"] = lib.contiguous(classes)
            self.options["ignore_index"] = ignore_index_of(ignore_index)
        elif op == "nll":
            raise TypeError(f"target: must be integers, not {t.dtype}")
        else:
            q = r.like(target, "target") if a.ndim < 2 or len(a.shape) == len(t.shape) else None
            if q is None:
                raise ValueError(
                    f"target: must be integers of the shape {expected}, or probabilities of that of x, {tuple(a.shape)}, "
                    f"not {t.dtype} of the shape {tuple(t.shape)}"
                )
            self.arrays["probabilities"] = q.a
            if q.stride != q.n:
                self.options["probability_stride"] = q.stride
        if weight is not None:
            self.arrays["weights"] = widened(lib, weight, r.a, r.word, (r.n,), broadcast=False)
        smoothing = number_of(label_smoothing, "label_smoothing")
        if not 0 <= smoothing <= 1:
            raise ValueError(f"label_smoothing: allowed are 0 to 1, not {label_smoothing}")
        if smoothing:
            self.options["label_smoothing"] = smoothing
        z_loss = number_of(z_loss, "z_loss")
        if z_loss:
            self.options["z_loss"] = z_loss
        if r.n == 0:
            raise ValueError("x: must have classes")

    def forward(
        self, op: str, reduction: str, method: str, dtype: Any, rows: bool = False, kept: bool = False
    ):
        """The loss; or with `rows` that of each row and its weight, in the arithmetic's format. With `kept` also what the gradient
        of cross entropy needs of each row's sum of exponentials; None of nll."""
        r, output = self.r, arithmetic_of(self.r.word) if rows else None
        if not rows and dtype is not None:
            output = dtype_word(dtype, "dtype")
        word = output or r.word
        out = r.empty(r.kept if reduction == "none" else (), word)
        weights = r.empty(r.kept, word) if rows else None
        sums = r.empty((r.rows, 2), arithmetic_of(r.word)) if kept and op == "cross_entropy" else None
        if r.rows == 0 and reduction == "mean":
            out = self.lib.filled((), word, math.nan, r.a)
        elif r.rows > 0 or reduction != "none":
            options = dict(self.options, reduction=reduction, method=method)
            r.run(op, output, options, dict(self.arrays, out=out, row_weights=weights, exp_sums=sums))
        loss = (out, weights) if rows else (self.lib.close(out, r.x),)
        if kept:
            return *loss, sums
        return loss if rows else loss[0]

    def gradient(self, op: str, reduction: str, method: str, factor: Any, exp_sums: Any = None):
        """With respect to x, times `factor`: None for 1, or one number of the arithmetic's format, or, of none, one a
        row. exp_sums: what forward has kept, or None."""
        r = self.r
        out = r.empty(r.shape, r.word)
        if r.rows > 0:
            options = dict(self.options, reduction=reduction, method=method)
            name = "upstream" if reduction == "none" else "factor"
            arrays = {**self.arrays, "out": out, name: factor, "exp_sums": exp_sums}
            if op == "cross_entropy_target_gradient":  # which reads no probabilities, and knows no z-loss
                options.pop("probability_stride", None)
                options.pop("z_loss", None)
                del arrays["probabilities"]
            r.run(op, None, options, arrays)
        return r.close(out)


def _of_classes(op, x, target, weight, ignore_index, reduction, label_smoothing, z_loss, method, dtype):
    reduction_of(reduction)
    words_of(method=method)
    torch = _of_any(x, target, weight)
    if torch is not None:
        more = ignore_index, reduction, label_smoothing, method, z_loss, dtype
        return torch._classes(op, x, target, weight, *more)
    classes = Classes(op, x, target, weight, ignore_index, label_smoothing, z_loss)
    return classes.forward(op, reduction, method, dtype)


def cross_entropy(
    x,
    target,
    weight=None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    method: str = "automatic",
    dtype=None,
) -> Any:
    """-log_softmax(x) at the target. x: (C), (N, C) or (N, C, …); target: classes, integers, or probabilities in the shape of x.
    z_loss times logsumexp(x)**2 is added to the loss of each row."""
    return _of_classes(
        "cross_entropy", x, target, weight, ignore_index, reduction, label_smoothing, z_loss, method, dtype
    )


def nll(
    x,
    target,
    weight=None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    method: str = "automatic",
    dtype=None,
) -> Any:
    """-x at the target; x: logarithms of probabilities."""
    return _of_classes("nll", x, target, weight, ignore_index, reduction, 0.0, 0.0, method, dtype)


# ---- Distillation ----------------------------------------------------------------------------------------------


class Distillation:
    """Logits of a student and a teacher, by rows."""

    def __init__(
        self,
        x: Any,
        target: Any,
        temperature: Any,
        axis: Any,
        reduction: str,
        method: str,
        axis_name: str = "axis",
    ) -> None:
        self.r = r = Rows(x, axis, axis_name=axis_name)
        if hasattr(target, "shape") and tuple(target.shape) != tuple(x.shape):
            raise ValueError(f"target: must have the shape of x, {tuple(x.shape)}, not {tuple(target.shape)}")
        self.x, self.target = r.lib.contiguous(r.a), r.lib.contiguous(r.like(target, "target").a)
        temperature = number_of(temperature, "temperature")
        reduction_of(reduction, ("sum", "mean"))
        words_of(method=method)
        self.reduction, self.options = reduction, (temperature, reduction, method)

    def run(self, output: Optional[str], gradient: bool, upstream: Any, out: Any) -> None:
        r, at = self.r, self.r.lib.at
        arrays = (at(self.x), at(self.target), None if upstream is None else at(upstream), at(out))
        _core.distillation(r.word, output, r.n, r.rows, *self.options, gradient, *arrays, r.place)
        r.lib.done(r.place)

    def forward(self, dtype: Any = None):
        output = None if dtype is None else dtype_word(dtype, "dtype")
        r, word = self.r, output or self.r.word
        if r.rows == 0 and self.reduction == "mean":
            return r.lib.close(r.lib.filled((), word, math.nan, r.a), r.x)
        out = r.empty((), word)
        self.run(output, False, None, out)
        return r.lib.close(out, r.x)

    def gradient(self, upstream: Any = None):
        out = self.r.empty(self.r.shape, self.r.word)
        if upstream is not None:
            upstream = self.r.lib.contiguous(upstream)
        if self.r.rows > 0:
            self.run(None, True, upstream, out)
        return self.r.close(out)


def distillation(
    x,
    target,
    temperature: float = 1.0,
    *,
    axis: int = -1,
    reduction: str = "mean",
    method: str = "automatic",
    dtype=None,
) -> Any:
    """temperature^2 KL(softmax(target / temperature) || softmax(x / temperature)) of a student's logits x and a teacher's. The
    mean is over the rows: of (N, C) what torch calls batchmean. It may be slightly negative where both nearly agree.
    """
    torch = _of_any(x, target)
    if torch is not None:
        return torch.distillation_loss(x, target, temperature, axis, reduction, method=method, dtype=dtype)
    return Distillation(x, target, temperature, axis, reduction, method).forward(dtype)


# ---- Clipping --------------------------------------------------------------------------------------------------


def clip_grad_norm_(
    parameters, max_norm: float, *, eps: float = 1e-6, error_if_nonfinite: bool = False, dtype=None
) -> Any:
    """The norm of a list of arrays taken as one, all of them scaled, in place, where it is above max_norm, which may be
    infinite. Of tensors of torch it is their gradients, as in torch.nn.utils.clip_grad_norm_."""
    if hasattr(parameters, "shape"):
        parameters = [parameters]
    try:
        arrays = list(parameters)
    except TypeError:
        raise TypeError("parameters: must be an array or a list of arrays") from None
    max_norm, eps = limit_of(max_norm, "max_norm"), parameter_of(eps, "eps")
    if not arrays:
        return NUMPY.filled((), "f32" if dtype is None else dtype_word(dtype, "dtype"), 0, None)[()]
    lib = library_of(arrays[0])
    if lib.name == "torch":
        for i, p in enumerate(arrays):
            if library_of(p) is not lib:
                raise TypeError(f"parameters[{i}]: must be a tensor of torch, not {type(p).__name__}")
        arrays = [p.grad for p in arrays if p.grad is not None]
        if not arrays:
            return lib.torch.tensor(0.0)
        arrays = [g.detach() for g in arrays]
    given: list = []
    pieces: list = []
    copies: list = []
    for i, array in enumerate(arrays):
        argument = f"parameters[{i}]"
        if library_of(array) is not lib or (lib is NUMPY and not isinstance(array, np.ndarray)):
            raise TypeError(f"{argument}: must be an array of {lib.name}, not {type(array).__name__}")
        a = lib.open(array, argument)
        lib.writable(array, argument)
        word = lib.dtype(a, argument)
        if word[:2] == "f8":
            raise TypeError(f"{argument}: tensors of 8 bits are not clipped, and this is {a.dtype}")
        if given:
            same_device(lib, given[0], a, argument)
        piece = dense(lib, a)
        if not lib.is_contiguous(piece):
            piece = a = lib.contiguous(a)
        if a is not array:
            copies.append((array, a))
        given.append(a)
        pieces.append((lib.at(piece), math.prod(a.shape), word))
    wide = any(piece[2] == "f64" for piece in pieces)
    word = dtype_word(dtype, "dtype") if dtype is not None else "f64" if wide else "f32"
    out, place = lib.empty((), word, given[0]), lib.place(given[0])
    if flag_of(error_if_nonfinite, "error_if_nonfinite"):
        _core.reduce_list("nrm2", word, False, pieces, lib.at(out), place)
        lib.done(place)
        if not math.isfinite(float(out)):
            raise RuntimeError(f"parameters: their norm is {float(out)}, and error_if_nonfinite is set")
    _core.clip_grad_norm(pieces, max_norm, eps, word, lib.at(out), place)
    for array, a in copies:
        array[...] = a
    return lib.close(out, arrays[0])
