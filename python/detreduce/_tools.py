"""What there is to compute on, whether it computes the right bits, and what each method makes of some elements."""

from __future__ import annotations

import math
import os
import zlib
from fractions import Fraction
from typing import Any, List, NamedTuple, Optional

import numpy as np

from . import _core, _losses
from ._arrays import WORDS, arithmetic_of, library_of
from ._reduce import reduced, words_of

METHODS = ("exact", "compensated", "kahan", "tree", "serial")


class Device(NamedTuple):
    name: str
    what: str
    instruction_sets: tuple = ()
    memory: int = 0


def devices() -> List[Device]:
    """The CPU, and every GPU that this build can use."""
    threads = os.cpu_count() or 1
    found = [Device("cpu", f"{threads} threads", tuple(_core.isas()))]
    for index, name, major, minor, multiprocessors, memory in _core.gpus():
        found.append(
            Device(f"cuda:{index}", f"{name}, {major}.{minor}, {multiprocessors} multiprocessors", (), memory)
        )
    return found


def _numbers(n: int) -> np.ndarray:
    """Numbers of both signs and many sizes that are the same everywhere: from 32-bit integers alone."""
    i = np.arange(n, dtype=np.uint64)
    mixed = (i * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)  # 24 bits
    exponent = (104 + (i * np.uint64(0xD1B54A32D192ED03) >> np.uint64(59))) << np.uint64(23)
    bits = (mixed & np.uint64(0x7FFFFF)) | exponent | ((mixed >> np.uint64(23)) << np.uint64(31))
    return bits.astype(np.uint32).view(np.float32)


# Bits of 100003 numbers of _numbers(), as the program `detreduce` prints them.
_EXPECTED = {
    ("sum", "exact"): 0x45493AA7,
    ("sum", "compensated"): 0x45493AA7,
    ("sum", "kahan"): 0x45493AA7,
    ("sum", "tree"): 0x45493A9C,
    ("sum", "serial"): 0x45493A5E,
    ("nrm2", "exact"): 0x46C51C31,
    ("nrm2", "tree"): 0x46C51C31,
    ("nrm2", "serial"): 0x46C51B55,
    ("mean", "exact"): 0x3D03DFA1,
    ("mean", "tree"): 0x3D03DF9A,
    ("variance", "exact"): 0x45C6EB16,
}


# Of row ops, losses and gradients, of 5 rows of 3001 of these numbers: CRC-32 of the bytes of the results.
_EXPECTED_OF_ROWS = {
    "softmax": 0x388BA830,
    "log_softmax": 0xA91F4CA7,
    "logsumexp": 0xD6CDA548,
    "layer_norm": 0xB481D113,
    "rms_norm": 0xBBDE26F9,
    "cross_entropy": 0xC408E05E,
    "mse": 0x6A6D0AA7,
    "huber": 0x8024D0B0,
    "bce_with_logits": 0xC5ACA499,
    "gradient of softmax": 0xB4753BB5,
    "gradient of layer_norm": 0x65BD8FC8,
    "gradient of cross_entropy": 0xBB8A1B2E,
}


def _of_rows(x: Any, y: Any, classes: Any) -> dict:
    """What there is to compute of two matrices, and a class for each row."""
    n = x.shape[1]

    def norm_gradient():
        _, mean, rstd = _losses.norm("layernorm", x, (n,), y[0], y[1], 1e-5, kept=True)
        return _losses.norm_gradient("layernorm", x, y, 1, y[0], mean, rstd, True, True)

    def entropy_gradient():
        of_classes = _losses.Classes("cross_entropy_gradient", x, classes, None, -100, 0.0)
        return of_classes.gradient("cross_entropy_gradient", "mean", "exact", None)

    return {
        "softmax": lambda: _losses.softmax(x),
        "log_softmax": lambda: _losses.log_softmax(x),
        "logsumexp": lambda: _losses.logsumexp(x, 1),
        "layer_norm": lambda: _losses.layer_norm(x, (n,), y[0], y[1]),
        "rms_norm": lambda: _losses.rms_norm(x, (n,), y[0]),
        "cross_entropy": lambda: _losses.cross_entropy(x, classes),
        "mse": lambda: _losses.mse(x, y),
        "huber": lambda: _losses.huber(x, y),
        "bce_with_logits": lambda: _losses.bce_with_logits(x, y),
        "gradient of softmax": lambda: _losses.row_wise_gradient("softmax", x, y, 1),
        "gradient of layer_norm": norm_gradient,
        "gradient of cross_entropy": entropy_gradient,
    }


class Check(NamedTuple):
    device: str
    op: str
    method: Optional[str]
    instruction_set: Optional[str]


class Verified(List[Check]):
    def __str__(self) -> str:
        places: dict = {}
        for check in self:
            places.setdefault(check.device, {})[check.instruction_set] = None
        where = (f"{device} ({', '.join(filter(None, isas))})" if any(isas) else device for device, isas in places.items())
        return f"{len(self)} results have the bits of the specification: {', '.join(where)}"


def verify() -> Verified:
    """Computes known results on every device: reductions by every method and instruction set, and row ops, losses and gradients;
    and compares their bits with those of the specification. Returns a list of what was compared, which prints as one line;
    RuntimeError says what differs."""
    x = _numbers(100003)
    rows, classes = x[:30010].reshape(2, 5, 3001) / np.float32(64), np.array([7, 3000, 0, -100, 512])
    checks = Verified()

    def compared(device, op, method, isa, bits, expected):
        if bits != expected:
            by, at = f" by {method}" if method else "", f" with {isa}" if isa else ""
            raise RuntimeError(f"{op}{by} on {device}{at} is 0x{bits:08x}, and should be 0x{expected:08x}")
        checks.append(Check(device, op, method, isa))

    def compared_rows(device, *arrays):
        for op, compute in _of_rows(*arrays).items():
            results = compute()
            crc = 0
            for result in results if isinstance(results, tuple) else (results,):
                crc = zlib.crc32(_on_host(result).tobytes(), crc)
            compared(device, op, None, None, crc, _EXPECTED_OF_ROWS[op])

    for (op, method), expected in _EXPECTED.items():
        for isa in _core.isas():
            bits = np.float32(reduced(op, x, method=method, isa=isa)).view(np.uint32)
            compared("cpu", op, method, isa, int(bits), expected)
    compared_rows("cpu", *rows, classes)
    for index, *_ in _core.gpus():
        opened = _on_gpu(x, index)
        if opened is None:
            break
        for (op, method), expected in _EXPECTED.items():
            if method == "serial":
                continue
            bits = np.float32(_on_host(reduced(op, opened, method=method))).view(np.uint32)
            compared(f"cuda:{index}", op, method, None, int(bits), expected)
        compared_rows(f"cuda:{index}", *(_on_gpu(a, index) for a in (*rows, classes)))
    return checks


def _on_host(x: Any) -> np.ndarray:
    return x.cpu().numpy() if hasattr(x, "cpu") else x.get() if hasattr(x, "get") else np.asarray(x)


def _on_gpu(x: np.ndarray, index: int):
    """x on a GPU, by what library there is, or None."""
    try:
        import torch

        return torch.from_numpy(x).to(f"cuda:{index}")
    except (ImportError, RuntimeError, AssertionError):
        pass
    try:
        import cupy

        with cupy.cuda.Device(index):
            return cupy.asarray(x)
    except ImportError:
        return None


class Explained(NamedTuple):
    method: str
    value: float
    error: float  # how far from the true value, as far as a double can tell
    bound: Optional[float]  # which it cannot pass, if one is stated

    def __str__(self) -> str:
        bound = "" if self.bound is None else f"  (at most {self.bound:.3g})"
        return f"{self.method:12} {self.value!r:24} off by {self.error:.3g}{bound}"


class Explanation(list):
    def __str__(self) -> str:
        return "\n".join(map(str, self))


_TERMS = {"sum": 0, "asum": 0, "sumsq": 1, "dot": 1}


def explain(x: Any, op: str = "sum") -> Explanation:
    """The result of all elements of x by each method, how far it is from the true one, and how far it could be.

    op: sum, asum, sumsq, mean, nrm2, var or std. var and std have the ddof of the library of x, as dr.var(x)
    and dr.std(x) have. The bound is that of SPEC.md, section 8.3: there is one of sums that are finite.
    """
    words_of(op=op)
    op = {"var": "variance", "std": "stddev"}.get(op, op)
    if op not in ("sum", "asum", "sumsq", "mean", "nrm2", "variance", "stddev"):
        raise ValueError(f"op: allowed are sum, asum, sumsq, mean, nrm2, var and std, not {op!r}")
    lib = library_of(x)
    a = lib.open(x, "x")
    word = lib.dtype(a, "x")
    n = math.prod(a.shape)
    if n == 0:
        raise ValueError("x: must have elements")
    ddof = lib.ddof if op in ("variance", "stddev") else 0
    exact = _double(reduced(op, a, dtype="float64", ddof=ddof, nan_if_empty=True))
    size = _double(reduced("sumsq" if op == "sumsq" else "asum", a, dtype="float64"))
    lines = Explanation()
    on_cpu = lib.place(a) is None
    for method in METHODS:
        if method == "serial" and not on_cpu:
            continue
        try:
            value = _double(reduced(op, a, method=method, ddof=ddof, nan_if_empty=True))
        except ValueError:  # not offered
            continue
        if math.isfinite(value) and math.isfinite(exact):
            error = float(abs(Fraction(value) - Fraction(exact)))
        else:
            error = 0.0 if value == exact or (value != value and exact != exact) else math.inf
        bound = _bound(op, method, word, n, exact, size) if math.isfinite(value) else None
        lines.append(Explained(method, value, error, bound))
    return lines


def _double(value: Any) -> float:
    return float(value)


def _bound(op: str, method: str, word: str, n: int, exact: float, size: float) -> Optional[float]:
    if op not in _TERMS or not math.isfinite(size):
        return None
    precision = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53, "f8e4m3": 4, "f8e5m2": 3}
    unit, smallest = 2.0 ** -precision[word], {"f16": -24, "bf16": -133, "f8e4m3": -9, "f8e5m2": -16}.get(
        word, -149 if word == "f32" else -1074
    )
    rounding = abs(exact) * unit + math.ldexp(1.0, smallest)
    if method == "exact":
        return rounding
    in_steps = 2.0 ** -precision[arithmetic_of(word)]
    depth = n - 1 if method == "serial" else _core.tree_depth(word, n, method == "compensated")

    def gamma(d: int) -> float:
        return d * in_steps / (1 - d * in_steps) if d * in_steps < 1 else math.inf

    if method in ("kahan", "compensated"):
        return rounding + gamma(2 * depth + 6) * gamma(depth + 3) * size
    of_terms = gamma(depth + _TERMS[op]) * size
    return of_terms + (rounding if WORDS[word] not in ("float32", "float64") else math.ldexp(1.0, smallest))
