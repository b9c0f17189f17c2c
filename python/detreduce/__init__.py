"""Reductions whose bits can be relied on: the same for every number of threads, on every CPU and GPU.

    import detreduce as dr
    dr.sum(x)                          # the true sum, rounded once, in whatever order the elements are
    dr.mean(x, axis=0)
    dr.nrm2(x, method="tree")          # the order of the elements means something; faster for some shapes
    dr.cross_entropy(logits, target)

x is an array of NumPy, PyTorch, CuPy or JAX, or of whoever speaks DLPack, and so is the result. Methods are those of the
library: "exact", "compensated", "kahan", "tree", "serial" and "automatic", which is exact (of prod, which exact has not,
compensated). detreduce.torch has functions and modules to train with, detreduce.torch.distributed sums over processes.
"""

from . import _core
from ._core import spec_version
from ._losses import (
    batch_norm,
    bce,
    bce_with_logits,
    clip_grad_norm_,
    cosine_similarity,
    cross_entropy,
    distillation,
    focal,
    group_norm,
    huber,
    kl_div,
    layer_norm,
    log_softmax,
    logsumexp,
    mae,
    mse,
    nll,
    rms_norm,
    smooth_l1,
    softmax,
)
from ._reduce import (
    Extremes,
    Moments,
    argmax,
    argmin,
    asum,
    count_nonzero,
    count_unique,
    dot,
    max,
    mean,
    min,
    minmax,
    moments,
    nrm2,
    prod,
    std,
    sum,
    var,
)
from ._state import State
from ._tools import devices, explain, verify

# By getattr: generated stubs of _core leave out names with underscores, and mypy would refuse it.
__version__: str = getattr(_core, "__version__")

__all__ = [
    "Extremes",
    "Moments",
    "State",
    "__version__",
    "argmax",
    "argmin",
    "asum",
    "batch_norm",
    "bce",
    "bce_with_logits",
    "clip_grad_norm_",
    "cosine_similarity",
    "count_nonzero",
    "count_unique",
    "cross_entropy",
    "devices",
    "distillation",
    "dot",
    "explain",
    "focal",
    "group_norm",
    "huber",
    "kl_div",
    "layer_norm",
    "log_softmax",
    "logsumexp",
    "mae",
    "max",
    "mean",
    "min",
    "minmax",
    "moments",
    "mse",
    "nll",
    "nrm2",
    "prod",
    "rms_norm",
    "smooth_l1",
    "softmax",
    "spec_version",
    "std",
    "sum",
    "var",
    "verify",
]
