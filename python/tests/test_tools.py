"""devices(), verify() and explain(); and arguments at random, none of which may end the process."""

import os
import pickle
import random
import warnings

import numpy as np
import pytest

import detreduce as dr
from detreduce import _state, _tools


def test_explanations_are_of_the_function_of_the_library():
    x = np.float32([1, 2, 4, 9])
    for op, f in (("var", dr.var), ("std", dr.std), ("mean", dr.mean)):
        assert all(abs(line.value - f(x)) < 2e-6 and line.error < 2e-6 for line in dr.explain(x, op))
        if torch is not None:
            t = torch.from_numpy(x)
            assert all(abs(line.value - f(t)) < 2e-6 and line.error < 2e-6 for line in dr.explain(t, op))
    for line in dr.explain(np.float32([3e38, 3e38])):
        assert line.value == np.inf and line.bound is None and "at most" not in str(line)
    for line in dr.explain(np.float32([3e38, 3e38, -3e38]), "sum"):
        assert (line.bound is None) == (not np.isfinite(line.value))


def test_devices():
    cpu, *gpus = dr.devices()
    assert cpu.name == "cpu" and cpu.instruction_sets[0] == "baseline"
    assert all(d.name == f"cuda:{i}" and d.memory > 0 for i, d in enumerate(gpus))


def test_this_machine_computes_the_right_bits(monkeypatch):
    checks = dr.verify()
    assert {c.instruction_set for c in checks if c.method and c.device == "cpu"} == set(dr.devices()[0].instruction_sets)
    assert str(checks).startswith(f"{len(checks)} results have the bits of the specification: cpu (baseline")
    assert {c.op for c in checks} >= {"sum", "softmax", "cross_entropy", "gradient of layer_norm"}
    with monkeypatch.context() as changed:
        changed.setitem(_tools._EXPECTED, ("sum", "tree"), 0)
        with pytest.raises(RuntimeError, match="sum by tree on cpu"):
            dr.verify()
    monkeypatch.setitem(_tools._EXPECTED_OF_ROWS, "gradient of softmax", 0)
    with pytest.raises(RuntimeError, match="gradient of softmax on cpu is 0x"):
        dr.verify()


@pytest.mark.parametrize("op", ["sum", "asum", "sumsq", "mean", "nrm2", "var"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_errors_are_within_their_bounds(op, dtype):
    x = np.random.default_rng(3).standard_normal(50000).astype(dtype) / 64
    lines = dr.explain(x, op)
    assert [line.method for line in lines][0] == "exact" and len(lines) >= 3 and "exact" in str(lines)
    for line in lines:
        assert (line.bound is not None) == (op in ("sum", "asum", "sumsq"))
        assert line.bound is None or line.error <= line.bound * (1 + 1e-12)
    for call in (lambda: dr.explain(x, "max"), lambda: dr.explain(x[:0])):
        with pytest.raises(ValueError):
            call()


try:
    import torch

    import detreduce.torch as drt
except ImportError:
    torch = drt = None


GPU = torch is not None and torch.cuda.is_available() and len(dr.devices()) > 1


def functions(module):
    others = ("devices", "verify", "not_covered", "reproducible")
    return [
        f
        for name in module.__all__
        if name[0].islower() and callable(f := getattr(module, name)) and name not in others
    ]


def added(op, dtype, *parts):
    state = dr.State(op, dtype)
    for part in parts:
        state.add(part)
    return pickle.loads(pickle.dumps(state)).merge(dr.State(op, dtype)).value()


def added_pairs(op, x, y, first_index=0):
    return dr.State(op, getattr(x, "dtype", x)).add(x, y, first_index=first_index)


FUNCTIONS = functions(dr)
STATES = [added, added_pairs]


def values(rng):
    """Something that may be given as an argument, sensible or not."""
    shape = rng.choice([(), (0,), (3,), (3, 4), (4, 3), (2, 3, 4), (0, 4), (4, 0)])
    dtype = rng.choice(["f2", "f4", "f8", "f4", "f4", "i8", "i4", "u1", "c8", "?", ">f4"])
    a = np.asarray((np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7 - 2)).astype(dtype)
    kind = rng.randrange(6)
    if kind == 1:
        a = a.T
    if kind == 2:
        a = a[..., ::-1] if a.ndim else a
    if kind == 3:
        a = a[::2] if a.ndim else a
    if kind == 4:
        a = np.broadcast_to(a, (2,) + a.shape)
    return a


def tensors(rng):
    """The same of torch."""
    a = values(rng)
    if a.dtype == ">f4":
        a = a.astype("f4")
    t = torch.from_numpy(a.copy(order="K"))
    kind = rng.randrange(16)
    if kind == 0:
        t = t.to(torch.bfloat16)
    if kind == 1:
        t = t.to("meta")
    if kind == 2:
        t = t.to_sparse()
    if kind == 3 and t.dim() > 1:
        t = t.transpose(0, 1)[:1]
    if kind == 4 and t.dim() > 0 and t.shape[0] > 0:
        t = t[:1].expand(3, *t.shape[1:])
    if kind == 5 and t.dtype in (torch.float16, torch.float32):
        t = t.to(rng.choice([torch.float8_e4m3fn, torch.float8_e5m2]))
    if kind == 6:
        t = t.conj()
    if kind == 7 and t.dtype == torch.float32:
        t = torch.complex(torch.zeros_like(t), -t).conj().imag  # which is negated when it is read
    if kind == 8 and t.numel() > 0:
        t = torch.frombuffer(bytearray(t.numel() * 4 + 1), dtype=torch.float32, offset=1).reshape(t.shape)
    if kind == 9 and t.dtype == torch.uint8 and t.dim() > 0 and hasattr(torch, "float4_e2m1fn_x2"):
        t = t.contiguous().view(torch.float4_e2m1fn_x2)
    if kind == 10 and t.is_floating_point():
        t = torch.nn.Parameter(t)
    if GPU and t.device.type == "cpu" and rng.random() < 0.5:
        t = t.to("cuda")
    if rng.random() < 0.3 and (t.is_floating_point() or t.is_complex()) and t.layout == torch.strided:
        t = t.detach().requires_grad_()
    return t


WORDS = [
    "sum",
    "mean",
    "none",
    "exact",
    "tree",
    "serial",
    "atomic",
    "automatic",
    "propagate",
    "ignore",
    "batchmean",
    "",
    "x",
    "float32",
    "float64",
    "float16",
]
SCALARS = [
    None,
    0,
    1,
    -1,
    2,
    10**30,
    -(10**30),
    2**63,
    0.5,
    float("nan"),
    float("inf"),
    -1.0,
    True,
    (),
    (0,),
    (0, 1),
    (1, 0),
    (0, 0),
    [0],
    [],
    "axis",
    b"x",
    object(),
    dict,
    np.float32,
    3,
    (3,),
    (3, 4),
]
KEYWORDS = (
    "axis dim keepdims keepdim dtype method nan ddof correction reduction delta beta weight ignore_index label_smoothing z_loss eps y target op "
    "temperature num_groups running_mean running_var training momentum gamma alpha pos_weight log_target p bias parameter norm_type error_if_nonfinite"
).split()
SHORT = {name: getattr(dr._core, name) for name in dir(dr._core) if name.startswith("tensor_")}


def bits(t):
    if not (type(t) in (torch.Tensor, torch.nn.Parameter) and t.device.type != "meta" and t.layout == torch.strided):
        return type(t)
    words = torch.empty(t.numel(), dtype=t.dtype, device=t.device).copy_(t.detach().reshape(-1)).view(torch.uint8)
    return t.dtype, tuple(t.shape), words.tolist()


def outcome(f, arguments, named, allowed):
    """What f gives, bits of a tensor and of its gradients; or the kind of error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = f(*arguments, **named)
            if torch is None or not isinstance(result, torch.Tensor):
                return type(result)
            leaves = [t for t in (*arguments, *named.values()) if isinstance(t, torch.Tensor) and t.requires_grad]
            if not result.requires_grad or result.device.type == "meta":
                return bits(result)
            total = result.double().sum()  # torch before 2.8 has no sum of 8 bits
            return [bits(t) for t in (result, *torch.autograd.grad(total, leaves, allow_unused=True))]
    except allowed as error:
        return type(error)
    except Exception as error:
        raise AssertionError((f, arguments, named)) from error


CALLS = int(os.environ.get("DETREDUCE_RANDOM_CALLS", "20000"))  # in all


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("of", ["numpy", "torch"])
def test_no_arguments_end_the_process(seed, of, monkeypatch):
    """Of torch each call is made without the short way, too, and must be the same."""
    if of == "torch" and torch is None:
        pytest.skip("there is no torch")
    rng = random.Random(seed)
    some = tensors if of == "torch" else values
    given = FUNCTIONS + STATES + (functions(drt) * 2 if of == "torch" else [])
    allowed = (TypeError, ValueError) + (
        (NotImplementedError,) if of == "torch" else ()
    )  # a gradient that there is not
    raised = succeeded = 0
    for _ in range(CALLS // 40):
        f = rng.choice(given)
        arguments = [(some if rng.random() < 0.95 else values)(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
        if rng.random() < 0.5 and len(arguments) > 1:
            if rng.random() < 0.5:
                arguments[1] = (
                    arguments[0].detach().clone()
                    if of == "torch" and hasattr(arguments[0], "detach")
                    else arguments[0].copy()
                )
            else:
                arguments[1] = np.zeros(arguments[0].shape[:1], np.int64)
                if of == "torch":
                    arguments[1] = torch.from_numpy(arguments[1])
        if f.__name__ in ("layer_norm", "rms_norm") and rng.random() < 0.7:
            arguments = [arguments[0], tuple(arguments[0].shape[-1:])]
        if f in STATES:
            arguments = [rng.choice(_state._OPS + ["prod"]), *arguments]
            if f is added:
                arguments.insert(1, rng.choice(["float32", "float64", np.float16, 3]))
        elif rng.random() < 0.1:
            arguments.insert(1, rng.choice(SCALARS + WORDS))
        named = {}
        for key in rng.sample(KEYWORDS, rng.choice([0, 0, 1, 1, 2])):
            named[key] = rng.choice([rng.choice(WORDS), rng.choice(SCALARS), some(rng)])
        got = outcome(f, arguments, named, allowed)
        failed = isinstance(got, type) and issubclass(got, Exception)
        raised, succeeded = raised + failed, succeeded + (not failed)
        if of == "torch" and f.__module__.startswith("detreduce.torch") and not f.__name__.endswith("_"):
            with monkeypatch.context() as patch:
                for name in SHORT:
                    patch.setattr(dr._core, name, lambda *args: None)
                again = outcome(f, arguments, named, allowed)
            assert got == again, (f, arguments, named)
    assert raised > 0 and succeeded > 0
