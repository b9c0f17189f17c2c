"""Dask arrays: however they are chunked, the bits are those of the whole."""

import numpy as np
import pytest

import detreduce as dr
from oracle import same_bits

da = pytest.importorskip("dask.array")
import detreduce.dask as drk  # noqa: E402

X = np.random.default_rng(0).standard_normal((13, 8, 5)).astype(np.float32)


@pytest.mark.parametrize("chunks", [(13, 8, 5), (4, 3, 2), (1, 8, 5), (5, (1, 7), 4)])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_chunks_change_no_bit(chunks, axis, keepdims):
    a = da.from_array(X, chunks=chunks)
    for name in ("sum", "mean", "nrm2", "var", "std", "min", "max"):
        lazy = getattr(drk, name)(a, axis, keepdims)
        got = lazy.compute(scheduler="threads")
        assert lazy.shape == got.shape and lazy.dtype == got.dtype
        assert same_bits(got, getattr(dr, name)(X, axis, keepdims=keepdims)), name
    assert same_bits(drk.sum(a, axis, dtype="float64").compute(), dr.sum(X, axis, "float64"))
    assert same_bits(drk.var(a, ddof=np.int64(1)).compute(), dr.var(X, ddof=1))
    assert same_bits(drk.reduce("count_nonzero", a, axis).compute(), dr.count_nonzero(X, axis))


@pytest.mark.parametrize(
    "error, argument, call",
    [
        (TypeError, "a", lambda a: drk.sum(X)),
        (TypeError, "a", lambda a: drk.sum(a.astype(int))),
        (ValueError, "a", lambda a: drk.sum(a[a > 0])),
        (ValueError, "op", lambda a: drk.reduce("argmin", a)),
        (ValueError, "axis", lambda a: drk.sum(a, 3)),
        (ValueError, "ddof", lambda a: drk.var(a, ddof=-1)),
        (TypeError, "ddof", lambda a: drk.var(a, ddof="a")),
        (TypeError, "dtype", lambda a: drk.sum(a, dtype="int8")),
    ],
)
def test_errors_name_the_argument(error, argument, call):
    with pytest.raises(error) as raised:
        call(da.from_array(X, chunks=4))
    assert str(raised.value).startswith(argument + ": ")
