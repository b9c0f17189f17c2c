"""detreduce for PyTorch: functions and modules like those of torch.nn, with gradients, whose bits can be relied on.

    import detreduce.torch as drt
    loss = drt.cross_entropy(logits, target)      # as torch.nn.functional.cross_entropy
    loss.backward()

    with drt.reproducible():                      # what there is of the model, forward and backward, in these bits
        loss = model(x).mean()
    loss.backward()

The ops are known to torch.library: they work in eager mode, under torch.compile and in CUDA graphs.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import torch as _torch

from .. import _core, _losses
from .._arrays import library_of as _library_of
from .._reduce import axes_of
from .._reduce import reduced as _reduce_array
from . import _ops

Tensor = _torch.Tensor
Dim = Union[None, int, Sequence[int]]
_PLAIN = (_torch.Tensor, _torch.nn.Parameter)
_built_with_cuda = _core.built_with_cuda
_place = _library_of(_torch.empty(0)).place
_modes = _torch._C._len_torch_dispatch_stack
_transforms = _torch._C._functorch.peek_interpreter_stack


def _direct(*tensors: Any) -> bool:
    """May the arrays of these tensors be read at once, as nobody traces or differentiates what is done?"""
    if _torch.compiler.is_compiling() or _modes() > 0 or _transforms() is not None:
        return False
    tracked = _torch.is_grad_enabled()
    return all(t is None or (type(t) in _PLAIN and not (tracked and t.requires_grad)) for t in tensors)


def _tensor(x: Any, argument: str) -> None:
    if not isinstance(x, _torch.Tensor):
        raise TypeError(f"{argument}: must be a torch.Tensor, not {type(x).__name__}")


def reduced(
    op: str,
    x: Tensor,
    dim: Dim = None,
    keepdim: bool = False,
    *,
    dtype=None,
    method="automatic",
    ddof: int = 0,
):
    """sum, mean, asum, sumsq, nrm2, variance or stddev."""
    _tensor(x, "input")
    if _direct(x):
        if dim is None and not keepdim and dtype is None and type(method) is str and x.is_contiguous():
            word, n = _ops._WORDS.get(x.dtype), x.numel()
            if (
                word is not None
                and n > ddof
                and (x.is_cpu or (x.is_cuda and _built_with_cuda))
                and not x.is_neg()
            ):
                out = x.new_empty(())
                place = None if x.is_cpu else _place(x)
                layout = ("flat", n, 1, 0, 1, ddof, "propagate", 0, None)
                _core.reduce(op, method, word, None, *layout, x.data_ptr(), None, out.data_ptr(), place)
                return out
        empty = op in _ops.NAN_IF_EMPTY
        return _reduce_array(
            op, x, dim, keepdim, method, dtype, ddof=ddof, nan_if_empty=empty, axis_name="dim"
        )
    return _ops.reduce(x, list(axes_of(dim, x.dim(), "dim")), keepdim, op, dtype, method, ddof)


def sum(
    input: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype=None, method: str = "automatic"
) -> Tensor:
    return reduced("sum", input, dim, keepdim, dtype=dtype, method=method)


def mean(
    input: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype=None, method: str = "automatic"
) -> Tensor:
    return reduced("mean", input, dim, keepdim, dtype=dtype, method=method)


def norm(
    input: Tensor, p: float = 2, dim: Dim = None, keepdim: bool = False, *, dtype=None, method="automatic"
) -> Tensor:
    """The 1-norm or the 2-norm."""
    if p not in (1, 2):
        raise ValueError(f"p: allowed are 1 and 2, not {p!r}")
    return reduced("nrm2" if p == 2 else "asum", input, dim, keepdim, dtype=dtype, method=method)


def var(
    input: Tensor, dim: Dim = None, *, correction: int = 1, keepdim: bool = False, method="automatic"
) -> Tensor:
    return reduced("variance", input, dim, keepdim, ddof=_correction(input, correction), method=method)


def std(
    input: Tensor, dim: Dim = None, *, correction: int = 1, keepdim: bool = False, method="automatic"
) -> Tensor:
    return reduced("stddev", input, dim, keepdim, ddof=_correction(input, correction), method=method)


def _correction(x: Tensor, correction: Any) -> int:
    from .._reduce import ddof_of

    return ddof_of(x, None, correction)


def loss(
    name: str,
    x: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    *,
    parameter: float = 1.0,
    reduction: str = "mean",
    method: str = "automatic",
    dtype=None,
) -> Tensor:
    """One of the losses of elements, by its name here."""
    _tensor(x, "input")
    _tensor(target, "target")
    if _direct(x, target, weight):
        return _losses.loss(name, x, target, weight, parameter, reduction, method, dtype)
    if x.shape != target.shape:
        raise ValueError(f"target: must have the shape of input, {tuple(x.shape)}, not {tuple(target.shape)}")
    _losses.reduction_of(reduction, _losses.REDUCTIONS + ("batchmean",))
    return _ops.loss(x, target, weight, name, parameter, reduction, method, dtype)


def mse_loss(input, target, reduction: str = "mean", weight=None, *, method: str = "automatic") -> Tensor:
    return loss("mse", input, target, weight, reduction=reduction, method=method)


def l1_loss(input, target, reduction: str = "mean", weight=None, *, method: str = "automatic") -> Tensor:
    return loss("mae", input, target, weight, reduction=reduction, method=method)


def huber_loss(
    input, target, reduction: str = "mean", delta: float = 1.0, weight=None, *, method="automatic"
) -> Tensor:
    if not delta > 0:
        raise ValueError(f"delta: must be above 0, not {delta}")
    return loss("huber", input, target, weight, parameter=delta, reduction=reduction, method=method)


def smooth_l1_loss(
    input, target, reduction: str = "mean", beta: float = 1.0, *, method: str = "automatic"
) -> Tensor:
    if not beta >= 0:
        raise ValueError(f"beta: must not be negative, not {beta}")
    return loss("smooth_l1", input, target, parameter=beta, reduction=reduction, method=method)


def binary_cross_entropy(
    input, target, weight=None, reduction: str = "mean", *, method: str = "automatic"
) -> Tensor:
    return loss("bce", input, target, weight, reduction=reduction, method=method)


def binary_cross_entropy_with_logits(
    input, target, weight=None, reduction: str = "mean", pos_weight=None, *, method: str = "automatic"
) -> Tensor:
    """pos_weight: a number, or a tensor of one element."""
    if isinstance(pos_weight, _torch.Tensor) and pos_weight.numel() != 1:
        raise ValueError(f"pos_weight: must be one number, not {tuple(pos_weight.shape)}")
    parameter = 1.0 if pos_weight is None else float(pos_weight)
    if not 0 <= parameter < float("inf"):
        raise ValueError(f"pos_weight: must be finite and not negative, not {parameter}")
    return loss(
        "bce_with_logits", input, target, weight, parameter=parameter, reduction=reduction, method=method
    )


def kl_div(
    input, target, reduction: str = "mean", log_target: bool = False, *, method: str = "automatic"
) -> Tensor:
    name = "kl_div_log_target" if log_target else "kl_div"
    return loss(name, input, target, reduction=reduction, method=method)


def distillation_loss(
    input: Tensor,
    target: Tensor,
    temperature: float = 1.0,
    dim: int = -1,
    reduction: str = "mean",
    *,
    method: str = "automatic",
    dtype=None,
) -> Tensor:
    """temperature^2 KL(softmax(target / temperature) || softmax(input / temperature)) of logits; target is a teacher's, without
    a gradient. The mean is over the rows: of (N, C) what kl_div calls batchmean."""
    _tensor(input, "input")
    _tensor(target, "target")
    if _direct(input, target):
        return _losses.Distillation(input, target, temperature, dim, reduction, method).forward(dtype)
    _losses.reduction_of(reduction, ("sum", "mean"))
    dim = axes_of(dim, input.dim(), "dim")[0]
    return _ops.distillation(input, target, float(temperature), dim, reduction, method, dtype)


def softmax(input: Tensor, dim: int = -1, *, dtype=None) -> Tensor:
    return _row_wise("softmax", input, dim, dtype)


def log_softmax(input: Tensor, dim: int = -1, *, dtype=None) -> Tensor:
    return _row_wise("log_softmax", input, dim, dtype)


def _row_wise(op: str, x: Tensor, dim: int, dtype) -> Tensor:
    _tensor(x, "input")
    if dtype is not None:
        x = x.to(dtype)
    if _direct(x):
        return _losses.row_wise(op, x, dim, None)
    return _ops.row_wise(x, axes_of(dim, x.dim(), "dim")[0], op)


def logsumexp(input: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype=None) -> Tensor:
    _tensor(input, "input")
    if dtype is not None:
        input = input.to(dtype)
    if _direct(input):
        return _losses.logsumexp_of(input, dim, keepdim, None, "dim")
    return _ops.logsumexp(input, list(axes_of(dim, input.dim(), "dim")), keepdim)


def layer_norm(input: Tensor, normalized_shape, weight=None, bias=None, eps: float = 1e-5) -> Tensor:
    return _norm("layernorm", input, normalized_shape, weight, bias, eps)


def rms_norm(input: Tensor, normalized_shape, weight=None, eps: Optional[float] = None) -> Tensor:
    return _norm("rmsnorm", input, normalized_shape, weight, None, eps)


def _norm(op: str, x: Tensor, normalized_shape, weight, bias, eps) -> Tensor:
    _tensor(x, "input")
    if _direct(x, weight, bias):
        return _losses.norm(op, x, normalized_shape, weight, bias, eps)
    last = _losses._normalized(x, normalized_shape)
    if eps is None:
        eps = _torch.finfo(_ops.arithmetic(x.dtype)).eps
    if bias is not None and weight is None:
        weight = _torch.ones_like(bias)
    return _ops.norm(x, list(x.shape[x.dim() - last :]), weight, bias, float(eps), op)[0]


def group_norm(
    input: Tensor, num_groups: int, weight=None, bias=None, eps: float = 1e-5, *, method: str = "automatic"
) -> Tensor:
    return _channel_norm("group_norm", input, weight, bias, None, None, num_groups, False, 0.0, eps, method)


def batch_norm(
    input: Tensor,
    running_mean: Optional[Tensor] = None,
    running_var: Optional[Tensor] = None,
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    method: str = "automatic",
) -> Tensor:
    """As torch.nn.functional.batch_norm: in training the running statistics, unless None, follow those of the batch."""
    running = (running_mean, running_var)
    return _channel_norm("batch_norm", input, weight, bias, *running, 1, not training, momentum, eps, method)


def _channel_norm(norm, x, weight, bias, running_mean, running_var, groups, given, momentum, eps, method) -> Tensor:
    _tensor(x, "input")
    if bias is not None and weight is None:
        weight = _torch.ones_like(bias)
    running = (running_mean, running_var)
    args = (x, weight, bias, *running, groups, given, float(momentum), float(eps), norm, method)
    if _direct(x, weight, bias):
        channels = _ops._channels(*args)
        out, _, _, new = channels.forward()
    else:
        if given and None in (running_mean, running_var):
            raise ValueError("running_mean, running_var: must be given unless training")
        out, _, _, *new = _ops.channel_norm(*args)
    if not given:
        with _torch.no_grad():
            for old, value in zip(running, new):
                if old is not None:
                    old.copy_(value)
    return out


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    *,
    z_loss: float = 0.0,
    method: str = "automatic",
) -> Tensor:
    return _classes(
        "cross_entropy", input, target, weight, ignore_index, reduction, label_smoothing, method, z_loss
    )


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    *,
    method: str = "automatic",
) -> Tensor:
    return _classes("nll", input, target, weight, ignore_index, reduction, 0.0, method)


def _classes(
    op, x, target, weight, ignore_index, reduction, label_smoothing, method, z_loss=0.0
) -> Tensor:
    _tensor(x, "input")
    _tensor(target, "target")
    _losses.reduction_of(reduction)
    if _direct(x, target, weight):
        classes = _losses.Classes(op, x, target, weight, ignore_index, label_smoothing, z_loss)
        return classes.forward(op, reduction, method, None)
    return _ops.cross_entropy(x, target, weight, ignore_index, label_smoothing, op, reduction, method, z_loss)


def clip_grad_norm_(
    parameters,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: Optional[bool] = None,
) -> Tensor:
    """As torch.nn.utils.clip_grad_norm_, of the 2-norm. The norm has the bits of all gradients in any order."""
    if float(norm_type) != 2.0:
        raise ValueError(f"norm_type: allowed is 2, not {norm_type!r}")
    if isinstance(parameters, _torch.Tensor):
        parameters = [parameters]
    with _torch.no_grad():
        return _losses.clip_grad_norm_(list(parameters), max_norm, error_if_nonfinite=error_if_nonfinite)


from ._mode import not_covered, reproducible  # noqa: E402
from ._modules import (  # noqa: E402
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    GroupNorm,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    LayerNorm,
    LogSoftmax,
    MSELoss,
    NLLLoss,
    RMSNorm,
    SmoothL1Loss,
    Softmax,
)

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "CrossEntropyLoss",
    "GroupNorm",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LayerNorm",
    "LogSoftmax",
    "MSELoss",
    "NLLLoss",
    "RMSNorm",
    "SmoothL1Loss",
    "Softmax",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "clip_grad_norm_",
    "cross_entropy",
    "distillation_loss",
    "group_norm",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "log_softmax",
    "logsumexp",
    "loss",
    "mean",
    "mse_loss",
    "nll_loss",
    "norm",
    "not_covered",
    "reduced",
    "reproducible",
    "rms_norm",
    "smooth_l1_loss",
    "softmax",
    "std",
    "sum",
    "var",
]
