"""Calls of detreduce.torch with random arguments, most of them right and some of any kind:

    python random_calls.py [SEED [CALLS]]

Each is made twice, the second time without the short way of C++: results, gradients and kinds of errors must be the same. Nothing may
end the process.
"""

import random
import sys
import warnings

import torch

import detreduce.torch as drt
from detreduce import _core

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
OTHERS = "int64 int32 bool uint8 complex64 float8_e4m3fn float8_e5m2 float8_e8m0fnu float4_e2m1fn_x2 uint16 uint4"
OTHERS = [getattr(torch, name) for name in OTHERS.split() if hasattr(torch, name)]
NUMBERS = [-1, 0, 1, 2, 5, True, False, 1.5, float("nan"), float("inf"), 2**63, -(2**63) - 1, 2**70]
WORDS = ["mean", "none", "sum", "exact", "tree", "batchmean", "", b"x"]
ANYTHING = [None, (), (1,), [0], (0, 1), (-1,), [None], {}, object(), torch.tensor(1), *NUMBERS, *WORDS]
SHORT = {name: getattr(_core, name) for name in dir(_core) if name.startswith("tensor_")}


class Calls:
    def __init__(self, seed):
        self.random = random.Random(seed)
        torch.manual_seed(seed)

    def one(self, *choices):
        return self.random.choice(choices)

    def often(self, value, p=0.06):
        return self.one(*ANYTHING) if self.random.random() < p else value

    def maybe(self, p, make):
        return make() if self.random.random() < p else None

    def tensor(self, shape=None, dtype=None):
        if shape is None:
            shape = [self.one(0, 1, 1, 2, 3, 4, 7, 8, 16) for _ in range(self.one(0, 1, 1, 2, 2, 2, 3, 4))]
        if dtype is None:
            dtype = self.one(*FLOATS) if self.random.random() < 0.85 else self.one(*OTHERS)
        x = torch.randn(shape) * self.one(1, 1e3, 1e-3, 0)
        try:
            x = x.to(dtype)
        except (RuntimeError, NotImplementedError):  # there is no such cast
            x = torch.zeros([*shape, 1], dtype=torch.uint8).view(dtype)
        try:
            x = self.other_layout(x)
        except (RuntimeError, NotImplementedError, ValueError):  # not of such a tensor
            pass
        if x.is_floating_point() and x.is_leaf and not x.is_nested and self.random.random() < 0.5:
            x.requires_grad_()
        return x

    def other_layout(self, x):
        kind = self.random.randrange(60)
        if x.dim() == 0 or kind > 13:
            return x
        changes = [
            lambda: x.transpose(0, -1),
            lambda: x[..., ::2],
            lambda: x[:1].expand(x.shape),
            lambda: torch.complex(torch.zeros(x.shape), -x.float()).conj().imag,  # to be negated when it is read
            lambda: x.to("meta"),
            lambda: x.to_sparse(),
            lambda: torch.nested.nested_tensor([x, x]),
            lambda: torch.nn.Parameter(x, requires_grad=x.is_floating_point()),
            lambda: x[0:0],
            lambda: torch.frombuffer(bytearray(x.numel() * 4 + 1), dtype=torch.float32, offset=1, count=x.numel()),
        ]
        return changes[kind % len(changes)]()

    def call(self):
        """A function, and its arguments."""
        x = self.tensor()
        shape = (2, 3) if x.is_nested else tuple(x.shape)

        def like(shape=shape):
            return self.tensor(shape, x.dtype) if self.random.random() < 0.9 else self.tensor()

        reduction = {"reduction": self.often(self.one("mean", "sum", "none"))}
        method = {"method": self.often(self.one("automatic", "exact", "tree", "kahan", "compensated"), 0.03)}
        dim = self.often(self.one(None, 0, -1, 1))
        kind = self.random.randrange(8)
        if kind == 0:
            return drt.sum, (x,), {"dim": dim, "keepdim": self.often(self.one(True, False), 0.02), **method}
        if kind == 1:
            return self.one(drt.mean, drt.var, drt.std, drt.norm), (x,), {"dim": dim}
        if kind == 2:
            f = self.one(drt.mse_loss, drt.l1_loss, drt.binary_cross_entropy_with_logits, drt.kl_div)
            return f, (x, like()), {**reduction, **method}
        if kind == 3:
            return self.one(drt.mse_loss, drt.huber_loss), (x, like()), {"weight": self.maybe(0.5, like), **reduction}
        if kind == 4:
            return self.one(drt.softmax, drt.log_softmax), (x, self.often(self.one(-1, len(shape) - 1, 0))), {}
        if kind == 5:
            ends = shape[-self.one(1, 1, 2) :] or (3,)
            parameter = lambda: like(ends)  # noqa: E731
            if self.random.random() < 0.5:
                eps = self.often(self.one(None, 1e-5))
                return drt.rms_norm, (x, self.often(ends), self.maybe(0.6, parameter)), {"eps": eps}
            given = self.often(self.one(ends, list(ends), torch.Size(ends)))
            parameters = self.maybe(0.6, parameter), self.maybe(0.4, parameter)
            return drt.layer_norm, (x, given, *parameters), {"eps": self.often(self.one(1e-5, 0.0, 1))}
        classes = shape[min(1, len(shape) - 1)] if shape else 1
        rows = shape[:1] + shape[2:] if len(shape) > 1 else ()
        target = torch.randint(self.one(0, 0, 0, -100), max(classes, 1), rows)
        if target.numel() > 0 and self.random.random() < 0.05:
            target.view(-1)[0] = self.one(classes, -1, 2**40, -100)
        target = target if self.random.random() < 0.95 else self.tensor()
        given = (x, target, self.maybe(0.3, lambda: like((classes,))))
        more = {"ignore_index": self.often(-100), **reduction, **method}
        if kind == 6:
            return drt.nll_loss, given, more
        smoothing, z_loss = self.often(self.one(0.0, 0.1, 1.0)), self.often(self.one(0.0, 1e-3))
        return drt.cross_entropy, given, {"label_smoothing": smoothing, "z_loss": z_loss, **more}


def bits(t):
    if t is None or t.is_meta:
        return None if t is None else (t.dtype, tuple(t.shape))
    words = torch.empty(t.numel(), dtype=t.dtype).copy_(t.detach().reshape(-1)).view(torch.uint8)
    return t.dtype, tuple(t.shape), words.tolist()


def outcome(f, args, kwargs, expanded):
    """Bits of the result and of gradients, or the kind of error."""
    leaves = [t for t in (*args, *kwargs.values()) if isinstance(t, torch.Tensor) and t.requires_grad]
    try:
        y = f(*args, **kwargs)
        g = torch.full((), 0.5, dtype=y.dtype).expand(y.shape) if expanded else torch.ones_like(y)
        grads = torch.autograd.grad(y, leaves, g, allow_unused=True) if leaves and y.requires_grad else ()
        return [bits(t) for t in (y, *grads)]
    except Exception as error:  # noqa: BLE001
        return type(error).__name__


def main(seed=1, count=1000):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    calls, worked = Calls(seed), 0
    for _ in range(count):
        f, args, kwargs = calls.call()
        expanded = calls.one(True, False)
        both = []
        for short in (SHORT, dict.fromkeys(SHORT, lambda *args: None)):
            for name, call in short.items():
                setattr(_core, name, call)
            both.append(outcome(f, args, kwargs, expanded))
        worked += isinstance(both[0], list)
        if both[0] != both[1]:
            sys.exit(f"seed {seed}: {f.__name__} of {args}, {kwargs}: {both[0]}, but without the short way {both[1]}")
    print(f"seed {seed}: {count} calls, of which {worked} gave a result")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
