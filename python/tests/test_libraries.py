"""Arrays of torch, CuPy, JAX and by DLPack: the bits of NumPy's, in the caller's library, dtype and device."""

import warnings

import numpy as np
import pytest

import detreduce as dr
from libraries import NAMES, opened

DTYPES = ("float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2")


@pytest.fixture(params=NAMES)
def library(request):
    return opened(request.param)


def numbers(shape, dtype, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape)
    if dtype in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        ml_dtypes = pytest.importorskip("ml_dtypes")
        return x.astype(getattr(ml_dtypes, dtype))
    return x.astype(dtype)


def same(library, got, expected):
    got = library.numpy(got)
    expected = np.asarray(expected)
    if library.kind == "jax" and expected.dtype == np.int64:  # without 64 bits, which is its default
        got = got.astype(np.int64)
    assert got.dtype == expected.dtype and got.shape == expected.shape, (got, expected)
    assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape, axis",
    [((), None), ((1000,), None), ((40, 300), 0), ((40, 300), 1), ((5, 6, 7), (0, 2)), ((20, 3, 4), 1)],
)
def test_bits_are_those_of_numpy(library, dtype, shape, axis):
    if (
        library.kind == "dlpack"
        and dtype[:5] in ("bfloa", "float8"[:5])
        and dtype not in ("float16", "float32", "float64")
    ):
        pytest.skip("NumPy's DLPack has no such dtype")
    x = numbers(shape, dtype)
    a = library.array(x)
    for f in (
        dr.sum,
        dr.mean,
        dr.asum,
        dr.nrm2,
        dr.min,
        dr.max,
        dr.argmin,
        dr.argmax,
        dr.count_nonzero,
        dr.prod,
    ):
        same(library, f(a, axis), f(x, axis))
    same(library, dr.std(a, axis, ddof=0), dr.std(x, axis))
    same(library, dr.moments(a, axis, ddof=0, keepdims=True).var, dr.moments(x, axis, keepdims=True).var)
    same(library, dr.minmax(a, axis).max, dr.minmax(x, axis).max)
    same(library, dr.dot(a, a, axis), dr.dot(x, x, axis))
    same(
        library,
        dr.sum(a, axis, dtype="float64") if library.kind != "jax" else dr.sum(a, axis),
        dr.sum(x, axis, "float64") if library.kind != "jax" else dr.sum(x, axis),
    )
    for method in ("tree", "kahan", "compensated"):
        same(library, dr.sum(a, axis, method=method), dr.sum(x, axis, method=method))
    if dtype[:6] != "float8" and x.ndim > 0:
        for f in (dr.softmax, dr.log_softmax):
            same(library, f(a), f(x))
        same(library, dr.logsumexp(a, axis), dr.logsumexp(x, axis))


def test_losses_have_the_bits_of_numpy(library):
    x, t = numbers((50, 9), "float32"), abs(numbers((50, 9), "float32", 1))
    p = np.clip(abs(x) / 4, 0, 1)
    a, b, q = (library.array(v) for v in (x, t, p))
    for reduction in ("none", "sum", "mean"):
        for f in (dr.mse, dr.mae, dr.huber, dr.smooth_l1, dr.bce_with_logits, dr.kl_div):
            same(library, f(a, b, reduction=reduction), f(x, t, reduction=reduction))
            same(library, f(a, b, b, reduction=reduction), f(x, t, t, reduction=reduction))
        same(library, dr.bce(q, q, reduction=reduction), dr.bce(p, p, reduction=reduction))
        classes = np.arange(50) % 9
        for f in (dr.cross_entropy, dr.nll):
            same(
                library,
                f(a, library.array(classes), reduction=reduction, ignore_index=3),
                f(x, classes, reduction=reduction, ignore_index=3),
            )
        same(
            library,
            dr.cross_entropy(a, q, reduction=reduction, label_smoothing=0.1),
            dr.cross_entropy(x, p, reduction=reduction, label_smoothing=0.1),
        )
    w = library.array(t[0])
    same(library, dr.layer_norm(a, 9, w, w), dr.layer_norm(x, 9, t[0], t[0]))
    same(library, dr.rms_norm(a, (9,), w), dr.rms_norm(x, (9,), t[0]))


def test_states_are_those_of_numpy(library):
    x, y = numbers((30, 5), "float32"), numbers((30, 5), "float32", 1)
    for op in ("sum", "nrm2", "var", "minmax", "argmax", "count_nonzero"):
        state = dr.State(op, "float32").add(library.array(x[:7]), first_index=0).add(library.array(x[7:]))
        assert state == dr.State(op, "float32").add(x), op
    assert dr.State("dot", "float32").add(library.array(x), library.array(y)).value() == dr.dot(x, y)
    assert dr.explain(library.array(x))[0].value == dr.sum(x)


@pytest.mark.parametrize("name", ["torch-cpu", "torch-cuda", "cupy"])
def test_strides_are_read_as_they_are(name):
    library = opened(name)
    x = numbers((12, 30), "float32")
    a = library.array(x)
    for view in (
        lambda v: v[:, ::2],
        lambda v: v[::3],
        lambda v: v[:, 3:20],
        lambda v: v.T,
        lambda v: v[2:9, 3:20].T,
        lambda v: v[:, 0],
        lambda v: v[3, 4:9],
    ):
        for axis in (None, 0, -1):
            for method in ("exact", "tree"):
                same(
                    library,
                    dr.sum(view(a), axis, method=method),
                    dr.sum(np.ascontiguousarray(view(x)), axis, method=method),
                )
        if view(x).ndim == 2:
            same(library, dr.softmax(view(a)), dr.softmax(np.ascontiguousarray(view(x))))
            same(
                library,
                dr.softmax(view(a), axis=0),
                np.ascontiguousarray(dr.softmax(np.ascontiguousarray(view(x).T)).T),
            )


@pytest.mark.parametrize("name", ["torch-cpu", "torch-cuda", "cupy"])
def test_gradients_are_clipped_where_they_lie(name):
    library = opened(name)
    x, y = numbers((30, 20), "float32"), numbers((7,), "float16", 1)
    expected = [x.copy(), y.copy()]
    norm = dr.clip_grad_norm_(expected, 0.5)
    arrays = [library.array(x).T, library.array(np.repeat(y, 2))[::2]]
    if library.kind == "torch":
        parameters = [library.module.nn.Parameter(library.module.empty_like(a)) for a in arrays]
        for p, a in zip(parameters, arrays):
            p.grad = a
        parameters.append(library.module.nn.Parameter(library.module.empty(3)))  # which has no gradient
        got = dr.clip_grad_norm_(parameters, 0.5)
    else:
        got = dr.clip_grad_norm_(arrays, 0.5)
    same(library, got, norm)
    same(library, arrays[0], expected[0].T)
    same(library, arrays[1], expected[1])


def test_defaults_are_those_of_the_library():
    torch = opened("torch-cpu").module
    x = torch.tensor([1.0, 2.0, 4.0])
    assert dr.var(x) == x.var() and dr.std(x, correction=0) == torch.std(x, correction=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dr.mean(torch.empty(0)).isnan()
    with pytest.warns(UserWarning):
        assert dr.var(torch.ones(1)).isnan()
    assert dr.sum(x, dim=0, keepdim=True).shape == (1,)


def test_what_a_gpu_makes_is_ordered_on_the_current_stream():
    library = opened("torch-cuda")
    torch = library.module
    expected = dr.sum(np.full(1 << 24, 3.0, np.float32))
    for _ in range(5):
        with torch.cuda.stream(torch.cuda.Stream()):
            x = torch.zeros(1 << 24, device="cuda")
            torch.cuda._sleep(10_000_000)
            x.fill_(3.0)
            total = dr.sum(x)
            x.fill_(0.0)
        torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
        torch.cuda.synchronize()
        assert total.item() == expected


@pytest.mark.parametrize(
    "error, argument, call",
    [
        (TypeError, "y", lambda t, x: dr.dot(x, np.ones(6, np.float32))),
        (TypeError, "target", lambda t, x: dr.mse(x, np.ones(6, np.float32))),
        (TypeError, "x", lambda t, x: dr.sum(x.to_sparse())),
        (TypeError, "x", lambda t, x: dr.sum(x.to("meta"))),
        (TypeError, "x", lambda t, x: dr.sum(x.to(t.int64))),
        (TypeError, "x", lambda t, x: dr.sum(x.to(t.complex64))),
        (TypeError, "x", lambda t, x: dr.prod(x.clone().requires_grad_())),
        (TypeError, "dtype", lambda t, x: dr.sum(x, dtype=t.int32)),
        (ValueError, "dim", lambda t, x: dr.sum(x, dim=3)),
        (ValueError, "dim", lambda t, x: dr.sum(x, 0, dim=0)),
        (
            TypeError,
            "parameters[0]",
            lambda t, x: (
                dr.clip_grad_norm_([np.ones(3), x], 1.0) if False else dr.clip_grad_norm_([1.0], 1.0)
            ),
        ),
    ],
)
def test_errors_name_the_argument(error, argument, call):
    torch = opened("torch-cpu").module
    with pytest.raises(error) as raised:
        call(torch, torch.ones(6))
    assert str(raised.value).startswith(argument + ": ")


def test_what_is_traced_is_refused():
    jax = opened("jax-cpu").module
    with pytest.raises(TypeError, match="^x: is traced"):
        jax.jit(dr.sum)(jax.numpy.ones(3))
