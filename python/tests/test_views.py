"""Views at random: what is read where it lies has the bits of its contiguous copy."""

import math
import random
import warnings

import numpy as np
import pytest

import detreduce as dr
from detreduce import _losses, _state
from libraries import opened

DTYPES = (np.float16, np.float32, np.float64)
METHODS = ("exact", "tree", "compensated")


def sliced(a, rng, steps):
    """A view of a: of some rows and columns, every second or third of them, one column, or with axes that change places."""
    for axis in range(a.ndim):
        length = a.shape[axis]
        kind = rng.randrange(6)
        if kind == 0:
            begin = rng.randrange(length + 1)
            part = slice(begin, rng.randint(begin, length))
        elif kind == 1:
            part = slice(rng.randrange(length), None, rng.choice(steps))
        elif kind == 2:
            begin = rng.randrange(length)
            part = slice(begin, begin + 1)
        else:
            continue
        a = a[(slice(None),) * axis + (part,)]
        if a.shape[axis] == 0 and rng.random() < 0.8:
            break
    if a.ndim > 1 and rng.random() < 0.5:
        order = list(range(a.ndim))
        rng.shuffle(order)
        a = getattr(a, "permute", a.transpose)(order)
    return a


def view(rng, library):
    ndim = rng.choice([1, 2, 2, 2, 2, 3, 4])
    shape = [rng.randint(1, 12 if ndim < 3 else 5) for _ in range(ndim)]
    whole = np.random.default_rng(rng.randrange(2**32)).standard_normal(shape).astype(rng.choice(DTYPES))
    if library is None:
        return sliced(whole, rng, (2, 3, -1))
    return sliced(library.array(whole), rng, (2, 3))


def axes(rng, ndim):
    kind = rng.randrange(4)
    if kind == 0:
        return None
    if kind == 1:
        return tuple(rng.sample(range(ndim), rng.randint(0, ndim)))
    return rng.randrange(-ndim, ndim)


def parts(value):
    return list(value) if isinstance(value, tuple) else [value]


def state(a, y=None, op="sum"):
    s = dr.State(op, str(a.dtype).rpartition(".")[2])
    return s.add(a) if y is None else s.add(a, y)


def calls(rng, ndim, shape):
    """Calls with arguments that go with such an array, by name."""
    axis, keepdims, method = axes(rng, ndim), rng.random() < 0.5, rng.choice(METHODS)
    one, op = rng.randrange(-ndim, ndim), rng.choice(["sum", "nrm2", "variance", "count_nonzero"])
    yield "sum", lambda a: dr.sum(a, axis, keepdims=keepdims, method=method)
    yield "nrm2", lambda a: dr.nrm2(a, axis, keepdims=keepdims, method=method)
    yield "var", lambda a: dr.var(a, axis, keepdims=keepdims, ddof=0)
    yield "dot", lambda a: dr.dot(a, a, axis, keepdims=keepdims)
    yield "count", lambda a: dr.count_nonzero(a, axis, keepdims)
    yield "logsumexp", lambda a: dr.logsumexp(a, axis, keepdims)
    yield "softmax", lambda a: dr.softmax(a, one)
    yield "log_softmax", lambda a: dr.log_softmax(a, one)
    yield "states", lambda a: _state.partial(op, a, None, axis)[0]
    yield "mse", lambda a: dr.mse(a, a)
    if 0 not in shape:
        last = rng.randint(1, ndim)
        ends = tuple(shape[ndim - last :])
        yield "layer_norm", lambda a: dr.layer_norm(a, ends)
        yield "rms_norm", lambda a: dr.rms_norm(a, ends)
        yield "max", lambda a: dr.max(a, axis, keepdims)
        yield "argmin", lambda a: dr.argmin(a, axis, keepdims)
        yield "softmax_gradient", lambda a: _losses.row_wise_gradient("softmax", a, a, one)
        yield "logsumexp_gradient", lambda a: _losses.logsumexp_gradient(a, dr.logsumexp(a, one), one)
        yield "rmsnorm_gradient", lambda a: _losses.norm_gradient(
            "rmsnorm",
            a,
            a,
            last,
            None,
            None,
            _losses.norm("rmsnorm", a, ends, None, None, 0.5, True)[2],
            False,
            False,
        )[0]
        if ndim > 1:
            yield "cross_entropy", lambda a: dr.cross_entropy(a, a, reduction="none")


@pytest.mark.parametrize("name", ["numpy", "torch-cpu", "torch-cuda", "cupy"])
def test_views_have_the_bits_of_their_copies(name):
    library = None if name == "numpy" else opened(name)
    rng = random.Random(26)
    kinds = set()
    for _ in range(3000):
        a = view(rng, library)
        ndim, shape = a.ndim, tuple(a.shape)
        if library is None:
            copy, read = np.array(a, order="C"), np.asarray
        else:
            copy, read = (a.contiguous() if library.kind == "torch" else a.copy(order="C")), library.numpy
            copy = copy.clone() if library.kind == "torch" else copy
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for op, call in calls(rng, ndim, shape):
                for got, expected in zip(parts(call(a)), parts(call(copy))):
                    got, expected = read(got), read(expected)
                    assert got.dtype == expected.dtype and got.shape == expected.shape, (op, shape)
                    assert got.tobytes() == expected.tobytes(), (
                        op,
                        shape,
                        a.strides if library is None else a.stride(),
                    )
            if math.prod(shape) > 0:
                for op in ("sum", "argmax", "std"):
                    assert state(a, op=op) == state(copy, op=op), (op, shape)
                assert state(a, a, "dot") == state(copy, copy, "dot")
        kinds.add((ndim, 1 in shape, 0 in shape))
    assert len(kinds) >= 8


def test_one_column_is_read_as_one():
    a = np.arange(40, dtype=np.float64).reshape(4, 10)
    assert dr.sum(a[:, :1], axis=0).tolist() == [60] and dr.sum(a[:, :1].T, axis=1).tolist() == [60]


def test_groups_of_several_axes_are_read_as_they_lie():
    m = np.arange(60, dtype=np.float64).reshape(6, 10) / 32
    assert dr.logsumexp(m[:2, :3]) == dr.logsumexp(m[:2, :3].copy())
    assert np.array_equal(dr.rms_norm(m[:2, :3], (2, 3)), dr.rms_norm(m[:2, :3].copy(), (2, 3)))
