"""detreduce for PyTorch: functions and modules like those of torch.nn, with gradients, whose bits can be relied on.

    import detreduce.torch as drt
    loss = drt.cross_entropy(logits, target)      # as torch.nn.functional.cross_entropy
    loss.backward()

    with drt.reproducible():                      # what there is of the model, forward and backward, in these bits
        loss = model(x).mean()
    loss.backward()

The ops are known to torch.library: they work in eager mode, under torch.compile and torch.jit.trace, with torch.func.grad, vjp,
jacrev and vmap, and in CUDA graphs.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import torch as _torch
from torch import Tensor

from .. import _losses
from .._arrays import dtype_word as _dtype_word
from .._reduce import axes_of
from .._reduce import ddof_of as _ddof_of
from .._reduce import words_of as _words_of
from . import _ops

Dim = Union[None, int, Sequence[int]]
_PLAIN = _ops.PLAIN
_LIBRARY = _ops._LIBRARY


def _tensor(x: Any, argument: str) -> None:
    if type(x) not in _PLAIN or x.is_nested:
        if not isinstance(x, _torch.Tensor):
            raise TypeError(f"{argument}: must be a torch.Tensor, not {type(x).__name__}")
        _LIBRARY.refuse_wrapper(x, argument)
    if x.layout is not _torch.strided:
        raise TypeError(f"{argument}: must be a dense tensor, not {x.layout}")


def _tensors(**given: Any) -> None:
    """Tensors on one device; weight, bias and running statistics may be None."""
    first = name = None
    for argument, x in given.items():
        if x is None and argument in ("weight", "bias", "running_mean", "running_var"):
            continue
        if type(x) not in _PLAIN or x.layout is not _torch.strided or x.is_nested:
            _tensor(x, argument)
        if first is None:
            first, name = x.device, argument
        elif x.device != first:
            raise ValueError(f"{argument}: must be on the device of {name}, {first}, not on {x.device}")


def _one(dim: Any, x: Tensor) -> int:
    if dim is None or isinstance(dim, (tuple, list)):
        raise TypeError(f"dim: must be an int, not {dim!r}")
    return axes_of(dim, x.dim(), "dim")[0]


def _dtype(dtype: Any):
    """A dtype of torch, by whatever name it is called."""
    if dtype is None or isinstance(dtype, _torch.dtype) and dtype in _ops._WORDS:
        return dtype
    return _LIBRARY.dtypes[_dtype_word(dtype, "dtype")]


def reduced(
    op: str,
    x: Tensor,
    dim: Dim = None,
    keepdim: bool = False,
    *,
    dtype=None,
    method="automatic",
    ddof: int = 0,
) -> Tensor:
    """sum, mean, asum, sumsq, nrm2, variance or stddev."""
    if type(op) is not str or type(method) is not str:
        _words_of(op=op, method=method)
    if op not in _ops.OPS:
        _ops.refuse_op(op, _ops.OPS)
    if ddof:
        ddof = _ddof_of(x, ddof, None)
    if dim is None and dtype is None and keepdim is False:
        out = _ops.whole(op, x, method, ddof)
        if out is not None:
            return out
    _tensor(x, "input")
    if type(keepdim) is not bool:
        keepdim = _losses.flag_of(keepdim, "keepdim")
    dims = list(range(x.dim()) if dim is None else axes_of(dim, x.dim(), "dim"))
    return _ops.reduce(x, dims, keepdim, op, _dtype(dtype), method, ddof)


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
    if type(p) is not int:
        p = _losses.number_of(p, "p")
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
    return _ddof_of(x, None, correction)


def _moments(x, dim, keepdim, dtype, method, ddof) -> Any:
    _tensor(x, "input")
    _words_of(method=method)
    dims, keepdim = list(axes_of(dim, x.dim(), "dim")), _losses.flag_of(keepdim, "keepdim")
    return _ops.moments(x, dims, keepdim, _dtype(dtype), method, ddof)


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
    pos_weight: Optional[Tensor] = None,
) -> Tensor:
    """One of the losses of elements, by its name here. pos_weight, a tensor of one element, stands in the place of `parameter`."""
    if dtype is None and pos_weight is None and type(parameter) is float:
        out = _ops.loss.try_short(x, target, weight, name, parameter, reduction, method, None, None)
        if out is not None:
            return out
    _tensors(input=x, target=target, weight=weight)
    if type(name) is not str or name not in _losses.LOSSES:
        _losses.loss_of(name)
    if type(method) is not str:
        _words_of(method=method)
    if x.shape != target.shape:
        raise ValueError(f"target: must have the shape of input, {tuple(x.shape)}, not {tuple(target.shape)}")
    _losses.reduction_of(reduction, _losses.REDUCTIONS + ("batchmean",) * name.startswith("kl_div"))
    if type(parameter) is not float:
        parameter = _losses.number_of(parameter, "parameter")
    return _ops.loss(x, target, weight, name, parameter, reduction, method, _dtype(dtype), pos_weight)


def mse_loss(input, target, reduction: str = "mean", weight=None, *, method: str = "automatic") -> Tensor:
    return loss("mse", input, target, weight, reduction=reduction, method=method)


def l1_loss(input, target, reduction: str = "mean", weight=None, *, method: str = "automatic") -> Tensor:
    return loss("mae", input, target, weight, reduction=reduction, method=method)


def huber_loss(
    input, target, reduction: str = "mean", delta: float = 1.0, weight=None, *, method="automatic"
) -> Tensor:
    delta = _losses.parameter_of(delta, "delta", True)
    return loss("huber", input, target, weight, parameter=delta, reduction=reduction, method=method)


def smooth_l1_loss(
    input, target, reduction: str = "mean", beta: float = 1.0, *, method: str = "automatic"
) -> Tensor:
    beta = _losses.parameter_of(beta, "beta")
    return loss("smooth_l1", input, target, parameter=beta, reduction=reduction, method=method)


def binary_cross_entropy(
    input, target, weight=None, reduction: str = "mean", *, method: str = "automatic"
) -> Tensor:
    return loss("bce", input, target, weight, reduction=reduction, method=method)


def binary_cross_entropy_with_logits(
    input, target, weight=None, reduction: str = "mean", pos_weight=None, *, method: str = "automatic"
) -> Tensor:
    """pos_weight: a number, or a tensor of one element, which the host reads: where that is on a GPU, it waits."""
    parameter, of_tensor = 1.0, None
    if isinstance(pos_weight, _torch.Tensor):
        if pos_weight.numel() != 1:
            raise ValueError(f"pos_weight: must be one number, not {tuple(pos_weight.shape)}")
        of_tensor = pos_weight
    elif pos_weight is not None:
        parameter = _losses.pos_weight_of(pos_weight)
    return loss(
        "bce_with_logits",
        input,
        target,
        weight,
        parameter=parameter,
        reduction=reduction,
        method=method,
        pos_weight=of_tensor,
    )


def sigmoid_focal_loss(
    inputs,
    targets,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "none",
    *,
    method: str = "automatic",
) -> Tensor:
    """As in torchvision.ops. alpha, 0 to 1, or below 0 for none, is a weight of each element: alpha of target 1, 1 - alpha of 0."""
    alpha, gamma = _losses.number_of(alpha, "alpha"), _losses.parameter_of(gamma, "gamma")
    if not alpha <= 1:
        raise ValueError(f"alpha: must be at most 1, not {alpha}")
    _tensors(inputs=inputs, targets=targets)
    if not targets.is_floating_point():
        raise TypeError(f"targets: must have the dtype of inputs, {inputs.dtype}, not {targets.dtype}")
    weight = alpha * targets + (1 - alpha) * (1 - targets) if alpha >= 0 else None
    return loss("focal", inputs, targets, weight, parameter=gamma, reduction=reduction, method=method)


def kl_div(
    input, target, reduction: str = "mean", log_target: bool = False, *, method: str = "automatic"
) -> Tensor:
    name = "kl_div_log_target" if _losses.flag_of(log_target, "log_target") else "kl_div"
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
    _tensors(input=input, target=target)
    _words_of(method=method)
    temperature, dim = _losses.number_of(temperature, "temperature"), _one(dim, input)
    _losses.reduction_of(reduction, ("sum", "mean"))
    return _ops.distillation(input, target, temperature, dim, reduction, method, _dtype(dtype))


def softmax(input: Tensor, dim: int = -1, *, dtype=None) -> Tensor:
    if dtype is not None:
        input, dtype = _cast(input, dtype)
    return _row_wise("softmax", input, dim, dtype)


def log_softmax(input: Tensor, dim: int = -1, *, dtype=None) -> Tensor:
    if dtype is not None:
        input, dtype = _cast(input, dtype)
    return _row_wise("log_softmax", input, dim, dtype)


def logsumexp(input: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype=None) -> Tensor:
    if dtype is not None:
        input, dtype = _cast(input, dtype)
    return _logsumexp(input, dim, keepdim, dtype)


def _cast(x: Tensor, dtype: Any) -> tuple:
    """x in `dtype`, as torch casts it; as it is where an op of rows writes that dtype: float32 of 16 bits."""
    _tensor(x, "input")
    dtype = _dtype(dtype)
    if dtype is _torch.float32 and x.dtype in (_torch.float16, _torch.bfloat16):
        return x, dtype
    return x.to(dtype), None


def _row_wise(op: str, x: Tensor, dim: int, dtype: Any) -> Tensor:
    out = _ops.row_wise.try_short(x, dim, op, None) if dtype is None and type(dim) is int else None
    if out is not None:
        return out
    _tensor(x, "input")
    return _ops.row_wise(x, _one(dim, x), op, dtype)


def _logsumexp(x: Tensor, dim: Dim, keepdim: bool, dtype: Any) -> Tensor:
    _tensor(x, "input")
    keepdim = _losses.flag_of(keepdim, "keepdim")
    return _ops.logsumexp(x, list(axes_of(dim, x.dim(), "dim")), keepdim, dtype)


def cosine_similarity(
    x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8, *, method="automatic", dtype=None
) -> Tensor:
    _tensors(x1=x1, x2=x2)
    if type(method) is not str:
        _words_of(method=method)
    eps = _losses.parameter_of(eps, "eps")
    if x1.shape != x2.shape:
        try:
            x1, x2 = _torch.broadcast_tensors(x1, x2)
        except RuntimeError:
            raise ValueError(
                f"x2: must have a shape that goes with {tuple(x1.shape)}, not {tuple(x2.shape)}"
            ) from None
    dtype = None if dtype is None else _dtype(dtype)
    return _ops.cosine(x1, x2, _one(dim, x1), eps, method, dtype)


def layer_norm(input: Tensor, normalized_shape, weight=None, bias=None, eps: float = 1e-5) -> Tensor:
    return _norm("layernorm", input, normalized_shape, weight, bias, eps)


def rms_norm(input: Tensor, normalized_shape, weight=None, eps: Optional[float] = None) -> Tensor:
    return _norm("rmsnorm", input, normalized_shape, weight, None, eps)


def _norm(op: str, x: Tensor, normalized_shape, weight, bias, eps, dtype=None) -> Tensor:
    if dtype is None and type(eps) is float:
        out = _ops.norm.try_short(x, normalized_shape, weight, bias, eps, op, None)
        if out is not None:
            return out
    _tensors(input=x, weight=weight, bias=bias)
    if eps is not None and type(eps) is not float:
        eps = _losses.number_of(eps, "eps")
    last = _losses._normalized(x, normalized_shape)
    if eps is None:
        eps = _torch.finfo(_ops.arithmetic(x.dtype)).eps
    if bias is not None and weight is None:
        weight = _torch.ones_like(bias)
    dtype = None if dtype is None else _dtype(dtype)
    return _ops.norm(x, list(x.shape[x.dim() - last :]), weight, bias, float(eps), op, dtype)[0]


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
    training = _losses.flag_of(training, "training")
    running = (running_mean, running_var)
    return _channel_norm("batch_norm", input, weight, bias, *running, 1, not training, momentum, eps, method)


def _channel_norm(
    norm, x, weight, bias, running_mean, running_var, groups, given, momentum, eps, method
) -> Tensor:
    _tensors(input=x, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var)
    _losses.check_channels(x.shape, "input")
    _words_of(method=method)
    groups, momentum = _losses.groups_of(groups), _losses.number_of(momentum, "momentum")
    eps = _losses.parameter_of(eps, "eps")
    if bias is not None and weight is None:
        weight = _torch.ones_like(bias)
    running = (running_mean, running_var)
    if not given:
        for argument, old in zip(("running_mean", "running_var"), running):
            if old is not None:
                _LIBRARY.writable(old, argument)
    if not given and (running_mean is None) != (running_var is None):
        raise ValueError("running_mean, running_var: must both be None, or neither")
    if given and (running_mean is None or running_var is None):
        raise ValueError("running_mean, running_var: must be given unless training")
    more = groups, given, momentum, eps, norm, method
    out, _, _, *new = _ops.channel_norm(x, weight, bias, *running, *more)
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
    op, x, target, weight, ignore_index, reduction, label_smoothing, method, z_loss=0.0, dtype=None
) -> Tensor:
    more = ignore_index, label_smoothing, op, reduction, method, z_loss, dtype
    if dtype is None and type(ignore_index) is int and type(label_smoothing) is type(z_loss) is float:
        out = _ops.cross_entropy.try_short(x, target, weight, *more)
        if out is not None:
            return out
    _tensors(input=x, target=target, weight=weight)
    if type(method) is not str:
        _words_of(method=method)
    _losses.reduction_of(reduction)
    if type(ignore_index) is not int or not -(2**63) <= ignore_index < 2**63:
        ignore_index = _losses.ignore_index_of(ignore_index)
    if type(label_smoothing) is not float:
        label_smoothing = _losses.number_of(label_smoothing, "label_smoothing")
    if type(z_loss) is not float:
        z_loss = _losses.number_of(z_loss, "z_loss")
    dtype = None if dtype is None else _dtype(dtype)
    more = ignore_index, label_smoothing, op, reduction, method, z_loss, dtype
    return _ops.cross_entropy(x, target, weight, *more)[0]


def clip_grad_norm_(
    parameters,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: Optional[bool] = None,
) -> Tensor:
    """As torch.nn.utils.clip_grad_norm_, of the 2-norm. The norm has the bits of all gradients in any order."""
    if _losses.number_of(norm_type, "norm_type") != 2.0:
        raise ValueError(f"norm_type: allowed is 2, not {norm_type!r}")
    with _torch.no_grad():
        norm = _losses.clip_grad_norm_(parameters, max_norm, error_if_nonfinite=error_if_nonfinite)
        return norm if isinstance(norm, Tensor) else _torch.tensor(0.0)  # of no parameters


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
    "cosine_similarity",
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
    "sigmoid_focal_loss",
    "smooth_l1_loss",
    "softmax",
    "std",
    "sum",
    "var",
]
