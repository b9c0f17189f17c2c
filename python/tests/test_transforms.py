"""What torch records, transforms or batches: torch.jit.trace, torch.func and batches of gradients, beside torch's own functions."""

import warnings

import pytest

torch = pytest.importorskip("torch")
import detreduce as dr  # noqa: E402
import detreduce.torch as drt  # noqa: E402
from torch.nn import functional as F  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*(performance drop|deprecated|Converting|Trace).*")


def numbers(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


X, Y, W, B = numbers(4, 5), numbers(4, 5, seed=1), numbers(5, seed=2).exp(), numbers(5, seed=3)
IMAGE, T = numbers(4, 6, 3, seed=4), torch.arange(4)
BATCH = numbers(3, 4, 5, seed=5)
REDUCTIONS = {
    "sum": (lambda v: drt.sum(v, 1), lambda v: v.sum(1)),
    "all": (drt.sum, torch.sum),
    "mean": (lambda v: drt.mean(v, 0), lambda v: v.mean(0)),
    "norm": (lambda v: drt.norm(v, dim=1), lambda v: torch.linalg.vector_norm(v, dim=1)),
    "var": (lambda v: drt.var(v, 0), lambda v: v.var(0)),
    "std": (drt.std, torch.std),
    "moments": (lambda v: torch.stack(dr.moments(v, 1)), lambda v: torch.stack(torch.var_mean(v, 1)[::-1])),
}
FUNCTIONS = REDUCTIONS | {
    "softmax": (drt.softmax, lambda v: F.softmax(v, -1)),
    "log_softmax": (lambda v: drt.log_softmax(v, 0), lambda v: F.log_softmax(v, 0)),
    "logsumexp": (lambda v: drt.logsumexp(v, 1), lambda v: torch.logsumexp(v, 1)),
    "layer_norm": (lambda v: drt.layer_norm(v, (5,), W, B), lambda v: F.layer_norm(v, (5,), W, B)),
    "rms_norm": (lambda v: drt.rms_norm(v, (5,), W), lambda v: F.rms_norm(v, (5,), W)),
    "group_norm": (lambda v: drt.group_norm(IMAGE * v[0, 0], 2), lambda v: F.group_norm(IMAGE * v[0, 0], 2)),
    "batch_norm": (
        lambda v: drt.batch_norm(v, training=True),
        lambda v: F.batch_norm(v, None, None, training=True),
    ),
    "cross_entropy": (lambda v: drt.cross_entropy(v, T), lambda v: F.cross_entropy(v, T)),
    "mse_loss": (lambda v: drt.mse_loss(v, Y), lambda v: F.mse_loss(v, Y)),
    "cosine_similarity": (lambda v: drt.cosine_similarity(v, Y), lambda v: F.cosine_similarity(v, Y)),
    "distillation_loss": (
        lambda v: drt.distillation_loss(v, Y),
        lambda v: F.kl_div(F.log_softmax(v, -1), F.log_softmax(Y, -1), log_target=True, reduction="batchmean"),
    ),
}
several = pytest.mark.parametrize("name", FUNCTIONS)


def near(got, want):
    assert torch.allclose(got, want, rtol=1e-9, atol=1e-12)


@several
def test_transforms_of_functions(name):
    func = torch.func
    squares = [lambda v, f=f: f(v).pow(2).sum() for f in FUNCTIONS[name]]
    near(*(func.grad(f)(X) for f in squares))
    near(*(func.vmap(func.grad(f))(BATCH) for f in squares))
    near(*(func.grad(lambda v: func.vmap(f)(v).pow(2).sum())(BATCH) for f in FUNCTIONS[name]))
    near(*(func.jacrev(f)(X) for f in FUNCTIONS[name]))
    near(*(func.vjp(f, X)[1](torch.tensor(1.5, dtype=X.dtype))[0] for f in squares))
    f, leaf = squares[0], X.clone().requires_grad_()
    assert torch.equal(func.grad(f)(X), torch.autograd.grad(f(leaf), leaf)[0])
    f = FUNCTIONS[name][0]
    assert torch.equal(func.vmap(f)(BATCH), torch.stack([f(v) for v in BATCH]))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_transform_within_another(name):
    grad = torch.func.grad

    def twice(f):
        return lambda v: grad(lambda u: grad(lambda t: f(t).pow(3).sum())(u).pow(2).sum())(v)

    near(*(twice(f)(X) for f in REDUCTIONS[name]))
    near(*(torch.func.vmap(twice(f))(BATCH) for f in REDUCTIONS[name]))
    with torch.no_grad():
        assert not grad(lambda v: REDUCTIONS[name][0](v).sum())(X.clone().requires_grad_()).requires_grad


def test_there_is_no_second_derivative_within_a_transform():
    grad = torch.func.grad
    with pytest.raises(NotImplementedError, match="second derivative of row_wise"):
        grad(lambda v: grad(lambda u: drt.softmax(u).pow(2).sum())(v).sum())(X)


@several
def test_gradients_in_batches(name):
    jacobian, results = torch.autograd.functional.jacobian, []
    near(*(jacobian(f, X, vectorize=True) for f in FUNCTIONS[name]))
    for f in FUNCTIONS[name]:
        leaf = X.clone().requires_grad_()
        out = f(leaf)
        up = numbers(3, *out.shape, seed=6)
        results.append(torch.autograd.grad(out, leaf, up, is_grads_batched=True)[0])
    near(*results)


class Summed(torch.autograd.Function):
    """What has the sum of its upstream gradients, which may be a batch, as its derivative."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return drt.sum(g).expand(g.shape) + drt.norm(g)


def test_a_batch_of_gradients_is_reduced():
    leaf, up = X.clone().requires_grad_(), numbers(3, 4, 5, seed=6)
    (got,) = torch.autograd.grad(Summed.apply(leaf), leaf, up, is_grads_batched=True)
    near(got, torch.stack([(u.sum() + u.norm()).expand(4, 5) for u in up]))


def model(v):
    with drt.reproducible():
        return F.cross_entropy(F.layer_norm(v, (5,), W), T) + v.sum() + torch.softmax(v, 1)[0, 0]


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("tracked", [False, True])
def test_what_is_traced_is_the_op(tracked, check):
    u = numbers(4, 5, seed=7)
    for name, f in [(name, fs[0]) for name, fs in FUNCTIONS.items()] + [("reproducible", model)]:
        traced = torch.jit.trace(f, X.clone().requires_grad_(tracked), check_trace=check)
        assert "detreduce::" in str(traced.graph) and "aten::empty" not in str(traced.graph), name
        assert torch.equal(traced(u), f(u)), name
        leaf = u.clone().requires_grad_()
        got, want = (torch.autograd.grad(g(leaf).pow(2).sum(), leaf)[0] for g in (traced, f))
        assert torch.equal(got, want), name


def test_modules_are_traced_without_gradients():
    net = torch.nn.Sequential(drt.LayerNorm(5), torch.nn.Linear(5, 5), drt.Softmax(1)).double()
    with torch.no_grad():
        traced = torch.jit.trace(net, X)
        assert torch.equal(traced(Y), net(Y))


def test_functions_of_the_package_are_traced_and_transformed():
    u = numbers(4, 5, seed=7)
    for f in (
        dr.sum,
        dr.softmax,
        dr.logsumexp,
        lambda v: dr.var(v, 0),
        lambda v: dr.moments(v, 1).mean,
        lambda v: dr.mse(v, 2 * v),
        lambda v: dr.layer_norm(v, 5),
        lambda v: dr.cosine_similarity(v, v + 1),
        lambda v: dr.cross_entropy(v, T),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what torch finds where types are asked for
            traced = torch.jit.trace(f, X)
        assert torch.equal(traced(u), f(u))
        assert torch.equal(torch.func.vmap(f)(BATCH), torch.stack([f(v) for v in BATCH]))


@pytest.mark.parametrize(
    "f", [dr.max, dr.argmin, dr.minmax, dr.prod, dr.count_nonzero, dr.count_unique, lambda v: dr.dot(v, v)]
)
def test_what_cannot_be_recorded_is_refused(f):
    for call in (lambda: torch.jit.trace(f, X, check_trace=False), lambda: torch.func.vmap(f)(BATCH)):
        with pytest.raises(TypeError, match="^x: .* cannot be traced or transformed"):
            call()
