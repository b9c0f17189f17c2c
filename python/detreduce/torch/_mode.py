"""`with reproducible():` what a model computes by torch's functions is computed by detreduce, as far as that has them."""

from __future__ import annotations

import collections
from typing import Any, Callable, Dict

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
_HANDLERS: Dict[Any, Callable] = {}
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
        for f in functions:
            _HANDLERS[f] = handler
        return handler

    return register


def _fit(*tensors: Any) -> bool:
    """Tensors of one dtype that detreduce has, on one device that it knows: of torch's own types, no DTensor and the like."""
    given = [t for t in tensors if t is not None]
    first = given[0]
    return all(
        type(t) in _TYPES
        and not t.is_nested
        and t.dtype in _ELEMENTS
        and t.dtype is first.dtype
        and t.device == first.device
        and t.device.type in ("cpu", "cuda")
        and t.layout is torch.strided
        for t in given
    )


def _ops_of_autocast(kind: str) -> frozenset:
    """Those of the ops that are taken which autocast knows on such a device: it computes them in float32."""
    names = """sum sum.dim_IntList linalg_vector_norm softmax.int log_softmax.int logsumexp layer_norm group_norm rms_norm cross_entropy_loss nll_loss_nd
        nll_loss mse_loss l1_loss huber_loss smooth_l1_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div cosine_similarity"""
    key = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}[kind]

    def has(name):
        try:
            return torch._C._dispatch_has_kernel_for_dispatch_key("aten::" + name, key)
        except RuntimeError:  # an op that this torch has not
            return False

    return frozenset(filter(has, names.split()))


_AUTOCAST = {kind: _ops_of_autocast(kind) for kind in ("cpu", "cuda")}


def _wide(names: str, *tensors: Any):
    """Under autocast in float32, if torch computes one of these ops so on the device."""
    kind = next(t for t in tensors if t is not None).device.type
    if (
        kind in _AUTOCAST
        and torch.is_autocast_enabled(kind)
        and any(n in _AUTOCAST[kind] for n in names.split())
    ):
        return tuple(t.float() if isinstance(t, Tensor) and t.dtype in _SHORT else t for t in tensors)
    return tensors


def _dims(dim: Any) -> Any:
    """An empty list is all of them."""
    return None if isinstance(dim, (tuple, list)) and len(dim) == 0 else dim


@_handles(torch.sum, Tensor.sum)
def _sum(x, dim=None, keepdim=False, *, dtype=None, out=None, axis=None):
    (x,) = _wide("sum sum.dim_IntList", x)
    return _summed("sum", x, dim if axis is None else axis, keepdim, dtype, out)


@_handles(torch.mean, Tensor.mean)
def _mean(x, dim=None, keepdim=False, *, dtype=None, out=None, axis=None):
    return _summed("mean", x, dim if axis is None else axis, keepdim, dtype, out)


def _summed(op, x, dim, keepdim, dtype, out):
    if out is not None or (dtype is not None and dtype not in _ELEMENTS):
        return NotImplemented
    x = x if dtype is None else x.to(dtype)
    return drt.reduced(op, x, _dims(dim), keepdim) if _fit(x) else NotImplemented


@_handles(torch.var, Tensor.var)
def _var(x, *args, **kwargs):
    return _deviation("variance", x, *args, **kwargs)


@_handles(torch.std, Tensor.std)
def _std(x, *args, **kwargs):
    return _deviation("stddev", x, *args, **kwargs)


def _deviation(op, x, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if out is not None or not _fit(x) or isinstance(correction, float):
        return NotImplemented
    ddof = correction if correction is not None else 1 if unbiased is None else int(unbiased)
    return drt.reduced(op, x, _dims(dim), keepdim, ddof=ddof)


@_handles(torch.var_mean)
def _var_mean(x, *args, **kwargs):
    return _with_mean("variance", x, *args, **kwargs)


@_handles(torch.std_mean)
def _std_mean(x, *args, **kwargs):
    return _with_mean("stddev", x, *args, **kwargs)


def _with_mean(op, x, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
    deviation = _deviation(op, x, dim, unbiased, keepdim, correction=correction, out=out)
    if deviation is NotImplemented:
        return NotImplemented
    return deviation, drt.reduced("mean", x, None if isinstance(dim, bool) else _dims(dim), keepdim)


@_handles(torch.nansum, Tensor.nansum)
def _nansum(x, dim=None, keepdim=False, *, dtype=None, out=None):
    x = x.masked_fill(x.isnan(), 0) if _fit(x) else x
    return _summed("sum", x, dim, keepdim, dtype, out)


@_handles(Tensor.sum_to_size)
def _sum_to_size(x, *size):
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    return _ops._summed_to(x, shape) if _fit(x) else NotImplemented


@_handles(torch.trace, Tensor.trace)
def _trace(x):
    return drt.sum(x.diagonal()) if _fit(x) and x.dim() == 2 else NotImplemented


@_handles(F.cosine_similarity, torch.cosine_similarity)
def _cosine_similarity(x1, x2, dim=1, eps=1e-8):
    x1, x2 = _wide("cosine_similarity", x1, x2)
    return (
        drt.cosine_similarity(x1, x2, dim, eps)
        if _fit(x1, x2) and x1.dim() > 0 and x2.dim() > 0
        else NotImplemented
    )


@_handles(F.normalize)
def _normalize(x, p=2.0, dim=1, eps=1e-12, out=None):
    norm = _vector_norm(x, p, dim, True, out=out)
    return NotImplemented if norm is NotImplemented else x / norm.clamp_min(eps).expand_as(x)


@_handles(torch.norm, Tensor.norm)
def _norm(x, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    p = 2 if p is None or p == "fro" else p
    return _vector_norm(x, p, dim, keepdim, dtype=dtype, out=out)


@_handles(torch.linalg.vector_norm)
def _vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    if out is not None or ord not in (1, 2) or (dtype is not None and dtype not in _ELEMENTS):
        return NotImplemented
    (x,) = _wide("linalg_vector_norm", x)
    if not _fit(x):
        return NotImplemented
    x = x if dtype is None else x.to(dtype)
    return drt.reduced("nrm2" if ord == 2 else "asum", x, _dims(dim), keepdim)


@_handles(torch.linalg.norm)
def _linalg_norm(x, ord=None, dim=None, keepdim=False, *, dtype=None, out=None):
    matrices = ord is not None and (
        isinstance(dim, (tuple, list)) and len(dim) == 2 or dim is None and x.dim() == 2
    )
    if matrices and ord != "fro":
        return NotImplemented
    return _vector_norm(x, 2 if ord is None or ord == "fro" else ord, dim, keepdim, dtype=dtype, out=out)


@_handles(torch._foreach_norm, *([torch.foreach.norm] if hasattr(torch, "foreach") else []))
def _foreach_norm(tensors, ord=2, dtype=None):
    norms = [_vector_norm(t, ord, dtype=dtype) for t in tensors]
    return NotImplemented if any(n is NotImplemented for n in norms) else tuple(norms)


@_handles(torch.softmax, Tensor.softmax, F.softmax, torch.special.softmax)
def _softmax(x, dim=None, _stacklevel=3, dtype=None):
    return _row_wise(drt.softmax, x, dim, _stacklevel, dtype)


@_handles(F.softmin)
def _softmin(x, dim=None, _stacklevel=3, dtype=None):
    return _row_wise(drt.softmax, -x, dim, _stacklevel, dtype) if _fit(x) else NotImplemented


@_handles(torch.log_softmax, Tensor.log_softmax, F.log_softmax, torch.special.log_softmax)
def _log_softmax(x, dim=None, _stacklevel=3, dtype=None):
    return _row_wise(drt.log_softmax, x, dim, _stacklevel, dtype)


def _row_wise(f, x, dim, third, dtype):
    if isinstance(third, torch.dtype):  # torch.softmax(x, dim, dtype)
        dtype = third
    (x,) = _wide("log_softmax.int" if f is drt.log_softmax else "softmax.int", x)
    if dim is None or x.dim() == 0 or not _fit(x) or (dtype is not None and dtype not in _ELEMENTS):
        return NotImplemented
    return f(x, dim, dtype=dtype)


@_handles(torch.logsumexp, Tensor.logsumexp, torch.special.logsumexp)
def _logsumexp(x, dim, keepdim=False, *, out=None):
    (x,) = _wide("logsumexp", x)
    return NotImplemented if out is not None or not _fit(x) else drt.logsumexp(x, _dims(dim), keepdim)


@_handles(F.layer_norm, torch.layer_norm)
def _layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    return _row_norm("layernorm", normalized_shape, eps, *_wide("layer_norm", x, weight, bias))


@_handles(F.rms_norm, torch.rms_norm)
def _rms_norm(x, normalized_shape, weight=None, eps=None):
    return _row_norm("rmsnorm", normalized_shape, eps, *_wide("rms_norm", x, weight, None))


def _row_norm(op, normalized_shape, eps, x, weight, bias):
    y = _ops.short_norm(op, x, normalized_shape, weight, bias, eps) if x.dtype in _ELEMENTS else None
    if y is not None:
        return y
    return drt._norm(op, x, normalized_shape, weight, bias, eps) if _fit(x, weight, bias) else NotImplemented


@_handles(F.group_norm, torch.group_norm)
def _group_norm(x, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    x, weight, bias = _wide("group_norm", x, weight, bias)
    return (
        drt.group_norm(x, num_groups, weight, bias, eps) if _fit_channels(x, weight, bias) else NotImplemented
    )


@_handles(F.batch_norm)
def _batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if not _fit_channels(x, weight, bias, running_mean, running_var):
        return NotImplemented
    return drt.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)


@_handles(torch.batch_norm)
def _batch_norm_of_torch(x, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    return _batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)


def _fit_channels(x, *parameters):
    """Parameters may have a dtype of their own."""
    given = [p for p in parameters if p is not None]
    return _fit(x) and (not given or (_fit(*given) and given[0].device == x.device))


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


def _classes(f, x, target, weight, *rest):
    names = "nll_loss nll_loss_nd" if f is drt.nll_loss else "cross_entropy_loss nll_loss_nd log_softmax.int"
    x, weight = _wide(names, x, weight)
    probabilities = target.dtype.is_floating_point
    if probabilities:
        (target,) = _wide(names, target)
    fit = _fit(x, weight, target if probabilities else None)
    if not fit or (weight is not None and weight.requires_grad):
        return NotImplemented
    return f(x, target, weight, *rest)


def _of_elements(function, name, parameter=None):
    @_handles(function)
    def handler(x, target, *args, **kwargs):
        named = {**dict(zip(_SIGNATURES[function], args)), **kwargs}
        reduction = _reduction(named.get("size_average"), named.get("reduce"), named.get("reduction", "mean"))
        weight = named.get("weight")
        pos_weight = named.get("pos_weight")
        if pos_weight is not None and (pos_weight.numel() != 1 or pos_weight.requires_grad):
            return NotImplemented
        x, target, weight = _wide(function.__name__, x, target, weight)
        if not _fit(x, target, weight):
            return NotImplemented
        if x.shape != target.shape:
            if function in _OF_ONE_SHAPE:
                return NotImplemented
            x, target = torch.broadcast_tensors(x, target)
        value = 1.0 if parameter is None else float(named.get(parameter, 1.0))
        full = name + "_log_target" if named.get("log_target") else name
        return drt.loss(full, x, target, weight, parameter=value, reduction=reduction, pos_weight=pos_weight)

    return handler


_LEGACY = ("size_average", "reduce", "reduction")
_SIGNATURES = {
    F.mse_loss: _LEGACY + ("weight",),
    F.l1_loss: _LEGACY + ("weight",),
    F.huber_loss: ("reduction", "delta", "weight"),
    F.smooth_l1_loss: _LEGACY + ("beta",),
    F.binary_cross_entropy: ("weight",) + _LEGACY,
    F.binary_cross_entropy_with_logits: ("weight",) + _LEGACY + ("pos_weight",),
    F.kl_div: _LEGACY + ("log_target",),
}
_OF_ONE_SHAPE = (F.binary_cross_entropy, F.binary_cross_entropy_with_logits)  # others broadcast
_of_elements(F.mse_loss, "mse")
_of_elements(F.l1_loss, "mae")
_of_elements(F.huber_loss, "huber", "delta")
_of_elements(F.smooth_l1_loss, "smooth_l1", "beta")
_of_elements(F.binary_cross_entropy, "bce")
_of_elements(F.binary_cross_entropy_with_logits, "bce_with_logits")
_of_elements(F.kl_div, "kl_div")


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
        return _reduce_array(op, x, _dims(dim), keepdim, nan_if_empty=op == "mean")

    return handler


def _aten_deviation(op):
    def handler(x, dim=None, *, correction=None, keepdim=False):
        ddof = 1 if correction is None else correction
        if int(ddof) != ddof or ddof < 0:
            return NotImplemented
        return _reduce_array(op, x, _dims(dim), keepdim, ddof=int(ddof), nan_if_empty=True)

    return handler


def _aten_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if ord not in (1, 2) or (dtype is not None and dtype not in _ELEMENTS):
        return NotImplemented
    x = x if dtype is None else x.to(dtype)
    return _reduce_array("nrm2" if ord == 2 else "asum", x, _dims(dim), keepdim)


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
            result = handler(*args, **(kwargs or {})) if fit else NotImplemented
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
    it goes without this. not_covered() lists what always does.

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
        handler = _HANDLERS.get(func)
        if handler is not None:
            result = handler(*args, **kwargs)
            if result is not NotImplemented:
                if not torch.compiler.is_compiling():
                    _count(self.taken, func.__name__)
                return result
        if not torch.compiler.is_compiling():
            category = _CATEGORY.get(func) or (func.__name__ if handler is not None else None)
            if category is not None:
                _count(self.left, category)
        # torch.compile of torch 2.11 cannot follow the method where a mode calls it. No dict: torch 2.15 guards it wrongly.
        return (torch.unflatten if func is Tensor.unflatten else func)(*args, **kwargs)


# torch.compile of torch 2.4 knows no mode, and that of 2.5 would leave it out: what is around one is not compiled.
if torch.__version__ < (2, 6):
    setattr(reproducible, "__init__", torch.compiler.disable(reproducible.__init__))
