"""Results from whole fractions, and arrays as Hypothesis draws them: by their bits."""

import json
import math
import os
import subprocess
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

DTYPES = (np.float16, np.float32, np.float64)
PROGRAM = os.environ.get("DETREDUCE_PROGRAM", "")


def arrays(dtype, max_size=40, shape=None, finite=True):
    """Arrays of any bits, of finite numbers as far as `finite` says."""
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
    shape = st.integers(0, max_size) if shape is None else shape
    drawn = hnp.arrays(bits, shape).map(lambda b: b.view(dtype))
    if not finite:
        return drawn
    return drawn.map(lambda a: np.where(np.isfinite(a), a, dtype(0.75)))


def fractions(a):
    return [Fraction(float(v)) for v in a.ravel()]


def rounded(value, dtype):
    """The number of `dtype` that is nearest to a fraction, of two the even one."""
    info = np.finfo(dtype)
    precision, lowest = info.nmant + 1, info.minexp - info.nmant
    if value == 0:
        return dtype(0)
    size, sign = abs(value), -1 if value < 0 else 1
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1  # 2^exponent <= size < 2^(exponent + 1)
    unit = max(exponent - precision + 1, int(lowest))
    whole = round(size / Fraction(2) ** unit)  # to even
    if whole * Fraction(2) ** unit > Fraction(float(info.max)):
        return dtype(sign * math.inf)
    return dtype(sign * math.ldexp(whole, unit))


def same_bits(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype and a.shape == b.shape
    return a.tobytes() == b.tobytes()


def of_program(path, *arguments):
    """What the program `detreduce` says of a file."""
    command = [PROGRAM, "reduce", str(path), "--json", *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
