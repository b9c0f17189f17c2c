"""Reductions against whole fractions, math.fsum, NumPy's shapes, and the program's bits."""

import math
import threading
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detreduce as dr
from oracle import DTYPES, PROGRAM, arrays, fractions, of_program, rounded, same_bits

any_dtype = st.sampled_from(DTYPES)
METHODS = ("exact", "compensated", "kahan", "tree", "serial")


@given(st.data(), any_dtype, any_dtype)
def test_exact_sums_are_the_true_ones_rounded_once(data, dtype, output):
    x = data.draw(arrays(dtype))
    y = data.draw(arrays(dtype, shape=x.size))
    a, b = fractions(x), fractions(y)
    n = max(1, x.size)
    expected = {
        dr.sum: sum(a),
        dr.asum: sum(map(abs, a)),
    }
    for f, value in expected.items():
        assert f(x, dtype=output) == rounded(Fraction(value), output)
    assert dr.dot(x, y, dtype=output) == rounded(Fraction(sum(p * q for p, q in zip(a, b))), output)
    if x.size > 0:
        assert dr.mean(x, dtype=output) == rounded(Fraction(sum(a)) / n, output)
        mean = Fraction(sum(a)) / n
        variance = sum((v - mean) ** 2 for v in a) / n
        assert dr.var(x, dtype=output) == rounded(Fraction(variance), output)
        assert same_bits(dr.moments(x, dtype=output).var, dr.var(x, dtype=output))
        assert same_bits(dr.moments(x, dtype=output).mean, dr.mean(x, dtype=output))


@given(arrays(np.float64, 200))
def test_sums_of_doubles_are_those_of_fsum(x):
    try:
        expected = math.fsum(x.tolist())
    except OverflowError:  # on the way, which detreduce does not know
        return
    assert dr.sum(x) == expected


@given(arrays(np.float64, 30))
def test_norms_are_nearest_to_the_true_root(x):
    norm, square = dr.nrm2(x), sum(v * v for v in fractions(x))
    largest = Fraction(float(np.finfo(np.float64).max))
    if math.isinf(norm):
        assert square >= largest**2
        return

    def halfway(to):
        neighbour = float(np.nextafter(norm, to))
        return (
            Fraction(float(norm)) + (Fraction(neighbour) if math.isfinite(neighbour) else 2 * largest)
        ) / 2

    assert norm == 0 or halfway(0.0) ** 2 <= square
    assert square <= halfway(np.inf) ** 2


@given(st.data(), any_dtype)
def test_order_ops_find_what_is_there(data, dtype):
    x = data.draw(arrays(dtype).filter(lambda a: a.size > 0))
    assert dr.min(x) == x.min() and dr.max(x) == x.max()
    low, high = dr.minmax(x)
    assert same_bits(low, dr.min(x)) and same_bits(high, dr.max(x))
    assert same_bits(x[dr.argmin(x)], low) and same_bits(x[dr.argmax(x)], high)
    assert dr.count_nonzero(x) == np.count_nonzero(x)
    assert dr.count_unique(x) == len(np.unique(x))


@given(st.data(), any_dtype)
def test_nan_is_found_or_passed_over(data, dtype):
    x = data.draw(arrays(dtype, shape=st.integers(1, 30), finite=False))
    numbers = x[~np.isnan(x)]
    if numbers.size == x.size:
        return
    assert np.isnan(dr.max(x)) and np.isnan(x[dr.argmin(x)]) and np.isnan(dr.sum(x))
    if numbers.size > 0:
        assert dr.max(x, nan="ignore") == numbers.max()
        assert x[dr.argmin(x, nan="ignore")] == numbers.min()


SHAPES = [(), (1,), (7,), (0,), (3, 5), (0, 4), (4, 0), (2, 3, 4), (2, 1, 3, 2)]


def all_axes(ndim):
    yield None
    yield ()
    yield from range(-ndim, ndim)
    if ndim > 1:
        yield (0, 1)
        yield (-1, 0)
    if ndim > 2:
        yield (0, 2)
        yield (2, 1, 0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F", "strided", "reversed"])
def test_axes_are_those_of_numpy(shape, dtype, order):
    rng = np.random.default_rng(1)
    if order == "strided":
        x = rng.standard_normal([2 * s for s in shape]).astype(dtype)[
            tuple(slice(None, None, 2) for _ in shape)
        ]
    else:
        x = np.array(rng.standard_normal(shape), dtype=dtype, order="C" if order == "reversed" else order)
        if order == "reversed":
            x = x[tuple(slice(None, None, -1) for _ in shape)]
    wide = x.astype(np.float64)
    for axis in all_axes(x.ndim):
        for keepdims in (False, True):
            expected = np.sum(wide, axis=axis, keepdims=keepdims)
            got = dr.sum(x, axis, keepdims=keepdims)
            assert np.shape(got) == np.shape(expected) and np.asarray(got).dtype == dtype
            assert np.allclose(got, expected, rtol=2e-3, atol=2e-3)
            for method in METHODS:
                again = dr.sum(x, axis, keepdims=keepdims, method=method)
                # The bits of each group are those of the group alone.
                assert same_bits(again, dr.sum(x.copy(order="C"), axis, keepdims=keepdims, method=method))
            if np.size(expected) > 0 and x.size > 0 and (axis is None or isinstance(axis, int)):
                where = np.argmax(wide, axis=axis, keepdims=keepdims)
                found = dr.argmax(x, axis, keepdims=keepdims)
                assert np.array_equal(found, where) and np.asarray(found).dtype == np.int64
                low, high = dr.minmax(x, axis, keepdims=keepdims)
                assert np.array_equal(low, np.min(x, axis=axis, keepdims=keepdims))
                assert np.array_equal(high, np.max(x, axis=axis, keepdims=keepdims))
                variance = dr.var(x, axis, keepdims=keepdims, dtype=np.float64)
                assert np.allclose(variance, wide.var(axis, keepdims=keepdims))
                count = np.count_nonzero(x, axis=axis, keepdims=keepdims)
                assert np.array_equal(dr.count_nonzero(x, axis, keepdims), count)


def test_each_group_is_reduced_alone():
    x = np.random.default_rng(2).standard_normal((5, 300, 3)).astype(np.float32)
    for method in METHODS:
        middle = dr.sum(x, 1, method=method)
        for i in range(5):
            for j in range(3):
                assert same_bits(middle[i, j], dr.sum(np.ascontiguousarray(x[i, :, j]), method=method))
                assert same_bits(middle[i, j], dr.sum(x[i, :, j], method=method))  # where it lies


def test_what_is_read_where_it_lies_is_left_as_it_was():
    x = np.arange(12, dtype=np.float64)
    x.flags.writeable = False
    assert dr.sum(x) == 66 and dr.sum(x.reshape(3, 4)[:, :2], 1).tolist() == [1, 9, 17]
    assert dr.sum(x.astype(">f8")) == 66
    assert dr.sum(np.frombuffer(b"\0" + x.tobytes(), dtype=np.float64, offset=1)) == 66  # misaligned


def test_empty_arrays():
    none = np.empty(0)
    assert same_bits(dr.sum(none), np.float64(0)) and dr.prod(none) == 1 and dr.count_unique(none) == 0
    for f in (dr.mean, dr.var, dr.std):
        with pytest.warns(RuntimeWarning):
            assert np.isnan(f(none))
    with pytest.warns(RuntimeWarning):
        assert np.isnan(dr.var(np.ones(3), ddof=3))
    with pytest.warns(RuntimeWarning):
        assert np.isnan(dr.mean(np.empty((0, 2)), axis=0)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dr.mean(np.empty((0, 2)), axis=1).shape == (0,)
        assert dr.max(np.empty((0, 2)), axis=1).shape == (0,)


X = np.ones((2, 3))


@pytest.mark.parametrize(
    "error, argument, call",
    [
        (TypeError, "x", lambda: dr.sum(np.arange(3))),
        (TypeError, "x", lambda: dr.sum([1, 2])),
        (TypeError, "x", lambda: dr.sum(object())),
        (TypeError, "x", lambda: dr.sum([[1.0], [1.0, 2.0]])),
        (TypeError, "x", lambda: dr.sum(np.ones(3, np.complex128))),
        (TypeError, "x", lambda: dr.sum(np.ma.masked_array(X, X > 0))),
        (TypeError, "y", lambda: dr.dot(X, np.ma.masked_array(X, X > 0))),
        (TypeError, "y", lambda: dr.dot(X, X.astype(np.float32))),
        (ValueError, "y", lambda: dr.dot(X, X[0])),
        (ValueError, "axis", lambda: dr.sum(X, axis=2)),
        (ValueError, "axis", lambda: dr.sum(X, axis=-3)),
        (ValueError, "axis", lambda: dr.sum(X, axis=(0, 0))),
        (ValueError, "axis", lambda: dr.sum(np.float64(1), axis=0)),
        (TypeError, "axis", lambda: dr.sum(X, axis=0.5)),
        (TypeError, "axis", lambda: dr.sum(X, axis="0")),
        (ValueError, "method", lambda: dr.sum(X, method="trees")),
        (TypeError, "method", lambda: dr.sum(X, method=5)),
        (ValueError, "method", lambda: dr.prod(X, method="exact")),
        (TypeError, "dtype", lambda: dr.sum(X, dtype=np.int64)),
        (TypeError, "dtype", lambda: dr.sum(X, dtype="number")),
        (ValueError, "dtype", lambda: dr.sum(X, dtype=np.float32, method="tree")),
        (ValueError, "x", lambda: dr.min(np.empty(0))),
        (ValueError, "x", lambda: dr.argmax(np.empty((2, 0)), axis=1)),
        (ValueError, "nan", lambda: dr.min(X, nan="omit")),
        (TypeError, "nan", lambda: dr.min(X, nan=None)),
        (ValueError, "ddof", lambda: dr.var(X, ddof=-1)),
        (TypeError, "ddof", lambda: dr.var(X, ddof=0.5)),
        (TypeError, "correction", lambda: dr.var(X, correction=0.5)),
        (ValueError, "correction", lambda: dr.std(X, ddof=1, correction=1)),
    ],
)
def test_errors_name_the_argument(error, argument, call):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value).startswith(argument + ": ") and len(str(raised.value)) > len(argument) + 10


def test_the_error_of_integers_says_what_to_do():
    for x in (np.arange(3), np.ones(3, np.uint8), np.ones(3, bool)):
        with pytest.raises(TypeError, match=rf'must not be {x.dtype}; allowed are float16, .*: x.astype\("float64"\)$'):
            dr.sum(x)
    with pytest.raises(TypeError, match=r"must not be complex128; allowed are [a-z0-9_, ]*$"):
        dr.sum(np.ones(3, np.complex128))


def test_numbers_are_arrays_of_one():
    assert dr.sum(1.5) == 1.5 and dr.dot(np.float32(2), np.float32(3)) == 6 and dr.argmin(0.0) == 0
    assert dr.sum(np.float16(2)).dtype == np.float16 and dr.sum([1.5, 2]) == 3.5


def test_a_mean_needs_no_elements_for_a_variance():
    x = np.float32([[5], [7]])
    for method in ("exact", "tree", "serial"):
        with pytest.warns(RuntimeWarning, match="moments of 1 elements"):
            mean, var = dr.moments(x, 1, ddof=1, method=method)
        assert mean.tolist() == [5, 7] and np.isnan(var).all()
    with pytest.warns(RuntimeWarning):
        assert np.isnan(dr.moments(x[:0])).all()


def test_corrections():
    x = np.array([1.0, 2.0, 4.0])
    assert dr.var(x, ddof=1) == dr.var(x, correction=1) == 7 / 3
    assert dr.moments(x, correction=1) == dr.Moments(7 / 3, 7 / 3)
    assert dr.std(x, ddof=1) == math.sqrt(7 / 3)


def test_other_threads_run_meanwhile():
    x = np.ones(1 << 22, np.float32)
    results = []

    def work():
        for _ in range(20):
            results.append(dr.sum(x))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [np.float32(1 << 22)] * 80


def test_dtypes_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(8)
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        dtype = np.dtype(getattr(ml_dtypes, name))
        a = x.astype(dtype)
        expected = a.astype(np.float64).sum()
        assert dr.sum(a).dtype == dtype
        assert dr.sum(a, dtype=np.float64) == expected
        assert dr.sum(np.ones(4, np.float32), dtype=dtype) == 4
        wide = a.astype(np.float32).reshape(2, 4)
        assert dr.sum(a.reshape(2, 4), axis=0, dtype=np.float32).tolist() == wide.sum(0).tolist()


@pytest.mark.skipif(not PROGRAM, reason="DETREDUCE_PROGRAM names no program")
@settings(max_examples=10, deadline=None)
@given(st.data(), any_dtype)
def test_bits_are_those_of_the_program(tmp_path_factory, data, dtype):
    x = data.draw(arrays(dtype, shape=st.tuples(st.integers(1, 6), st.integers(1, 50))))
    path = tmp_path_factory.mktemp("bits") / "x.npy"
    np.save(path, x)

    def bits(value):
        return "0x" + np.asarray(value).byteswap().tobytes().hex()  # of a little-endian processor

    for op, f in (("sum", dr.sum), ("mean", dr.mean), ("nrm2", dr.nrm2)):
        for method in ("exact", "tree", "kahan", "compensated"):
            said = of_program(path, "--op", op, "--method", method, "--axis", "0")
            got = f(x, 0, method=method)
            assert [v["bits"] for v in said["values"]] == [bits(v) for v in got], (op, method)
            assert of_program(path, "--op", op, "--method", method)["bits"] == bits(f(x, method=method))


def test_versions():
    assert dr.__version__.count(".") == 2 and dr.spec_version == 1
