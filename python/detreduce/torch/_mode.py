"""`with reproducible():` what a model computes by torch's functions is computed by detreduce, as far as that has them."""

from __future__ import annotations

import collections
import inspect
import math
import sys
from typing import Any, Callable, Dict, Optional, Tuple

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.nn import _reduction as _legacy
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import detreduce.torch as drt

from .. import _losses
from .._reduce import reduced as _reduce_array
from . import _ops

_TYPES = (Tensor, torch.nn.Parameter, FakeTensor, FunctionalTensor)
_ELEMENTS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_SHORT = (torch.float16, torch.bfloat16)
_has_names = getattr(Tensor, "has_names", lambda t: False)  # torch 2.15 has no tensors with names any more
_HANDLERS: Dict[Any, Tuple[Callable, Tuple[str, ...]]] = {}  # and the names of their parameters
# Other names by which torch knows a parameter, and what handlers call it.
_SPELLINGS = {**dict.fromkeys(("input", "self", "a", "x1"), "x"), "axis": "dim", "keepdims": "keepdim"}
# What arguments raise that detreduce has not; torch computes what they ask for, or says what is wrong with them.
_REFUSED = (TypeError, ValueError, IndexError)
# By the names that they have as functions and methods of torch.
_LEFT = {
    "matrix products": """matmul __matmul__ __rmatmul__ mm bmm mv ger outer addmm addmv addbmm baddbmm addr einsum dot vdot inner
        vecdot tensordot linear bilinear chain_matmul multi_dot matrix_power matrix_exp kron cov corrcoef smm hspmm sspaddmm
        linear_cross_entropy scaled_mm grouped_mm _scaled_mm _grouped_mm scaled_grouped_mm""",
    "convolutions": """conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc convolution _convolution
        cudnn_convolution""",
    "recurrent layers": """rnn_tanh rnn_relu lstm gru rnn_tanh_cell rnn_relu_cell lstm_cell gru_cell""",
    "fused attention": "scaled_dot_product_attention multi_head_attention_forward",
    "other normalizations": """instance_norm local_response_norm native_batch_norm native_group_norm
        native_layer_norm cudnn_batch_norm miopen_batch_norm batch_norm_stats batch_norm_elemt batch_norm_gather_stats
        batch_norm_gather_stats_with_counts batch_norm_backward_reduce batch_norm_backward_elemt batch_norm_update_stats
        _native_batch_norm_legit _fused_rms_norm renorm""",
    "pooling": """avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d lp_pool1d lp_pool2d
        lp_pool3d interpolate upsample upsample_bilinear grid_sample grid_sampler grid_sampler_2d grid_sampler_3d fold""",
    "scattered sums": """embedding embedding_bag index_add scatter_add scatter_reduce index_reduce index_put put bincount histc histogram
        histogramdd segment_reduce""",
    "running sums": "cumsum cumprod logcumsumexp trapz trapezoid cumulative_trapezoid",
    "other reductions": """prod nanmean dist cdist pdist nuclear_norm frobenius_norm matrix_norm norm_except_dim
        pairwise_distance sparse_sum native_norm logdet det slogdet cond""",
    "other losses": """poisson_nll_loss gaussian_nll_loss triplet_margin_loss triplet_margin_with_distance_loss margin_ranking_loss
        hinge_embedding_loss cosine_embedding_loss soft_margin_loss multilabel_margin_loss multilabel_soft_margin_loss
        multi_margin_loss ctc_loss kl_div binary_cross_entropy_with_logits gumbel_softmax adaptive_log_softmax_with_loss""",
    "reductions over processes": """all_reduce all_reduce_coalesced reduce reduce_scatter reduce_scatter_single reduce_scatter_tensor
        reduce_scatter_tensor_coalesced""",
    "Fourier transforms and decompositions": """fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft hfft2 ihfft2
        hfftn ihfftn stft istft inv inverse inv_ex pinv pinverse svd svdvals svd_lowrank pca_lowrank qr lu lu_factor lu_factor_ex lu_solve
        cholesky cholesky_ex cholesky_solve cholesky_inverse solve solve_ex solve_triangular triangular_solve lstsq eig eigh eigvals
        eigvalsh lobpcg ldl_factor ldl_factor_ex ldl_solve householder_product ormqr orgqr geqrf tensorinv tensorsolve matrix_rank""",
}


def _handles(*functions):
    def register(handler):
        names = tuple(inspect.signature(handler).parameters)
        for f in functions:
            _HANDLERS[f] = handler, names
        return handler

    return register


def _respelled(kwargs: dict, names: Tuple[str, ...]) -> Optional[dict]:
    """kwargs by the names of a handler's parameters; None if it has no such parameter, or one is given twice."""
    for name in kwargs:
        if name not in names:
            break
    else:
        return kwargs
    named: dict = {}
    for name, value in kwargs.items():
        name = name if name in names else _SPELLINGS.get(name, name)
        if name not in names or name in named:
            return None
        named[name] = value
    return named


def _fit(*tensors: Any) -> bool:
    """Tensors of one dtype that detreduce has, on one device that it knows: of torch's own types, no DTensor and the like."""
    first, compiling = tensors[0], torch.compiler.is_compiling()
    if type(first) not in _TYPES or first.dtype not in _ELEMENTS or first.device.type not in ("cpu", "cuda"):
        return False
    for t in tensors:
        if t is None:
            continue
        if type(t) not in _TYPES or t.is_nested or t.layout is not torch.strided:
            return False
        if not compiling and _has_names(t):  # torch.compile takes no tensor with names
            return False
        if t is not first and (t.dtype is not first.dtype or t.device != first.device):
            return False
    return True


def _ops_of_autocast(kind: str) -> frozenset:
    """Those of the ops that are taken which autocast knows on such a device: it computes them in float32."""
    names = """sum sum.dim_IntList linalg_vector_norm softmax.int log_softmax.int logsumexp layer_norm group_norm rms_norm cross_entropy_loss nll_loss_nd
        nll_loss mse_loss l1_loss huber_loss smooth_l1_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div cosine_similarity
        trace pow.Tensor_Scalar"""
    key = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}[kind]

    def has(name):
        try:
            return torch._C._dispatch_has_kernel_for_dispatch_key("aten::" + name, key)
        except RuntimeError:  # an op that this torch has not
            return False

    return frozenset(filter(has, names.split()))


# The ops of torch of which a loss of classes is made, as autocast knows them.
OF_CLASSES = {
    "cross_entropy": "cross_entropy_loss nll_loss_nd log_softmax.int",
    "nll_loss": "nll_loss nll_loss_nd",
}
_AUTOCAST = {kind: _ops_of_autocast(kind) for kind in ("cpu", "cuda")}


def _wide(names: str, *tensors: Any):
    """Under autocast in float32, if torch computes one of these ops so on the device."""
    kind = tensors[0].device.type if isinstance(tensors[0], Tensor) else ""
    if (
        kind in _AUTOCAST
        and torch.is_autocast_enabled(kind)
        and any(n in _AUTOCAST[kind] for n in names.split())
    ):
        return tuple(t.float() if isinstance(t, Tensor) and t.dtype in _SHORT else t for t in tensors)
    return tensors


def _dims(x: Tensor, dim: Any) -> Any:
    """An empty list is all dimensions. So are 0 and -1, which torch takes, of a tensor that has none."""
    given = dim if isinstance(dim, (tuple, list)) else (dim,)
    if len(given) == 0 or (len(given) == 1 and x.dim() == 0 and given[0] in (0, -1)):
        return None
    return dim


@_handles(torch.sum, Tensor.sum)
def _sum(x, dim=None, keepdim=False, *, dtype=None, out=None):
    (x,) = _wide("sum sum.dim_IntList", x)
    return _summed("sum", x, dim, keepdim, dtype, out)


@_handles(torch.mean, Tensor.mean)
def _mean(x, dim=None, keepdim=False, *, dtype=None, out=None):
    return _summed("mean", x, dim, keepdim, dtype, out)


def _summed(op, x, dim, keepdim, dtype, out):
    if out is not None or (dtype is not None and dtype not in _ELEMENTS):
        return NotImplemented
    x = x if dtype is None else x.to(dtype)
    return drt.reduced(op, x, _dims(x, dim), keepdim) if _fit(x) else NotImplemented


@_handles(torch.var, Tensor.var)
def _var(x, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
    return _deviation("variance", x, dim, unbiased, keepdim, correction, out)


@_handles(torch.std, Tensor.std)
def _std(x, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
    return _deviation("stddev", x, dim, unbiased, keepdim, correction, out)


def _deviation(op, x, dim, unbiased, keepdim, correction, out=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if out is not None or not _fit(x):
        return NotImplemented
    dim = _dims(x, dim)
    ddof = _ddof(x, dim, unbiased if correction is None else correction)
    return NotImplemented if ddof is None else drt.reduced(op, x, dim, keepdim, ddof=ddof)


def _ddof(x: Tensor, dim: Any, correction: Any) -> Optional[int]:
    """None if detreduce has no such correction, or nothing is left to divide by."""
    ddof = 1 if correction is None else correction
    n = x.numel() if dim is None else 1
    for axis in () if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,):
        n *= x.shape[axis]
    return int(ddof) if isinstance(ddof, int) and 0 <= ddof < n else None


@_handles(torch.var_mean)
def _var_mean(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
    return _with_mean("variance", x, dim, unbiased, keepdim, correction)


@_handles(torch.std_mean)
def _std_mean(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
    return _with_mean("stddev", x, dim, unbiased, keepdim, correction)


def _with_mean(op, x, dim, unbiased, keepdim, correction):
    deviation = _deviation(op, x, dim, unbiased, keepdim, correction)
    if deviation is NotImplemented:
        return NotImplemented
    return deviation, drt.reduced("mean", x, None if isinstance(dim, bool) else _dims(x, dim), keepdim)


@_handles(torch.nansum, Tensor.nansum)
def _nansum(x, dim=None, keepdim=False, *, dtype=None, out=None):
    if x.is_complex():
        return NotImplemented
    x = x.masked_fill(x.isnan(), 0) if _fit(x) else x
    return _summed("sum", x, dim, keepdim, dtype, out)


@_handles(Tensor.sum_to_size)
def _sum_to_size(x, *sizes, size=None):
    size = sizes if size is None else size
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)
    first = x.dim() - len(shape)
    if first < 0 or any(n != 1 and n != of_x for n, of_x in zip(shape, x.shape[first:])):
        return NotImplemented
    if shape != x.shape:
        (x,) = _wide("sum sum.dim_IntList", x)
    return _ops._summed_to(x, shape) if _fit(x) else NotImplemented


@_handles(torch.trace, Tensor.trace)
def _trace(x):
    (x,) = _wide("trace sum", x)  # on a GPU torch sums the diagonal
    if not _fit(x) or x.dim() != 2 or (x.is_cpu and x.dtype in _SHORT):
        return NotImplemented
    return drt.sum(x.diagonal())


@_handles(F.cosine_similarity, torch.cosine_similarity)
def _cosine_similarity(x, x2, dim=1, eps=1e-8):
    x, x2 = _wide("cosine_similarity", x, x2)
    if not _fit(x, x2) or x.dim() == 0 or x2.dim() == 0 or x.numel() == 0 or x2.numel() == 0:
        return NotImplemented
    return drt.cosine_similarity(x, x2, dim, eps)


@_handles(F.normalize)
def _normalize(x, p=2.0, dim=1, eps=1e-12, out=None):
    norm = _vector_norm(x, p, dim, True, out=out)
    return NotImplemented if norm is NotImplemented else x / norm.clamp_min(eps).expand_as(x)


@_handles(torch.norm)
def _norm(x, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    if p == "fro" and isinstance(dim, (tuple, list)) and len(dim) > 2:
        return NotImplemented
    p = 2 if p is None or p == "fro" else p
    return _vector_norm(x, p, dim, keepdim, dtype=dtype, out=out)


@_handles(Tensor.norm)
def _norm_of_tensor(x, p="fro", dim=None, keepdim=False, dtype=None):
    return _norm(x, p, dim, keepdim, None, dtype)


@_handles(torch.linalg.vector_norm)
def _vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    (x,) = _wide("linalg_vector_norm", x)
    return NotImplemented if out is not None else _normed(x, ord, dim, keepdim, dtype)


def _normed(x, ord, dim=None, keepdim=False, dtype=None):
    if isinstance(ord, complex) or ord not in (1, 2) or not _fit(x) or not _as_wide(dtype, x):
        return NotImplemented
    if isinstance(dim, (bool, Tensor)) or type(keepdim) is not bool:
        return NotImplemented
    x = x if dtype is None else x.to(dtype)
    return drt.reduced("nrm2" if ord == 2 else "asum", x, _dims(x, dim), keepdim)


def _as_wide(dtype: Optional[torch.dtype], x: Tensor) -> bool:
    """Does dtype have every value that the dtype of x has?"""
    return dtype is None or (dtype in _ELEMENTS and torch.promote_types(dtype, x.dtype) is dtype)


@_handles(torch.linalg.norm)
def _linalg_norm(x, ord=None, dim=None, keepdim=False, *, dtype=None, out=None):
    axes = len(dim) if isinstance(dim, (tuple, list)) else x.dim() if dim is None else 1
    if ord is None:
        fit = dim is None or axes in (1, 2)
    else:
        fit = axes == (2 if ord == "fro" else 1)  # a number of two axes is another norm of a matrix
    if not fit:
        return NotImplemented
    return _vector_norm(x, 2 if ord is None or ord == "fro" else ord, dim, keepdim, dtype=dtype, out=out)


@_handles(torch._foreach_norm, *([torch.foreach.norm] if hasattr(torch, "foreach") else []))
def _foreach_norm(x, ord=2, dtype=None):
    norms = [_normed(t, ord, dtype=dtype) for t in x]
    return NotImplemented if not norms or any(n is NotImplemented for n in norms) else tuple(norms)


@_handles(F.softmin)
def _softmin(x, dim=None, _stacklevel=3, dtype=None):
    return _row_wise(drt.softmax, -x, dim, dtype) if _fit(x) else NotImplemented


def _handle_rows(name: str) -> None:
    """Of torch and of torch.nn, which have other parameters."""
    f = getattr(drt, name)

    @_handles(*(getattr(where, name) for where in (torch, Tensor, torch.special)))
    def of_torch(x, dim, dtype=None):
        return _row_wise(f, x, dim, dtype)

    @_handles(getattr(F, name))
    def of_nn(x, dim=None, _stacklevel=3, dtype=None):
        return _row_wise(f, x, dim, dtype)


_handle_rows("softmax")
_handle_rows("log_softmax")


def _row_wise(f, x, dim, dtype):
    (x,) = _wide("log_softmax.int" if f is drt.log_softmax else "softmax.int", x)
    if dim is None or type(dim) is bool or not _fit(x) or x.dim() == 0:
        return NotImplemented
    return f(x, dim, dtype=dtype) if dtype is None or dtype in _ELEMENTS else NotImplemented


@_handles(torch.logsumexp, Tensor.logsumexp, torch.special.logsumexp)
def _logsumexp(x, dim, keepdim=False, *, out=None):
    (x,) = _wide("logsumexp", x)
    if out is not None or dim is None or dim == () or dim == [] or not _fit(x):
        return NotImplemented
    return drt.logsumexp(x, _dims(x, dim), keepdim)


@_handles(F.layer_norm, torch.layer_norm)
def _layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    if eps is None:
        return NotImplemented
    return _row_norm("layernorm", normalized_shape, eps, *_wide("layer_norm", x, weight, bias))


@_handles(F.rms_norm, torch.rms_norm)
def _rms_norm(x, normalized_shape, weight=None, eps=None):
    return _row_norm("rmsnorm", normalized_shape, eps, *_wide("rms_norm", x, weight, None))


def _row_norm(op, normalized_shape, eps, x, weight, bias):
    shape = tuple(normalized_shape)
    if not _fit(x, weight, bias) or any(p is not None and p.shape != shape for p in (weight, bias)):
        return NotImplemented
    if any(n == 0 or type(n) is bool for n in shape) or not (eps is None or 0 <= eps < math.inf):
        return NotImplemented
    return drt._norm(op, x, shape, weight, bias, eps)


@_handles(F.group_norm, torch.group_norm)
def _group_norm(x, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    x, weight, bias = _wide("group_norm", x, weight, bias)
    if not _fit_channels(x, weight, bias) or type(num_groups) is bool:
        return NotImplemented
    if x.numel() == 0 or x.numel() == num_groups:
        return NotImplemented
    return drt.group_norm(x, num_groups, weight, bias, eps)


@_handles(F.batch_norm)
def _batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if not _fit_channels(x, weight, bias, running_mean, running_var) or x.numel() == 0 or not eps > 0:
        return NotImplemented
    if type(training) is not bool or (running_mean is None) is not (running_var is None):
        return NotImplemented
    return drt.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)


@_handles(torch.batch_norm)
def _batch_norm_of_torch(x, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    return _batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)


def _fit_channels(x, *parameters):
    """Parameters have the dtype of x; those of 16-bit elements may have float32."""
    given = [p for p in parameters if p is not None]
    if not given or not _fit(x):
        return _fit(x)
    if not _fit(*given) or given[0].device != x.device:
        return False
    return given[0].dtype is x.dtype or (given[0].dtype is torch.float32 and x.dtype in _SHORT)


def _reduction(size_average, reduce, reduction):
    return (
        _legacy.legacy_get_string(size_average, reduce)
        if size_average is not None or reduce is not None
        else reduction
    )


@_handles(F.cross_entropy)
def _cross_entropy(
    x,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    return _classes(
        drt.cross_entropy,
        x,
        target,
        weight,
        ignore_index,
        _reduction(size_average, reduce, reduction),
        label_smoothing,
    )


@_handles(F.nll_loss)
def _nll_loss(x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    return _classes(
        drt.nll_loss, x, target, weight, ignore_index, _reduction(size_average, reduce, reduction)
    )


def _classes(f, x, target, weight, ignore_index, reduction, *smoothing):
    names = OF_CLASSES[f.__name__]
    x, weight = _wide(names, x, weight)
    if not isinstance(target, Tensor):
        return NotImplemented
    probabilities = target.dtype.is_floating_point
    if probabilities:
        (target,) = _wide(names, target)
        fit = ignore_index < 0
    else:
        fit = target.dtype is torch.int64 or (target.dtype is torch.uint8 and not any(smoothing))
        fit = fit and (torch.compiler.is_compiling() or not _has_names(target))
    if not fit or not _fit(x, weight, target if probabilities else None) or type(ignore_index) is bool:
        return NotImplemented
    axis = 0 if x.dim() == 1 else 1
    if weight is not None and (weight.requires_grad or weight.shape != x.shape[axis : axis + 1]):
        return NotImplemented
    return f(x, target, weight, ignore_index, reduction, *smoothing)


@_handles(F.mse_loss)
def _mse_loss(x, target, size_average=None, reduce=None, reduction="mean", weight=None):
    wide = "mse_loss" if weight is None else "pow.Tensor_Scalar"
    return _of_elements("mse", wide, x, target, weight, _reduction(size_average, reduce, reduction))


@_handles(F.l1_loss)
def _l1_loss(x, target, size_average=None, reduce=None, reduction="mean", weight=None):
    reduction = _reduction(size_average, reduce, reduction)
    wide = "l1_loss" if weight is None else "" if reduction == "none" else "sum"
    return _of_elements("mae", wide, x, target, weight, reduction)


_L1_LOSS = F.l1_loss


def _with_weight(kwargs: dict) -> dict:
    """The arguments of l1_loss with its weight, which torch 2.11 does not give to a mode. The frame of l1_loss has it."""
    frame = None if "weight" in kwargs or torch.compiler.is_compiling() else sys._getframe(1)
    while frame is not None and frame.f_code is not _L1_LOSS.__code__:
        frame = frame.f_back
    weight = None if frame is None else frame.f_locals.get("weight")
    return kwargs if weight is None else {**kwargs, "weight": weight}


@_handles(F.huber_loss)
def _huber_loss(x, target, reduction="mean", delta=1.0, weight=None):
    if not 1e-38 <= delta <= 1e38:  # finite, and not 0, as a float32
        return NotImplemented
    return _of_elements("huber", "huber_loss", x, target, weight, reduction, delta)


@_handles(F.smooth_l1_loss)
def _smooth_l1_loss(x, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    if not 0 <= beta <= 1e38:
        return NotImplemented
    reduction = _reduction(size_average, reduce, reduction)
    return _of_elements("smooth_l1", "smooth_l1_loss", x, target, None, reduction, beta)


@_handles(F.kl_div)
def _kl_div(x, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    reduction = _reduction(size_average, reduce, reduction)
    if type(log_target) is not bool:
        return NotImplemented
    name = "kl_div_log_target" if log_target else "kl_div"
    return _of_elements(name, "kl_div", x, target, None, reduction)


def _of_elements(name, wide, x, target, weight, reduction, parameter=1.0):
    """x and target are broadcast; weight has the shape of x."""
    x, target, weight = _wide(wide, x, target, weight)
    if not _fit(x, target, weight) or (reduction == "batchmean" and not name.startswith("kl_div")):
        return NotImplemented
    shape = x.shape
    if shape != target.shape:
        if any(m != n and m != 1 and n != 1 for m, n in zip(shape[::-1], target.shape[::-1])):
            return NotImplemented
        x, target = torch.broadcast_tensors(x, target)
    if weight is not None and not weight.shape == shape == x.shape:
        return NotImplemented
    if reduction == "batchmean" and (x.shape != shape or x.numel() == 0):
        return NotImplemented
    return drt.loss(name, x, target, weight, parameter=float(parameter), reduction=reduction)


@_handles(F.binary_cross_entropy)
def _bce(x, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    reduction = _reduction(size_average, reduce, reduction)
    return _binary("bce", "binary_cross_entropy", x, target, weight, reduction)


@_handles(F.binary_cross_entropy_with_logits)
def _bce_with_logits(
    x, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    reduction = _reduction(size_average, reduce, reduction)
    wide = "binary_cross_entropy_with_logits"
    return _binary("bce_with_logits", wide, x, target, weight, reduction, pos_weight)


def _binary(name, wide, x, target, weight, reduction, pos_weight=None):
    """x and target have one shape; pos_weight is one number."""
    x, target, weight, pos_weight = _wide(wide, x, target, weight, pos_weight)
    if not _fit(x, target, weight) or x.shape != target.shape or reduction == "batchmean":
        return NotImplemented
    if weight is not None and weight.requires_grad:
        return NotImplemented
    if pos_weight is not None:
        if not isinstance(pos_weight, Tensor) or pos_weight.requires_grad:
            return NotImplemented
        alike = (pos_weight,) if pos_weight.dim() == 0 else (x, pos_weight)
        if pos_weight.numel() != 1 or pos_weight.dim() > x.dim() or not _fit(*alike):
            return NotImplemented
    return drt.loss(name, x, target, weight, reduction=reduction, pos_weight=pos_weight)


# ---- What is left to torch --------------------------------------------------------------------------------------


_FOREACH = getattr(torch, "foreach", None)
_NAMESPACES = (
    torch,
    Tensor,
    F,
    torch.linalg,
    torch.special,
    torch.fft,
    torch._C._nn,
    torch.distributed,
    _FOREACH,
)


def _of_names(names: str) -> list:
    """What torch has by these names, and in place by those with an underscore behind them."""
    found = []
    for name in names.split():
        for where in _NAMESPACES:
            for name_here in (name, name + "_"):
                f = getattr(where, name_here, None)
                if callable(f) and f not in found and f not in _HANDLERS:
                    found.append(f)
    return found


_NOT_COVERED = {category: _of_names(names) for category, names in _LEFT.items()}
_CATEGORY = {f: category for category, functions in _NOT_COVERED.items() for f in functions}


def not_covered() -> Dict[str, list]:
    """What reproducible() leaves to torch, by category. So are sums that autograd itself makes for a tensor that was broadcast."""
    return {
        category: sorted({torch.overrides.resolve_name(f) or f.__name__ for f in functions})
        for category, functions in _NOT_COVERED.items()
    }


# ---- What torch computes by itself, below its functions ---------------------------------------------------------

_aten = torch.ops.aten


def _aten_summed(op):
    def handler(x, dim=None, keepdim=False, *, dtype=None):
        if dtype is not None and dtype not in _ELEMENTS:
            return NotImplemented
        x = x if dtype is None else x.to(dtype)
        return _reduce_array(op, x, _dims(x, dim), keepdim, nan_if_empty=op == "mean")

    return handler


def _aten_deviation(op):
    def handler(x, dim=None, *, correction=None, keepdim=False):
        dim = _dims(x, dim)
        ddof = _ddof(x, dim, correction)
        return NotImplemented if ddof is None else _reduce_array(op, x, dim, keepdim, ddof=ddof)

    return handler


def _aten_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if isinstance(ord, complex) or ord not in (1, 2) or not _as_wide(dtype, x):
        return NotImplemented
    x = x if dtype is None else x.to(dtype)
    return _reduce_array("nrm2" if ord == 2 else "asum", x, _dims(x, dim), keepdim)


def _aten_rows(op):
    def handler(x, dim, half_to_float):
        if half_to_float or x.dim() == 0:
            return NotImplemented
        return _losses.row_wise(op, x, dim, None)

    return handler


def _aten_rows_backward(op):
    def handler(grad, y, dim, input_dtype):
        if input_dtype != y.dtype or y.dim() == 0:
            return NotImplemented
        return _losses.row_wise_gradient(op, y, grad, dim)

    return handler


_BELOW = {
    _aten.sum.default: _aten_summed("sum"),
    _aten.sum.dim_IntList: _aten_summed("sum"),
    _aten.mean.default: _aten_summed("mean"),
    _aten.mean.dim: _aten_summed("mean"),
    _aten.var.correction: _aten_deviation("variance"),
    _aten.std.correction: _aten_deviation("stddev"),
    _aten.linalg_vector_norm.default: _aten_norm,
    _aten._softmax.default: _aten_rows("softmax"),
    _aten._log_softmax.default: _aten_rows("log_softmax"),
    _aten._softmax_backward_data.default: _aten_rows_backward("softmax"),
    _aten._log_softmax_backward_data.default: _aten_rows_backward("log_softmax"),
}


def _count(calls: Any, name: str) -> None:
    calls[name] = calls.get(name, 0) + 1


class _Below(TorchDispatchMode):
    def __init__(self, taken: Any) -> None:
        super().__init__()
        self.taken = taken

    def __torch_dispatch__(self, func, types, args=(), kwargs=None) -> Any:
        handler = _BELOW.get(func)
        if handler is not None and all(t is Tensor or t is torch.nn.Parameter for t in types):
            fit = _fit(*(a for a in args if isinstance(a, Tensor)))
            try:
                result = handler(*args, **(kwargs or {})) if fit else NotImplemented
            except _REFUSED:
                result = NotImplemented
            if result is not NotImplemented:
                _count(self.taken, str(func))
                return result
        return func(*args, **(kwargs or {}))


class reproducible(TorchFunctionMode):
    """A context in which sum, mean, norm, var, std, softmax, log_softmax, logsumexp, layer_norm, rms_norm, group_norm, batch_norm,
    cross_entropy and the other losses of torch are those of detreduce, with their gradients.

        with detreduce.torch.reproducible() as mode:
            loss = model(x)
        loss.backward()
        mode.left                 # {"matrix products": 24, ...}: calls that torch computed as ever
        mode.taken                # those that it did not

    What is of another dtype than float16, bfloat16, float32 and float64, or asks for something that detreduce has not, goes the way
    it goes without this; so do wrong arguments. not_covered() lists what always does.

    below=True also takes the sums, means, norms and softmax that torch computes inside of its functions, and that autograd makes of
    a tensor that was broadcast, such as the gradient of a bias: backward() must then be called in the context. That costs some
    microseconds for every op of torch, and torch.compile compiles nothing meanwhile.
    """

    def __init__(self, below: bool = False) -> None:
        super().__init__()
        # torch.compile of torch before 2.9 cannot make a Counter; what it compiles is not counted.
        self.left: Any = {} if torch.compiler.is_compiling() else collections.Counter()
        self.taken: Any = {} if torch.compiler.is_compiling() else collections.Counter()
        self._below = _Below(self.taken) if below else None

    def __enter__(self) -> Any:
        if self._below is not None:
            self._below.__enter__()
        return super().__enter__()

    def __exit__(self, *error) -> None:
        super().__exit__(*error)
        if self._below is not None:
            self._below.__exit__(*error)

    def __torch_function__(self, func, types, args=(), kwargs=None) -> Any:
        kwargs = kwargs or {}
        known = _HANDLERS.get(func)
        if known is not None:
            handler, names = known
            if func is _L1_LOSS:
                kwargs = _with_weight(kwargs)
            named = _respelled(kwargs, names) if kwargs else kwargs
            try:
                result = NotImplemented if named is None else handler(*args, **named)
            except _REFUSED:
                result = NotImplemented
            if result is not NotImplemented:
                if not torch.compiler.is_compiling():
                    _count(self.taken, func.__name__)
                return result
        if not torch.compiler.is_compiling():
            category = _CATEGORY.get(func) or (func.__name__ if known is not None else None)
            if category is not None:
                _count(self.left, category)
        # torch.compile of torch 2.11 cannot follow the method where a mode calls it. No dict: torch 2.15 guards it wrongly.
        return (torch.unflatten if func is Tensor.unflatten else func)(*args, **kwargs)


# torch.compile of torch 2.4 knows no mode, and that of 2.5 would leave it out: what is around one is not compiled.
if torch.__version__ < (2, 6):
    setattr(reproducible, "__init__", torch.compiler.disable(reproducible.__init__))
