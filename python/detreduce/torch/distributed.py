"""Reductions over the processes of a group, whose bits do not depend on how many there are or on who has which elements.

    import detreduce.torch.distributed as drd
    loss = drd.cross_entropy(logits, target)       # the mean of the rows of all processes
    loss.backward()                                # the gradient of that loss with respect to what is here
    drd.clip_grad_norm_(model.parameters(), 1.0)

Every process of the group calls with its own part, and gets the same result. What is sent are the states of the parts, int64
words, by one all-reduce. Gradients are those of the one loss that all processes have: sum them over the processes, do not
average them.

A DTensor whose mesh has only some of the processes is refused unless its processes are named: group=mesh.get_group().
"""

from __future__ import annotations

import math
from typing import Any, Callable, List, Optional, Tuple, Union

import torch
import torch.distributed as dist
from torch import Tensor

from .. import _core, _losses
from .._arrays import dtype_word, library_of
from .._reduce import axes_of
from .._reduce import reduced as _reduce_array
from .._state import PLACES, finish, length_of, merged, op_of, partial
from . import _ops, _tensor, _tensors


def _group(group: Any):
    if not dist.is_available() or not dist.is_initialized():
        raise RuntimeError("group: there is none; call torch.distributed.init_process_group() first")
    return dist.group.WORLD if group is None else group


def _all(words: Tensor, merge: str, group: Any) -> Tensor:
    """The words of all processes, put together."""
    dist.all_reduce(words, dist.ReduceOp.MAX if merge == "max" else dist.ReduceOp.SUM, group=_group(group))
    return words


def _gathered(x: Tensor, group: Any) -> Tensor:
    """What each process has, along a new axis 0."""
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size(_group(group)))]
    dist.all_gather(parts, x.contiguous(), group=_group(group))
    return torch.stack(parts)


def _is_dtensor(x: Any) -> bool:
    return hasattr(x, "device_mesh") and hasattr(x, "placements")


def _local(x: Tensor, argument: str, group: Any) -> Tuple[Tensor, bool]:
    """What this process has of a DTensor, and whether it is the one of its copies that counts."""
    some, world = x.device_mesh.size(), dist.get_world_size(_group(None))
    if group is None and some != world:
        raise ValueError(
            f"{argument}: the mesh has {some} of {world} processes; name them by group=mesh.get_group()"
        )
    counts = True
    coordinate = x.device_mesh.get_coordinate()
    for i, placement in enumerate(x.placements):
        if placement.is_partial():
            raise ValueError(f"{argument}: must not be a partial sum; redistribute it first")
        if placement.is_replicate() and (coordinate is None or coordinate[i] != 0):
            counts = False
    local = x.to_local()
    if hasattr(local, "wait"):  # what other processes still send
        local = local.clone() if local.requires_grad else local.wait()
    return local, counts


def reduce(
    op: str,
    x: Tensor,
    y: Optional[Tensor] = None,
    *,
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    ddof: int = 0,
    nan: str = "propagate",
    group: Any = None,
) -> Any:
    """Any op that State has over what all processes have: of dim None of all their elements, else of the elements along dim of
    each of them, which have as many groups. Of argmin and argmax it is the index in the elements of all processes, those of
    the first one first; not of a DTensor."""
    op, ndim = op_of(op), x.dim()
    x, y = x.detach(), None if y is None else y.detach()
    if _is_dtensor(x):
        if dim is not None:
            raise ValueError("dim: must be None for a DTensor")
        if op in PLACES:
            raise TypeError(f"x: must not be a DTensor, of which {op} is not offered")
        local, counts = _local(x, "x", group)
        if y is not None:
            if not _is_dtensor(y) or y.device_mesh != x.device_mesh or y.placements != x.placements:
                raise ValueError("y: must be a DTensor with the mesh and the placements of x")
            y, _ = _local(y, "y", group)
        x = local
        if not counts:
            x, y = x.reshape(-1)[:0], None if y is None else y.reshape(-1)[:0]
    word = dtype_word(x.dtype, "x")
    if op in PLACES:
        lengths = _gathered(torch.tensor([length_of(x, dim)], device=x.device), group)
        first = int(lengths[: dist.get_rank(_group(group))].sum())
        words = merged(op, word, nan, _gathered(partial(op, x, y, dim, nan, first)[0], group))
    else:
        words = _all(*partial(op, x, y, dim, nan), group)
    result = finish(op, word, words, dtype, ddof, nan)
    if keepdim:
        shape = [1] * ndim if dim is None else list(x.shape)
        for i in () if dim is None else axes_of(dim, ndim, "dim"):
            shape[i] = 1
        keep = [r.reshape(shape) for r in result] if isinstance(result, tuple) else result.reshape(shape)
        return type(result)(*keep) if isinstance(result, tuple) else keep
    return result


class _Summed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, counts, mean, dim, keepdim, dtype, group, of_dtensor):
        ctx.shape, ctx.dtype, ctx.keepdim, ctx.of_dtensor = x.shape, x.dtype, keepdim, of_dtensor
        ctx.dim = axes_of(dim, x.dim(), "dim")
        ctx.n = None
        if mean:
            n = torch.tensor([math.prod(x.shape[i] for i in ctx.dim) if counts else 0], device=x.device)
            dist.all_reduce(n, group=_group(group))
            ctx.n = int(n)
        if not counts:
            x = x.new_empty((0,) * max(1, x.dim()))
        return reduce("mean" if mean else "sum", x, dim=dim, keepdim=keepdim, dtype=dtype, group=group)

    @staticmethod
    def backward(ctx, g):
        if not ctx.keepdim:
            for i in ctx.dim:
                g = g.unsqueeze(i)
        g = g if ctx.n is None else _ops._multiplied(g) / ctx.n
        g = g.expand(ctx.shape).to(ctx.dtype)
        # A gradient whose elements share memory is copied, by torch 2.11 into another placement if shards are not equally long.
        return (g.contiguous() if ctx.of_dtensor else g,) + 7 * (None,)


def _summed(x, mean, dim, keepdim, dtype, group):
    if not (x.requires_grad and torch.is_grad_enabled()):
        return reduce("mean" if mean else "sum", x, dim=dim, keepdim=keepdim, dtype=dtype, group=group)
    counts, of_dtensor = True, _is_dtensor(x)
    if of_dtensor:  # whose to_local() brings the gradient back as a DTensor
        if dim is not None:
            raise ValueError("dim: must be None for a DTensor")
        x, counts = _local(x, "x", group)
    return _Summed.apply(x, counts, mean, dim, keepdim, dtype, group, of_dtensor)


def sum(x: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, group: Any = None) -> Tensor:
    """The sum of the elements of all processes."""
    return _summed(x, False, dim, keepdim, dtype, group)


def mean(
    x: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, group: Any = None
) -> Tensor:
    """Their mean. The processes may have different numbers of elements."""
    return _summed(x, True, dim, keepdim, dtype, group)


def norm(
    x: Tensor, p: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, group: Any = None
) -> Tensor:
    """The 1-norm or the 2-norm of the elements of all processes; without a gradient."""
    if p not in (1, 2):
        raise ValueError(f"p: allowed are 1 and 2, not {p!r}")
    return reduce("nrm2" if p == 2 else "asum", x, dim=dim, keepdim=keepdim, dtype=dtype, group=group)


# ---- Losses ----------------------------------------------------------------------------------------------------


def _reduction(reduction: str) -> None:
    _losses.reduction_of(reduction, ("sum", "mean"))


class _Classes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, target, weight, ignore_index, label_smoothing, op, reduction, group):
        classes = _losses.Classes(op, x, target, weight, ignore_index, label_smoothing)
        losses, weights, sums = classes.forward(op, "none", "exact", None, rows=True, kept=True)
        if classes.probabilities:
            weights = torch.ones_like(losses)
        word = dtype_word(losses.dtype, "x")
        both = torch.cat([partial("sum", losses)[0], partial("sum", weights)[0]])
        both = _all(both, "sum", group).reshape(2, -1)
        ctx.rest = (ignore_index, label_smoothing, op)
        if reduction == "sum":
            ctx.save_for_backward(x, target, weight, sums, None)
            return finish("sum", word, both[0], x.dtype)
        totals = finish("sum", word, both, torch.float64)
        ctx.save_for_backward(x, target, weight, sums, totals[1])
        return _reduce_array("sum", totals[0] / totals[1], dtype=x.dtype)  # which rounds once

    @staticmethod
    def backward(ctx, g):
        x, target, weight, sums, total = ctx.saved_tensors
        ignore_index, label_smoothing, op = ctx.rest
        factor = g.to(_ops.arithmetic(x.dtype))
        if total is not None:
            factor = (factor.double() / total).to(factor.dtype)
        if weight is not None and ctx.needs_input_grad[2]:
            raise NotImplementedError("detreduce: weight has no gradient here")
        rest = (x, target, weight, ignore_index, label_smoothing)
        grads = [
            _ops.cross_entropy_backward(factor, *rest, name, "sum", "exact", 0.0, sums) if wanted else None
            for name, wanted in zip((op, op + "_target"), ctx.needs_input_grad)
        ]
        return *grads, None, None, None, None, None, None


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    *,
    group: Any = None,
) -> Tensor:
    """Of the rows of all processes: their sum, or that over the sum of the weights of all of them."""
    _reduction(reduction)
    _tensors(input=input, target=target, weight=weight)
    return _Classes.apply(
        input, target, weight, ignore_index, label_smoothing, "cross_entropy", reduction, group
    )


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    *,
    group: Any = None,
) -> Tensor:
    _reduction(reduction)
    _tensors(input=input, target=target, weight=weight)
    return _Classes.apply(input, target, weight, ignore_index, 0.0, "nll", reduction, group)


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, target, weight, name, parameter, reduction, group):
        whole = {("mse", "mean"): "mse", ("mse", "sum"): "sumdiffsq", ("mae", "mean"): "mae"}.get(
            (name, reduction)
        )
        over_weights = weight is not None and reduction == "mean" and name in ("mse", "mae")
        wide = _ops.arithmetic(x.dtype)
        word = dtype_word(wide, "x")
        parts = []
        if weight is None and whole is not None:
            word = dtype_word(x.dtype, "x")
            op, (words, merge) = whole, partial(whole, x.contiguous(), target.contiguous())
        else:
            terms = _losses.loss(name, x, target, weight, parameter, "none", "exact", wide)
            op = "sum" if over_weights else reduction
            words, merge = partial(op, terms)
            if over_weights:
                parts = [partial("sum", weight.to(wide).expand(x.shape))[0]]
        length = words.numel()
        n = torch.tensor([x.numel()], dtype=torch.int64, device=x.device)
        words = _all(torch.cat([words, *parts, n]), merge, group)
        ctx.save_for_backward(x, target, weight)
        ctx.rest = (name, parameter)
        if over_weights:
            totals = finish("sum", word, words[:-1].reshape(2, length), torch.float64)
            ctx.over = totals[1].to(wide)
            return _reduce_array("sum", totals[0] / totals[1], dtype=x.dtype)  # which rounds once
        ctx.over = words[-1].to(wide) if reduction == "mean" else None
        return finish(op, word, words[:length], x.dtype)

    @staticmethod
    def backward(ctx, g):
        x, target, weight = ctx.saved_tensors
        if weight is not None and ctx.needs_input_grad[2]:
            raise NotImplementedError("detreduce: weight has no gradient here")
        wide = _ops.arithmetic(x.dtype)
        g = g.to(wide)
        if ctx.over is not None:
            g = g / ctx.over
        # What these tensors have are numbers of the wider format, and a gradient is rounded once.
        parts = [None if t is None else t.to(wide) for t in (x, target, weight)]
        grads = [
            _ops.loss_backward(g, *parts, *ctx.rest, "sum", argument).to(x.dtype) if wanted else None
            for argument, wanted in zip(("x", "target"), ctx.needs_input_grad)
        ]
        return *grads, None, None, None, None, None


def loss(
    name: str,
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    *,
    parameter: float = 1.0,
    reduction: str = "mean",
    group: Any = None,
) -> Tensor:
    """One of the losses of elements that detreduce.torch.loss has, of the elements of all processes."""
    _losses.loss_of(name)
    _reduction(reduction)
    _tensors(input=input, target=target, weight=weight)
    return _Loss.apply(input, target, weight, name, parameter, reduction, group)


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean", *, group: Any = None) -> Tensor:
    return loss("mse", input, target, reduction=reduction, group=group)


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", *, group: Any = None) -> Tensor:
    return loss("mae", input, target, reduction=reduction, group=group)


# ---- Clipping --------------------------------------------------------------------------------------------------


def _rounded_to_odd(p: Tensor) -> Tensor:
    """Doubles as float32, those that are not such numbers to the neighbour with an odd last bit: what is rounded from there to
    fewer bits is rounded once."""
    r = p.float()
    bits = r.view(torch.int32)
    odd = (bits - (r.double().abs() > p.abs()).int()) | 1
    return torch.where((r.double() == p) | p.isnan(), bits, odd).view(torch.float32)


def _scaled(g: Tensor, factor: float) -> None:
    """g times factor, by SPEC.md, section 16."""
    if g.dtype != torch.float64:
        mantissa, exponent = math.frexp(factor)
        factor = math.ldexp(float(torch.tensor(mantissa, dtype=torch.float64).float()), exponent)
    product = g.double() * factor
    if g.dtype in (torch.float16, torch.bfloat16):
        product = _rounded_to_odd(product)
    result = product.to(g.dtype)
    g.copy_(torch.where(result.isnan(), torch.full_like(result, math.nan), result))


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: Optional[bool] = None,
    *,
    sharded: Union[bool, Callable[[Tensor], bool]] = False,
    eps: float = 1e-6,
    group: Any = None,
) -> Tensor:
    """As torch.nn.utils.clip_grad_norm_, of the 2-norm, over the parameters of all processes.

    A DTensor (FSDP2, tensor parallelism) counts once, wherever its copies and shards are; if its mesh has only some of the
    processes, name them by group=mesh.get_group(). Any other gradient is the same in every process, as after
    DistributedDataParallel, and counts once, unless `sharded`, True or a function of the parameter, says that every process has
    its own. Reads the norm on the host."""
    if _losses.number_of(norm_type, "norm_type") != 2.0:
        raise ValueError(f"norm_type: allowed is 2, not {norm_type!r}")
    max_norm, eps = _losses.limit_of(max_norm, "max_norm"), _losses.parameter_of(eps, "eps")
    named, group = group, _group(group)
    try:
        parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
    except TypeError:
        raise TypeError("parameters: must be a tensor or a list of tensors") from None
    first = dist.get_rank(group) == 0
    gradients: List[Tensor] = []
    counted: List[Tensor] = []
    wide, device = False, None
    with torch.no_grad():
        for i, p in enumerate(parameters):
            if not isinstance(p, torch.Tensor):
                raise TypeError(f"parameters[{i}]: must be a tensor of torch, not {type(p).__name__}")
            if p.grad is None:
                continue
            g = p.grad.detach()
            counts = first or (sharded(p) if callable(sharded) else bool(sharded))
            if _is_dtensor(g):
                g, counts = _local(g, f"parameters[{i}]", named)
            _tensor(g, f"parameters[{i}]")
            device = g.device if device is None else device
            if g.device != device:
                raise ValueError(
                    f"parameters[{i}]: must be on the device of the first one, {device}, not {g.device}"
                )
            gradients.append(g)
            if counts:
                counted.append(g)
        if device is None:
            backend = dist.get_backend(group)
            device = (
                torch.device("cuda", torch.cuda.current_device())
                if backend == "nccl"
                else torch.device("cpu")
            )
        words = torch.zeros(_core.norm_state_words(), dtype=torch.int64, device=device)
        pieces, kept = [], []
        lib = library_of(words)
        for g in counted:
            piece = g if g.is_contiguous() else g.contiguous()
            kept.append(piece)
            pieces.append((piece.data_ptr(), piece.numel(), lib.dtype(piece, "parameters")))
        place = lib.place(words)
        _core.norm_state(pieces, lib.at(words), place)
        wide = any(g.dtype == torch.float64 for g in gradients)
        words = torch.cat([words, torch.tensor([int(wide)], device=device)])
        dist.all_reduce(words, group=group)
        total = torch.empty((), dtype=torch.float64, device=device)
        _core.norm_of_state(lib.at(words), "f64", lib.at(total), place)
        result = torch.empty((), dtype=torch.float64 if int(words[-1]) else torch.float32, device=device)
        _core.norm_of_state(lib.at(words), lib.dtype(result, "dtype"), lib.at(result), place)
        norm = total.item()
        if error_if_nonfinite and not math.isfinite(norm):
            raise RuntimeError(f"parameters: their norm is {norm}, and error_if_nonfinite is set")
        if norm + eps != 0:
            factor = max_norm / (norm + eps)
            if not factor >= 1:
                for g in gradients:
                    _scaled(g, factor)
    return result
