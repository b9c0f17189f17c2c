"""The ops that torch knows: for tensors of a CPU or a GPU, without data (for torch.compile), and with gradients."""

from __future__ import annotations

import contextlib
import functools
import math
import threading
from typing import Any, Callable, Iterable, Optional

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from .. import _core, _losses
from .._arrays import NAMES, WORDS, arithmetic_of, library_of
from .._reduce import reduced as reduce_array

PLAIN = (torch.Tensor, torch.nn.Parameter)
_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._len_torch_function_stack
_compiling = torch.compiler.is_compiling
_grad_enabled = torch.is_grad_enabled
_tracing = torch._C._is_tracing
_transforms = torch._C._functorch.peek_interpreter_stack
_batched = getattr(torch._C._functorch, "is_legacy_batchedtensor", lambda t: False)
_wrapped = getattr(torch._C._functorch, "is_functorch_wrapped_tensor", lambda t: False)
_single_level = torch._functorch.utils.enable_single_level_autograd_function
_forward_ad = torch.autograd.forward_ad
_library = torch.library.Library("detreduce", "DEF")
_WORDS = {getattr(torch, name): word for name, word in NAMES.items() if hasattr(torch, name)}
_LIBRARY = library_of(torch.empty(0))
_strided = torch.strided
OPS = dict.fromkeys(("sum", "mean", "asum", "sumsq", "nrm2", "variance", "stddev"))
ROW_WISE, NORMS, OF_CLASSES = ("softmax", "log_softmax"), ("layernorm", "rmsnorm"), ("cross_entropy", "nll")
GRADIENTS_OF_CLASSES = OF_CLASSES + ("cross_entropy_target",)
NAN_IF_EMPTY = ("mean", "variance", "stddev")
_EXCHANGE = getattr(Tensor, "__dlpack_c_exchange_api__", None)
if _EXCHANGE is not None:  # from torch 2.10 on; without it there is no short way, and _core.tensor_… give None
    _core.open_tensors(_EXCHANGE, *PLAIN, torch.empty_like, torch.float32, _LIBRARY.allocate)
_PLAIN = "_plain"  # ends the name of the same op without derivatives


_ARITHMETIC = {dtype: getattr(torch, WORDS[arithmetic_of(word)]) for dtype, word in _WORDS.items()}


def arithmetic(dtype: torch.dtype) -> torch.dtype:
    if dtype not in _ARITHMETIC:
        raise TypeError(f"x: there is no {dtype}; allowed are {', '.join(NAMES)}")
    return _ARITHMETIC[dtype]


def _kind(name: str, forward: Callable, backward: Callable, base: type = torch.autograd.Function) -> Any:
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(f"detreduce_{name}", (base,), members)


def _function(name: str, forward: Callable, backward: Callable) -> Callable:
    """What an autograd.Function applies, without what Function.apply and that of its node do for transforms and for vjp(). It is
    called where there is no transform and no vjp()."""
    kind = _kind(name, forward, backward)
    kind._backward_cls.apply = backward
    base: Any = super(torch.autograd.Function, kind)
    return base.apply


class _NotShort(Exception):
    pass


def _first_of(short: Optional[Callable], long: Callable) -> Callable:
    if short is None:
        return long
    fast = short

    def compute(*args):
        out = fast(*args)
        return long(*args) if out is None else out

    return compute


class _Op:
    """An op that torch knows, and what computes it. Where nobody traces or transforms what is done, and no tensor is of a type of
    its own, torch's dispatcher, which takes some 30 microseconds for an op written in Python, is left out.

    `short` computes it of dense tensors where they lie, and gives None of others. It looks at all that it is given."""

    def __init__(self, name: str, long: Callable, short: Any) -> None:
        self.name, self.long, self.short = name, long, short
        self.real = _first_of(short, long)
        self.default = getattr(torch.ops.detreduce, name).default
        self.undifferentiated = getattr(torch.ops.detreduce, name + _PLAIN).default
        self.tensors = [i for i, a in enumerate(self.default._schema.arguments) if "Tensor" in str(a.type)]
        self.differentiated: Callable = self.default
        self.which = sum(1 << i for i in self.tensors)
        self.plain: Callable = self.real  # where no derivative will be asked for
        self.short_plain: Any = short

    def __call__(self, *args):
        if not untraced():
            no_tangent(*args)
            compiled = torch.compiler.is_compiling() and not torch.is_grad_enabled()
            return (self.undifferentiated if compiled else self.default)(*args)
        tracked = False
        for i in self.tensors:
            a: Any = args[i] if i < len(args) else None
            if type(a) in PLAIN:
                if a.is_meta:
                    return self.default(*args)
                tracked = tracked or a.requires_grad
            elif a is not None:
                return self.default(*args)
        try:
            return self.differentiated(*args) if tracked and _grad_enabled() else self.plain(*args)
        except (RuntimeError, ValueError):
            tensors = [a for a in args if isinstance(a, Tensor)]
            if not any(map(_apart, tensors)):
                raise
        if any(map(_hollow, tensors)):
            return self.default(*args)
        return self(*(a.clone() if isinstance(a, Tensor) and _LIBRARY.misaligned(a) else a for a in args))

    def keep_nothing(self) -> None:
        """Where no derivative will be asked for, `short` and `long` are told so by `kept`."""
        self.short_plain = functools.partial(self.short, kept=False)
        self.plain = _first_of(self.short_plain, functools.partial(self.long, kept=False))

    def try_short(self, *args) -> Any:
        """The first output, where `short` computes it and nobody traces it. None where the other way has to be gone, on which what
        was given is looked at first, and which says what is wrong with it."""
        if not untraced():
            return None
        tracked = _core.tracked_tensors(self.which, *args)
        if tracked is None:
            return None
        if tracked and _grad_enabled():
            try:
                return self.short_differentiated(*args)
            except _NotShort:
                return None
        try:
            out = self.short_plain(*args)
        except (TypeError, ValueError):
            return None
        return out[0] if type(out) is tuple else out

    def in_backward(self, g, *args) -> Any:
        """The op, of a gradient and what forward kept."""
        if not _grad_enabled() and type(g) is Tensor and untraced():
            out = self.short(g, *args)
            if out is not None:
                return out
        return self(g, *args)

    def differentiable(
        self, setup: Callable, backward: Callable, statistics: int = 0, alone: bool = True
    ) -> None:
        """`statistics`: how many outputs are behind the first, which alone has a gradient. `alone`: there is a gradient only
        where that of the first output is asked for."""
        _library.impl(self.name, self._traced(setup, backward), "Autograd", with_keyset=True)
        nothing = statistics * (None,)

        def short(*args):
            try:
                output = self.short(*args)
            except (TypeError, ValueError):
                raise _NotShort from None
            if output is None:
                raise _NotShort
            return output

        def forward_of(compute):
            def forward(ctx, *args):
                output = compute(*args)
                ctx.set_materialize_grads(False)
                setup(ctx, args, output)
                return output[0] if nothing else output

            return forward

        def derived(ctx, g, *more):
            if g is None and (alone or all(m is None for m in more)):
                return (None,) * len(ctx.needs_input_grad)
            return backward(ctx, g, *more, *nothing)

        apply = _function(self.name, forward_of(self.real), derived)
        self.differentiated = (lambda *args: (apply(*args), *nothing)) if nothing else apply
        if self.short is not None:
            self.short_differentiated = _function(self.name, forward_of(short), derived)

    def _traced(self, setup: Callable, backward: Callable) -> Callable:
        """What torch's dispatcher calls for tensors that may have gradients. What a trace has is the op without derivatives,
        which a compiled program then calls: a derivative written in Python takes some 10 microseconds even where it is not asked for.
        """
        op, plain = self.default, self.undifferentiated
        defaults = tuple(a.default_value for a in op._schema.arguments)

        def compute(keys, *args):
            with torch._C._AutoDispatchBelowAutograd():
                if _transforms() is None:
                    return plain(*args)
                return op.redispatch(keys & torch._C._after_autograd_keyset, *args)  # an outer transform has to see the op

        def forward(ctx, keys, *args):
            # An outer transform may have a gradient, too.
            with contextlib.nullcontext() if _transforms() is None else torch.enable_grad():
                output = compute(keys, *args)
            setup(ctx, args, output)
            return output

        def derived(ctx, *grads):
            ctx.needs_input_grad = ctx.needs_input_grad[1:]
            return (None, *backward(ctx, *grads))

        kind = _kind(self.name, forward, derived)
        of_one_level = _kind(self.name, forward, derived, torch.autograd.function._SingleLevelFunction)

        def kernel(keys, *args):
            args += defaults[len(args) :]  # the dispatcher leaves out last arguments that have their default
            if not (torch.is_grad_enabled() and any(isinstance(a, Tensor) and a.requires_grad for a in args)):
                return compute(keys, *args)
            if _transforms() is None:
                return kind.apply(keys, *args)
            with _single_level():  # this is called at one level of the transforms
                return of_one_level.apply(keys, *args)

        return kernel

    def not_twice_differentiable(self) -> None:
        def setup(ctx, inputs, output):
            pass

        def backward(ctx, *grads):
            raise NotImplementedError(
                f"detreduce: there is no second derivative of {self.name.replace('_backward', '')}"
            )

        self.differentiable(setup, backward, alone=False)


def untraced() -> bool:
    """Does nobody trace or transform what is done?"""
    return (
        not _compiling()
        and _modes() == 0
        and not _tracing()
        and _transforms() is None
        and _forward_ad._current_level < 0
    )


def _has_tangent(t: Tensor) -> bool:
    try:
        return _forward_ad.unpack_dual(t).tangent is not None
    except RuntimeError:  # under vmap nobody can say
        return True


def no_tangent(*args: Any) -> None:
    for t in args if _forward_ad._current_level >= 0 else ():
        if isinstance(t, Tensor) and _has_tangent(t):
            raise NotImplementedError(
                "detreduce: there is no derivative in forward mode, as of torch.func.jvp"
            )


def refuse_op(op: str, allowed: Iterable[str]) -> None:
    """An op of other results would write past the place that there is for them."""
    raise ValueError(f"op: allowed are {', '.join(allowed)}, not {op!r}")


def _define(schema: str, long: Callable, fake: Callable, short: Optional[Callable] = None) -> _Op:
    """Defines an op, which `long` and _Op's `short` compute, and of which `fake` says what comes out; and the same without
    derivatives."""
    name, parenthesis, rest = schema.partition("(")
    for full in (name, name + _PLAIN):
        _library.define(full + parenthesis + rest)
    op = _Op(name, long, short)
    for full in (name, name + _PLAIN):
        _library.impl(full, op.real, "CPU")
        _library.impl(full, op.real, "CUDA")
        torch.library.register_fake(f"detreduce::{full}", fake, lib=_library)
    return op


def _hollow(t: Tensor) -> bool:
    """Has t no elements where it lies? So it is in a batch of gradients, and of what torch.func.vjp kept."""
    return _batched(t) or _wrapped(t)


def _apart(t: Optional[Tensor]) -> bool:
    return t is not None and (_hollow(t) or _LIBRARY.misaligned(t))


# ---- Reductions ------------------------------------------------------------------------------------------------


def whole(op: str, x: Any, method: str, ddof: int) -> Optional[Tensor]:
    """The short way of all elements of a tensor, that nobody traces; None if it is another."""
    if type(x) not in PLAIN or not untraced() or x.layout is not _strided or x.is_nested:
        return None
    try:
        if not (x.requires_grad and _grad_enabled()):
            return flat(op, x, method, ddof)
        if not _has_derivative(op, x):
            dim = list(range(x.dim()))
            return None if x.is_meta else _reduce_differentiated(x, dim, False, op, None, method, ddof)
        out = flat(op, x, method, ddof)
        return None if out is None else _derived_by_torch(out, op, x)
    except (RuntimeError, ValueError):
        if not _apart(x):
            raise
    return None


def flat(op: str, x: Tensor, method: str, ddof: int) -> Optional[Tensor]:
    """The same of a dense tensor, without a derivative."""
    return _core.tensor_reduce(op, method, ddof, x, None, False)


def _reduce(x, dim, keepdim, op, dtype, method, ddof):
    if op not in OPS:
        refuse_op(op, OPS)
    out = None
    if dtype is None and not keepdim and len(dim) == x.dim():
        out = flat(op, x, method, ddof)
    elif dtype is None and len(dim) == 1:
        out = _core.tensor_reduce(op, method, ddof, x, dim[0], keepdim)
    if out is not None:
        return out
    more: Any = dict(ddof=ddof, nan_if_empty=op in NAN_IF_EMPTY, axis_name="dim")
    return reduce_array(op, x.detach(), tuple(dim), keepdim, method, dtype, **more)


def _fake_reduce(x, dim, keepdim, op, dtype, method, ddof):
    shape = [1 if i in dim else n for i, n in enumerate(x.shape) if keepdim or i not in dim]
    return x.new_empty(shape, dtype=dtype or x.dtype)


reduce = _define(
    "reduce(Tensor x, int[] dim, bool keepdim, str op, ScalarType? dtype, str method, int ddof) -> Tensor",
    _reduce,
    _fake_reduce,
)


def _setup_reduce(ctx, inputs, output):
    x, ctx.dim, ctx.keepdim, ctx.op, _, ctx.method, ctx.ddof = inputs
    ctx.shape, ctx.dtype = x.shape, x.dtype
    if ctx.op in ("nrm2", "stddev"):
        ctx.save_for_backward(x, output)
    elif ctx.op not in ("sum", "mean"):
        ctx.save_for_backward(x)


def _widened(ctx, g):
    """g, and results like it, where each element of x finds that of its group. One of no axes is found by all, but would not have a
    part in the dtype of a product."""
    if not ctx.keepdim and (g.dim() > 0 or g.dtype is not ctx.dtype):
        for i in sorted(ctx.dim):
            g = g.unsqueeze(i)
    return g


def _reduce_backward(ctx, g):
    return _rounded(_of_reduction(ctx, ctx.op, g), ctx.dtype), None, None, None, None, None, None


def _check_kept(argument, kept, shape, x, dtype) -> None:
    if tuple(kept.shape) != tuple(shape) or kept.dtype is not dtype or kept.get_device() != x.get_device():
        raise ValueError(
            f"{argument}: must be what forward gave, of shape {tuple(shape)} and {dtype} on {x.device}, "
            f"not {tuple(kept.shape)} and {kept.dtype} on {kept.device}"
        )


def _rounded(d, dtype):
    return d if d.dtype is dtype else d.to(dtype)


def _of_reduction(ctx, op, g):
    """The derivative of an op times g, before it is rounded to the dtype of x."""
    if op in ("sum", "mean"):
        return _widened(ctx, g if op == "sum" else _multiplied(g) / _count(ctx)).expand(ctx.shape)
    g = _widened(ctx, _multiplied(g))
    x, *kept = map(_multiplied, ctx.saved_tensors)
    if op == "asum":
        return g * x.sign()
    if op == "sumsq":
        return (2 * g) * x
    if op == "nrm2":
        norm = _widened(ctx, kept[0])
        return x * (g / norm).masked_fill(norm == 0, 0)
    d = x - reduce(x, ctx.dim, True, "mean", None, ctx.method, 0)
    divisor = _count(ctx) - ctx.ddof
    if op == "variance":
        return d * (g * (2 / divisor) if divisor > 0 else g * math.nan)
    deviation = _widened(ctx, kept[0])
    return d * (g / (deviation * divisor)).masked_fill(deviation == 0, 0)


def _multiplied(t):
    """t as torch can multiply it, which it cannot by elements of 8 bits."""
    return t.float() if t.dtype.itemsize == 1 else t


def _count(ctx):
    return math.prod([ctx.shape[i] for i in ctx.dim])


reduce.differentiable(_setup_reduce, _reduce_backward)
_reduce_differentiated = reduce.differentiated


# torch has the derivatives of sums and means, in C++. Their backward() runs no Python; on a GPU it would on a thread of its own.


class _Given(TorchDispatchMode):
    """What torch would compute of a sum or a mean is what this thread has in `_given`."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:  # which wraps the call; dynamo never sees it
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None) -> Any:
        out = getattr(_given, "out", None)
        if out is None or func not in _TAKEN:
            return func(*args, **(kwargs or {}))
        _given.out = None  # it is given once
        return out


_given, _GIVEN = threading.local(), _Given()
_enter, _leave = torch._C._push_on_torch_dispatch_stack, torch._C._pop_torch_dispatch_stack
_aten = torch.ops.aten
_TAKEN = (_aten.sum.default, _aten.sum.dim_IntList, _aten.mean.default, _aten.mean.dim)
_OF_TORCH = {"sum": torch.sum, "mean": torch.mean}


def _has_derivative(op: str, x: Tensor) -> bool:
    """Would torch's be found by the derivative alone, and not by what records a graph of operators?"""
    return op in _OF_TORCH and x.element_size() > 1 and _function_modes() == 0


def _derived_by_torch(out: Tensor, op: str, *args: Any) -> Tensor:
    """`out`, with the derivative of what torch computes of `args`."""
    try:
        _given.out = out
        _enter(_GIVEN)
        return _OF_TORCH[op](*args)
    finally:
        _given.out = None
        if _modes() > 0:  # there was none before; a signal may end this anywhere
            _leave(None)


def _reduce_tracked(x, dim, keepdim, op, dtype, method, ddof):
    every = len(dim) == x.dim() and not keepdim
    if not _has_derivative(op, x) or not (dim or every):  # of no axes torch takes all
        return _reduce_differentiated(x, dim, keepdim, op, dtype, method, ddof)
    out = _reduce(x, dim, keepdim, op, dtype, method, ddof)
    return _derived_by_torch(out, op, x) if every else _derived_by_torch(out, op, x, dim, keepdim)


reduce.differentiated = _reduce_tracked


def _moments(x, dim, keepdim, dtype, method, ddof):
    more: Any = dict(ddof=ddof, results=2, nan_if_empty=True, axis_name="dim")
    both = reduce_array("moments", x.detach(), tuple(dim), keepdim, method, dtype, **more)
    return tuple(t.clone(memory_format=torch.contiguous_format) for t in both)


def _fake_moments(x, dim, keepdim, dtype, method, ddof):
    return tuple(_fake_reduce(x, dim, keepdim, op, dtype, method, ddof) for op in ("mean", "variance"))


moments = _define(
    "moments(Tensor x, int[] dim, bool keepdim, ScalarType? dtype, str method, int ddof) -> (Tensor, Tensor)",
    _moments,
    _fake_moments,
)


def _setup_moments(ctx, inputs, output):
    x, ctx.dim, ctx.keepdim, _, ctx.method, ctx.ddof = inputs
    ctx.shape, ctx.dtype = x.shape, x.dtype
    ctx.save_for_backward(x)


def _derived_moments(ctx, *grads):
    parts = [_of_reduction(ctx, op, g) for op, g in zip(("mean", "variance"), grads) if g is not None]
    return _rounded(sum(parts[1:], parts[0]), ctx.dtype), None, None, None, None, None


moments.differentiable(_setup_moments, _derived_moments, alone=False)


# ---- Losses of elements ----------------------------------------------------------------------------------------


def _parameter(parameter, pos_weight):
    return parameter if pos_weight is None else _losses.pos_weight_of(pos_weight)


def _loss(x, target, weight, loss, parameter, reduction, method, dtype, pos_weight=None):
    return _losses.loss(loss, x, target, weight, _parameter(parameter, pos_weight), reduction, method, dtype)


def _short_loss(x, target, weight, loss, parameter, reduction, method, dtype, pos_weight=None):
    if dtype is not None:
        return None
    parameter = _parameter(parameter, pos_weight)
    return _core.tensor_loss(loss, reduction, method, parameter, x, target, weight)


def _fake_loss(x, target, weight, loss, parameter, reduction, method, dtype, pos_weight=None):
    return x.new_empty(x.shape if reduction == "none" else (), dtype=dtype or x.dtype)


def _loss_backward(grad, x, target, weight, loss, parameter, reduction, argument, pos_weight=None):
    parameter = _parameter(parameter, pos_weight)
    return _losses.loss_gradient(loss, x, target, weight, parameter, reduction, grad, argument)


def _short_loss_backward(grad, x, target, weight, loss, parameter, reduction, argument, pos_weight=None):
    parameter = _parameter(parameter, pos_weight)
    return _core.tensor_loss_gradient(loss, argument, reduction, parameter, grad, x, target, weight)


loss = _define(
    "loss(Tensor x, Tensor target, Tensor? weight, str loss, float parameter, str reduction, str method, "
    "ScalarType? dtype, Tensor? pos_weight=None) -> Tensor",
    _loss,
    _fake_loss,
    _short_loss,
)
loss_backward = _define(
    "loss_backward(Tensor grad, Tensor x, Tensor target, Tensor? weight, str loss, float parameter, str reduction, "
    "str argument, Tensor? pos_weight=None) -> Tensor",
    _loss_backward,
    lambda grad, x, *rest: x.new_empty(x.shape),
    _short_loss_backward,
)
loss_backward.not_twice_differentiable()


def _setup_loss(ctx, inputs, output):
    x, target, weight, *ctx.rest, pos_weight = inputs
    ctx.save_for_backward(x, target, weight, pos_weight)


def _summed_to(g, shape):
    """What comes back to a tensor of `shape` that was broadcast: the sums of g over the axes that it was broadcast along."""
    first = g.dim() - len(shape)
    dims = [i for i in range(g.dim()) if i < first or (shape[i - first] == 1 and g.shape[i] != 1)]
    return reduce(g, dims, True, "sum", None, "automatic", 0).reshape(shape) if dims else g


def _in_arithmetic(g, *tensors):
    """g, the gradient of a result, and `tensors`: as they are if g has their dtype, else in the dtype of their arithmetic, so that
    the product is rounded once. Of float16 elements and a float32 result g may be out of the range of float16.
    """
    x = tensors[0]
    if g.dtype is x.dtype:
        return g, *tensors
    wide = arithmetic(x.dtype)
    return tuple(None if t is None else t.to(wide) for t in (g, *tensors))


def _derived_loss(ctx, g):
    x, target, weight, pos_weight = ctx.saved_tensors
    g, *parts = _in_arithmetic(g, x, target, weight)
    if pos_weight is not None and ctx.needs_input_grad[8]:
        raise NotImplementedError("detreduce: pos_weight has no gradient here")
    grads = []
    for i, argument in enumerate(("x", "target", "weight")):
        wanted = ctx.needs_input_grad[i]
        more = (*ctx.rest[:3], argument, pos_weight)
        grads.append(_rounded(loss_backward.in_backward(g, *parts, *more), x.dtype) if wanted else None)
    if grads[2] is not None:
        grads[2] = _summed_to(grads[2], weight.shape)
    return *grads, None, None, None, None, None, None


loss.differentiable(_setup_loss, _derived_loss)


# ---- Rows ------------------------------------------------------------------------------------------------------


def _row_wise(x, dim, op, dtype=None):
    if op not in ROW_WISE:
        refuse_op(op, ROW_WISE)
    return _losses.row_wise(op, x, dim, dtype)


def _short_row_wise(x, dim, op, dtype=None):
    return _core.tensor_rows(op, x, dim, None) if dtype is None and op in ROW_WISE else None


def _row_wise_backward(grad, y, dim, op):
    if op not in ROW_WISE:
        refuse_op(op, ROW_WISE)
    return _losses.row_wise_gradient(op, y, grad, dim)


row_wise = _define(
    "row_wise(Tensor x, int dim, str op, ScalarType? dtype=None) -> Tensor",
    _row_wise,
    lambda x, dim, op, dtype=None: x.new_empty(x.shape, dtype=dtype or x.dtype),
    _short_row_wise,
)
row_wise_backward = _define(
    "row_wise_backward(Tensor grad, Tensor y, int dim, str op) -> Tensor",
    _row_wise_backward,
    lambda grad, y, dim, op: y.new_empty(y.shape),
    lambda grad, y, dim, op: _core.tensor_rows(op, y, dim, grad) if op in ROW_WISE else None,
)
row_wise_backward.not_twice_differentiable()


def _setup_row_wise(ctx, inputs, output):
    x, ctx.dim, ctx.op, _ = inputs
    ctx.dtype = x.dtype
    ctx.save_for_backward(output)


def _derived_row_wise(ctx, g):
    dx = row_wise_backward.in_backward(g, ctx.saved_tensors[0], ctx.dim, ctx.op)
    return _rounded(dx, ctx.dtype), None, None, None


row_wise.differentiable(_setup_row_wise, _derived_row_wise)


def _logsumexp(x, dim, keepdim, dtype=None):
    return _losses.logsumexp_of(x, dim[0] if len(dim) == 1 else tuple(dim), keepdim, dtype, "dim")


def _logsumexp_backward(grad, x, dim):
    kept = [i for i in range(x.dim()) if i not in dim]
    return _losses.logsumexp_gradient(x, grad.reshape([x.shape[i] for i in kept]), tuple(dim)).contiguous()


logsumexp = _define(
    "logsumexp(Tensor x, int[] dim, bool keepdim, ScalarType? dtype=None) -> Tensor",
    _logsumexp,
    lambda x, dim, keepdim, dtype=None: _fake_reduce(x, dim, keepdim, None, dtype, None, 0),
)
logsumexp_backward = _define(
    "logsumexp_backward(Tensor grad, Tensor x, int[] dim) -> Tensor",
    _logsumexp_backward,
    lambda grad, x, dim: x.new_empty(x.shape),
)
logsumexp_backward.not_twice_differentiable()


def _setup_logsumexp(ctx, inputs, output):
    x, ctx.dim, _, _ = inputs
    ctx.save_for_backward(x)


def _derived_logsumexp(ctx, g):
    return logsumexp_backward(g, ctx.saved_tensors[0], ctx.dim), None, None, None


logsumexp.differentiable(_setup_logsumexp, _derived_logsumexp)


def _cosine(x, y, dim, eps, method, dtype=None):
    return _losses.cosine_of(x, y, dim, eps, method, dtype, "dim")


def _fake_cosine(x, y, dim, eps, method, dtype=None):
    return x.new_empty([n for i, n in enumerate(x.shape) if i != dim], dtype=dtype or x.dtype)


def _cosine_backward(grad, x, y, dim, eps, method):
    return _losses.cosine_gradient(x, y, grad, dim, eps, method)


cosine = _define(
    "cosine(Tensor x, Tensor y, int dim, float eps, str method, ScalarType? dtype=None) -> Tensor",
    _cosine,
    _fake_cosine,
)
cosine_backward = _define(
    "cosine_backward(Tensor grad, Tensor x, Tensor y, int dim, float eps, str method) -> Tensor",
    _cosine_backward,
    lambda grad, x, y, dim, eps, method: x.new_empty(x.shape),
)
cosine_backward.not_twice_differentiable()


def _setup_cosine(ctx, inputs, output):
    x, y, *ctx.rest, _ = inputs
    ctx.dtype = x.dtype
    ctx.save_for_backward(x, y)


def _derived_cosine(ctx, g):
    g, x, y = _in_arithmetic(g, *ctx.saved_tensors)
    of_x, of_y = ctx.needs_input_grad[:2]
    dx = _rounded(cosine_backward(g, x, y, *ctx.rest), ctx.dtype) if of_x else None
    dy = _rounded(cosine_backward(g, y, x, *ctx.rest), ctx.dtype) if of_y else None
    return dx, dy, None, None, None, None


cosine.differentiable(_setup_cosine, _derived_cosine)


def _norm(x, normalized_shape, weight, bias, eps, op, dtype=None, kept=True):
    if op not in NORMS:
        refuse_op(op, NORMS)
    out = _losses.norm(op, x, normalized_shape, weight, bias, eps, kept, dtype)
    return (out[0], torch.stack([t for t in out[1:] if t is not None])) if kept else (out, None)


def _short_norm(x, normalized_shape, weight, bias, eps, op, dtype=None, kept=True):
    if dtype is not None or op not in NORMS:
        return None
    return _core.tensor_norm(op, x, normalized_shape, weight, bias, eps, kept)


def _shape_of_statistics(x, normalized_shape, op):
    return 2 if op == "layernorm" else 1, *x.shape[: x.dim() - len(normalized_shape)]


def _fake_norm(x, normalized_shape, weight, bias, eps, op, dtype=None):
    kept = _shape_of_statistics(x, normalized_shape, op)
    return x.new_empty(x.shape, dtype=dtype or x.dtype), x.new_empty(kept, dtype=arithmetic(x.dtype))


def _norm_backward(grad, x, normalized_shape, weight, statistics, bias, parameters, op):
    if op not in NORMS:
        refuse_op(op, NORMS)
    shape = _shape_of_statistics(x, normalized_shape, op)
    _check_kept("statistics", statistics, shape, x, arithmetic(x.dtype))
    mean, rstd = statistics if op == "layernorm" else (None, statistics[0])
    more = weight, mean, rstd, bias, parameters
    return _filled(_losses.norm_gradient(op, x, grad, len(normalized_shape), *more))


def _filled(grads):
    """The dispatcher of torch takes no None."""
    return None if grads is None else tuple(grads[0].new_empty(0) if d is None else d for d in grads)


def _short_norm_backward(grad, x, normalized_shape, weight, statistics, bias, parameters, op):
    if op not in NORMS:
        return None
    return _core.tensor_norm_gradient(op, grad, x, normalized_shape, weight, statistics, bias, parameters)


def _fake_norm_backward(grad, x, normalized_shape, weight, statistics, bias, parameters, op):
    ends = list(normalized_shape)
    return (
        x.new_empty(x.shape),
        x.new_empty(ends if parameters else (0,)),
        x.new_empty(ends if parameters and bias else (0,)),
    )


norm = _define(
    "norm(Tensor x, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps, str op, ScalarType? dtype=None) "
    "-> (Tensor, Tensor)",
    _norm,
    _fake_norm,
    _short_norm,
)
norm.keep_nothing()
norm_backward = _define(
    "norm_backward(Tensor grad, Tensor x, int[] normalized_shape, Tensor? weight, Tensor statistics, bool bias, "
    "bool parameters, str op) -> (Tensor, Tensor, Tensor)",
    _norm_backward,
    _fake_norm_backward,
    lambda *args: _filled(_short_norm_backward(*args)),
)
norm_backward.short = _short_norm_backward
norm_backward.not_twice_differentiable()


def _setup_norm(ctx, inputs, output):
    x, normalized_shape, weight, bias, _, ctx.op, _ = inputs
    ctx.normalized_shape = tuple(normalized_shape)  # a list is the caller's, who may change it
    statistics = output[1]
    ctx.dtype = x.dtype
    ctx.bias = bias is not None
    ctx.save_for_backward(x, weight, statistics)
    ctx.mark_non_differentiable(statistics)


def _derived_norm(ctx, g, _):
    x, weight, statistics = ctx.saved_tensors
    needed = ctx.needs_input_grad
    of_weight, of_bias = weight is not None and needed[2], ctx.bias and needed[3]
    if g.dtype is not ctx.dtype:
        g, x, weight = _in_arithmetic(g, x, weight)
    more = weight, statistics, of_bias, of_weight or of_bias, ctx.op
    dx, dw, db = norm_backward.in_backward(g, x, ctx.normalized_shape, *more)
    if g.dtype is not ctx.dtype:
        dx, dw, db = (None if d is None else d.to(ctx.dtype) for d in (dx, dw, db))
    return dx, None, dw if of_weight else None, db if of_bias else None, None, None, None


norm.differentiable(_setup_norm, _derived_norm, 1)


# ---- Channels --------------------------------------------------------------------------------------------------


def _channels(x, weight, bias, running_mean, running_var, groups, given, momentum, eps, norm, method):
    of_channels = {"weight": weight, "bias": bias, "running_mean": running_mean, "running_var": running_var}
    return _losses.Channels(norm, x, groups, eps, given, method, momentum, **of_channels)


def _channel_norm(*args):
    """Running statistics as they become are new tensors, of no elements where nothing becomes of them."""
    channels = _channels(*args)
    out, mean, rstd, running = channels.forward(kept=True)
    return out, mean, rstd, *(args[0].new_empty(0) if r is None or channels.given else r for r in running)


def _channel_norm_alone(*args):
    out, mean, rstd, running = _channels(*args).forward()
    return out, mean, rstd, *running


def _fake_channel_norm(
    x, weight, bias, running_mean, running_var, groups, given, momentum, eps, norm, method
):
    statistics = x.shape[1] if norm == "batch_norm" else x.shape[0] * groups
    mean, rstd = (x.new_empty((statistics,), dtype=torch.float64) for _ in range(2))
    none = [given or r is None for r in (running_mean, running_var)]
    running = [
        x.new_empty(0) if n else r.new_empty(r.shape) for n, r in zip(none, (running_mean, running_var))
    ]
    return x.new_empty(x.shape), mean, rstd, *running


def _channel_norm_backward(grad, x, weight, mean, rstd, groups, given, norm, method, parameters):
    # Statistics that were given are in mean and rstd.
    more = {} if weight is None else {"weight": weight}
    channels = _losses.Channels(norm, x, groups, 0.0, False, method, 0.0, **more)
    channels.given = given
    dx, dw, db = channels.gradient(grad, mean, rstd, parameters)
    return dx, x.new_empty(0) if dw is None else dw, x.new_empty(0) if db is None else db


def _fake_channel_norm_backward(grad, x, weight, mean, rstd, groups, given, norm, method, parameters):
    dw, db = (weight.new_empty(weight.shape) if parameters else x.new_empty(0) for _ in range(2))
    return x.new_empty(x.shape), dw, db


channel_norm = _define(
    "channel_norm(Tensor x, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, int groups, "
    "bool given, float momentum, float eps, str norm, str method) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    _channel_norm,
    _fake_channel_norm,
)
channel_norm.plain = _channel_norm_alone
channel_norm_backward = _define(
    "channel_norm_backward(Tensor grad, Tensor x, Tensor? weight, Tensor mean, Tensor rstd, int groups, bool given, "
    "str norm, str method, bool parameters) -> (Tensor, Tensor, Tensor)",
    _channel_norm_backward,
    _fake_channel_norm_backward,
)
channel_norm_backward.not_twice_differentiable()


def _setup_channel_norm(ctx, inputs, output):
    x, weight, _, _, _, ctx.groups, ctx.given, _, _, ctx.norm, ctx.method = inputs
    _, mean, rstd, *running = output
    ctx.save_for_backward(x, weight, mean, rstd)
    ctx.mark_non_differentiable(mean, rstd, *running)


def _derived_channel_norm(ctx, g, *_):
    x, weight, mean, rstd = ctx.saved_tensors
    of_weight, of_bias = ctx.needs_input_grad[1], ctx.needs_input_grad[2]
    if ctx.needs_input_grad[3] or ctx.needs_input_grad[4]:
        raise NotImplementedError("detreduce: there is no gradient with respect to running_mean and running_var")
    parameters = bool(weight is not None and (of_weight or of_bias))
    more = (ctx.groups, ctx.given, ctx.norm, ctx.method, parameters)
    dx, dw, db = channel_norm_backward(g, x, weight, mean, rstd, *more)
    return (dx, dw if of_weight else None, db if of_bias else None) + 8 * (None,)


channel_norm.differentiable(_setup_channel_norm, _derived_channel_norm)


# ---- Classes ---------------------------------------------------------------------------------------------------


def _short_cross_entropy(
    x, target, weight, ignore_index, label_smoothing, op, reduction, method, z_loss=0.0, dtype=None, kept=True
):
    if dtype is not None or op not in OF_CLASSES:
        return None
    options = ignore_index, label_smoothing, reduction, method, z_loss
    return _core.tensor_classes(op, x, target, weight, *options, kept)


def _cross_entropy(
    x, target, weight, ignore_index, label_smoothing, op, reduction, method, z_loss=0.0, dtype=None, kept=True
):
    """The loss, and, with `kept`, what the gradient of cross entropy needs of each row."""
    if op not in OF_CLASSES:
        refuse_op(op, OF_CLASSES)
    classes = _losses.Classes(op, x, target, weight, ignore_index, label_smoothing, z_loss)
    out = classes.forward(op, reduction, method, dtype, kept=kept)
    if not kept:
        return out, None
    return out[0], x.new_empty(0, dtype=arithmetic(x.dtype)) if out[1] is None else out[1]


def _rows_of_classes(x) -> list:
    """The shape of (C), (N, C) or (N, C, …) without that of the classes."""
    return [n for i, n in enumerate(x.shape) if i != (0 if x.dim() == 1 else 1)]


def _fake_cross_entropy(
    x, target, weight, ignore_index, label_smoothing, op, reduction, method, z_loss=0.0, dtype=None
):
    rows = _rows_of_classes(x)
    sums = x.new_empty((math.prod(rows), 2) if op == "cross_entropy" else (0,), dtype=arithmetic(x.dtype))
    return x.new_empty(rows if reduction == "none" else (), dtype=dtype or x.dtype), sums


def _short_cross_entropy_backward(
    grad, x, target, weight, ignore_index, label_smoothing, op, reduction, method, z_loss=0.0, exp_sums=None
):
    if op not in GRADIENTS_OF_CLASSES:
        return None
    factor = _rounded(grad, arithmetic(x.dtype))
    options = ignore_index, label_smoothing, reduction, method, z_loss
    return _core.tensor_classes_gradient(op, factor, x, target, weight, *options, exp_sums)


def _cross_entropy_backward(
    grad, x, target, weight, ignore_index, label_smoothing, op, reduction, method, z_loss=0.0, exp_sums=None
):
    if op not in GRADIENTS_OF_CLASSES:
        refuse_op(op, GRADIENTS_OF_CLASSES)
    factor = grad.to(arithmetic(x.dtype)).resolve_neg().contiguous()
    if exp_sums is not None:
        _check_kept("exp_sums", exp_sums, (math.prod(_rows_of_classes(x)), 2), x, factor.dtype)
        exp_sums = exp_sums.contiguous()
    classes = _losses.Classes(op, x, target, weight, ignore_index, label_smoothing, z_loss)
    return classes.gradient(op + "_gradient", reduction, method, factor, exp_sums)


cross_entropy = _define(
    "cross_entropy(Tensor x, Tensor target, Tensor? weight, int ignore_index, float label_smoothing, str op, "
    "str reduction, str method, float z_loss=0., ScalarType? dtype=None) -> (Tensor, Tensor)",
    _cross_entropy,
    _fake_cross_entropy,
    _short_cross_entropy,
)
cross_entropy.keep_nothing()
cross_entropy_backward = _define(
    "cross_entropy_backward(Tensor grad, Tensor x, Tensor target, Tensor? weight, int ignore_index, "
    "float label_smoothing, str op, str reduction, str method, float z_loss=0., Tensor? exp_sums=None) -> Tensor",
    _cross_entropy_backward,
    lambda grad, x, *rest: x.new_empty(x.shape),
    _short_cross_entropy_backward,
)
cross_entropy_backward.not_twice_differentiable()


def _setup_cross_entropy(ctx, inputs, output):
    x, target, weight, *ctx.rest, _ = inputs
    _, sums = output
    ctx.save_for_backward(x, target, weight, sums)
    ctx.mark_non_differentiable(sums)


def _derived_cross_entropy(ctx, g, _):
    x, target, weight, sums = ctx.saved_tensors
    if weight is not None and ctx.needs_input_grad[2]:
        raise NotImplementedError("detreduce: weight of cross_entropy has no gradient here")
    ignore_index, label_smoothing, op, *more = ctx.rest
    rest = *more, sums if op == "cross_entropy" else None
    needed = ctx.needs_input_grad

    def gradient(name):
        return cross_entropy_backward.in_backward(g, x, target, weight, ignore_index, label_smoothing, name, *rest)

    dx = gradient(op) if needed[0] else None
    return dx, gradient(op + "_target") if needed[1] else None, *8 * (None,)


cross_entropy.differentiable(_setup_cross_entropy, _derived_cross_entropy, 1)

# ---- Distillation ----------------------------------------------------------------------------------------------


def _distillation(x, target, temperature, dim, reduction, method, dtype):
    return _losses.Distillation(x, target, temperature, dim, reduction, method, "dim").forward(dtype)


def _distillation_backward(grad, x, target, temperature, dim, reduction, method):
    return _losses.Distillation(x, target, temperature, dim, reduction, method).gradient(grad)


distillation = _define(
    "distillation(Tensor x, Tensor target, float temperature, int dim, str reduction, str method, ScalarType? dtype) "
    "-> Tensor",
    _distillation,
    lambda x, target, temperature, dim, reduction, method, dtype: x.new_empty((), dtype=dtype or x.dtype),
)
distillation_backward = _define(
    "distillation_backward(Tensor grad, Tensor x, Tensor target, float temperature, int dim, str reduction, "
    "str method) -> Tensor",
    _distillation_backward,
    lambda grad, x, *rest: x.new_empty(x.shape),
)
distillation_backward.not_twice_differentiable()


def _setup_distillation(ctx, inputs, output):
    x, target, *ctx.rest, _ = inputs
    ctx.save_for_backward(x, target)


def _derived_distillation(ctx, g):
    x, target = ctx.saved_tensors
    if ctx.needs_input_grad[1]:
        raise NotImplementedError("detreduce: target of distillation_loss has no gradient here")
    dx = distillation_backward(*_in_arithmetic(g, x, target), *ctx.rest)
    return (dx.to(x.dtype),) + 6 * (None,)


distillation.differentiable(_setup_distillation, _derived_distillation)
