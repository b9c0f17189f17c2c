"""docs/torch.md: what it says of each function of torch and of detreduce is so. Each row of its tables has a case here."""

import inspect
import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import detreduce as dr  # noqa: E402
import detreduce.torch as drt  # noqa: E402
from detreduce import _core, _losses  # noqa: E402
from torch.nn import functional as F  # noqa: E402

PAGE = Path(__file__).resolve().parents[2] / "docs" / "torch.md"
INF, NAN = float("inf"), float("nan")
CASES = {}


def rows():
    """(section, first cell) of each row of the page."""
    found, section, header = [], "", True
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        if not line.startswith("|"):
            header = True
        elif header:
            header = False
        elif not re.match(r"^\|[-|]+$", line):
            found.append((section, re.split(r"(?<!\\)\|", line)[1].strip()))
    return found


def case(section, row):
    def register(f):
        CASES[section, row] = f
        return f

    return register


def numbers(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def gradient(f, x, *others):
    x = x.clone().requires_grad_()
    (d,) = torch.autograd.grad(f(x, *others).sum(), x)
    return d


def alike(a, b, tolerance=1e-12):
    assert a.dtype == b.dtype and a.shape == b.shape
    assert torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True), (a, b)


X, Y = numbers(6, 5), numbers(6, 5, seed=1)
P, Q = X.sigmoid(), Y.sigmoid()
W = numbers(6, 5, seed=2).abs() + 0.1
T = torch.tensor([0, 3, 1, 4, 2, 3])
C = numbers(5, seed=3).abs() + 0.1
one = torch.ones(1, dtype=torch.float64)


# ---- Both ------------------------------------------------------------------------------------------------------


@case("Both", "bits")
def _():
    x = numbers(300, 40, dtype=torch.float32)
    assert drt.sum(x).item() == dr.sum(x.numpy()) == dr.sum(x.numpy(), method="exact")
    for f in (drt.softmax, lambda v: drt.cross_entropy(v, torch.arange(len(v)) % 40, reduction="none")):
        assert torch.equal(f(x)[100:200], f(x[100:200])) or f is not drt.softmax
        assert torch.equal(f(x)[:100], f(x[:100]))


@case("Both", "16-bit elements")
def _():
    x, y = X.to(torch.bfloat16), Y.to(torch.bfloat16)
    wide = dr.mse(x, y, dtype="float32")
    assert wide.dtype == torch.float32 and torch.equal(wide.to(torch.bfloat16), dr.mse(x, y))
    alike(wide, F.mse_loss(x.float(), y.float()), 1e-6)


@case("Both", "sums of losses")
def _():
    terms = drt.l1_loss(X, Y, "none")
    assert drt.l1_loss(X, Y, "sum").item() == math.fsum(terms.flatten().tolist())
    assert torch.equal(drt.l1_loss(X.flip(0, 1), Y.flip(0, 1)), drt.l1_loss(X, Y))


@case("Both", "a mean of nothing")
def _():
    nothing = torch.empty(0, 5)
    assert (
        drt.mse_loss(nothing, nothing).isnan() and F.mse_loss(nothing, nothing).isnan()
    )  # in Python as in torch
    ignored = torch.full((6,), -100)
    assert drt.cross_entropy(X, ignored).isnan() and F.cross_entropy(X, ignored).isnan()
    with pytest.raises(ValueError, match="^n|^x|^rows"):
        _core.row_op(
            "cross_entropy",
            "f64",
            None,
            5,
            0,
            {"reduction": "mean"},
            {"x": np.empty(0), "out": np.empty(1)},
            None,
        )


@case("Both", "bad arguments")
def _():
    with pytest.raises(ValueError, match="^target: "):
        drt.mse_loss(X, Y[:3])


@case("Both", "dtypes and shapes of two arguments")
def _():
    assert F.mse_loss(X.float(), Y).dtype == torch.float64
    with pytest.raises(TypeError, match="dtype"):
        drt.mse_loss(X.float(), Y)
    with pytest.raises(ValueError, match="target"):
        drt.mse_loss(X, Y[:, :1])
    alike(drt.mse_loss(X, Y, "sum", W[:1]), drt.mse_loss(X, Y, "sum", W[:1].expand(X.shape)))


@case("Both", "`clip_grad_norm_`, `norm_type`")
def _():
    p = torch.nn.Parameter(torch.ones(2))
    p.grad = torch.tensor([3.0, 4.0])
    for norm_type in (1.0, INF):
        with pytest.raises(ValueError, match="norm_type"):
            drt.clip_grad_norm_([p], 1.0, norm_type)
    assert dr.asum(p.grad) == torch.nn.utils.clip_grad_norm_([p], INF, 1.0) == 7
    alike(drt.clip_grad_norm_([], 1.0), torch.nn.utils.clip_grad_norm_([], 1.0))


@case("Both", "gradient with respect to x, in place")
def _():
    a, t = X.numpy().copy(), T.numpy()
    _core.row_op(
        "cross_entropy_gradient",
        "f64",
        None,
        5,
        6,
        {"reduction": "sum"},
        {"x": a, "targets": t, "out": a},
        None,
    )
    assert np.array_equal(a, gradient(lambda v: drt.cross_entropy(v, T, reduction="sum"), X).numpy())


# ---- Losses of elements ----------------------------------------------------------------------------------------

ELEMENTS = "Losses of elements"


@case(ELEMENTS, "`mse_loss`, `l1_loss`, `huber_loss`, `smooth_l1_loss`")
def _():
    for reduction in ("none", "sum", "mean"):
        for name, more in (
            ("mse_loss", {}),
            ("l1_loss", {}),
            ("huber_loss", {"delta": 0.5}),
            ("smooth_l1_loss", {"beta": 0.5}),
        ):
            ours, theirs = (getattr(m, name)(X, Y, reduction=reduction, **more) for m in (drt, F))
            alike(ours, theirs)


@case(ELEMENTS, "weighted mean of `mse_loss`, `l1_loss`")
def _():
    for name in ("mse_loss", "l1_loss"):
        ours, theirs = getattr(drt, name)(X, Y, weight=W), getattr(F, name)
        alike(ours, (theirs(X, Y, reduction="none") * W).sum() / W.sum())
        if "weight" in inspect.signature(theirs).parameters:
            alike(ours, theirs(X, Y, weight=W))


@case(ELEMENTS, "weighted mean of `huber_loss`, `binary_cross_entropy` and `…_with_logits`")
def _():
    alike(drt.huber_loss(X, Y, weight=W), (F.huber_loss(X, Y, reduction="none") * W).mean())
    if "weight" in inspect.signature(F.huber_loss).parameters:
        alike(drt.huber_loss(X, Y, weight=W), F.huber_loss(X, Y, weight=W))
    alike(drt.binary_cross_entropy(P, Q, W), F.binary_cross_entropy(P, Q, W))
    alike(drt.binary_cross_entropy_with_logits(X, Q, W), F.binary_cross_entropy_with_logits(X, Q, W))


@case(ELEMENTS, "weights of `smooth_l1_loss`, `kl_div`")
def _():
    assert all("weight" not in inspect.signature(f).parameters for f in (F.smooth_l1_loss, F.kl_div))
    alike(drt.loss("smooth_l1", X, Y, W), (F.smooth_l1_loss(X, Y, reduction="none") * W).mean())
    alike(drt.loss("kl_div", X, Q, W), (F.kl_div(X, Q, reduction="none") * W).mean())


@case(ELEMENTS, "`smooth_l1_loss`, beta = 0")
def _():
    for f in (drt.smooth_l1_loss, F.smooth_l1_loss):
        alike(f(X, Y, reduction="none", beta=0.0), (X - Y).abs())


@case(ELEMENTS, "`l1_loss`, derivative at 0")
def _():
    for f in (drt.l1_loss, F.l1_loss):
        assert gradient(f, X, X).count_nonzero() == 0


@case(ELEMENTS, "`binary_cross_entropy`, logarithms")
def _():
    for f in (drt.binary_cross_entropy, F.binary_cross_entropy):
        assert f(0 * one, one) == f(one, 0 * one) == 100


@case(ELEMENTS, "its gradient")
def _():
    x, t = torch.tensor([0.0, 1.0, 1e-13, 0.25], dtype=torch.float64), torch.tensor(
        [1.0, 0.5, 1.0, 0.5], dtype=torch.float64
    )
    ours, theirs = (gradient(f, x, t) for f in (drt.binary_cross_entropy, F.binary_cross_entropy))
    alike(ours, theirs, 1e-8)  # where 1e-12 is a float
    alike(ours * 4, (x - t) / (x * (1 - x)).clamp_min(1e-12), 1e-8)


@case(ELEMENTS, "x outside [0, 1]")
def _():
    with pytest.raises(RuntimeError):
        F.binary_cross_entropy(2 * one, one)
    assert (
        drt.binary_cross_entropy(2 * one, one).isnan()
        and gradient(drt.binary_cross_entropy, -one, one).isnan()
    )


@case(ELEMENTS, "t outside [0, 1]")
def _():
    x, t = torch.tensor([0.25]), torch.tensor([2.0])
    with pytest.raises(RuntimeError):
        F.binary_cross_entropy(x, t)
    alike(drt.binary_cross_entropy(x, t), (-2 * x.log() + (1 - x).log()).mean(), 1e-6)


@case(ELEMENTS, "`mse_loss`, derivative where 2·(x − t) is beyond the format")
def _():
    x, t = torch.tensor([2e38, 1.0]), torch.zeros(2)
    assert gradient(F.mse_loss, x, t)[0] == 2e38 and gradient(drt.mse_loss, x, t)[0] == INF


@case(ELEMENTS, "`l1_loss`, derivative where x is NaN")
def _():
    x, t = torch.tensor([NAN, 1.0]), torch.zeros(2)
    assert gradient(F.l1_loss, x, t)[0] == 0 and gradient(drt.l1_loss, x, t)[0].isnan()


@case(ELEMENTS, "`binary_cross_entropy_with_logits`")
def _():
    alike(drt.binary_cross_entropy_with_logits(X, Q), F.binary_cross_entropy_with_logits(X, Q))
    assert F.binary_cross_entropy_with_logits(INF * one, one).isnan()
    assert drt.binary_cross_entropy_with_logits(INF * one, one) == 0
    small = drt.binary_cross_entropy_with_logits(300 * one, one).item()
    assert small > 0 and math.isclose(small, math.exp(-300), rel_tol=1e-14)


@case(ELEMENTS, "gradients with respect to the target")
def _():
    for name in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss"):
        alike(*(gradient(lambda t: getattr(m, name)(X, t), Y) for m in (drt, F)))
    alike(*(gradient(lambda t: m.binary_cross_entropy(P, t), Q) for m in (drt, F)))
    alike(*(gradient(lambda t: m.binary_cross_entropy_with_logits(X, t), Q) for m in (drt, F)))


@case(ELEMENTS, "gradients with respect to the weights")
def _():
    want = gradient(lambda w: (F.mse_loss(X, Y, reduction="none") * w).sum() / w.sum(), W)
    alike(gradient(lambda w: drt.mse_loss(X, Y, weight=w), W), want)
    want = gradient(lambda w: (F.binary_cross_entropy(P, Q, reduction="none") * w).mean(), W)
    alike(gradient(lambda w: drt.binary_cross_entropy(P, Q, w), W), want)


@case(ELEMENTS, "`binary_cross_entropy`, gradient with respect to the target")
def _():
    ours, theirs = (
        gradient(lambda t: f(0 * one, t), one) for f in (drt.binary_cross_entropy, F.binary_cross_entropy)
    )
    assert ours == 100 and theirs.isinf()


@case(ELEMENTS, "`kl_div`, gradient with respect to the target, t = 0")
def _():
    ours, theirs = (gradient(lambda t: f(one, t, reduction="sum"), 0 * one) for f in (drt.kl_div, F.kl_div))
    assert ours == -INF and theirs.isnan()


@case(ELEMENTS, "`binary_cross_entropy_with_logits`, `pos_weight`")
def _():
    for f in (drt.binary_cross_entropy_with_logits, F.binary_cross_entropy_with_logits):
        alike(f(X, Q, pos_weight=3 * one), (3 * Q * F.softplus(-X) + (1 - Q) * F.softplus(X)).mean())
    F.binary_cross_entropy_with_logits(X, Q, pos_weight=C)
    with pytest.raises(ValueError, match="^pos_weight: "):
        drt.binary_cross_entropy_with_logits(X, Q, pos_weight=C)


@case(ELEMENTS, "`kl_div`, `log_target=True`")
def _():
    alike(*(m.kl_div(X, Y, reduction="sum", log_target=True) for m in (drt, F)))
    ours, theirs = (m.kl_div(one, -INF * one, reduction="sum", log_target=True) for m in (drt, F))
    assert ours == 0 and theirs.isnan()


@case(ELEMENTS, "`torchvision.ops.sigmoid_focal_loss`")
def _():
    t = (Y > 0).double()
    p_t = X.sigmoid() * t + (1 - X.sigmoid()) * (1 - t)
    bce = F.binary_cross_entropy_with_logits(X, t, reduction="none") * (1 - p_t) ** 2
    alike(drt.sigmoid_focal_loss(X, t, 0.25, 2.0), bce * (0.25 * t + 0.75 * (1 - t)))
    alike(drt.sigmoid_focal_loss(X, t, -1, 2.0, "mean"), bce.mean())
    alike(dr.focal(X, t), bce.mean())
    assert np.array_equal(dr.focal(X.numpy(), t.numpy(), gamma=1.5), dr.focal(X, t, gamma=1.5).numpy())
    torch.autograd.gradcheck(
        lambda v: drt.sigmoid_focal_loss(v, t, reduction="sum"), X.clone().requires_grad_()
    )


@case(ELEMENTS, "`kl_div`, t = 0")
def _():
    for f in (drt.kl_div, F.kl_div):
        assert f(one, 0 * one, reduction="sum") == 0
    assert (
        drt.kl_div(-INF * one, 0 * one, reduction="sum") == 0
        and F.kl_div(-INF * one, 0 * one, reduction="sum").isnan()
    )


@case(ELEMENTS, "`kl_div`, t < 0")
def _():
    for f in (drt.kl_div, F.kl_div):
        assert f(one, -one, reduction="sum").isnan()


@case(ELEMENTS, '`kl_div`, `reduction="mean"`')
def _():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alike(drt.kl_div(X, Q), F.kl_div(X, Q))
    alike(drt.kl_div(X, Q), F.kl_div(X, Q, reduction="none").mean())


@case(ELEMENTS, '`kl_div`, `reduction="batchmean"`')
def _():
    alike(drt.kl_div(X, Q, reduction="batchmean"), F.kl_div(X, Q, reduction="batchmean"))


# ---- Rows ------------------------------------------------------------------------------------------------------

ROWS = "Rows"


@case(ROWS, "`softmax`, `log_softmax`, `logsumexp`")
def _():
    for name in ("softmax", "log_softmax", "logsumexp"):
        alike(*(getattr(m, name)(X, 1) for m in (drt, torch)))
    x = torch.tensor([[0.0, -40.0]])
    loss, near = drt.cross_entropy(x, torch.tensor([0])).item(), math.log1p(math.exp(-40))
    assert math.isclose(loss, near, rel_tol=1e-6) and F.cross_entropy(x, torch.tensor([0])) == 0
    assert (drt.log_softmax(numbers(1000, 3, dtype=torch.float32) * 50) <= 0).all()


def infinite(value):
    x = X.clone()
    x[2] = value
    if value > 0:
        x[2, 1:] = 0.0
    for m in (drt, torch):
        assert m.softmax(x, 1)[2].isnan().all() and m.logsumexp(x, 1)[2] == value
        assert not m.softmax(x, 1)[:2].isnan().any()


@case(ROWS, "a row of −∞")
def _():
    infinite(-INF)


@case(ROWS, "a row with +∞")
def _():
    infinite(INF)


@case(ROWS, "`layer_norm`, squares that over- or underflow")
def _():
    for scale in (1e30, 1e-30):
        x = (X * scale).float()
        ours, theirs = drt.layer_norm(x, (5,), eps=0.0), F.layer_norm(x, (5,), eps=0.0)
        want = F.layer_norm(x.double() / scale, (5,), eps=0.0)
        assert torch.allclose(ours.double(), want, rtol=1e-5, atol=1e-5)
        assert not torch.allclose(theirs.double(), want, rtol=1e-2, atol=1e-2)


@case(ROWS, "its gradient there")
def _():
    x = (X * 1e30).float()
    up = Y.float()
    _, mean, rstd = _losses.norm("layernorm", x, (5,), None, None, 0.0, kept=True)
    got = gradient(lambda v: drt.layer_norm(v, (5,), eps=0.0) * up, x)
    z = (x.double() - mean.double()[:, None]) * rstd.double()[:, None]
    g = up.double()
    want = (g - g.mean(1, keepdim=True) - z * (g * z).mean(1, keepdim=True)) * rstd.double()[:, None]
    assert torch.allclose(got.double() * 1e30, want * 1e30, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(
        gradient(lambda v: F.layer_norm(v, (5,), eps=0.0) * up, x).double() * 1e30, want * 1e30
    )


@case(ROWS, "`layer_norm`, `rms_norm`, epsilon")
def _():
    x = X * 1e-8
    alike(drt.layer_norm(x, (5,), eps=1e-5), F.layer_norm(x, (5,), eps=1e-5))
    alike(drt.rms_norm(x, (5,), eps=1e-5), F.rms_norm(x, (5,), eps=1e-5))
    alike(drt.rms_norm(x, (5,)), F.rms_norm(x, (5,)))  # in Python torch's default
    out = np.empty((6, 5))
    _core.row_op("rmsnorm", "f64", None, 5, 6, {}, {"x": x.numpy(), "out": out}, None)
    alike(torch.from_numpy(out), F.rms_norm(x, (5,), eps=1e-5))


@case(ROWS, "gradients of weight and bias")
def _():
    x, up = numbers(400, 5, dtype=torch.float32), numbers(400, 5, seed=1, dtype=torch.float32)
    w, order = torch.ones(5), torch.randperm(400, generator=torch.Generator().manual_seed(2))
    got = [gradient(lambda v: drt.layer_norm(a, (5,), v) * b, w) for a, b in ((x, up), (x[order], up[order]))]
    assert torch.equal(*got)
    bias = gradient(lambda v: drt.layer_norm(x, (5,), w, v) * up, w)
    assert torch.equal(bias, dr.sum(up, 0))


@case(ROWS, "`cross_entropy`, weighted mean")
def _():
    alike(drt.cross_entropy(X, T, C), F.cross_entropy(X, T, C))


@case(ROWS, "`cross_entropy`, probabilities, mean")
def _():
    alike(drt.cross_entropy(X, Q), F.cross_entropy(X, Q))
    alike(drt.cross_entropy(X, Q), F.cross_entropy(X, Q, reduction="sum") / 6)


@case(ROWS, "`label_smoothing` with class weights")
def _():
    alike(drt.cross_entropy(X, T, C, label_smoothing=0.3), F.cross_entropy(X, T, C, label_smoothing=0.3))


@case(ROWS, "a row that is ignored")
def _():
    x = X.clone()
    x[2] = NAN
    t = T.clone()
    t[2] = -100
    for f in (drt.cross_entropy, F.cross_entropy):
        assert f(x, t, reduction="none")[2] == 0
    ours, theirs = (gradient(lambda v: f(v, t), x)[2] for f in (drt.cross_entropy, F.cross_entropy))
    assert (ours == 0).all() and not ours.signbit().any() and theirs.isnan().all()


@case(ROWS, "a target that is no class")
def _():
    t = T.clone()
    t[3] = 5
    with pytest.raises(ValueError, match=r"^target\[3\]: "):
        drt.cross_entropy(X, t)
    with pytest.raises(IndexError):
        F.cross_entropy(X, t)


@case(ROWS, "probability 0 beside a logit of −∞")
def _():
    x, q = X.clone(), Q.clone()
    x[:, 1], q[:, 1] = -INF, 0
    kept = [0, 2, 3, 4]
    alike(drt.cross_entropy(x, q), F.cross_entropy(x[:, kept], q[:, kept]))
    assert F.cross_entropy(x, q).isnan()


@case(ROWS, "gradient with respect to probabilities")
def _():
    for smoothing in (0.0, 0.2):
        ours, theirs = (
            gradient(lambda q: f(X, q, C, label_smoothing=smoothing, reduction="sum"), Q)
            for f in (drt.cross_entropy, F.cross_entropy)
        )
        alike(ours, theirs)
        alike(ours, -C * (1 - smoothing) * F.log_softmax(X, 1))


@case(ROWS, "`cosine_similarity`")
def _():
    for dim in (0, 1, -1):
        alike(drt.cosine_similarity(X, Y, dim), F.cosine_similarity(X, Y, dim))
        assert np.array_equal(
            dr.cosine_similarity(X.numpy(), Y.numpy(), dim), drt.cosine_similarity(X, Y, dim).numpy()
        )
    for a, b in ((X, Y), (Y, X)):
        alike(*(gradient(lambda v: f(v, b), a) for f in (drt.cosine_similarity, F.cosine_similarity)))
    alike(drt.cosine_similarity(X, 0 * Y), F.cosine_similarity(X, 0 * Y))
    alike(drt.cosine_similarity(X, Y[:1]), F.cosine_similarity(X, Y[:1]))
    assert (drt.cosine_similarity(X, X) <= 1).all()
    for view in (lambda v: v[:, ::2], lambda v: v[:, 1:4], lambda v: v.T):
        assert torch.equal(
            drt.cosine_similarity(view(X), view(Y)), drt.cosine_similarity(view(X).clone(), view(Y).clone())
        )


@case(ROWS, "`z_loss` λ")
def _():
    assert "z_loss" not in inspect.signature(F.cross_entropy).parameters
    t = T.clone()
    t[2] = -100
    extra = 0.25 * torch.logsumexp(X, 1).square() * (t != -100)
    for reduction in ("none", "sum"):
        want = F.cross_entropy(X, t, C, reduction="none") + extra  # whatever the weight
        want = want if reduction == "none" else want.sum()
        alike(drt.cross_entropy(X, t, C, reduction=reduction, z_loss=0.25), want)
    want = gradient(
        lambda v: F.cross_entropy(v, Q, reduction="sum") + 0.25 * v.logsumexp(1).square().sum(), X
    )
    alike(gradient(lambda v: drt.cross_entropy(v, Q, reduction="sum", z_loss=0.25), X), want)
    with_z, without = (
        gradient(lambda q: drt.cross_entropy(X, q, reduction="sum", z_loss=z), Q) for z in (0.25, 0.0)
    )
    assert torch.equal(with_z, without)


@case(ROWS, "gradient of each row's `cross_entropy` or `nll_loss` times a factor of the row")
def _():
    up, logs = Y[:, 0], torch.log_softmax(X, 1)
    for name, x in (("cross_entropy", X), ("nll_loss", logs)):
        alike(*(gradient(lambda v: getattr(m, name)(v, T, C, reduction="none") * up, x) for m in (drt, F)))
    alike(*(gradient(lambda v: m.cross_entropy(v, Q, reduction="none") * up, X) for m in (drt, F)))
    alike(*(gradient(lambda q: m.cross_entropy(X, q, reduction="none") * up, Q) for m in (drt, F)))
    together = gradient(lambda v: drt.cross_entropy(v, T, reduction="none") * up.float(), X.float())
    for i in range(6):
        alone = gradient(
            lambda v: drt.cross_entropy(v, T[i : i + 1], reduction="sum") * up[i].float(),
            X[i : i + 1].float(),
        )
        assert torch.equal(alone[0], together[i])


CHANNELS = numbers(6, 5, 4, seed=4)


@case(ROWS, "its gradient where \\|x\\| < eps")
def _():
    x, y = torch.full((1, 3), 0.1, dtype=torch.float64), torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    ours, theirs = (gradient(lambda v: f(v, y, eps=1.0), x) for f in (drt.cosine_similarity, F.cosine_similarity))
    alike(ours, y / y.norm())
    assert not torch.allclose(ours, theirs)


@case(ROWS, "`layer_norm`, `rms_norm` of rows without elements")
def _():
    x = torch.zeros(2, 0)
    assert F.layer_norm(x, [0]).shape == (2, 0)
    for name in ("layer_norm", "rms_norm"):
        with pytest.raises(ValueError, match="x|input"):
            getattr(drt, name)(x, [0])


@case(ROWS, "`group_norm`, `batch_norm`")
def _():
    b = numbers(5, seed=6)
    calls = (
        lambda m, x: m.group_norm(x, 5, C.to(x.dtype), b.to(x.dtype)),
        lambda m, x: m.group_norm(x, 1),
        lambda m, x: m.batch_norm(x, None, None, C.to(x.dtype), b.to(x.dtype), training=True),
        lambda m, x: m.batch_norm(x, b.to(x.dtype), C.to(x.dtype)),
    )
    for call in calls:
        alike(*(call(m, CHANNELS) for m in (drt, F)))
        alike(
            *(gradient(lambda v: call(m, v).square() * call(m, CHANNELS), CHANNELS) for m in (drt, F)), 1e-9
        )
    far = (CHANNELS + 3e4).float()
    for call in (calls[1], calls[2]):
        want = call(F, far.double())
        ours, theirs = ((call(m, far).double() - want).abs().max() for m in (drt, F))
        assert ours < 1e-6 and theirs > 10 * ours, (ours, theirs)


@case(ROWS, "… running variance")
def _():
    want = 0.75 + 0.25 * CHANNELS.var((0, 2), correction=1)
    for m in (drt, F):
        mean, var = torch.zeros(5, dtype=torch.float64), torch.ones(5, dtype=torch.float64)
        m.batch_norm(CHANNELS, mean, var, training=True, momentum=0.25)
        alike(var, want)
        alike(mean, 0.25 * CHANNELS.mean((0, 2)))


@case(ROWS, "… statistics that are kept for the gradient")
def _():
    x = CHANNELS.float()
    _, mean, rstd, *_ = torch.ops.detreduce.channel_norm(
        x, None, None, None, None, 1, False, 0.0, 1e-5, "batch_norm", "automatic"
    )
    assert mean.dtype == rstd.dtype == torch.float64
    assert torch.native_batch_norm(x, None, None, None, None, True, 0.0, 1e-5)[1].dtype == torch.float32


@case(ROWS, "… elements whose variance is not finite")
def _():
    x = CHANNELS.clone()
    x[0, 0, 0] = INF
    for x, zeros in ((x, False), (CHANNELS * 1e200, True)):
        for call in (lambda m: m.group_norm(x, 5), lambda m: m.batch_norm(x, None, None, training=True)):
            assert call(drt)[0, 0].isnan().all()
            theirs = call(F)[0, 0]
            assert theirs.isnan().any() or (zeros and theirs.count_nonzero() == 0)


@case(ROWS, "`batch_norm`, one element a channel, training")
def _():
    for m in (drt, F):
        with pytest.raises(ValueError):
            m.batch_norm(X[:1], None, None, training=True)


@case(ROWS, "… no elements, training")
def _():
    assert torch.nn.BatchNorm1d(5)(torch.zeros(0, 5)).shape == (0, 5)
    with pytest.raises(ValueError, match="2 elements a channel"):
        drt.BatchNorm1d(5)(torch.zeros(0, 5))


@case(ROWS, "gradient of `logsumexp`, a row with +∞")
def _():
    x = torch.tensor([[INF, 1.0]])
    ours, theirs = (gradient(lambda v: f(v, 1), x) for f in (drt.logsumexp, torch.logsumexp))
    assert ours.isnan().all() and theirs[0, 0].isnan() and theirs[0, 1] == 0


@case(ROWS, "`batch_norm`, `momentum=None`")
def _():
    modules = [m.BatchNorm1d(5, momentum=None, dtype=torch.float64) for m in (torch.nn, drt)]
    mean, var = torch.zeros(5, dtype=torch.float64), torch.ones(5, dtype=torch.float64)
    for k in range(1, 4):
        x = numbers(6, 5, seed=k)
        drt.batch_norm(x, mean, var, training=True, momentum=1 / k)
        for module in modules:
            module(x)
            alike(module.running_mean, mean)
            alike(module.running_var, var)


@case(ROWS, "distillation")
def _():
    def distilled(v, w=Y):
        logs = (F.log_softmax(u / 2.0, 1) for u in (v, w))
        return F.kl_div(*logs, log_target=True, reduction="batchmean") * 4

    alike(drt.distillation_loss(X, Y, 2.0), distilled(X))
    slopes = (torch.softmax(X / 2, 1) - torch.softmax(Y / 2, 1)) * 2 / 6
    alike(gradient(lambda v: drt.distillation_loss(v, Y, 2.0), X), slopes)
    alike(gradient(distilled, X), slopes)
    near = drt.distillation_loss(X, X + 1e-9 * Y, 2.0)
    assert abs(near) < 1e-12 and drt.distillation_loss(X, X, 2.0) == 0
    with pytest.raises(NotImplementedError, match="target"):
        gradient(lambda w: drt.distillation_loss(X, w, 2.0), Y)


@case(ROWS, "gradient of `softmax`")
def _():
    got, y = gradient(lambda v: drt.softmax(v, 1) * W, X), drt.softmax(X, 1)
    alike(got, y * (W - (W * y).sum(1, keepdim=True)))
    alike(got, gradient(lambda v: torch.softmax(v, 1) * W, X))


@case(ROWS, "gradient of `log_softmax`")
def _():
    got, y = gradient(lambda v: drt.log_softmax(v, 1) * W, X), drt.log_softmax(X, 1)
    alike(got, W - y.exp() * W.sum(1, keepdim=True))
    alike(got, gradient(lambda v: torch.log_softmax(v, 1) * W, X))


@case(ROWS, "gradient of `logsumexp`")
def _():
    up = W[:, 0]
    got = gradient(lambda v: drt.logsumexp(v, 1) * up, X)
    alike(got, gradient(lambda v: torch.logsumexp(v, 1) * up, X))
    x = X.float() + 100
    ours, theirs = (
        (gradient(lambda v: f(v, 1), x).double() - torch.softmax(x.double(), 1)).abs().max()
        for f in (drt.logsumexp, torch.logsumexp)
    )
    assert ours < 1e-7 and theirs > 4 * ours


# ---- Not here --------------------------------------------------------------------------------------------------

ELSEWHERE = "Not here"


@case(ELSEWHERE, "`instance_norm`")
def _():
    alike(drt.group_norm(CHANNELS, 5), F.instance_norm(CHANNELS))
    with drt.reproducible() as mode:
        F.instance_norm(CHANNELS), F.group_norm(CHANNELS, 5), F.batch_norm(
            CHANNELS, None, None, training=True
        )
    assert mode.left == {"other normalizations": 1} and mode.taken == {"group_norm": 1, "batch_norm": 1}


@case(
    ELSEWHERE,
    "matrix products, convolutions, attention, pooling, scattered and running sums, other losses",
)
def _():
    x = torch.ones(4, 4)
    with drt.reproducible() as mode:
        x @ x, F.scaled_dot_product_attention(x, x, x), F.avg_pool1d(x, 2), x.cumsum(0)
        F.conv1d(x, torch.ones(1, 4, 1)), x.index_add(0, torch.tensor([0]), x[:1]), F.soft_margin_loss(x, x)
    assert set(mode.left) == {
        "matrix products",
        "convolutions",
        "fused attention",
        "pooling",
        "scattered sums",
        "running sums",
        "other losses",
    } <= set(drt.not_covered())


@pytest.mark.skipif(not PAGE.exists(), reason="docs/torch.md is not there")
def test_each_row_has_a_case():
    page = rows()
    assert len(page) > 40 and set(page) == set(CASES), set(page) ^ set(CASES)


@pytest.mark.parametrize("row", CASES, ids=lambda row: row[1])
def test_the_row_is_so(row):
    CASES[row]()
