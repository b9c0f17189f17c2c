"""reproducible(): every call that it takes has the shape, the dtype and the errors of torch, however it is spelled."""

import math
import re
import warnings

import pytest

torch = pytest.importorskip("torch")
import detreduce as dr  # noqa: E402
import detreduce.torch as drt  # noqa: E402
from detreduce.torch import _mode  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.nn import functional as F  # noqa: E402

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() and len(dr.devices()) > 1 else [])
HAS_NAMES = hasattr(torch.Tensor, "rename")
HAS_WEIGHT = "weight" in F.l1_loss.__annotations__
COMPILES_NEGATIVE = torch.__version__ >= (2, 11)  # torch.compile of 2.8 refuses a negative correction
WEIGHTED = pytest.mark.skipif(not HAS_WEIGHT, reason="l1_loss of this torch has no weight")
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def numbers(*shape, dtype=torch.float32, device="cpu", seed=0):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return x.to(dtype).to(device)


def shares(*shape, dtype=torch.float32, device="cpu", seed=0):
    return numbers(*shape, dtype=torch.float64, seed=seed).sigmoid().to(dtype).to(device)


def outcome(call):
    """The results, or the error, of a call."""
    try:
        result = call()
    except Exception as error:
        return error
    return list(result) if isinstance(result, (tuple, list)) else [result]


def says(error):
    """The first line of a message. Of several wrong targets torch names the one that a thread meets first."""
    return re.sub(r"^Target -?\d+ is", "A target is", str(error).split("\n")[0])


def differs(got, want, near=None):
    """What the outcome of a call has that is not torch's; None if there is nothing. `near`: by default what its dtype makes of it."""
    if "not implemented for" in str(want) and not isinstance(got, Exception):
        return None  # detreduce has a dtype that torch has not here
    if isinstance(want, Exception) or isinstance(got, Exception):
        same = type(got) is type(want) and says(got) == says(want)
        return None if same else f"{got!r} instead of {want!r}"
    near = near or {torch.float16: 3e-3, torch.bfloat16: 2e-2}.get(want[0].dtype if want else None, 1e-5)
    for a, b in zip(got, want):
        if a.is_nested and b.is_nested:
            continue
        for what in ("dtype", "shape", "layout", "device", "names", "requires_grad"):
            if getattr(a, what, None) != getattr(b, what, None):  # torch 2.15 has no names
                return f"{what}: {getattr(a, what)} instead of {getattr(b, what)}"
        if a.device.type == "meta":
            continue
        a, b = (v.detach().to_dense() if v.layout is not torch.strided else v.detach() for v in (a, b))
        a, b = ((v.rename(None) if HAS_NAMES else v).to(torch.complex128) for v in (a, b))
        if not torch.allclose(a, b, rtol=near, atol=near, equal_nan=True):
            return f"{a} instead of {b}"
    return None if len(got) == len(want) else "another number of results"


def compare(calls, below=False, taken=None, near=None):
    """`taken`: does detreduce compute all of these calls (True), or none (False)?"""
    for name, call in calls.items():
        want = outcome(call)
        with drt.reproducible(below=below) as mode:
            got = outcome(call)
        assert differs(got, want, near) is None, (name, differs(got, want, near))
        if taken is not None:
            assert bool(mode.taken) is taken, (name, mode.taken, mode.left)


def named(*calls):
    return dict(enumerate(calls))


# ---- What torch gives a mode ------------------------------------------------------------------------------------


@WEIGHTED
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_l1_loss_has_its_weight(reduction, device):
    x, y = numbers(4, 6, device=device), numbers(4, 6, device=device, seed=1)
    w = shares(4, 6, device=device, seed=2).requires_grad_()
    want = drt.l1_loss(x, y, reduction, w)
    (up,) = torch.autograd.grad(want.sum(), w)
    for call in (
        lambda: F.l1_loss(x, y, reduction=reduction, weight=w),
        lambda: F.l1_loss(x, y, None, None, reduction, w),
    ):
        for outer in (torch.enable_grad(), drt.reproducible()):
            with outer, drt.reproducible() as mode:
                got = call()
            assert torch.equal(got, want) and torch.equal(torch.autograd.grad(got.sum(), w)[0], up)
            assert dict(mode.taken) == {"l1_loss": 1} and not mode.left
    compare(
        named(
            lambda: F.l1_loss(x, y, reduction=reduction),
            lambda: F.l1_loss(x, y, reduction=reduction, weight=w),
            lambda: F.l1_loss(x, y[:1], reduction=reduction, weight=w),
            lambda: torch.nn.L1Loss(reduction=reduction)(x, y),
        ),
        taken=True,
    )
    compare(
        named(
            lambda: F.l1_loss(x, y.double(), reduction=reduction, weight=w),
            lambda: F.l1_loss(x.long(), y.long(), reduction="sum", weight=w.detach().mul(9).long()),
            lambda: F.l1_loss(x, y, reduction=reduction, weight=w[0]),
            lambda: F.l1_loss(x[:1], y, reduction=reduction, weight=w),
            lambda: F.l1_loss(x[:1], y, reduction=reduction, weight=w[:1]),
        ),
        taken=False,
    )


def test_arguments_may_have_the_other_names_that_torch_has_for_them(device):
    x = numbers(4, 6, device=device)
    ones = torch.ones(6, device=device)
    compare(
        named(
            lambda: torch.sum(input=x, dim=1),
            lambda: torch.sum(x=x),
            lambda: torch.sum(a=x, axis=0),
            lambda: x.sum(axis=1, keepdims=True),
            lambda: torch.mean(input=x, dim=1),
            lambda: x.mean(1, keepdims=True),
            lambda: torch.nansum(input=x, axis=1),
            lambda: torch.var(input=x, axis=0, keepdims=True),
            lambda: x.std(axis=0),
            lambda: torch.var_mean(input=x, axis=(0, 1)),
            lambda: torch.std_mean(x1=x, axis=1, correction=0),
            lambda: torch.trace(input=x),
            lambda: torch.softmax(input=x, axis=1),
            lambda: x.softmax(axis=-1),
            lambda: torch.log_softmax(input=x, dim=0),
            lambda: torch.special.softmax(input=x, dim=0),
            lambda: x.logsumexp(axis=1, keepdims=True),
            lambda: torch.linalg.vector_norm(x, axis=1),
            lambda: torch.linalg.norm(input=x, axis=1, keepdims=True),
            lambda: torch.cosine_similarity(x1=x, x2=x + 1, axis=1),
            lambda: torch.layer_norm(input=x, normalized_shape=[6], weight=ones),
            lambda: torch.rms_norm(input=x, normalized_shape=[6]),
            lambda: torch.group_norm(input=x, num_groups=2),
            lambda: torch.batch_norm(
                input=x,
                weight=ones,
                bias=None,
                running_mean=None,
                running_var=None,
                training=True,
                momentum=0.1,
                eps=1e-5,
                cudnn_enabled=False,
            ),
            lambda: x.sum_to_size(size=(1, 6)),
            lambda: torch._foreach_norm(self=[x]),
        ),
        taken=True,
    )


def test_a_keyword_that_is_not_known_goes_the_way_of_torch():
    x = numbers(4, 6)
    mode = drt.reproducible()
    for kwargs in ({"foo": 1}, {"dim": 0, "axis": 0}, {"self": x}):
        for f in (torch.sum, torch.softmax, F.mse_loss, Tensor.var):
            want, got = outcome(lambda: f(x, **kwargs)), outcome(
                lambda: mode.__torch_function__(f, (), (x,), kwargs)
            )
            assert isinstance(want, TypeError) and differs(got, want) is None, (f, kwargs, got)


# ---- What detreduce has not --------------------------------------------------------------------------------------


def test_a_dimension_of_a_tensor_that_has_none_is_all(device):
    x = torch.tensor(3.0, device=device)
    calls = [lambda: F.normalize(x, dim=0), lambda: torch.nansum(x, 0)]
    for dim in (0, -1, (0,), [-1]):
        calls += [
            lambda dim=dim: x.sum(dim),
            lambda dim=dim: x.mean(dim, True),
            lambda dim=dim: x.norm(dim=dim),
            lambda dim=dim: torch.linalg.vector_norm(x, 1, dim),
            lambda dim=dim: torch.logsumexp(x, dim),
            lambda dim=dim: torch.var_mean(x, dim, correction=0),
            lambda dim=dim: x.std(dim, correction=0),
        ]
    for below in (False, True):
        compare(named(*calls), below, taken=True)
        compare(named(lambda: x.var(0), lambda: x.sum(1), lambda: x.sum((0, -1))), below, taken=False)


def test_a_size_that_a_sum_cannot_have_is_refused():
    x = torch.ones(4, 6)
    compare(named(lambda: x.sum_to_size(3, 6), lambda: x.sum_to_size(1, 4, 6), lambda: x.sum_to_size(-1, 6)))
    compare(named(lambda: x.sum_to_size(0, 6), lambda: x.sum_to_size((4, 3)), lambda: x.sum_to_size(1.0, 6)))
    sizes = [(1, 6), (4, 1), (6,), (), (1,), (4, 6)]
    compare({size: lambda size=size: x.sum_to_size(size) for size in sizes}, taken=True)


def test_what_detreduce_has_not_is_left_to_torch(device):
    x, y = numbers(4, 6, device=device), shares(4, 6, device=device)
    none, empty = torch.empty(3, 0, device=device), torch.empty(0, 5, device=device)
    calls = named(
        lambda: torch.softmax(x, 1, out=torch.empty_like(x)),
        lambda: x.var(correction=-1),
        lambda: x.var(1, correction=7),
        lambda: x.std(1, correction=6),
        lambda: x.std(0, correction=1.5),
        lambda: x[:1].var(0),
        lambda: torch.var_mean(x, 1, correction=100),
        lambda: F.layer_norm(none, (0,)),
        lambda: F.rms_norm(none, (0,)),
        lambda: F.batch_norm(empty, None, None, training=True),
        lambda: F.cosine_similarity(none, none, eps=0.0),
        lambda: F.huber_loss(x, y, delta=math.inf),
        lambda: F.huber_loss(x, y, delta=1e-60),
        lambda: F.smooth_l1_loss(x, y, beta=math.inf),
        lambda: F.smooth_l1_loss(x, y, "sum", beta=math.inf),
        lambda: F.layer_norm(x, (6,), eps=math.inf),
        lambda: F.kl_div(x[0], y, reduction="batchmean"),
        lambda: F.kl_div(none, none[:, :0], reduction="batchmean"),
        lambda: F.binary_cross_entropy_with_logits(x, y, pos_weight=torch.tensor([-2.0], device=device)),
        lambda: F.softmax(x),
        lambda: F.normalize(x, p=3),
        lambda: torch.nansum(x.long(), 0),
    )
    compare(calls, taken=False)
    compare(calls, below=True)
    for f in (F.softmax, torch.softmax, F.softmin, F.log_softmax):  # whose third argument is another one in F
        compare({f.__name__: lambda f=f: f(x, 1, torch.float64)}, taken=True)


@pytest.mark.skipif(not HAS_NAMES, reason="this torch has no names")
def test_dimensions_with_names_keep_them():
    x = numbers(4, 6).rename("N", "C")
    compare(
        named(
            lambda: x.sum(),
            lambda: x.sum("C"),
            lambda: x.mean(0, True),
            lambda: x.logsumexp(1),
            lambda: x.softmax("N"),
            lambda: torch.var_mean(x, 1),
            lambda: F.rms_norm(x, (6,), torch.ones(6, requires_grad=True)),
            lambda: F.layer_norm(x, (6,)),
            lambda: F.mse_loss(x.rename(None), x),
            lambda: torch.trace(x),
        ),
        taken=False,
    )


def test_wrong_arguments_have_the_errors_of_torch():
    x, y = numbers(4, 6), shares(4, 6)
    cube, vector, weight = numbers(2, 3, 4), numbers(5), shares(4, 6, seed=2)
    t, w, p = torch.tensor([0, 5, 2, 3]), shares(6), x.softmax(1)

    calls = [
        lambda: x.sum(5),
        lambda: x.mean((0, 0)),
        lambda: x.var(2),
        lambda: torch.linalg.norm(cube, 2),
        lambda: torch.linalg.norm(cube, "fro"),
        lambda: torch.linalg.norm(vector, "fro"),
        lambda: torch.linalg.norm(x, "fro", dim=1),
        lambda: torch.linalg.norm(cube, dim=(0, 1, 2)),
        lambda: torch.norm(cube, "fro", (0, 1, 2)),
        lambda: torch.norm(x, dim=True),
        lambda: torch.norm(x, 2, 0, 1),
        lambda: torch.norm(x, 2 + 0j),
        lambda: torch.linalg.vector_norm(x, dtype=torch.float16),
        lambda: torch.nansum(x.to(torch.complex64), dtype=torch.float64),
        lambda: torch.trace(cube),
        lambda: F.softmax(x, True),
        lambda: F.softmax(x, 2),
        lambda: F.softmax([1.0], 0),
        lambda: F.softmax(None, 0),
        lambda: F.normalize(None),
        lambda: torch.logsumexp(x, 3),
        lambda: F.layer_norm(x, 6),
        lambda: F.layer_norm(x, (5,)),
        lambda: F.layer_norm(x, (6,), w[:1]),
        lambda: F.layer_norm(x, (6,), None, w[:1]),
        lambda: F.layer_norm(x, (6,), eps=None),
        lambda: F.layer_norm(x[:, :1], (True,)),
        lambda: F.rms_norm(x, 6),
        lambda: F.rms_norm(x, (6,), w[:1]),
        lambda: F.group_norm(x, True),
        lambda: F.group_norm(x, 4),
        lambda: F.group_norm(x, 2, [1.0] * 6),
        lambda: F.group_norm(x, 2, w.double()),
        lambda: F.group_norm(x[:1, :1], 1),
        lambda: F.batch_norm(x, None, None),
        lambda: F.batch_norm(x, None, None, training=1),
        lambda: F.batch_norm(x, w.double(), w.double(), training=True),
        lambda: F.batch_norm(x[:1], None, None, training=True),
        lambda: F.batch_norm(x, [0.0] * 6, [1.0] * 6),
        lambda: F.mse_loss(x, y, reduction="batchmean"),
        lambda: F.mse_loss(x, y, reduction="median"),
        lambda: F.mse_loss(x, 1.0),
        lambda: F.mse_loss(None, y),
        lambda: F.mse_loss(x, vector),
        lambda: F.huber_loss(x, y, delta=-1.0),
        lambda: F.huber_loss(x[:0], y[:0], delta=-1.0),
        lambda: F.huber_loss(x, y, delta="a"),
        lambda: F.smooth_l1_loss(x, y, beta=-1.0),
        lambda: F.kl_div(x, vector, reduction="median"),
        lambda: F.kl_div(x, y, log_target=1),
        lambda: F.binary_cross_entropy(y, y, reduction="batchmean"),
        lambda: F.binary_cross_entropy(y, y, weight.clone().requires_grad_()),
        lambda: F.binary_cross_entropy_with_logits(x, y, weight.clone().requires_grad_()),
        lambda: F.binary_cross_entropy_with_logits(x, y, pos_weight=torch.full((1, 1, 1), 2.0)),
        lambda: F.binary_cross_entropy_with_logits(x, y, pos_weight=2.0),
        lambda: F.cross_entropy(x, None),
        lambda: F.cross_entropy(x, t.int()),
        lambda: F.cross_entropy(x, t, w[:1]),
        lambda: F.cross_entropy(x, t, w[0]),
        lambda: F.cross_entropy(x, t, ignore_index=True),
        lambda: F.cross_entropy(x, p, ignore_index=0),
        lambda: F.cross_entropy(x, t, label_smoothing=1.5),
        lambda: F.cross_entropy(x, t, reduction="batchmean"),
        lambda: F.nll_loss(x, t, w[:1]),
        lambda: F.cosine_similarity(x, vector),
        lambda: torch._foreach_norm([]),
    ]
    if HAS_WEIGHT:
        calls += [
            lambda: F.mse_loss(x, y, weight=w),
            lambda: F.huber_loss(x, y, weight=w),
            lambda: F.mse_loss(x[:1], y, weight=weight),
        ]
    # What another version of torch takes is no error there.
    compare(named(*(call for call in calls if isinstance(outcome(call), Exception))), taken=False)
    assert sum(isinstance(outcome(call), Exception) for call in calls) > 0.8 * len(calls)


def test_autocast_of_what_has_no_rule_of_its_own(device):
    x, y = (f(4, 4, dtype=torch.bfloat16, device=device) for f in (numbers, shares))
    calls = [
        lambda: torch.trace(x),
        lambda: x.sum_to_size(1, 4),
        lambda: torch._foreach_norm([x, y]),
        lambda: F.normalize(x),
    ]
    weighted = []
    for reduction in ("none", "sum", "mean"):
        if HAS_WEIGHT:
            weighted += [
                lambda reduction=reduction: F.mse_loss(x, y, reduction=reduction, weight=y),
                lambda reduction=reduction: F.l1_loss(x, y, reduction=reduction, weight=y),
                lambda reduction=reduction: F.huber_loss(x, y, reduction=reduction, weight=y),
            ]
    with torch.autocast(device, torch.bfloat16):
        compare(named(*calls), taken=True)
        compare(named(*weighted), taken=True, near=2e-2)  # torch's x - y is of bfloat16, what follows may be of float32


# ---- Every function that is taken, with every kind of tensor ------------------------------------------------------


def elements(kind, device="cpu"):
    x = numbers(4, 6, device=device)
    return {
        "float32": lambda: x,
        "float16": lambda: x.half(),
        "float64": lambda: x.double().requires_grad_(),
        "int64": lambda: (x * 9).long(),
        "bool": lambda: x > 0,
        "complex64": lambda: x.to(torch.complex64),
        "sparse": lambda: x.to_sparse(),
        "meta": lambda: x.to("meta"),
        "transposed": lambda: numbers(6, 4, device=device).t(),
        "negated": lambda: torch.complex(x, x).conj().imag,
        "names": lambda: x.clone().rename("N", "C"),
        "nested": lambda: torch.nested.nested_tensor([x[0, :2], x[0, :3]]),
        "0-d": lambda: x[0, 0].clone(),
        "1-d": lambda: x[0].clone(),
        "4-d": lambda: numbers(2, 6, 3, 3, device=device),
        "empty": lambda: x[:, :0],
        "no rows": lambda: x[:0],
        "one": lambda: x[:1, :1],
    }[kind]()


KINDS = (
    "float32,float16,float64,int64,bool,complex64,sparse,meta,transposed,negated,names,nested,0-d,1-d,4-d,empty,"
    "no rows,one"
).split(",")
if not HAS_NAMES:
    KINDS.remove("names")


def variants(**options):
    """Keyword arguments of which one at most is not the default."""
    return [{}] + [{name: value} for name, values in options.items() for value in values]


DIMS = variants(dim=[0, -1, 1, 5, (0,), (0, 1), (0, 0), ()], axis=[1], keepdims=[True], dtype=[torch.float64])
NORMS = [{"dim": 1, "keepdim": True}, {"dim": (0, 1)}, {"dtype": torch.float16}, {"dtype": torch.float64}]
ROWS = [{"dim": d} for d in (0, -1, 3)] + [{"dim": 1, "dtype": torch.float64}, {}]
REDUCTIONS = variants(reduction=["none", "sum", "batchmean", "median", None], size_average=[False])
CLASSES = variants(
    reduction=["none", "sum", "median"], ignore_index=[2], weight=["classes", "one", "rows"], reduce=[False]
)

# What a function is called with behind x. A word stands for a tensor, as argument() has it.
CALLS = {
    f: [((), options) for options in more]
    for functions, more in (
        ((torch.sum, Tensor.sum, torch.mean, Tensor.mean, torch.nansum, Tensor.nansum), DIMS),
        (
            (torch.var, Tensor.var, torch.std, Tensor.std, torch.var_mean, torch.std_mean),
            DIMS[:-1] + variants(correction=[0, -1, 2, 1.5, 100], unbiased=[False]),
        ),
        ((torch.norm, Tensor.norm), variants(p=["fro", 1, 3, "nuc", None]) + NORMS),
        ((torch.linalg.vector_norm, torch.linalg.norm), variants(ord=[1, 2.0, 0, math.inf]) + NORMS),
        ((F.normalize,), variants(p=[1, 3], dim=[0, -1, (0, 1)], eps=[10.0])),
        ((torch.trace, Tensor.trace), [{}]),
        ((torch.softmax, Tensor.softmax, torch.special.softmax, F.softmax, F.softmin), ROWS),
        ((torch.log_softmax, Tensor.log_softmax, torch.special.log_softmax, F.log_softmax), ROWS),
        ((torch.logsumexp, Tensor.logsumexp, torch.special.logsumexp), DIMS[1:9] + [{"axis": 1}]),
    )
    for f in functions
}
CALLS[torch.linalg.norm] = CALLS[torch.linalg.norm] + [((), {"ord": "fro"}), ((), {"ord": "fro", "dim": 1})]
CALLS[Tensor.sum_to_size] = [(s, {}) for s in ((1, 6), (4, 1), (1,), (3, 6), ())] + [((), {"size": (6,)})]
for f in (F.cosine_similarity, torch.cosine_similarity):
    CALLS[f] = [(("like",), options) for options in variants(dim=[0, -1, 2], eps=[0.0, -1.0])]
    CALLS[f] += [(("rows",), {})]
for f in (F.layer_norm, torch.layer_norm, F.rms_norm, torch.rms_norm):
    CALLS[f] = [((s,), {}) for s in ([6], (4, 6), [5], [0], [])]
    CALLS[f] += [(([6],), options) for options in variants(weight=["classes", "one"], eps=[0.0, -1.0])]
for f in (F.group_norm, torch.group_norm):
    CALLS[f] = [((groups,), {}) for groups in (1, 2, 6, 5, 0)]
    CALLS[f] += [((2,), {"weight": w}) for w in ("classes", "one")]
CALLS[F.batch_norm] = [
    ((None, None), {"training": True, **options})
    for options in variants(weight=["classes", "one"], eps=[0.0])
] + [(("classes", "ones"), {}), (("classes", None), {"training": True}), ((None, None), {})]
CALLS[torch.batch_norm] = [
    ((None, None, *running, training, 0.1, 1e-5, False), {})
    for running in ((None, None), ("classes", "ones"), ("classes", None))
    for training in (True, False)
]
for f in (F.mse_loss, F.l1_loss, F.huber_loss, F.smooth_l1_loss, F.kl_div):
    legacy = f is not F.huber_loss
    CALLS[f] = [
        ((target,), options)
        for target in ("like", "rows", "double")
        for options in (REDUCTIONS if legacy else REDUCTIONS[:-1])
    ]
    if "weight" in f.__annotations__:
        for w in ("like", "rows"):
            CALLS[f] += [(("like",), {"weight": w, "reduction": r}) for r in ("mean", "none")]
CALLS[F.huber_loss] += [(("like",), {"delta": d}) for d in (0.5, 0.0, -1.0, math.inf)]
CALLS[F.smooth_l1_loss] += [(("like",), {"beta": d}) for d in (0.5, 0.0, -1.0, math.inf)]
CALLS[F.kl_div] += [(("like",), {"log_target": True, "reduction": r}) for r in ("mean", "batchmean")]
CALLS[F.binary_cross_entropy_with_logits] = [
    (("like",), options)
    for options in REDUCTIONS + variants(weight=["like", "rows"], pos_weight=["one", "classes"])
] + [(("rows",), {})]
CALLS[F.binary_cross_entropy] = [(("like",), o) for o in REDUCTIONS + variants(weight=["like", "rows"])]
for f in (F.cross_entropy, F.nll_loss):
    CALLS[f] = [((target,), options) for target in ("index", "int32") for options in CLASSES]
CALLS[F.cross_entropy] += [(("like",), o) for o in CLASSES]
CALLS[F.cross_entropy] += [(("index",), {"label_smoothing": s}) for s in (0.1, 2.0)]
CALLS[torch._foreach_norm] = [((), options) for options in variants(ord=[1, 3], dtype=[torch.float64])]


def argument(word, x):
    """The tensor that a word stands for: like x, as float64, its classes, or weights of 6 classes, of 1 or of rows."""
    if word == "like":
        return x
    if word == "double":
        return x if x.is_nested else x.detach().double()
    if word in ("int32", "index"):
        rows = 1 if x.is_nested or x.dim() == 0 else len(x)
        index = torch.arange(rows) * 5 % 6
        if not x.is_nested and x.dim() == 4:
            index = index.reshape(-1, 1, 1).expand(-1, 3, 3)
        elif not x.is_nested and x.dim() == 1:
            index = index[0]
        return index.to(torch.int32) if word == "int32" else index
    dtype = x.dtype if x.dtype.is_floating_point else torch.float32
    shape = {"classes": (6,), "ones": (6,), "one": (1,), "rows": (1, 6)}[word]
    return torch.ones(shape, dtype=dtype) if word == "ones" else shares(*shape, dtype=dtype)


@pytest.mark.parametrize("kind", KINDS)
def test_every_function_has_the_result_or_the_error_of_torch(kind):
    assert set(CALLS) == set(_mode._HANDLERS) - ({torch.foreach.norm} if hasattr(torch, "foreach") else set())
    x = elements(kind)
    if kind == "float32":
        x = x.sigmoid()  # which binary_cross_entropy takes
    words = ("like", "double", "index", "int32", "classes", "ones", "one", "rows")

    def given(value):
        return argument(value, x) if isinstance(value, str) and value in words else value

    calls = {}
    for f, signatures in CALLS.items():
        if f is F.binary_cross_entropy and kind != "float32":
            continue
        first = [x] if f is torch._foreach_norm else x
        for args, options in signatures:
            name = f"{torch.overrides.resolve_name(f) or f.__name__}, {args}, {options}"
            calls[name] = lambda f=f, first=first, args=args, options=options: f(
                first, *map(given, args), **{k: given(v) for k, v in options.items()}
            )
    compare(calls)
    if kind in ("int64", "bool", "complex64", "sparse", "meta", "names", "nested"):
        with drt.reproducible() as mode:
            for call in calls.values():
                outcome(call)
        assert set(mode.taken) <= {"sum", "mean", "nansum"}, mode.taken  # whose dtype is that of the elements


# ---- What is compiled --------------------------------------------------------------------------------------------


@pytest.mark.skipif(torch.__version__ < (2, 6), reason="this torch.compile takes no reproducible() into a graph")
@pytest.mark.parametrize("dynamic", [None, True])
def test_compiled_calls_are_taken_as_others(dynamic):
    x, y, w, one = numbers(4, 6), shares(4, 6, seed=1), shares(4, 6, seed=2), torch.tensor(3.0)

    def calls(x, y, w, one):
        with drt.reproducible():
            results = [
                x.sum(axis=1, keepdims=True),
                torch.sum(input=x, dim=0),
                one.sum(0),
                x.var(1),
                torch.var_mean(x, (0, 1))[0],
                x.softmax(axis=1),
                F.softmax(x, 1),
                torch.rms_norm(input=x, normalized_shape=(6,)),
                F.layer_norm(x[:, :0], (0,)),
                F.huber_loss(x, y, delta=math.inf),
                x.sum_to_size(size=(1, 6)),
                torch.linalg.norm(x, "fro"),
            ]
            if COMPILES_NEGATIVE:
                results.append(x.var(correction=-1))
            if HAS_WEIGHT:
                results += [F.l1_loss(x, y, weight=w), F.mse_loss(x, y, weight=w)]
            return results

    torch.compiler.reset()
    compiled = torch.compile(calls, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for a, b in zip(compiled(x, y, w, one), calls(x, y, w, one)):
            assert torch.equal(a, b) and a.dtype == b.dtype
