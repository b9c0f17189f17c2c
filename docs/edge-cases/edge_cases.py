"""The sums of docs/edge-cases.md by what is installed of NumPy, torch (CPU and GPU) and detreduce.

    python3 docs/edge-cases/edge_cases.py

The first column is the true sum, rounded once to the dtype: by fractions, without any of these libraries.
"""

import math
import platform
import sys
from fractions import Fraction

import numpy as np

CASES = [
    ("1 000 000 zeros", "float32", [0.0] * 1_000_000),
    ("1000 times -0", "float32", [-0.0] * 1000),
    ("1000 times 1e-37", "float32", [1e-37] * 1000),
    ("999 ones and +inf", "float32", [1.0] * 500 + [math.inf] + [1.0] * 499),
    ("999 ones and NaN", "float32", [1.0] * 500 + [math.nan] + [1.0] * 499),
    ("+inf and -inf", "float32", [math.inf, -math.inf]),
    ("1e300 + 1e300", "float64", [1e300, 1e300]),
    ("1e100 + 1 - 1e100", "float64", [1e100, 1.0, -1e100]),
    ("1e308 + 1e308 - 1e308", "float64", [1e308, 1e308, -1e308]),
    ("1000 times (1e100 + 1 - 1e100)", "float64", [1e100, 1.0, -1e100] * 1000),
    ("1000 times 1e308, 999 times -1e308", "float64", [1e308] * 1000 + [-1e308] * 999),
]


def true_sum(x):
    """Of the elements as they are in the array; no case is beyond the range or lies half-way."""
    values = x.tolist()
    if any(math.isnan(v) for v in values) or {math.inf, -math.inf} <= set(values):
        return math.nan
    if not all(map(math.isfinite, values)):
        return next(v for v in values if math.isinf(v))
    if all(v == 0 and math.copysign(1, v) < 0 for v in values):
        return -0.0
    return float(sum(map(Fraction, values)))


def libraries():
    """Name, version, and the sum of an array."""
    yield "numpy.sum", np.__version__, np.sum
    try:
        import torch

        yield "torch.sum, CPU", torch.__version__, lambda x: torch.from_numpy(x).sum().item()
        if torch.cuda.is_available():
            where = f"torch.sum, {torch.cuda.get_device_name()}"
            yield where, torch.__version__, lambda x: torch.from_numpy(x).cuda().sum().item()
    except ImportError:
        print("torch is not installed", file=sys.stderr)
    try:
        import detreduce as dr

        yield "detreduce.sum", dr.__version__, dr.sum
        yield 'detreduce.sum, "tree"', dr.__version__, lambda x: dr.sum(x, method="tree")
    except ImportError:
        print("detreduce is not installed", file=sys.stderr)


def text(value, dtype):
    return "nan" if math.isnan(value) else np.format_float_scientific(dtype(value), trim="-") if abs(value) >= 1e6 or 0 < abs(value) < 1e-3 else f"{value:g}"


def processor():
    """Its name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            return next(line.partition(": ")[2].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def main():
    made = list(libraries())
    print(f"{processor()}, Python {platform.python_version()}\n")
    print("| sum of | dtype | true sum | " + " | ".join(f"{name} {version}" for name, version, _ in made) + " |")
    print("|---|---|---:|" + "---:|" * len(made))
    for name, dtype, values in CASES:
        x = np.array(values, dtype)
        with np.errstate(all="ignore"):
            sums = [text(float(total(x)), x.dtype.type) for _, _, total in made]
        print(f"| {name} | {dtype} | {text(true_sum(x), x.dtype.type)} | " + " | ".join(sums) + " |")


if __name__ == "__main__":
    main()
