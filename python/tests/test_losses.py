"""Losses, rows and clipping against their formulas in wider numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import detreduce as dr
from libraries import Foreign
from oracle import arrays, same_bits

RNG = np.random.default_rng(5)
DTYPES = (np.float16, np.float32, np.float64)


def close(got, expected, dtype, scale=1.0):
    tolerance = {np.float16: 2e-3, np.float32: 2e-6, np.float64: 1e-14}[dtype] * scale
    assert np.asarray(got).dtype == dtype
    assert np.allclose(np.asarray(got, np.float64), expected, rtol=tolerance, atol=tolerance)


def softplus(x):
    return np.logaddexp(0, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cosine_similarity_is_its_formula(dtype):
    x, y = RNG.standard_normal((2, 6, 5, 9)).astype(dtype)
    a, b = x.astype(np.float64), y.astype(np.float64)
    for axis in (0, 1, -1):
        want = (a * b).sum(axis) / np.sqrt((a * a).sum(axis) * (b * b).sum(axis))
        close(dr.cosine_similarity(x, y, axis), want, dtype)
    assert same_bits(
        dr.cosine_similarity(x[0, :, 2:7], y[0, :, :5]),
        dr.cosine_similarity(x[0, :, 2:7].copy(), y[0, :, :5].copy()),
    )
    assert dr.cosine_similarity(x, x, dtype="float64").max() <= 1 and dr.cosine_similarity(
        x[:0], y[:0]
    ).shape == (0, 5)


TERMS = {
    "mse": lambda x, t: (x - t) ** 2,
    "mae": lambda x, t: abs(x - t),
    "huber": lambda x, t: np.where(abs(x - t) <= 0.75, (x - t) ** 2 / 2, 0.75 * (abs(x - t) - 0.375)),
    "smooth_l1": lambda x, t: np.where(abs(x - t) < 0.5, (x - t) ** 2, abs(x - t) - 0.25),
    "bce": lambda x, t: -(t * np.log(x) + (1 - t) * np.log1p(-x)),
    "bce_with_logits": lambda x, t: softplus(x) - x * t,
    "kl_div": lambda x, t: t * (np.log(t) - x),
}
PARAMETERS = {"huber": {"delta": 0.75}, "smooth_l1": {"beta": 0.5}}


@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_losses_are_their_formulas(name, dtype):
    f, more = getattr(dr, name), PARAMETERS.get(name, {})
    x = RNG.uniform(0.05, 0.95, (40, 30)).astype(dtype)
    t, w = RNG.uniform(0.05, 0.95, (2, 40, 30)).astype(dtype)
    terms = TERMS[name](x.astype(np.float64), t.astype(np.float64))
    close(f(x, t, reduction="none", **more), terms, dtype)
    close(f(x, t, reduction="sum", **more), terms.sum(), dtype, 4)
    close(f(x, t, **more), terms.mean(), dtype)
    close(f(x, t, w, reduction="none", **more), terms * w, dtype)
    over = 40 * w[:1].astype(np.float64).sum() if name in ("mse", "mae") else x.size
    close(
        f(x, t, w[:1], **more), (terms * w[:1]).sum() / over, dtype
    )  # which is as wide as x by NumPy's rules
    for method in ("tree", "kahan", "compensated"):
        close(f(x, t, method=method, **more), terms.mean(), dtype, 4)
    # The order of the elements means nothing, but to tree and the like.
    order = RNG.permutation(x.size)
    shuffled = [v.ravel()[order] for v in (x, t)]
    assert same_bits(f(*shuffled, **more), f(x, t, **more))
    assert same_bits(f(x.T, t.T, **more), f(x, t, **more))


def test_a_mean_of_a_batch():
    x, t = np.log(RNG.uniform(0.1, 0.9, (5, 7))), RNG.uniform(0.1, 0.9, (5, 7))
    assert dr.kl_div(x, t, reduction="batchmean") == dr.kl_div(x, t, reduction="sum") / 5
    assert np.allclose(dr.kl_div(x, np.log(t), log_target=True), dr.kl_div(x, t), rtol=1e-14)
    terms = -(3 * t * -softplus(-x) + (1 - t) * -softplus(x))
    assert np.allclose(dr.bce_with_logits(x, t, pos_weight=3, reduction="none"), terms, rtol=1e-14)
    assert np.isnan(dr.mse(x[:0], t[:0])) and dr.mse(x[:0], t[:0], reduction="sum") == 0


@given(arrays(np.float64, shape=st.tuples(st.integers(1, 4), st.integers(1, 20))))
def test_rows_are_distributions(x):
    x = np.clip(x, -1e300, 1e300)
    p = dr.softmax(x)
    assert np.allclose(p.sum(1), 1) and (p >= 0).all()
    assert (dr.log_softmax(x) <= 0).all()
    maximum = x.max(1)
    assert (dr.logsumexp(x, 1) >= maximum).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_their_formulas(dtype):
    x = RNG.standard_normal((6, 5, 40)).astype(dtype)
    wide = x.astype(np.float64)
    for axis in (0, 1, 2, -1):
        e = np.exp(wide - wide.max(axis, keepdims=True))
        close(dr.softmax(x, axis), e / e.sum(axis, keepdims=True), dtype)
        close(dr.log_softmax(x, axis), np.log(e / e.sum(axis, keepdims=True)), dtype)
        for keepdims in (False, True):
            total = np.log(np.exp(wide).sum(axis, keepdims=keepdims))
            close(dr.logsumexp(x, axis, keepdims), total, dtype)
    close(dr.logsumexp(x), np.log(np.exp(wide).sum()), dtype)
    close(dr.logsumexp(x, (0, 2)), np.log(np.exp(wide).sum((0, 2))), dtype)
    w, b = RNG.standard_normal((2, 5, 40)).astype(dtype)
    mean, var = wide.mean((1, 2), keepdims=True), wide.var((1, 2), keepdims=True)
    close(dr.layer_norm(x, (5, 40), w, b), (wide - mean) / np.sqrt(var + 1e-5) * w + b, dtype, 8)
    close(dr.layer_norm(x, (5, 40), None, b, 0.5), (wide - mean) / np.sqrt(var + 0.5) + b, dtype, 8)
    square = (wide**2).mean(2, keepdims=True)
    close(dr.rms_norm(x, 40, w[0]), wide / np.sqrt(square) * w[0], dtype, 8)
    # A row's bits are those of the row alone.
    assert same_bits(dr.softmax(x)[3, 2], dr.softmax(x[3, 2]))
    assert same_bits(dr.softmax(x[:, :, 5:30])[3, 2], dr.softmax(x[3, 2, 5:30]))
    assert same_bits(
        dr.softmax(x[:, 2, 5:30])[3], dr.softmax(x[3, 2, 5:30])
    )  # whose rows are read where they lie


@pytest.mark.parametrize("dtype", DTYPES)
def test_cross_entropy_is_its_formula(dtype):
    x = RNG.standard_normal((50, 8)).astype(dtype)
    t = RNG.integers(0, 8, 50)
    t[::7] = -100
    w = RNG.uniform(0.5, 1.5, 8).astype(dtype)
    wide = x.astype(np.float64)
    logs = wide - np.log(np.exp(wide).sum(1, keepdims=True))
    kept = t >= 0
    for weight in (None, w):
        v = np.where(kept, (np.ones(8) if weight is None else w.astype(np.float64))[t * kept], 0)
        rows = -v * logs[np.arange(50), t * kept]
        close(dr.cross_entropy(x, t, weight, reduction="none"), rows, dtype, 4)
        close(dr.cross_entropy(x, t, weight, reduction="sum"), rows.sum(), dtype, 4)
        close(dr.cross_entropy(x, t, weight), rows.sum() / v.sum(), dtype, 4)
        close(dr.nll(logs.astype(dtype), t, weight), rows.sum() / v.sum(), dtype, 4)
    smooth = np.eye(8)[t * kept] * 0.9 + 0.1 / 8
    close(
        dr.cross_entropy(x, t, label_smoothing=0.1, reduction="none"),
        -(smooth * logs).sum(1) * kept,
        dtype,
        4,
    )
    q = RNG.dirichlet(np.ones(8), 50).astype(dtype)
    close(dr.cross_entropy(x, q, reduction="none"), -(q * logs).sum(1), dtype, 4)
    z = 0.5 * np.log(np.exp(wide).sum(1)) ** 2
    close(dr.cross_entropy(x, q, reduction="none", z_loss=0.5), z - (q * logs).sum(1), dtype, 4)
    close(
        dr.cross_entropy(x, t, reduction="none", z_loss=0.5),
        kept * (z - logs[np.arange(50), t * kept]),
        dtype,
        4,
    )
    # Classes on axis 1, and none.
    many = x[:48].reshape(4, 12, 8)
    assert same_bits(
        dr.cross_entropy(many.transpose(0, 2, 1), t[:48].reshape(4, 12)), dr.cross_entropy(x[:48], t[:48])
    )
    assert same_bits(dr.cross_entropy(x[1], np.int64(t[1])), dr.cross_entropy(x[1:2], t[1:2]))
    assert same_bits(dr.cross_entropy(x, t.astype(np.int32)), dr.cross_entropy(x, t))
    assert np.isnan(dr.cross_entropy(x[:0], t[:0])) and dr.cross_entropy(x[:0], t[:0], reduction="sum") == 0
    assert dr.cross_entropy(x[:0], t[:0], reduction="none").shape == (0,)


def test_clipping():
    arrays = [RNG.standard_normal((3, 4)), RNG.standard_normal(5).astype(np.float32), np.empty(0)]
    before = [a.copy() for a in arrays]
    norm = dr.clip_grad_norm_(arrays, 100.0)
    assert norm == math.sqrt(math.fsum(v * v for a in before for v in a.astype(np.float64).ravel().tolist()))
    assert dr.clip_grad_norm_(arrays, math.inf) == norm
    assert all(same_bits(a, b) for a, b in zip(arrays, before))
    dr.clip_grad_norm_(arrays, 1.0)
    assert np.allclose(arrays[0], before[0] / (norm + 1e-6)) and np.allclose(
        arrays[1], before[1] / (norm + 1e-6)
    )
    assert dr.clip_grad_norm_([], 1.0) == 0 and dr.clip_grad_norm_(np.float32([3, 4]), 1.0) == 5
    bad = np.array([1.0, math.inf])
    with pytest.raises(RuntimeError):
        dr.clip_grad_norm_(bad, 1.0, error_if_nonfinite=True)
    assert bad.tolist() == [1.0, math.inf]
    swapped = np.array([3.0, 4.0], ">f8")
    assert dr.clip_grad_norm_([swapped], 1.0) == 5 and abs(swapped[0] - 0.6) < 1e-6
    for shape in ((3, 3), (2, 3), (2, 3, 4)):
        for order in (">f4", "<f4"):
            a = np.arange(1.0, math.prod(shape) + 1).reshape(shape).astype(order)
            for swapped in (a.T, a.swapaxes(0, 1), a[:, ::-1]):
                alone = np.array(swapped, np.float32)
                norm = dr.clip_grad_norm_([alone], 1.0)
                assert dr.clip_grad_norm_([swapped], 1.0) == norm and np.array_equal(swapped, alone)


X = np.ones((4, 3), np.float32)
T = np.zeros(4, np.int64)
FIXED = np.ones(3)
FIXED.flags.writeable = False


@pytest.mark.parametrize(
    "error, argument, call",
    [
        (ValueError, "reduction", lambda: dr.mse(X, X, reduction="median")),
        (ValueError, "reduction", lambda: dr.mse(X, X, reduction="batchmean")),
        (TypeError, "reduction", lambda: dr.cross_entropy(X, T, reduction=None)),
        (ValueError, "target", lambda: dr.mse(X, X[0])),
        (TypeError, "target", lambda: dr.mse(X, X.astype(np.float64))),
        (ValueError, "weight", lambda: dr.mse(X, X, np.ones(4, np.float32))),
        (TypeError, "weight", lambda: dr.mse(X, X, np.ones(3))),
        (ValueError, "method", lambda: dr.mse(X, X, method="serial")),
        (ValueError, "delta", lambda: dr.huber(X, X, delta=0)),
        (ValueError, "delta", lambda: dr.huber(X, X, delta=math.nan)),
        (ValueError, "pos_weight", lambda: dr.bce_with_logits(X, X, pos_weight=-1)),
        (ValueError, "beta", lambda: dr.smooth_l1(X, X, beta=-1)),
        (TypeError, "beta", lambda: dr.smooth_l1(X, X, beta="1")),
        (ValueError, "gamma", lambda: dr.focal(X, X, gamma=-1)),
        (TypeError, "log_target", lambda: dr.kl_div(X, X, log_target=None)),
        (TypeError, "y", lambda: dr.cosine_similarity(X, X.astype(np.float64))),
        (ValueError, "y", lambda: dr.cosine_similarity(X, X[:2])),
        (ValueError, "axis", lambda: dr.cosine_similarity(X, X, 2)),
        (ValueError, "eps", lambda: dr.cosine_similarity(X, X, eps=-1)),
        (ValueError, "method", lambda: dr.cosine_similarity(X, X, method="serial")),
        (TypeError, "x", lambda: dr.softmax(T)),
        (ValueError, "axis", lambda: dr.softmax(X, 2)),
        (TypeError, "axis", lambda: dr.softmax(X, (0, 1))),
        (ValueError, "dim", lambda: dr.softmax(X, 0, dim=0)),
        (ValueError, "x", lambda: dr.softmax(np.float32(1))),
        (ValueError, "normalized_shape", lambda: dr.layer_norm(X, 4)),
        (TypeError, "normalized_shape", lambda: dr.layer_norm(X, 3.0)),
        (ValueError, "normalized_shape", lambda: dr.layer_norm(X, (4, 3, 1))),
        (ValueError, "weight", lambda: dr.layer_norm(X, 3, np.ones(4, np.float32))),
        (TypeError, "bias", lambda: dr.layer_norm(X, 3, None, np.ones(3))),
        (ValueError, "eps", lambda: dr.rms_norm(X, 3, eps=-1)),
        (TypeError, "eps", lambda: dr.rms_norm(X, 3, eps="x")),
        (ValueError, "target", lambda: dr.cross_entropy(X, T[:3])),
        (ValueError, "target[1]", lambda: dr.cross_entropy(X, np.array([0, 3, 0, 5]))),
        (ValueError, "target", lambda: dr.cross_entropy(X, X[:, :2])),
        (TypeError, "target", lambda: dr.nll(X, X)),
        (ValueError, "weight", lambda: dr.cross_entropy(X, T, np.ones(4, np.float32))),
        (ValueError, "label_smoothing", lambda: dr.cross_entropy(X, T, label_smoothing=1.5)),
        (ValueError, "z_loss", lambda: dr.cross_entropy(X, T, z_loss=-1.0)),
        (TypeError, "ignore_index", lambda: dr.cross_entropy(X, T, ignore_index=0.5)),
        (ValueError, "ignore_index", lambda: dr.cross_entropy(X, T, ignore_index=2**63)),
        (ValueError, "x", lambda: dr.cross_entropy(np.float32(1), T)),
        (ValueError, "x", lambda: dr.cross_entropy(np.ones((2, 0)), T[:2])),
        (ValueError, "max_norm", lambda: dr.clip_grad_norm_([np.ones(3)], -1)),
        (ValueError, "max_norm", lambda: dr.clip_grad_norm_([np.ones(3)], math.nan)),
        (ValueError, "max_norm", lambda: dr.clip_grad_norm_([np.ones(3)], -math.inf)),
        (TypeError, "max_norm", lambda: dr.clip_grad_norm_([np.ones(3)], None)),
        (ValueError, "eps", lambda: dr.clip_grad_norm_([np.ones(3)], 1, eps=math.inf)),
        (TypeError, "parameters", lambda: dr.clip_grad_norm_(3, 1)),
        (TypeError, "parameters[1]", lambda: dr.clip_grad_norm_([np.ones(3), [1.0]], 1)),
        (TypeError, "parameters[0]", lambda: dr.clip_grad_norm_([T], 1)),
        (ValueError, "parameters[0]", lambda: dr.clip_grad_norm_([FIXED], 1)),
        (TypeError, "parameters[0]", lambda: dr.clip_grad_norm_([Foreign(np.ones(3))], 1)),
    ],
)
def test_errors_name_the_argument(error, argument, call):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value).startswith(argument + ": ") and len(str(raised.value)) > len(argument) + 10


@pytest.mark.parametrize("dtype", DTYPES)
def test_norms_of_channels_are_their_formulas(dtype):
    x = (RNG.normal(size=(4, 6, 5)) * 2 + 3).astype(dtype)
    w, b = RNG.normal(size=(2, 6)).astype(dtype)
    wide, c = x.astype(np.float64), (6, 1)
    groups = wide.reshape(4, 3, 10)
    z = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    expected = z.reshape(x.shape) * w.reshape(c).astype(np.float64) + b.reshape(c).astype(np.float64)
    close(dr.group_norm(x, 3, w, b), expected, dtype, 4)
    mean, var = wide.mean((0, 2)), wide.var((0, 2))
    z = (wide - mean.reshape(c)) / np.sqrt(var.reshape(c) + 1e-5)
    close(dr.batch_norm(x, training=True, weight=w, bias=b), z * w.reshape(c) + b.reshape(c), dtype, 4)
    running_mean, running_var = np.zeros(6, dtype), np.ones(6, dtype)
    dr.batch_norm(x, running_mean, running_var, training=True, momentum=0.25)
    close(running_mean, 0.25 * mean, dtype)
    close(running_var, 0.75 + 0.25 * var * 20 / 19, dtype)
    given = (wide - running_mean.reshape(c)) / np.sqrt(running_var.reshape(c).astype(np.float64) + 1e-5)
    close(dr.batch_norm(x, running_mean, running_var), given, dtype, 4)
    order = RNG.permutation(4)
    assert same_bits(dr.batch_norm(x[order], training=True), dr.batch_norm(x, training=True)[order])
    assert same_bits(dr.group_norm(x[order], 2), dr.group_norm(x, 2)[order])
    assert dr.group_norm(x[:0], 2).shape == (0, 6, 5)


@pytest.mark.parametrize(
    "error, argument, call",
    [
        (ValueError, "x", lambda x, w: dr.group_norm(w, 1)),
        (ValueError, "num_groups", lambda x, w: dr.group_norm(x, 4)),
        (TypeError, "num_groups", lambda x, w: dr.group_norm(x, 1.5)),
        (ValueError, "weight", lambda x, w: dr.group_norm(x, 1, w[:5])),
        (TypeError, "bias", lambda x, w: dr.group_norm(x, 1, w, w.astype(np.float64))),
        (ValueError, "eps", lambda x, w: dr.group_norm(x, 1, eps=-1)),
        (ValueError, "method", lambda x, w: dr.group_norm(x, 1, method="kahan")),
        (ValueError, "running_mean, running_var", lambda x, w: dr.batch_norm(x, w)),
        (ValueError, "momentum", lambda x, w: dr.batch_norm(x, w, w, momentum=2)),
        (ValueError, "x", lambda x, w: dr.batch_norm(x[:1, :, :1], training=True)),
        (ValueError, "x", lambda x, w: dr.batch_norm(x[:0], training=True)),
        (TypeError, "running_mean", lambda x, w: dr.batch_norm(x, [0.0] * 6, np.ones(6), training=True)),
        (TypeError, "running_var", lambda x, w: dr.batch_norm(x, np.ones(6), [1.0] * 6, training=True)),
    ],
)
def test_errors_of_norms_of_channels_name_the_argument(error, argument, call):
    with pytest.raises(error) as raised:
        call(np.ones((2, 6, 3), np.float32), np.ones(6, np.float32))
    assert str(raised.value).startswith(argument + ": ")


@pytest.mark.parametrize("dtype", DTYPES)
def test_distillation_is_its_formula(dtype):
    x, y = RNG.normal(size=(2, 9, 20)).astype(dtype) * dtype(3)
    p, q = (v.astype(np.float64) / 2.5 for v in (x, y))
    p, q = (v - np.log(np.exp(v).sum(-1, keepdims=True)) for v in (p, q))
    rows = 6.25 * (np.exp(q) * (q - p)).sum(-1)
    close(dr.distillation(x, y, 2.5), rows.mean(), dtype, 4)
    close(dr.distillation(x, y, 2.5, reduction="sum"), rows.sum(), dtype, 16)
    close(dr.distillation(x.T, y.T, 2.5, axis=0, method="tree"), rows.mean(), dtype, 4)
    order = RNG.permutation(9)
    assert same_bits(dr.distillation(x[order], y[order], 2.5), dr.distillation(x, y, 2.5))
    assert dr.distillation(x, x, 2.5) == 0
    nothing = dr.distillation(x[:0], y[:0], 2.5)
    assert math.isnan(nothing) and nothing.dtype == dtype
    assert dr.distillation(x[:0], y[:0], reduction="sum") == 0
    assert dr.distillation(x[:0], y[:0], dtype="float64").dtype == np.float64
