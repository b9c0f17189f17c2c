"""Reductions whose bits can be relied on: the same for every number of threads, on every CPU and GPU.

    import detreduce as dr
    dr.sum(x)                          # the true sum, rounded once, in whatever order the elements are
    dr.mean(x, axis=0)
    dr.nrm2(x, method="tree")          # the order of the elements means something; faster for some shapes

Methods are those of the library: "exact", "compensated", "kahan", "tree", "serial" and "automatic",
which is exact (of prod, which exact has not, compensated).
"""

from ._core import __version__, spec_version
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

__all__ = [
    "Extremes",
    "Moments",
    "__version__",
    "argmax",
    "argmin",
    "asum",
    "count_nonzero",
    "count_unique",
    "dot",
    "max",
    "mean",
    "min",
    "minmax",
    "moments",
    "nrm2",
    "prod",
    "spec_version",
    "std",
    "sum",
    "var",
]
