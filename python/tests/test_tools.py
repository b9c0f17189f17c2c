"""devices(), verify() and explain(); and arguments at random, none of which may end the process."""

import random
import warnings

import numpy as np
import pytest

import detreduce as dr
from detreduce import _tools


def test_devices():
    cpu, *gpus = dr.devices()
    assert cpu.name == "cpu" and cpu.instruction_sets[0] == "baseline"
    assert all(d.name == f"cuda:{i}" and d.memory > 0 for i, d in enumerate(gpus))


def test_this_machine_computes_the_right_bits(monkeypatch):
    checks = dr.verify()
    assert {c.instruction_set for c in checks if c.device == "cpu"} == set(dr.devices()[0].instruction_sets)
    monkeypatch.setitem(_tools._EXPECTED, ("sum", "tree"), 0)
    with pytest.raises(RuntimeError, match="sum by tree on cpu"):
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


FUNCTIONS = [
    f
    for name in dr.__all__
    if name[0].islower() and callable(f := getattr(dr, name)) and name not in ("devices", "verify")
]


def values(rng):
    """Something that may be given as an argument, sensible or not."""
    shape = rng.choice([(), (0,), (3,), (3, 4), (4, 3), (2, 3, 4), (0, 4), (4, 0)])
    dtype = rng.choice(["f2", "f4", "f8", "f4", "f4", "i8", "i4", "u1", "c8", "?", ">f4"])
    a = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7 - 2).astype(dtype)
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
KEYWORDS = "axis dim keepdims keepdim dtype method nan ddof correction reduction delta beta weight ignore_index label_smoothing z_loss eps y target op".split()


@pytest.mark.parametrize("seed", range(20))
def test_no_arguments_end_the_process(seed):
    rng = random.Random(seed)
    raised = 0
    for _ in range(1000):
        f = rng.choice(FUNCTIONS)
        arguments = [values(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
        if rng.random() < 0.5 and len(arguments) > 1:
            arguments[1] = (
                arguments[0].copy() if rng.random() < 0.5 else np.zeros(arguments[0].shape[:1], np.int64)
            )
        named = {}
        for key in rng.sample(KEYWORDS, rng.choice([0, 0, 1, 1, 2])):
            named[key] = rng.choice([rng.choice(WORDS), rng.choice(SCALARS), values(rng)])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                f(*arguments, **named)
        except (TypeError, ValueError):
            raised += 1
        except OverflowError as error:  # of Python's own conversions
            raise AssertionError((f, arguments, named)) from error
    assert 0 < raised < 1000
