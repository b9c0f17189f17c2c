"""detreduce.torch: values and gradients beside torch's, opcheck, gradcheck, torch.compile, modules and reproducible()."""

import threading
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import detreduce as dr  # noqa: E402
import detreduce.torch as drt  # noqa: E402
from detreduce import _core  # noqa: E402
from detreduce.torch import _ops  # noqa: E402
from torch.nn import functional as F  # noqa: E402

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() and len(dr.devices()) > 1 else [])
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def numbers(*shape, dtype=torch.float64, device="cpu", seed=0, low=None):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    if low is not None:
        x = x.sigmoid() * (1 - 2 * low) + low
    return x.to(dtype).to(device)


def of_teacher(x, y, temperature, dim=-1, reduction="batchmean"):
    x, y = F.log_softmax(x / temperature, dim), F.log_softmax(y / temperature, dim)
    return F.kl_div(x, y, log_target=True, reduction=reduction) * temperature**2


def inputs(dtype=torch.float64, device="cpu"):
    """Of each function: what it is called with, here and in torch."""

    def make(*shape, **more):
        return numbers(*shape, dtype=dtype, device=device, **more).requires_grad_()

    x, other = make(6, 5, 7), make(6, 5, 7, seed=1)
    p, q = make(6, 7, low=0.05), make(6, 7, seed=1, low=0.05).detach()
    w, b = make(7, seed=2), make(7, seed=3)
    t = torch.arange(6, device=device) * 3 % 7
    t[2] = -100
    tracked, three = make(6, 7, seed=5, low=0.05), torch.tensor([3.0], dtype=dtype, device=device)
    c, cw = make(6, 7), make(7, seed=4, low=0.3).detach()
    many, mt = make(2, 7, 3), torch.arange(6, device=device).reshape(2, 3)
    cases = []

    def case(ours, theirs, *args, **kwargs):
        cases.append((ours, theirs, args, kwargs))

    for dim in (None, 1, (0, 2), -1):
        for keepdim in (False, True):
            case(drt.sum, torch.sum, x, dim=dim, keepdim=keepdim)
            case(drt.mean, torch.mean, x, dim=dim, keepdim=keepdim)
            case(drt.norm, torch.linalg.vector_norm, x, dim=dim, keepdim=keepdim)
            case(drt.var, torch.var, x, dim=dim, keepdim=keepdim)
            case(drt.std, torch.std, x, dim=dim, keepdim=keepdim, correction=0)
            case(
                drt.logsumexp,
                torch.logsumexp,
                x,
                dim=tuple(range(3)) if dim is None else dim,
                keepdim=keepdim,
            )
    for dim in (0, 1, -1):
        case(drt.softmax, torch.softmax, x, dim)
        case(drt.log_softmax, torch.log_softmax, x, dim)
    for reduction in ("none", "sum", "mean"):
        case(drt.mse_loss, F.mse_loss, x, other, reduction=reduction)
        case(drt.l1_loss, F.l1_loss, x, other, reduction=reduction)
        case(drt.huber_loss, F.huber_loss, x, other, reduction=reduction, delta=0.7)
        case(drt.smooth_l1_loss, F.smooth_l1_loss, x, other.detach(), reduction=reduction, beta=0.6)
        case(drt.binary_cross_entropy, F.binary_cross_entropy, p, q, reduction=reduction)
        case(
            drt.binary_cross_entropy_with_logits,
            F.binary_cross_entropy_with_logits,
            c,
            q,
            q,
            reduction=reduction,
        )
        case(drt.kl_div, F.kl_div, c, q, reduction=reduction)
        case(drt.kl_div, F.kl_div, c, q.log(), reduction=reduction, log_target=True)
        case(drt.kl_div, F.kl_div, c, tracked, reduction=reduction)
        case(
            drt.binary_cross_entropy_with_logits,
            F.binary_cross_entropy_with_logits,
            c,
            tracked,
            reduction=reduction,
            pos_weight=three,
        )
        case(drt.cross_entropy, F.cross_entropy, c, t, cw, reduction=reduction)
        case(drt.cross_entropy, F.cross_entropy, c, t, reduction=reduction, label_smoothing=0.2)
        case(drt.cross_entropy, F.cross_entropy, c, q, cw, reduction=reduction)
        case(drt.cross_entropy, F.cross_entropy, many, mt, reduction=reduction, ignore_index=4)
        case(drt.nll_loss, F.nll_loss, c, t, cw, reduction=reduction)
    case(drt.kl_div, F.kl_div, c, q, reduction="batchmean")
    case(drt.distillation_loss, of_teacher, c, numbers(6, 7, dtype=dtype, device=device, seed=8), 2.5)
    case(
        drt.distillation_loss, of_teacher, c, numbers(6, 7, dtype=dtype, device=device, seed=8), 0.5, 0, "sum"
    )
    case(drt.layer_norm, F.layer_norm, x, (7,), w, b)
    case(drt.layer_norm, F.layer_norm, x, (5, 7))
    case(drt.layer_norm, F.layer_norm, x, (7,), w, None, 1e-3)
    case(drt.rms_norm, F.rms_norm, x, (7,), w)
    case(drt.rms_norm, F.rms_norm, x, (5, 7), None, 1e-3)
    image, cw, cb = make(3, 6, 4, 5, seed=6), make(6, seed=7), make(6, seed=8)
    of_batches, variance = numbers(6, dtype=dtype, device=device, seed=9), (cb.detach() ** 2 + 0.5)
    case(drt.group_norm, F.group_norm, image, 3, cw, cb)
    case(drt.group_norm, F.group_norm, image, 1, cw, None, 1e-3)
    case(drt.group_norm, F.group_norm, make(5, 6), 2)
    case(drt.batch_norm, F.batch_norm, image, None, None, cw, cb, True)
    case(drt.batch_norm, F.batch_norm, make(7, 6), None, None, cw, None, True, 0.2, 1e-3)
    case(drt.batch_norm, F.batch_norm, image, of_batches, variance, cw, cb)
    return cases


def leaves(args, kwargs):
    return [v for v in list(args) + list(kwargs.values()) if isinstance(v, torch.Tensor) and v.requires_grad]


def differentiated(f, args, kwargs):
    out = f(*args, **kwargs)
    up = numbers(*out.shape, dtype=out.dtype, device=out.device, seed=9)
    return [out] + list(torch.autograd.grad(out, leaves(args, kwargs), up))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_short_way_has_the_bits_of_the_long_one(dtype, device, monkeypatch):
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("torch before 2.10 has no C functions of DLPack, which the short way needs")
    cases, taken = inputs(dtype, device), []
    for shape, axis in (((3, 4, 5), 0), ((3, 4, 5), 1), ((3, 4, 5), 2), ((1, 4, 5), 1), ((3, 1, 1), 0), ((1, 4, 1), -2), ((5,), 0)):
        x = numbers(*shape, dtype=dtype, device=device, seed=6).requires_grad_()
        for f in (drt.sum, drt.mean, drt.norm, drt.var):
            cases += [(f, None, (x,), dict(dim=axis, keepdim=keepdim)) for keepdim in (False, True)]

    def results():
        for ours, _, args, kwargs in cases:
            alone = ours(*(a.detach() if isinstance(a, torch.Tensor) else a for a in args), **kwargs)
            yield ours, args[1:], kwargs, differentiated(ours, args, kwargs) + [alone]

    ways = [name for name in dir(_core) if name.startswith("tensor_")]
    for name in ways:

        def counted(*args, call=getattr(_core, name)):
            taken.append(call(*args) is not None)
            return call(*args)

        monkeypatch.setattr(_core, name, counted)
    short = list(results())
    assert len(ways) > 5 and taken.count(True) > len(cases)
    for name in ways:
        monkeypatch.setattr(_core, name, lambda *args: None)
    for a, b in zip(short, results()):
        assert len(a[3]) == len(b[3]) > 1 and all(map(torch.equal, a[3], b[3])), a[:3]


def test_a_gradient_that_torch_would_negate_later(device):
    """torch marks what conj().imag gives, and negates it where it is read."""
    x = numbers(4, 6, device=device, seed=3).requires_grad_()
    y = numbers(4, 6, device=device, seed=4)
    classes = torch.tensor([0, 5, 2, 2], device=device)
    for f in (
        lambda: drt.sum(x, 1),
        lambda: drt.logsumexp(x, 1),
        lambda: drt.softmax(x, 1),
        lambda: drt.layer_norm(x, (6,)),
        lambda: drt.mse_loss(x, y, reduction="none"),
        lambda: drt.cross_entropy(x, classes, reduction="none"),
        lambda: drt.cosine_similarity(x, y, 1),
        lambda: drt.distillation_loss(x, y, temperature=2.0),
    ):
        out = f()
        g = numbers(*out.shape, device=device, seed=5)
        marked = torch.complex(torch.zeros_like(g), -g).conj().imag
        assert marked.is_neg() and torch.equal(marked, g)
        plain, other = (torch.autograd.grad(out, x, u, retain_graph=True)[0] for u in (g, marked))
        assert torch.equal(plain, other)


def test_norms_leave_no_gradient_where_none_comes(device):
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, y):
            return y.clone()

        @staticmethod
        def backward(ctx, g):
            return None

    x, w = numbers(4, 6, device=device, seed=3).requires_grad_(), torch.ones(6, dtype=torch.float64, device=device)
    w.requires_grad_()
    for y in (drt.layer_norm(x, (6,), w), drt.rms_norm(x, (6,), w)):
        (Nothing.apply(y) + x).sum().backward()
        assert w.grad is None and torch.equal(x.grad, torch.ones_like(x))
        x.grad = None


def test_a_second_derivative_of_a_weight_is_refused(device):
    x, weight = numbers(4, 6, device=device, seed=3), torch.ones(6, dtype=torch.float64, device=device, requires_grad=True)
    (dw,) = torch.autograd.grad(drt.layer_norm(x, (6,), weight).square().sum(), weight, create_graph=True)
    with pytest.raises(NotImplementedError, match="second derivative"):
        dw.sum().backward()


def test_what_torch_records_or_leaves_behind_is_no_sum_of_torch(device):
    x = torch.tensor([1e8, 1.0, -1e8, 1.0], device=device, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(lambda x: drt.sum(x * 1), x, check_trace=False)
    assert traced(x).item() == traced(2 * x).item() / 2 == 2
    _ops._enter(_ops._GIVEN)  # as a signal may leave it
    try:
        assert torch.sum(torch.ones(3)).item() == 3
    finally:
        _ops._leave(None)


def test_a_sum_has_the_derivative_of_torch_and_a_value_of_its_own(device):
    x = torch.tensor([[1e8, 1.0, -1e8], [1.0, 2.0, 3.0]], device=device, requires_grad=True)

    class Untouched(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    def check(scale=1.0):
        y = x * scale
        total, rows, mean = drt.sum(y), drt.sum(y, 1), drt.mean(y, 1, keepdim=True)
        assert total.item() == 7 * scale and rows.tolist() == [scale, 6 * scale]
        assert mean.tolist() == [[torch.tensor(scale / 3, dtype=torch.float32).item()], [2 * scale]]
        (g,) = torch.autograd.grad(total + rows[1] + 3 * mean.sum(), x)
        assert g.tolist() == [[2 * scale] * 3, [3 * scale] * 3]
        return total, rows, mean

    names = [type(t.grad_fn).__name__ for t in check()]
    assert [name[:3] for name in names] == ["Sum", "Sum", "Mea"], names
    for f in (drt.sum, drt.mean):
        for dim in (None, 1, (0, 1)):
            half = x.detach().sign().half().requires_grad_()
            wide = f(half, dim, dtype=torch.float32)
            (g,) = torch.autograd.grad(wide, half, torch.ones_like(wide))
            assert wide.dtype is torch.float32 and g.dtype is torch.float16 and (g > 0).all()
    with Untouched():
        check()
    with drt.reproducible() as outer, drt.reproducible(), torch.autocast(device, torch.bfloat16):
        check()
    assert not outer.taken
    failed = []

    def of_a_thread(scale):
        try:
            for _ in range(100):
                check(scale)
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=of_a_thread, args=(2.0**i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed, failed


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_values_and_gradients_are_near_those_of_torch(dtype, device):
    tolerance = {torch.float16: 1e-2, torch.bfloat16: 8e-2, torch.float32: 1e-5, torch.float64: 1e-12}[dtype]
    lacking = {(F.binary_cross_entropy, torch.float16)}  # of 16 bits, on a CPU
    if torch.__version__ < (2, 10):
        lacking |= {(F.mse_loss, torch.float16), (F.mse_loss, torch.bfloat16), (F.smooth_l1_loss, torch.float16)}
    for ours, theirs, args, kwargs in inputs(dtype, device):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of kl_div about its mean
                expected = differentiated(theirs, args, kwargs)
        except RuntimeError:
            if device == "cpu" and (theirs, dtype) in lacking:
                continue
            raise
        for got, want in zip(differentiated(ours, args, kwargs), expected):
            assert got.dtype == want.dtype and got.shape == want.shape and got.device == want.device, theirs
            difference = (got.double() - want.double()).abs().max() / (1 + want.double().abs().max())
            assert difference <= tolerance, (theirs, kwargs, got, want)


def test_z_loss_is_logsumexp_squared(device):
    x, t = numbers(6, 7, device=device).requires_grad_(), torch.arange(6, device=device) * 3 % 7
    t[2] = -100
    rows = F.cross_entropy(x, t, reduction="none") + 0.25 * torch.logsumexp(x, 1) ** 2 * (t >= 0)
    for reduction, want in (("none", rows), ("sum", rows.sum()), ("mean", rows.sum() / 5)):
        got = drt.cross_entropy(x, t, reduction=reduction, z_loss=0.25)
        up = numbers(*got.shape, device=device, seed=9)
        assert torch.allclose(got, want, rtol=1e-12, atol=1e-12), reduction
        ours, theirs = (torch.autograd.grad(v, x, up, retain_graph=True)[0] for v in (got, want))
        assert torch.allclose(ours, theirs, rtol=1e-12, atol=1e-12), reduction


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_gradient_of_a_row_is_rounded_once(dtype, device):
    x, t = numbers(6, 7, dtype=dtype, device=device).requires_grad_(), torch.arange(6, device=device)
    up = numbers(6, dtype=dtype, device=device, seed=9)
    (together,) = torch.autograd.grad(drt.cross_entropy(x, t, reduction="none"), x, up)
    for i in range(6):
        loss = drt.cross_entropy(x[i : i + 1], t[i : i + 1], reduction="sum")
        (alone,) = torch.autograd.grad(loss, x, up[i])
        assert torch.equal(alone[i], together[i])


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_distillation_of_no_rows_has_a_gradient_of_no_elements(reduction, device):
    x = numbers(0, 7, device=device).requires_grad_()
    loss = drt.distillation_loss(x, x.detach(), reduction=reduction)
    loss.backward()
    assert loss.isnan() if reduction == "mean" else loss == 0
    assert loss.shape == () and x.grad.shape == (0, 7)


def test_gradients_are_those_of_differences(device):
    for ours, _, args, kwargs in inputs(device=device):
        arguments = [a for a in args]
        places = [i for i, a in enumerate(arguments) if isinstance(a, torch.Tensor) and a.requires_grad]

        def call(*values):
            for i, value in zip(places, values):
                arguments[i] = value
            return ours(*arguments, **kwargs)

        assert torch.autograd.gradcheck(call, [args[i] for i in places], fast_mode=True), (ours, kwargs)


def test_second_derivatives(device):
    x = numbers(4, 5, device=device).requires_grad_()
    for f in (drt.sum, drt.mean, drt.norm, drt.var, drt.std):
        assert torch.autograd.gradgradcheck(lambda v: f(v, 1), [x])
    y = drt.softmax(x)
    (d,) = torch.autograd.grad(y.pow(2).sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="second derivative"):
        d.sum().backward()


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_gradients_of_elements_of_8_bits_are_those_of_float32_rounded(dtype, device):
    narrow = torch.tensor([[0.5, -2.0, 3.0], [1.0, 0.25, -4.0]], device=device).to(dtype)
    for f in (drt.sum, drt.mean, drt.norm):
        for wide in (torch.float32, torch.float64):
            x, y = narrow.detach().requires_grad_(), narrow.float().requires_grad_()
            out, want = f(x, 1, dtype=wide), f(y, 1, dtype=wide)
            out.backward(torch.ones_like(out))
            want.backward(torch.ones_like(want))
            assert torch.equal(x.grad.float(), y.grad.to(dtype).float()), (f, wide)


def test_what_is_traced_has_no_derivative_in_python(device):
    from torch.fx.experimental.proxy_tensor import make_fx

    x = numbers(4, 6, device=device).requires_grad_()
    for f in (lambda x: drt.softmax(x, 1), lambda x: torch.autograd.grad(drt.softmax(x, 1).sum(), x)[0]):
        calls = [str(node.target) for node in make_fx(f)(x).graph.nodes if "detreduce" in str(node.target)]
        assert calls and all(call.endswith("_plain.default") for call in calls), calls
    compiled = []

    def backend(module, inputs):
        compiled.extend(str(node.target) for node in module.graph.nodes if "detreduce" in str(node.target))
        return module.forward

    with torch.no_grad():
        torch.compile(lambda x: drt.softmax(x, 1), backend=backend, fullgraph=True)(x)
    assert compiled == ["detreduce.row_wise_plain.default"]
    out = make_fx(lambda x: drt.softmax(x, 1))(x.detach())(x)
    with pytest.warns(UserWarning, match="autograd kernel was not registered"):
        out.sum().backward()


def test_what_an_outer_transform_tracks_has_its_gradient(device):
    v, factor = numbers(4, 6, device=device, seed=1), numbers(4, 6, device=device, seed=2)
    grads = []
    for softmax in (drt.softmax, torch.softmax):
        w = numbers(4, 6, device=device).requires_grad_()
        inner = torch.func.grad(lambda v: (softmax(w, 1) * v).sum())(v)
        grads.append(torch.autograd.grad((inner * factor).sum(), w)[0])
    assert torch.allclose(*grads, atol=1e-6)


def test_torch_checks_the_ops(device):
    ops = torch.ops.detreduce
    x, y = (
        numbers(4, 6, device=device).requires_grad_(),
        numbers(4, 6, device=device, seed=1).requires_grad_(),
    )
    w, r = numbers(6, device=device, seed=2).requires_grad_(), numbers(6, device=device, low=0.2)
    t = torch.arange(4, device=device)
    tests = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    for op, args in [
        (ops.reduce, (x, [1], False, "sum", None, "exact", 0)),
        (ops.reduce, (x, [0, 1], True, "variance", None, "tree", 1)),
        (ops.loss, (x, y, None, "mse", 1.0, "mean", "automatic", None)),
        (ops.loss, (x, y.detach(), None, "bce_with_logits", 1.0, "none", "automatic", None)),
        (ops.row_wise, (x, 1, "softmax")),
        (ops.row_wise, (x, 0, "log_softmax")),
        (ops.row_wise, (x.detach().bfloat16().requires_grad_(), 1, "softmax", torch.float32)),
        (ops.moments, (x, [1], False, None, "tree", 1)),
        (ops.logsumexp, (x, [0], True)),
        (ops.norm, (x, [6], w, w, 1e-5, "layernorm")),
        (ops.norm, (x, [6], w, None, 1e-5, "rmsnorm")),
        (ops.channel_norm, (x, w, w, None, None, 3, False, 0.0, 1e-5, "group_norm", "automatic")),
        (ops.channel_norm, (x, w, w, r, r, 1, False, 0.1, 1e-5, "batch_norm", "automatic")),
        (ops.distillation, (x, y.detach(), 2.0, 1, "mean", "automatic", None)),
        (ops.channel_norm, (x, w, None, r, r, 1, True, 0.1, 1e-5, "batch_norm", "tree")),
        (ops.cross_entropy, (x, t, None, -100, 0.0, "cross_entropy", "mean", "automatic")),
        (ops.cross_entropy, (x, t, w.detach(), -100, 0.0, "nll", "none", "automatic")),
    ]:
        torch.library.opcheck(op.default, args, test_utils=tests)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_gradient_by_what_forward_has_kept_of_sums_has_the_bits_of_one_without(dtype, device):
    x, long, many = numbers(6, 7, dtype=dtype, device=device), numbers(3, 20011, dtype=dtype), numbers(2, 7, 3)
    t, w = torch.arange(6, device=device) % 7, numbers(7, dtype=dtype, device=device, low=0.1)
    q, many = numbers(6, 7, dtype=dtype, device=device, low=0.1), many.to(device, dtype)
    x[1] -= 40_000  # beyond where exponentials are those of the elements as they are; of float16 in part
    x[3, 2] = float("nan")
    t[4] = -100
    cases = [(x, t, None), (x.T.contiguous().T, t, w), (x, q, None), (long.to(device), t[:3], None)]
    cases.append((many, t.reshape(2, 3), w))
    for a, target, weight in cases:
        for smoothing, z_loss in ((0.0, 0.0), (0.1, 0.0), (0.0, 0.01), (0.2, 0.01)):
            for reduction in ("none", "mean"):
                rest = (target, weight, -100, smoothing, "cross_entropy", reduction, "automatic", z_loss)
                loss, sums = torch.ops.detreduce.cross_entropy(a, *rest)
                assert sums.shape == (a.numel() // a.shape[1], 2) and sums.dtype is _ops.arithmetic(dtype)
                g = torch.ones_like(loss)
                with_sums = _ops.cross_entropy_backward(g, a, *rest, sums)
                without = _ops.cross_entropy_backward(g, a, *rest)
                assert torch.equal(with_sums.view(torch.uint8), without.view(torch.uint8))
    rest = (t, None, -100, 0.0, "nll", "sum", "automatic")
    loss, sums = torch.ops.detreduce.cross_entropy(x, *rest)
    assert sums.shape == (0,)
    for wrong in (sums, x.new_zeros(5, 2, dtype=_ops.arithmetic(dtype)), x.new_zeros(6, 2, dtype=torch.int64)):
        with pytest.raises(ValueError, match="^exp_sums: must be what forward gave"):
            _ops.cross_entropy_backward(loss, x, *rest, 0.0, wrong)


BACKENDS = ["aot_eager", "inductor"]


@pytest.mark.skipif(torch.__version__ < (2, 6), reason="this torch.compile takes no reproducible() into a graph")
@pytest.mark.parametrize("backend", BACKENDS)
def test_compiled_functions_have_the_same_bits(backend, device):
    torch._dynamo.reset()

    def ours(x, w, t):
        with drt.reproducible():
            return F.cross_entropy(F.layer_norm(x, (16,), w), t)

    def among_others(x, w, t):
        with drt.reproducible():
            h = F.layer_norm(x, (16,), w).unflatten(-1, (2, -1)).flatten(1)
            h = h + h.mean(-1, keepdim=True)
            return F.cross_entropy(h, t) + torch.logsumexp(h, 0).sum() + drt.norm(x)

    def run(f):
        x = numbers(20, 16, dtype=torch.float32, device=device).requires_grad_()
        w = numbers(16, dtype=torch.float32, device=device, seed=1).requires_grad_()
        loss = f(x, w, torch.arange(20, device=device) % 16)
        loss.backward()
        return loss.detach(), x.grad, w.grad

    def compiled(f):
        try:
            return run(torch.compile(f, backend=backend, fullgraph=True))
        except Exception as error:
            if backend == "inductor" and any(
                word in str(error) for word in ("compiler", "Python.h", "C++", "triton")
            ):
                pytest.skip(f"inductor cannot compile here: {str(error).splitlines()[0]}")
            raise

    assert all(map(torch.equal, compiled(ours), run(ours)))
    (loss, *grads), (expected, *wanted) = compiled(among_others), run(among_others)
    assert torch.equal(loss, expected)
    # Gradients are summed by torch where tensors were broadcast or used twice, and the order is that of whoever compiled it. The
    # gradient of a norm subtracts what is nearly equal. So an error is relative to the largest number: a row's 16 and a column's
    # 20 terms, each rounded a few times, are within 64 half ulps of it.
    for got, want in zip(grads, wanted):
        assert (got - want).abs().max() <= 2.0**-18 * want.abs().max()


def test_the_way_around_the_dispatcher_of_torch_has_the_same_bits(device, monkeypatch):
    cases = inputs(torch.float32, device)
    around = [differentiated(ours, args, kwargs) for ours, _, args, kwargs in cases]
    taken = []
    monkeypatch.setattr(drt._ops, "untraced", lambda *args: taken.append(args))
    for (ours, _, args, kwargs), got in zip(cases, around):
        want = differentiated(ours, args, kwargs)
        assert len(got) == len(want) and all(map(torch.equal, got, want)), (ours, kwargs)
    assert len(taken) > len(cases)  # of reductions the gradient takes no op


def test_graphs_of_a_gpu():
    if "cuda" not in DEVICES:
        pytest.skip("there is no GPU that detreduce was built for")
    x = numbers(1000, 64, dtype=torch.float32, device="cuda")
    t = torch.arange(1000, device="cuda") % 64
    for _ in range(2):
        expected = drt.cross_entropy(x, t), drt.sum(x, 0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss, total = drt.cross_entropy(x, t), drt.sum(x, 0)
    graph.replay()
    assert torch.equal(loss, expected[0]) and torch.equal(total, expected[1])
    x.mul_(2)
    graph.replay()
    assert torch.equal(loss, drt.cross_entropy(x, t)) and torch.equal(total, drt.sum(x, 0))

    x.requires_grad_()
    w = numbers(64, dtype=torch.float32, device="cuda", seed=1).requires_grad_()
    parts = [torch.nn.Parameter(numbers(n, dtype=torch.float32, device="cuda", seed=n)) for n in (9, 70000)]

    def step():
        h = drt.layer_norm(x, 64, w)
        grads = torch.autograd.grad(drt.cross_entropy(h, t) + drt.norm(h), (x, w))
        for p in parts:
            p.grad = p.detach() * 3
        return (drt.clip_grad_norm_(parts, 1.0), *grads, *(p.grad for p in parts))

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = step()
    graph.replay()
    assert all(map(torch.equal, got, step()))


def test_a_gpu_that_is_not_the_current_one():
    if "cuda" not in DEVICES or torch.cuda.device_count() < 2:
        pytest.skip("there are not two GPUs")
    for ours, _, args, kwargs in inputs(torch.float32, "cuda:1"):
        args = [a.detach().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in args]
        got = differentiated(ours, args, kwargs)
        with torch.cuda.device(1):
            want = differentiated(ours, args, kwargs)
        assert all(g.device.index == 1 for g in got) and all(map(torch.equal, got, want)), ours
    assert torch.cuda.current_device() == 0


def test_modules_take_state_dicts(device):
    x, t = numbers(8, 6, dtype=torch.float32, device=device), torch.arange(8, device=device) % 6
    p = numbers(8, 6, dtype=torch.float32, device=device, low=0.1, seed=1)
    for name, args, arguments in [
        ("LayerNorm", (6,), (x,)),
        ("RMSNorm", (6,), (x,)),
        ("GroupNorm", (2, 6), (x,)),
        ("BatchNorm1d", (6,), (x,)),
        ("Softmax", (1,), (x,)),
        ("LogSoftmax", (1,), (x,)),
        ("CrossEntropyLoss", (torch.rand(6),), (x, t)),
        ("NLLLoss", (), (x, t)),
        ("MSELoss", (), (x, p)),
        ("L1Loss", (), (x, p)),
        ("HuberLoss", (), (x, p)),
        ("SmoothL1Loss", (), (x, p)),
        ("BCELoss", (), (p, p)),
        ("BCEWithLogitsLoss", (), (x, p)),
        ("KLDivLoss", (None, None, "batchmean"), (x, p)),
    ]:
        theirs, ours = getattr(torch.nn, name)(*args).to(device), getattr(drt, name)(*args).to(device)
        for parameter in theirs.parameters():
            torch.nn.init.normal_(parameter)
        ours.load_state_dict(theirs.state_dict())
        assert torch.allclose(ours(*arguments), theirs(*arguments), atol=1e-6), name


@pytest.mark.parametrize("shape", [(5,), (4, 5), (3, 4, 5), (2, 3, 4, 5)])
def test_softmax_without_dim_is_that_of_torch(shape, device):
    x = numbers(*shape, dtype=torch.float32, device=device)
    for name in ("Softmax", "LogSoftmax"):
        with pytest.warns(UserWarning, match="Implicit dimension choice for"):
            got, want = (getattr(of, name)()(x) for of in (drt, torch.nn))
        assert torch.allclose(got, want, atol=1e-6), name


def test_modules_under_autocast_are_those_of_torch(device):
    x, p = numbers(4, 6, dtype=torch.bfloat16, device=device), numbers(4, 6, dtype=torch.float32, device=device, low=0.1)
    t, w = torch.arange(4, device=device), numbers(6, dtype=torch.float32, device=device, low=0.1, seed=1)
    for name, args, arguments in [
        ("LayerNorm", (6,), (x,)),
        ("RMSNorm", (6,), (x,)),
        ("RMSNorm", (6, None, False), (x,)),
        ("GroupNorm", (2, 6), (x,)),
        ("BatchNorm1d", (6,), (x,)),
        ("Softmax", (1,), (x,)),
        ("LogSoftmax", (1,), (x,)),
        ("CrossEntropyLoss", (w,), (x, t)),
        ("CrossEntropyLoss", (), (x, t)),
        ("CrossEntropyLoss", (), (x, p)),
        ("NLLLoss", (w,), (x, t)),
        ("MSELoss", (), (x, p)),
        ("MSELoss", (), (x, x[:1].expand(4, 6))),
        ("L1Loss", (), (x, p)),
        ("HuberLoss", (), (x, p)),
        ("SmoothL1Loss", (), (x, p)),
        ("BCELoss" if device == "cpu" else "MSELoss", (), (x.sigmoid(), p)),
        ("BCEWithLogitsLoss", (w,), (x, p)),
        ("KLDivLoss", (None, None, "batchmean"), (x, p)),
    ]:
        theirs, ours = (getattr(of, name)(*args).to(device) for of in (torch.nn, drt))
        if name == "RMSNorm" and torch.__version__ < (2, 11):
            continue  # which gave the dtype of the weight
        with torch.autocast(device, torch.bfloat16):
            try:
                want = theirs(*arguments)
            except (RuntimeError, TypeError):  # of a torch that mixes no dtypes there
                want = theirs(arguments[0].float(), *arguments[1:])
            got = ours(*arguments)
            compiled = torch.compile(ours, backend="aot_eager", fullgraph=True)(*arguments)
        assert got.dtype is want.dtype, (name, got.dtype, want.dtype)
        assert torch.allclose(got.float(), want.float(), atol=0.02), name
        assert torch.equal(compiled, got), name
        leaf = arguments[0].clone().requires_grad_()
        with torch.autocast(device, torch.bfloat16):
            ours(leaf, *arguments[1:]).sum().backward()
        assert leaf.grad.dtype is torch.bfloat16, name
        if name.endswith("Loss"):
            with pytest.raises(TypeError, match="^input: must be"), torch.autocast(device, torch.bfloat16):
                ours(None, arguments[-1])


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 32)
        self.norm = torch.nn.LayerNorm(32)
        self.heads = torch.nn.Linear(32, 96, bias=False)
        self.last = torch.nn.RMSNorm(32)
        self.out = torch.nn.Linear(32, 50, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        q, k, v = self.heads(self.norm(x)).chunk(3, -1)
        x = x + torch.softmax(q @ k.transpose(-1, -2) / 32**0.5, -1) @ v
        return self.out(self.last(x))


def test_a_model_is_computed_by_detreduce(device):
    torch.manual_seed(0)
    model = Model().to(device)
    tokens = torch.randint(0, 50, (4, 12), generator=torch.Generator().manual_seed(1)).to(device)
    targets = tokens.roll(-1, 1)

    def gradients(context):
        model.zero_grad()
        with context as mode:
            logits = model(tokens)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        loss.backward()
        return mode, loss.detach(), [p.grad.clone() for p in model.parameters()]

    mode, loss, grads = gradients(drt.reproducible())
    assert {"layer_norm", "rms_norm", "softmax", "cross_entropy"} <= set(mode.taken), mode.taken
    assert mode.left["matrix products"] >= 4 and mode.left["scattered sums"] == 1
    _, theirs, their_grads = gradients(torch.enable_grad())
    assert torch.allclose(loss, theirs) and all(
        torch.allclose(a, b, atol=1e-6) for a, b in zip(grads, their_grads)
    )
    _, again, grads_again = gradients(drt.reproducible())
    assert torch.equal(loss, again) and all(torch.equal(a, b) for a, b in zip(grads, grads_again))
    assert "matrix products" in drt.not_covered()


def test_what_torch_computes_below_its_functions(device):
    x, order = numbers(300, 8, dtype=torch.float32, device=device), torch.randperm(300).to(device)
    linear = torch.nn.Linear(8, 4).to(device)
    attention = torch.nn.MultiheadAttention(8, 2, dropout=0.0, batch_first=True).to(device)
    up = numbers(300, 4, dtype=torch.float32, device=device, seed=1)

    def of_bias(rows, ups):
        linear.zero_grad()
        with drt.reproducible(below=True) as mode:
            linear(rows).backward(ups)
        return mode, linear.bias.grad.clone()

    mode, got = of_bias(x, up)
    assert any("sum" in name for name in mode.taken), mode.taken
    assert torch.equal(got, dr.sum(up, 0)) and torch.equal(got, of_bias(x[order], up[order])[1])
    with drt.reproducible(below=True) as mode:
        y, _ = attention(x[None, :20], x[None, :20], x[None, :20])
        n = F.normalize(x)
        y.sum().backward()
    assert any("_softmax" in name for name in mode.taken) and any(
        "norm" in name for name in mode.taken
    ), mode.taken
    assert torch.allclose(n, F.normalize(x), atol=1e-6)
    with drt.reproducible(below=True):
        x.long().sum(), x.double().var(0), torch.std(x), F.softmax(x, 0), x.sum(dtype=torch.float64)


def test_tensors_without_dense_elements_are_left_to_torch_below_its_functions(device):
    x = numbers(3, 4, dtype=torch.float32, device=device)
    with drt.reproducible(below=True) as mode:
        meta, sparse = x.to("meta"), x.to_sparse()
        for f in (torch.sum, torch.mean, torch.var, torch.linalg.vector_norm, lambda v: torch.softmax(v, 1)):
            assert f(meta).device.type == "meta" and f(meta).shape == f(x).shape
        mode.taken.clear()
        assert torch.allclose(torch.sum(sparse), x.sum()) and list(mode.taken) == ["sum"]


def test_a_loss_does_not_know_the_order_of_its_batch(device):
    x, t = numbers(512, 40, dtype=torch.float32, device=device), torch.arange(512, device=device) % 40
    order = torch.randperm(512, generator=torch.Generator().manual_seed(3)).to(device)
    with drt.reproducible():
        assert torch.equal(F.cross_entropy(x, t), F.cross_entropy(x[order], t[order]))
        assert torch.equal(x.sum(), x[order].sum()) and torch.equal(x.std(), x.flip(0).std())
    w = torch.ones(40, device=device, requires_grad=True)
    grads = []
    for rows in (x, x[order]):
        (g,) = torch.autograd.grad(drt.layer_norm(rows, 40, w).sum(), w)
        grads.append(g)
    assert torch.equal(*grads)


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("tracked", [True, False])
def test_batch_norm_follows_its_batches(device, momentum, tracked):
    theirs, ours = (
        of.BatchNorm2d(5, momentum=momentum, track_running_stats=tracked).to(device) for of in (torch.nn, drt)
    )
    compiled = torch.compile(drt.batch_norm, backend="aot_eager")
    mean, var = (f(5, device=device) for f in (torch.zeros, torch.ones))
    for i in range(3):
        x = numbers(4, 5, 3, 2, dtype=torch.float32, device=device, seed=i) * 3 + 7
        assert torch.allclose(ours(x), theirs(x), atol=1e-5)
        with drt.reproducible() as mode:
            assert torch.equal(
                theirs(x), drt.batch_norm(x, training=True, weight=ours.weight, bias=ours.bias)
            )
            assert torch.equal(F.group_norm(x, 5), drt.group_norm(x, 5)) and "batch_norm" in mode.taken
        if tracked:
            ours.load_state_dict(theirs.state_dict())  # which two batches have gone through
        y = compiled(x.requires_grad_(), mean, var, training=True)
        expected = mean.clone(), var.clone()
        assert y.requires_grad and not mean.requires_grad
    if tracked:
        for name, value in theirs.state_dict().items():
            assert torch.allclose(ours.state_dict()[name], value, atol=1e-6), name
        assert torch.allclose(mean, expected[0]) and mean.abs().min() > 0.5
    ours.eval(), theirs.eval()
    assert torch.allclose(ours(x), theirs(x), atol=1e-5)


def test_norms_of_channels_take_parameters_of_their_own_dtype(device):
    x = numbers(6, 4, 9, dtype=torch.bfloat16, device=device).requires_grad_()
    w = numbers(4, dtype=torch.float32, device=device, seed=1).requires_grad_()
    mean, var = (f(4, device=device) for f in (torch.zeros, torch.ones))
    y = drt.batch_norm(x, mean, var, w, w, True)
    y.sum().backward()
    assert y.dtype == x.grad.dtype == torch.bfloat16 and w.grad.dtype == torch.float32
    assert torch.allclose(mean, 0.1 * x.detach().float().mean((0, 2)), atol=1e-6)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(3)).to(device)
    grads = []
    for rows in (x.detach(), x.detach()[order]):
        (g,) = torch.autograd.grad(drt.group_norm(rows, 2, w).pow(2).sum(), w)
        grads.append(g)
    assert torch.equal(*grads)


@pytest.mark.parametrize("method", ["exact", "tree"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_norms_of_channels_without_parameters_have_the_bits_of_a_weight_of_1(dtype, method, device):
    x, up = (numbers(6, 4, 9, dtype=dtype, device=device, seed=seed) for seed in (0, 1))
    wide = torch.float64 if dtype is torch.float64 else torch.float32
    ones = torch.ones(4, dtype=wide, device=device)

    def batch_norm(v, weight, training):
        running = torch.zeros(4, dtype=wide, device=device), torch.ones(4, dtype=wide, device=device)
        return drt.batch_norm(v, *running, weight, training=training, method=method)

    for f in (
        lambda v, weight: drt.group_norm(v, 2, weight, method=method),
        lambda v, weight: drt.batch_norm(v, weight=weight, training=True, method=method),
        lambda v, weight: batch_norm(v, weight, True),
        lambda v, weight: batch_norm(v, weight, False),
    ):
        results = []
        for weight in (None, ones):
            leaf = x.clone().requires_grad_()
            y = f(leaf, weight)
            y.backward(up)
            results.append((y.detach(), leaf.grad))
            assert torch.equal(f(x, weight), y)
        assert all(torch.equal(a, b) for a, b in zip(*results))


def test_calls_as_torch_has_them(device):
    x = numbers(3, 4, 5, dtype=torch.float32, device=device)
    calls = [
        lambda: x.sum(),
        lambda: x.sum(0),
        lambda: x.sum(0, True),
        lambda: x.sum(dim=1, keepdim=True, dtype=torch.float64),
        lambda: x.sum((0, 1), True),
        lambda: x.sum(dim=[]),
        lambda: torch.sum(x, 1, keepdim=True),
        lambda: x.sum(dtype=torch.float64),
        lambda: x.mean(-1),
        lambda: x.var(),
        lambda: x.var(False),
        lambda: x.var(1, unbiased=False),
        lambda: torch.std(x, dim=(0, 1), correction=0),
        lambda: x.norm(),
        lambda: x.norm(1),
        lambda: torch.norm(x, dim=1),
        lambda: torch.linalg.vector_norm(x, 1, dim=(0, 2)),
        lambda: torch.linalg.norm(x[0], "fro"),
        lambda: torch.linalg.norm(x[0], 2),
        lambda: torch.linalg.vector_norm(x, 3),
        lambda: x.softmax(0),
        lambda: torch.softmax(x, 1, torch.float64),
        lambda: F.log_softmax(x, dim=2, dtype=torch.float64),
        lambda: x.logsumexp((0, 1)),
        lambda: x.long().sum(),
        lambda: x.bool().sum(0),
        lambda: F.mse_loss(x, x[:1].expand(3, 4, 5)),
        lambda: F.huber_loss(x, x * 2, "sum", 0.5),
        lambda: F.nll_loss(x, torch.zeros(3, 5, dtype=torch.long, device=device)),
        lambda: (
            torch.nn.utils.get_total_norm([x, x[0]])
            if hasattr(torch.nn.utils, "get_total_norm")
            else x.norm()
        ),
    ]
    for i, call in enumerate(calls):
        want = call()
        with drt.reproducible():
            got = call()
        assert (
            got.dtype == want.dtype
            and got.shape == want.shape
            and torch.allclose(got.double(), want.double(), atol=1e-5)
        ), i


def test_autocast_computes_in_the_dtypes_of_torch(device):
    x = numbers(4, 8, dtype=torch.bfloat16, device=device)
    y, t = numbers(4, 8, dtype=torch.bfloat16, device=device, low=0.1), torch.arange(4, device=device)
    calls = [
        lambda: x.sum(),
        lambda: x.sum(0),
        lambda: x.mean(),
        lambda: x.var(),
        lambda: x.norm(),
        lambda: torch.linalg.vector_norm(x),
        lambda: torch.linalg.norm(x),
        lambda: torch.logsumexp(x, 1),
        lambda: F.softmax(x, -1),
        lambda: torch.softmax(x, -1),
        lambda: F.log_softmax(x, -1),
        lambda: F.softmin(x, -1),
        lambda: F.layer_norm(x, (8,), x[0], x[1]),
        lambda: F.rms_norm(x, (8,), x[0]),
        lambda: F.group_norm(x, 4, x[0], x[1]),
        lambda: torch.group_norm(x, 2),
        lambda: F.batch_norm(x, None, None, x[0], x[1], True),
        lambda: torch.batch_norm(x, x[0], x[1], None, None, True, 0.1, 1e-5, False),
        lambda: F.cross_entropy(x, t),
        lambda: F.cross_entropy(x, y),
        lambda: F.nll_loss(x, t),
        lambda: F.mse_loss(x, y),
        lambda: F.l1_loss(x, y),
        lambda: F.huber_loss(x, y),
        lambda: F.smooth_l1_loss(x, y),
        lambda: F.kl_div(x, y, reduction="sum"),
        lambda: F.binary_cross_entropy_with_logits(x, y),
    ]
    with torch.autocast(device, torch.bfloat16):
        for i, call in enumerate(calls):
            want = call()
            with drt.reproducible() as mode:
                got = call()
            assert got.dtype == want.dtype and mode.taken and not mode.left, (i, got.dtype, want.dtype)


def test_gradients_are_clipped(device):
    def model():
        torch.manual_seed(0)
        m = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)).to(device)
        m(numbers(5, 8, dtype=torch.float32, device=device)).pow(2).sum().backward()
        return m

    ours, theirs = model(), model()
    norm = drt.clip_grad_norm_(ours.parameters(), 0.1)
    assert torch.allclose(norm, torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.1))
    assert all(torch.allclose(a.grad, b.grad) for a, b in zip(ours.parameters(), theirs.parameters()))
    assert torch.equal(norm, drt.clip_grad_norm_(reversed(list(model().parameters())), 0.1))
    assert drt.clip_grad_norm_([], 1.0) == 0
    for largest in (1.0, float("inf"), float("nan")):
        p, q = (torch.nn.Parameter(torch.zeros(2, device=device)) for _ in range(2))
        p.grad, q.grad = (torch.tensor([0.75, largest], device=device) for _ in range(2))
        drt.clip_grad_norm_(p, float("inf"))
        torch.nn.utils.clip_grad_norm_(q, float("inf"))
        assert torch.equal(p.grad.nan_to_num(7.0), q.grad.nan_to_num(7.0))
    p, q = (torch.nn.Parameter(torch.zeros(3, 3, device=device)) for _ in range(2))
    g = torch.arange(9.0, device=device).reshape(3, 3)
    p.grad, q.grad = torch.complex(torch.zeros_like(g), -g).conj().imag.T, g.T.contiguous()
    assert torch.equal(drt.clip_grad_norm_(p, 1.0), drt.clip_grad_norm_(q, 1.0)) and torch.equal(p.grad, q.grad)
    p.grad = g.to_sparse()
    with pytest.raises(TypeError, match=r"^parameters\[0\]: must be a dense tensor"):
        drt.clip_grad_norm_(p, 1.0)


def test_the_functions_of_the_package_have_gradients():
    x = numbers(4, 5).requires_grad_()
    assert dr.sum(x).grad_fn is not None and dr.mse(x, x.detach()).grad_fn is not None
    for f in (
        dr.softmax,
        dr.logsumexp,
        dr.var,
        lambda v: dr.layer_norm(v, 5),
        lambda v: dr.group_norm(v, 5),
        lambda v: dr.batch_norm(v, training=True),
        lambda v: dr.cross_entropy(v, torch.arange(4)),
    ):
        assert f(x).requires_grad
    assert not dr.sum(x.detach()).requires_grad and isinstance(dr.argmax(x), torch.Tensor)
    assert np.array_equal(dr.softmax(x).detach().numpy(), dr.softmax(x.detach().numpy()))


def test_whoever_has_a_gradient_gets_it():
    x, w, b = numbers(4, 5), numbers(5, seed=1).requires_grad_(), numbers(5, seed=2).requires_grad_()
    q = numbers(4, 5, seed=3).softmax(1).requires_grad_()
    for call, leaf, theirs in [
        (lambda: dr.layer_norm(x, 5, w), w, lambda: F.layer_norm(x, (5,), w)),
        (lambda: dr.layer_norm(x, 5, w.detach(), b), b, lambda: F.layer_norm(x, (5,), w.detach(), b)),
        (lambda: dr.rms_norm(x, 5, w), w, lambda: F.rms_norm(x, (5,), w)),
        (lambda: dr.cross_entropy(x, q), q, lambda: F.cross_entropy(x, q)),
        (lambda: dr.mse(x, q), q, lambda: F.mse_loss(x, q)),
    ]:
        (got,), (want,) = (torch.autograd.grad(f().pow(2).sum(), leaf) for f in (call, theirs))
        assert torch.allclose(got, want)
    with pytest.raises(NotImplementedError, match="weight"):
        dr.cross_entropy(x, torch.arange(4), w).backward()
    short, weight = numbers(4, 5, dtype=torch.bfloat16).requires_grad_(), numbers(5, dtype=torch.bfloat16)
    t = torch.arange(4)
    for f in (
        lambda v, d: dr.layer_norm(v, 5, weight.to(v.dtype), dtype=d),
        lambda v, d: dr.rms_norm(v, 5, weight.to(v.dtype), dtype=d),
        lambda v, d: dr.cross_entropy(v, t, weight.to(v.dtype), dtype=d),
        lambda v, d: dr.nll(v, t, dtype=d),
    ):
        got = f(short, "float32")
        assert got.dtype == torch.float32 and torch.equal(got.detach(), f(short.detach(), "float32"))
        got.sum().backward()
        assert short.grad.dtype == torch.bfloat16
        for v in (short, short.detach(), short.detach().double().requires_grad_(), short.detach().float()):
            with pytest.raises(ValueError, match="^dtype: "):
                f(v, torch.float64 if v.dtype is not torch.float64 else torch.float32)


def of_wider_results(dtype, n, device="cpu"):
    """Functions of 8 rows of n elements, and of the dtype of the result."""
    y, w, b = (numbers(*shape, dtype=dtype, device=device, seed=i) for i, shape in enumerate(((8, n), (n,), (n,)), 1))
    t = torch.arange(8, device=device)
    return {
        "softmax": lambda v, d: dr.softmax(v, dtype=d),
        "softmax of columns": lambda v, d: dr.softmax(v, 0, dtype=d),
        "log_softmax": lambda v, d: dr.log_softmax(v, dtype=d),
        "logsumexp": lambda v, d: dr.logsumexp(v, 1, dtype=d),
        "logsumexp of all": lambda v, d: dr.logsumexp(v, dtype=d),
        "cross_entropy": lambda v, d: dr.cross_entropy(v, t, dtype=d),
        "cross_entropy of rows": lambda v, d: dr.cross_entropy(v, t, reduction="none", dtype=d),
        "nll": lambda v, d: dr.nll(v, t, w.to(v.dtype), reduction="none", dtype=d),
        "layer_norm": lambda v, d: dr.layer_norm(v, n, w.to(v.dtype), b.to(v.dtype), dtype=d),
        "rms_norm": lambda v, d: dr.rms_norm(v, n, w.to(v.dtype), dtype=d),
        "cosine_similarity": lambda v, d: dr.cosine_similarity(v, y.to(v.dtype), dtype=d),
        "distillation": lambda v, d: dr.distillation(v, y.to(v.dtype), dtype=d),
        "mse": lambda v, d: dr.mse(v, y.to(v.dtype), dtype=d),
        "sum": lambda v, d: dr.sum(v, 1, d),
        "var": lambda v, d: dr.var(v, 1, d, method="tree"),
        "moments": lambda v, d: dr.moments(v, 1, d, method="tree").mean,
    }


@pytest.mark.parametrize("n", [100, 20000])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_gradient_changes_no_bit_of_a_wider_result(dtype, n, device):
    x = numbers(8, n, dtype=dtype, device=device)
    for name, f in of_wider_results(dtype, n, device).items():
        leaf, wide = x.clone().requires_grad_(), x.double().requires_grad_()
        alone, got, true = f(x, "float32"), f(leaf, torch.float32), f(wide, None)
        assert alone.dtype is got.dtype is torch.float32 and torch.equal(alone, got.detach()), name
        up = numbers(*got.shape, dtype=torch.float32, device=device, seed=9)
        (g,), (want,) = torch.autograd.grad(got, leaf, up), torch.autograd.grad(true, wide, up.double())
        smallest = torch.finfo(dtype).smallest_normal  # below which float16 has fewer bits
        assert g.dtype is dtype, name
        assert (g.double() - want).abs().max() <= 2.0**-7 * want.abs().max() + smallest, name


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_wider_result_is_that_of_whoever_compiles_or_traces(dtype, device):
    torch._dynamo.reset()
    x, y = (numbers(8, 100, dtype=dtype, device=device, seed=i) for i in range(2))

    def gradient(f, up):
        leaf = x.clone().requires_grad_()
        return torch.autograd.grad(f(leaf), leaf, up)[0]

    for f, same in (
        (lambda v: drt.softmax(v, dtype=torch.float32), lambda v: dr.softmax(v, dtype="float32")),
        (lambda v: drt.log_softmax(v, 0, dtype=torch.float32), lambda v: dr.log_softmax(v, 0, dtype="float32")),
        (lambda v: drt.logsumexp(v, 1, dtype=torch.float32), lambda v: dr.logsumexp(v, 1, dtype="float32")),
        (
            lambda v: drt.cosine_similarity(v, y, dtype=torch.float32),
            lambda v: dr.cosine_similarity(v, y, 1, dtype="float32"),
        ),
    ):
        want = same(x)
        compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced = torch.jit.trace(f, x, check_trace=False)
        for call in (f, compiled, traced):
            assert torch.equal(call(x), want) and torch.equal(call(x.clone().requires_grad_()).detach(), want)
            up = numbers(*want.shape, dtype=torch.float32, device=device, seed=9)
            assert torch.equal(gradient(call, up), gradient(same, up))
    v = x.float()  # what rows cannot write is cast before, as by torch
    assert drt.softmax(v, dtype=torch.float64).dtype is torch.float64
    assert torch.equal(drt.softmax(v.requires_grad_(), dtype=dtype).detach(), drt.softmax(x, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_what_dtypes_are_allowed_does_not_depend_on_a_gradient(dtype):
    x = numbers(8, 10, dtype=dtype)
    for name, f in of_wider_results(dtype, 10).items():
        for output in DTYPES + (torch.float8_e5m2, torch.int32):
            results = []
            for v in (x, x.clone().requires_grad_()):
                try:
                    results.append(f(v, output).detach())
                except (TypeError, ValueError) as error:
                    results.append(str(error))
            a, b = results
            assert a == b if isinstance(a, str) else torch.equal(a.float(), b.float()), (name, output, a, b)


@pytest.mark.parametrize("method", ["exact", "tree", "serial"])
def test_moments_have_a_gradient(method, device):
    if method == "serial" and device == "cuda":
        return
    for ddof in ({}, {"ddof": 0}):
        for axis, keepdims in ((None, False), (1, False), ((0, 2), True)):
            x = numbers(3, 40, 5, dtype=torch.float32, device=device).requires_grad_()
            want = dr.moments(x.detach(), axis, None, keepdims=keepdims, method=method, **ddof)
            got = dr.moments(x, axis, None, keepdims=keepdims, method=method, **ddof)
            assert all(torch.equal(a.detach(), b) and a.requires_grad for a, b in zip(got, want))
            dims, correction = (0, 1, 2) if axis is None else axis, ddof.get("ddof", 1)
            theirs = torch.var_mean(x, dims, correction=correction, keepdim=keepdims)
            up = numbers(*got.mean.shape, dtype=torch.float32, device=device, seed=2)
            for a, b in ((got.mean + 2 * got.var, theirs[1] + 2 * theirs[0]), (got.mean, theirs[1]), (got.var, theirs[0])):
                a, b = (torch.autograd.grad(v, x, up, retain_graph=True)[0] for v in (a, b))
                assert torch.allclose(a, b, atol=1e-6)
    assert torch.autograd.gradgradcheck(
        lambda v: tuple(dr.moments(v, 1, method=method)), [numbers(3, 5, device=device).requires_grad_()]
    )
    with pytest.warns(UserWarning, match="moments of 1 elements"):
        one = dr.moments(numbers(1, device=device).requires_grad_(), method=method)
    assert one.mean == numbers(1, device=device) and one.var.isnan()


@pytest.mark.parametrize(
    "op", ["argmax", "argmin", "minmax", "moments", "count_nonzero", "count_unique", "prod", "max", "dot", "zzz", ""]
)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
def test_ops_of_other_results_are_refused(op, dtype, device):
    for shape, dim in (((2000, 3), 1), ((3, 2000), None), ((7, 5, 3), (0, 2))):
        x = numbers(*shape, dtype=dtype, device=device)
        dims = [*range(len(shape))] if dim is None else [dim] if isinstance(dim, int) else [*dim]
        for v in (x, x.clone().requires_grad_()):
            for call in (
                lambda: drt.reduced(op, v, dim),
                lambda: torch.ops.detreduce.reduce(v, dims, False, op, None, "automatic", 0),
            ):
                with pytest.raises(ValueError, match="^op: allowed are sum, mean, asum"):
                    call()
    x, t, ops = numbers(300, 7, dtype=dtype, device=device), torch.arange(300, device=device) % 7, torch.ops.detreduce
    for call in (
        lambda: ops.row_wise(x, 1, op),
        lambda: ops.row_wise(x, 1, "logsumexp"),
        lambda: ops.norm(x, [7], None, None, 1e-5, op),
        lambda: ops.cross_entropy(x, t, None, -100, 0.0, op, "mean", "automatic"),
        lambda: ops.cross_entropy(x, t, None, -100, 0.0, "cross_entropy_gradient", "none", "automatic"),
        lambda: ops.cross_entropy(x, t, None, -100, 0.0, "nll_gradient", "mean", "automatic"),
    ):
        with pytest.raises(ValueError, match="^op: allowed are "):
            call()


def misaligned(x):
    """The same elements, the first of which begins where none of them may."""
    raw = bytearray(1 + x.numel() * x.element_size())
    size = {2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
    y = torch.frombuffer(raw, dtype=size, offset=1).view(x.dtype).reshape(x.shape)
    y.copy_(x)
    assert y.data_ptr() % x.element_size() != 0
    return y


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_elements_may_begin_anywhere(dtype):
    def gradients(f, *tensors, up=lambda t: t):
        leaves = [t.requires_grad_() for t in tensors]
        out = f(*leaves)
        return out.detach(), *torch.autograd.grad(out, leaves, up(numbers(*out.shape, dtype=dtype, seed=3)))

    x, w = numbers(4, 5, dtype=dtype), numbers(5, dtype=dtype, seed=1)
    for f in (
        lambda v, w: drt.sum(v) + drt.norm(w),
        lambda v, w: drt.norm(v, dim=1) * drt.mean(w, 0),
        lambda v, w: drt.softmax(v) * w,
        lambda v, w: drt.layer_norm(v, (5,), w),
        lambda v, w: drt.group_norm(v, 1, w),
        lambda v, w: drt.cross_entropy(v, torch.arange(4)) + w,
        lambda v, w: drt.mse_loss(v, v * 0) * w,
        lambda v, w: drt.cosine_similarity(v, 2 * v).sum() * w,
        lambda v, w: drt.logsumexp(v, 1).sum() * w,
    ):
        want, got = gradients(f, x.clone(), w.clone()), gradients(f, misaligned(x), misaligned(w), up=misaligned)
        assert all(map(torch.equal, got, want))
    for f in (dr.sum, dr.max, dr.softmax, lambda v: dr.moments(v, 1).var, lambda v: dr.mse(v, v + 1)):
        assert torch.equal(f(misaligned(x)), f(x))
    p, q = (torch.nn.Parameter(torch.zeros_like(x)) for _ in range(2))
    p.grad, q.grad = misaligned(x), x.clone()
    assert torch.equal(drt.clip_grad_norm_(p, 1.0), drt.clip_grad_norm_(q, 1.0)) and torch.equal(p.grad, q.grad)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_probabilities_have_gradients(reduction, smoothing, device):
    x, q = numbers(6, 5, 3, device=device), numbers(6, 5, 3, device=device, seed=1).softmax(1)
    w = numbers(5, device=device, seed=2, low=0.2)
    for weight in (None, w):
        results = []
        for f in (drt.cross_entropy, F.cross_entropy):
            a, b = x.clone().requires_grad_(), q.clone().requires_grad_()
            loss = f(a, b, weight, reduction=reduction, label_smoothing=smoothing)
            results.append(torch.autograd.grad(loss, (a, b), numbers(*loss.shape, seed=3).to(device)))
        assert all(torch.allclose(got, want) for got, want in zip(*results))
    b = q.clone().requires_grad_()
    with drt.reproducible() as mode:
        F.cross_entropy(x, b).backward()
    assert mode.taken["cross_entropy"] == 1 and b.grad is not None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_the_gradient_of_a_wider_loss_is_rounded_once(dtype, device):
    """Of any scale of the loss, and one of which the elements' format knows the scale has the bits of a loss in that."""
    names = (
        "mse",
        "mae",
        "huber",
        "smooth_l1",
        "bce",
        "bce_with_logits",
        "focal",
        "kl_div",
        "kl_div_log_target",
    )
    x, t, w = (numbers(64, 32, dtype=dtype, device=device, seed=seed, low=0.1) for seed in range(3))

    def distilled(v, y, weight, **more):
        return drt.distillation_loss(v, y.detach(), 2.0, **more)

    def of(name):
        return lambda v, y, weight, **more: drt.loss(name, v, y, weight, parameter=0.75, **more)

    def gradients(f, tensors, up, **more):
        leaves = [v.clone().requires_grad_() for v in tensors]
        loss = f(*leaves, **more)
        loss.backward(up.to(loss.dtype).expand_as(loss))
        return [v.grad for v in leaves if v.grad is not None]

    for name, f in (("distillation", distilled), *((name, of(name)) for name in names)):
        for reduction in ("mean", "sum") if name == "distillation" else ("mean", "sum", "none"):
            wide = [v.float() for v in (x, t, w)]
            more = {"reduction": reduction, "dtype": torch.float32}
            scale = torch.tensor(65537.0, device=device)
            got, want = gradients(f, (x, t, w), scale, **more), gradients(f, wide, scale, **more)
            assert len(got) == len(want) and all(g.dtype is dtype for g in got)
            assert all(torch.equal(a, b.to(dtype)) for a, b in zip(got, want)), (name, reduction)
            assert got[0].isfinite().all() or reduction != "mean", name
            for up in (1.0, -0.375):
                up = torch.tensor(up, device=device)
                got = gradients(f, (x, t, w), up, **more)
                want = gradients(f, (x, t, w), up, reduction=reduction)
                assert all(torch.equal(a, b) for a, b in zip(got, want)), (name, reduction)


def test_a_weight_that_is_broadcast_gets_exact_sums(device):
    x, y = numbers(400, 3, 5, dtype=torch.float32, device=device), numbers(
        400, 3, 5, dtype=torch.float32, seed=1
    ).to(device)
    for shape in ((5,), (3, 1), (1, 3, 5), (400, 1, 1), (1,), ()):
        w = numbers(*shape, dtype=torch.float32, device=device, seed=2).requires_grad_()
        drt.loss("huber", x, y, w, reduction="sum").backward()
        full = drt.loss("huber", x, y, reduction="none")
        dims = [i for i in range(3) if i < 3 - len(shape) or shape[i - 3 + len(shape)] == 1]
        assert torch.equal(w.grad, (drt.sum(full, dims) if dims else full).reshape(shape))


@pytest.mark.skipif(torch.__version__ < (2, 6), reason="this torch.compile takes no reproducible() into a graph")
def test_pos_weight_may_be_a_tensor_where_a_graph_is_compiled(device):
    torch._dynamo.reset()
    x, t = numbers(6, 5, device=device).requires_grad_(), numbers(6, 5, device=device, seed=1, low=0.1)
    three = torch.tensor([3.0], device=device)

    def step(v, p):
        with drt.reproducible():
            return F.binary_cross_entropy_with_logits(
                v, t, pos_weight=p
            ) + drt.binary_cross_entropy_with_logits(v, t, pos_weight=p)

    got = torch.compile(step, backend="aot_eager", fullgraph=True)(x, three)
    assert torch.allclose(got, 2 * F.binary_cross_entropy_with_logits(x, t, pos_weight=three))
    assert torch.allclose(
        *(torch.autograd.grad(f(x, three), x)[0] for f in (step, torch.compile(step, backend="aot_eager")))
    )
    with pytest.raises(ValueError, match="^pos_weight: "):
        drt.binary_cross_entropy_with_logits(x, t, pos_weight=torch.tensor(-1.0))
    with pytest.raises(NotImplementedError, match="pos_weight"):
        drt.binary_cross_entropy_with_logits(x, t, pos_weight=three.clone().requires_grad_()).backward()


class Wrapped(torch.Tensor):
    """A subclass that knows its functions, but no op of detreduce, as a DTensor does."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(inner, meta, size, stride):
        return Wrapped(inner["inner"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func.namespace == "detreduce":
            raise AssertionError(f"{func} does not have a sharding strategy")
        out = func(*(a.inner if isinstance(a, Wrapped) else a for a in args), **(kwargs or {}))
        return Wrapped(out) if isinstance(out, torch.Tensor) else out


def test_tensors_of_other_types_are_left_to_torch():
    x = Wrapped(numbers(4, 5))
    with drt.reproducible() as mode:
        total, shares = x.sum(), torch.softmax(x, 1)
    assert isinstance(total, Wrapped) and isinstance(shares, Wrapped)
    assert mode.left == {"sum": 1, "softmax": 1} and not mode.taken
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    for call in (
        dr.sum,
        drt.sum,
        drt.softmax,
        dr.softmax,
        lambda v: dr.mse(v, v),
        lambda v: drt.layer_norm(v, 3),
    ):
        for bad in (x, nested):
            with pytest.raises(TypeError, match="^(x|input): must be"):
                call(bad)
    p = torch.nn.Parameter(torch.ones(4, 5, dtype=torch.float64))
    with pytest.raises(TypeError, match=r"^parameters\[0\]: "):
        drt.clip_grad_norm_([type("P", (), {"grad": x})()], 1.0)
    with pytest.raises(TypeError, match=r"^parameters\[1\]: "):
        dr.clip_grad_norm_([p, np.ones(3)], 1.0)


def test_forward_mode_is_refused():
    x, up = numbers(4, 5), numbers(4, 5, seed=1)
    for f in (
        dr.sum,
        drt.sum,
        dr.softmax,
        lambda v: dr.mse(v, v),
        lambda v: drt.rms_norm(v, 5),
        lambda v: drt.logsumexp(v),
    ):
        with pytest.raises(NotImplementedError, match="forward mode"):
            torch.func.jvp(f, (x,), (up,))
        with torch.autograd.forward_ad.dual_level():
            assert f(x) is not None
            with pytest.raises(NotImplementedError, match="forward mode"):
                f(torch.autograd.forward_ad.make_dual(x, up))


# What of torch's functions has a name that speaks of a sum, and sums nothing, or nothing of what detreduce is for: counts, whole
# numbers, what is compared, and what checks or prepares.
SUMS = (
    "sum|mean|norm|dot|loss|softm|entropy|std|var|mm$|mm_$|mv|matmul|mul_|bmm|conv|pool|scatter|index_add|index_put|cov|corrcoef"
    "|dist|prod|trace|einsum|inner|bincount|hist|trap|attention|linear$|embedding|gru|lstm|rnn|fft|div$|cos.*similarity|outer"
)
NO_SUMS = (
    "normal|mul_?$|mul__$|gamma|addcdiv|(strided|diagonal|select|slice)_scatter|^(masked_)?scatter_?$|^sym_|cumm|multiply|standard|is_|has_|checksum|median|argm|dropout|unique|feature|variable|tril|triu|norm_scale|logical"
    "|product$|cartesian|quant|fbgemm|mkldnn|miopen|cudnn|sparse|make_|set_|_nnpack|align|resize|vander|converted|unpool|max_pool"
    "|fftshift|ddiv|floor_div|true_div|kl_div_|vdiv|^div|rdiv|frexp|mode$|erfinv|linalg_diagonal|random|log_normal|batch_norm_stats"
    "|nanquantile|quantile|int_repr|_inference|softmax2d|embedding_renorm|normalize_shape|_functional_assert|_log_softmax_backward"
)


def test_what_is_left_is_listed():
    import re

    from detreduce.torch import _mode

    known = set(_mode._HANDLERS) | set(_mode._CATEGORY)
    names = {name.rpartition(".")[2] for left in drt.not_covered().values() for name in left}
    missing = sorted(
        torch.overrides.resolve_name(f) or f.__name__
        for f in torch.overrides.get_testing_overrides()
        if f not in known
        and re.search(SUMS, getattr(f, "__name__", ""))
        and not re.search(NO_SUMS, f.__name__)
    )
    assert not missing, missing
    assert {"addmm", "histc", "cdist", "poisson_nll_loss", "multi_dot", "prod"} <= names
    x = numbers(3, 3)
    with drt.reproducible() as mode:
        x.addmm(x, x), x.prod(), torch.tensordot(x, x), torch.cov(x), torch.cdist(x, x), x.cumprod(
            0
        ), torch.linalg.multi_dot([x, x])
    assert set(mode.left) == {"matrix products", "other reductions", "running sums"} and not mode.taken


@pytest.mark.parametrize("function", [F.binary_cross_entropy, F.binary_cross_entropy_with_logits])
def test_shapes_that_torch_refuses_are_refused(function, device):
    x, t = (numbers(*shape, device=device, low=0.1) for shape in ((8, 1), (8,)))
    for call in (lambda: function(x, t), lambda: function(x, t[:1]), lambda: function(t, x)):
        with drt.reproducible(), pytest.raises(ValueError, match="arget size"):
            call()


def test_other_names_of_what_is_taken(device):
    x = numbers(5, 6, dtype=torch.float32, device=device)
    x[1, 2] = float("nan")
    y = numbers(5, 6, dtype=torch.float32, device=device).requires_grad_()
    calls = [
        lambda: torch.special.softmax(y, 1),
        lambda: torch.special.log_softmax(y, 0, dtype=torch.float64),
        lambda: torch.special.logsumexp(y, 1),
        lambda: F.softmin(y, 1),
        lambda: torch.var_mean(y, 1),
        lambda: torch.std_mean(y, (0, 1), correction=0, keepdim=True),
        lambda: torch.var_mean(y, False),
        lambda: torch.nansum(x, 1),
        lambda: x.nansum(),
        lambda: torch.trace(y),
        lambda: F.normalize(y),
        lambda: y.sum_to_size(1, 6),
        lambda: y.sum_to_size((5, 1)),
        lambda: F.cosine_similarity(y, x.nan_to_num(), 0),
        lambda: F.normalize(y, 1.0, 0),
    ]
    for i, call in enumerate(calls):
        want = call()
        with drt.reproducible() as mode:
            got = call()
        assert mode.taken and not mode.left, i
        for a, b in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, want))):
            assert a.dtype == b.dtype and torch.allclose(a, b, atol=1e-6), (i, a, b)
            assert a.requires_grad == b.requires_grad


@pytest.mark.parametrize(
    "error, argument, call",
    [
        (TypeError, "input", lambda x: drt.sum([1.0])),
        (ValueError, "dim", lambda x: drt.sum(x, 5)),
        (ValueError, "p", lambda x: drt.norm(x, 3)),
        (ValueError, "target", lambda x: drt.mse_loss(x, x[0])),
        (ValueError, "reduction", lambda x: drt.mse_loss(x, x, "median")),
        (ValueError, "pos_weight", lambda x: drt.binary_cross_entropy_with_logits(x, x, pos_weight=x)),
        (ValueError, "pos_weight", lambda x: drt.binary_cross_entropy_with_logits(x, x, pos_weight=-1)),
        (ValueError, "normalized_shape", lambda x: drt.layer_norm(x, 4)),
        (TypeError, "normalized_shape", lambda x: drt.layer_norm(x, (5.0,))),
        (TypeError, "input", lambda x: drt.layer_norm(None, (5,), x[0])),
        (ValueError, "num_groups", lambda x: drt.group_norm(x, 2)),
        (ValueError, "num_groups", lambda x: drt.group_norm(x, 2**63)),
        (ValueError, "num_groups", lambda x: drt.group_norm(x.to("meta"), 2**63)),
        (ValueError, "input", lambda x: drt.group_norm(x.to("meta")[0, 0], 1)),
        (ValueError, "temperature", lambda x: drt.distillation_loss(x, x.detach(), 0)),
        (ValueError, "reduction", lambda x: drt.distillation_loss(x, x.detach(), reduction="none")),
        (ValueError, "target", lambda x: drt.distillation_loss(x, x.detach()[0])),
        (ValueError, "running_mean, running_var", lambda x: drt.batch_norm(x)),
        (TypeError, "num_groups", lambda x: drt.group_norm(x, 1.5)),
        (TypeError, "eps", lambda x: drt.group_norm(x, 1, eps="a")),
        (ValueError, "eps", lambda x: drt.batch_norm(x, training=True, eps=-1)),
        (TypeError, "momentum", lambda x: drt.batch_norm(x, training=True, momentum=None)),
        (TypeError, "training", lambda x: drt.batch_norm(x, training="a")),
        (TypeError, "method", lambda x: drt.group_norm(x, 1, method=5)),
        (TypeError, "weight", lambda x: drt.group_norm(x, 1, [1.0])),
        (ValueError, "weight", lambda x: drt.group_norm(x, 1, x[0].detach().half(), method="tree")),
        (ValueError, "weight", lambda x: drt.group_norm(x, 1, x[0].detach().to("meta"))),
        (TypeError, "running_mean", lambda x: drt.batch_norm(x, 1.0, 1.0, training=True)),
        (ValueError, "running_mean", lambda x: drt.batch_norm(x, x[0, :1].detach().expand(5), training=True)),
        (TypeError, "temperature", lambda x: drt.distillation_loss(x, x.detach(), "a")),
        (TypeError, "target", lambda x: drt.distillation_loss(x, [1.0])),
        (ValueError, "dim", lambda x: drt.distillation_loss(x, x.detach(), dim=2)),
        (TypeError, "dim", lambda x: drt.distillation_loss(x, x.detach(), dim=())),
        (TypeError, "method", lambda x: drt.distillation_loss(x, x.detach(), method=5)),
        (TypeError, "dtype", lambda x: drt.distillation_loss(x, x.detach(), dtype="int8")),
        (TypeError, "z_loss", lambda x: drt.cross_entropy(x, torch.arange(3), z_loss="a")),
        (ValueError, "z_loss", lambda x: drt.cross_entropy(x, torch.arange(3), z_loss=-1.0)),
        (ValueError, "norm_type", lambda x: drt.clip_grad_norm_([x], 1.0, 3)),
        (ValueError, "delta", lambda x: drt.huber_loss(x, x, delta=-1)),
        (ValueError, "delta", lambda x: drt.huber_loss(x, x, delta=float("inf"))),
        (TypeError, "delta", lambda x: drt.huber_loss(x, x, delta="a")),
        (TypeError, "beta", lambda x: drt.smooth_l1_loss(x, x, beta="a")),
        (TypeError, "eps", lambda x: drt.layer_norm(x, 5, eps="x")),
        (ValueError, "eps", lambda x: drt.rms_norm(x, 5, eps=-1.0)),
        (TypeError, "norm_type", lambda x: drt.clip_grad_norm_([x], 1.0, "a")),
        (TypeError, "method", lambda x: drt.sum(x, method=5)),
        (ValueError, "method", lambda x: drt.sum(x, method="trees")),
        (TypeError, "method", lambda x: drt.mse_loss(x, x, method=5)),
        (TypeError, "method", lambda x: drt.cross_entropy(x, torch.arange(3), method=None)),
        (TypeError, "dtype", lambda x: drt.sum(x, dtype="int8")),
        (TypeError, "dtype", lambda x: drt.sum(x, dtype=torch.int32)),
        (TypeError, "dtype", lambda x: drt.softmax(x, dtype="int")),
        (TypeError, "dtype", lambda x: drt.logsumexp(x, dtype="int")),
        (TypeError, "weight", lambda x: drt.mse_loss(x, x, weight=[1.0])),
        (TypeError, "weight", lambda x: drt.cross_entropy(x, torch.arange(3), [1.0])),
        (TypeError, "weight", lambda x: drt.rms_norm(x, 5, [1.0])),
        (TypeError, "bias", lambda x: drt.layer_norm(x, 5, x[0].detach(), 1.0)),
        (TypeError, "ignore_index", lambda x: drt.cross_entropy(x, torch.arange(3), ignore_index=0.5)),
        (TypeError, "label_smoothing", lambda x: drt.cross_entropy(x, torch.arange(3), label_smoothing="a")),
        (TypeError, "target", lambda x: drt.mse_loss(x, None)),
        (TypeError, "input", lambda x: drt.mse_loss(None, x)),
        (ValueError, "target", lambda x: drt.mse_loss(x, x.detach().to("meta"))),
        (ValueError, "weight", lambda x: drt.rms_norm(x, 5, x[0].detach().to("meta"))),
        (TypeError, "input", lambda x: drt.sum(x.detach().to_sparse())),
        (TypeError, "name", lambda x: drt.loss(x, x, x)),
        (ValueError, "name", lambda x: drt.loss("zzz", x, x)),
        (TypeError, "parameter", lambda x: drt.loss("huber", x, x, parameter="a")),
        (ValueError, "ddof", lambda x: drt.reduced("variance", x, ddof=-1)),
        (TypeError, "parameters", lambda x: drt.clip_grad_norm_(None, 1.0)),
        (TypeError, "keepdim", lambda x: drt.sum(x, 0, x)),
        (ValueError, "x2", lambda x: drt.cosine_similarity(x, x[:, :2])),
        (TypeError, "x2", lambda x: drt.cosine_similarity(x, 1.0)),
        (TypeError, "dim", lambda x: drt.cosine_similarity(x, x, ())),
        (TypeError, "dim", lambda x: drt.softmax(x, [])),
        (ValueError, "ignore_index", lambda x: drt.cross_entropy(x, torch.arange(3), ignore_index=2**63)),
        (TypeError, "x", lambda x: drt.rms_norm(x.to(torch.complex64), 5)),
        (ValueError, "gamma", lambda x: drt.sigmoid_focal_loss(x, x, gamma=-1)),
        (ValueError, "alpha", lambda x: drt.sigmoid_focal_loss(x, x, alpha=2)),
        (TypeError, "targets", lambda x: drt.sigmoid_focal_loss(x, x > 0)),
    ],
)
@pytest.mark.parametrize("tracked", [False, True])
def test_errors_name_the_argument(error, argument, call, tracked):
    with pytest.raises(error) as raised:
        call(numbers(3, 5).requires_grad_(tracked))
    assert str(raised.value).startswith(argument + ": ")


def test_what_a_caller_changes_between_forward_and_backward_is_not_looked_at(device):
    x = numbers(3, 64, 4, device=device, seed=3).requires_grad_()
    for f in (drt.rms_norm, drt.layer_norm):
        shape = [64, 4]
        want = torch.autograd.grad(f(x, (64, 4), None, eps=1e-5).square().sum(), x)[0]
        y = f(x, shape, None, eps=1e-5).square().sum()
        shape.pop(0)
        assert torch.equal(torch.autograd.grad(y, x)[0], want)


def test_gradients_refuse_what_forward_did_not_keep(device):
    x, g = numbers(4, 6, device=device, seed=3), numbers(4, 6, device=device, seed=4)
    classes = torch.tensor([0, 5, 2, 2], device=device)
    ops = torch.ops.detreduce
    kept = ops.norm(x, [6], None, None, 1e-5, "layernorm")[1]
    for statistics in (kept[:1], kept.float(), kept[:, :3]):
        with pytest.raises(ValueError, match="statistics: must be what forward gave"):
            ops.norm_backward(g, x, [6], None, statistics, False, False, "layernorm")
    with pytest.raises(ValueError, match="op: allowed are"):
        ops.norm_backward(g, x, [6], None, kept, False, False, "softmax")
    with pytest.raises(ValueError, match="op: allowed are"):
        ops.row_wise_backward(g, x, 1, "layernorm")
    with pytest.raises(ValueError, match="op: allowed are"):
        ops.cross_entropy_backward(g[:, 0].contiguous(), x, classes, None, -100, 0.0, "softmax", "none", "automatic")


def test_elements_of_less_than_a_byte_are_refused(device):
    kind = getattr(torch, "float4_e2m1fn_x2", None)
    if kind is None:
        pytest.skip("torch here has no such dtype")
    x, y = torch.zeros(8, dtype=torch.uint8, device=device).view(kind), torch.zeros(8, device=device)
    for f in (lambda: drt.sum(x), lambda: drt.softmax(x), lambda: drt.mse_loss(x, x), lambda: drt.layer_norm(x, (8,))):
        with pytest.raises((TypeError, NotImplementedError)):
            f()
    with pytest.raises((TypeError, ValueError)):
        drt.mse_loss(y, x)


def test_an_error_of_a_hook_is_told(device):
    x, calls = numbers(4, 6, device=device, seed=3).requires_grad_(), []

    def pack(t):
        calls.append(1)
        raise ValueError("of the hook")

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), pytest.raises(ValueError, match="of the hook"):
        drt.softmax(x, 1)
    assert len(calls) == 1


def test_what_torch_refuses_is_refused():
    x, ones = torch.ones(3, 4), torch.ones(4)
    with pytest.raises(ValueError, match=r"weight: must have the shape \(4,\), not \(1,\)"):
        drt.layer_norm(x, [4], ones[:1])
    with pytest.raises(ValueError, match=r"bias: must have the shape \(3, 4\), not \(4,\)"):
        drt.layer_norm(x, [3, 4], x, ones)
    with pytest.raises(ValueError, match=r"weight: must have the shape \(4,\), not \(1,\)"):
        drt.cross_entropy(x, torch.tensor([0, 1, 2]), ones[:1])
    with pytest.raises(ValueError, match="reduction: allowed are none, sum, mean, not 'batchmean'"):
        drt.mse_loss(x, x, "batchmean")
    with pytest.raises(ValueError, match="running_mean, running_var: must both be None, or neither"):
        drt.batch_norm(x, ones, None, training=True)
    mean, v = torch.zeros(4, requires_grad=True), x.clone().requires_grad_()
    with pytest.raises(NotImplementedError, match="running_mean"):
        drt.batch_norm(v, mean, ones).sum().backward()


def test_second_derivatives_by_vmap_in_forward_mode_are_refused():
    for f in (lambda x: drt.mse_loss(x, torch.zeros(3)), lambda x: drt.softmax(x, 0).sum()):
        with pytest.raises(NotImplementedError, match="forward mode"):
            torch.func.hessian(f)(torch.ones(3))
