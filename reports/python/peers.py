"""Times of reductions of flat arrays, rows and columns, of row ops and losses on a GPU beside torch, torch.compile and Liger Kernel:

    python peers.py [--out FOLDER] [--seconds 240] [--parts reductions,row_ops] [--bytes 1073741824] [--jobs 6]

Writes FOLDER/peers.json: on what and when it was measured, and a row for each figure. Times are medians, in microseconds a call, by
CUDA events, without the host's; libraries take turns. Reductions are of --bytes times 4, row ops of rows of --bytes in all. Needs torch, a GPU and
detreduce for it. liger_kernel is timed where it is there; a library that fails is a row with what was wrong. What torch.compile makes
is compiled before, by as many processes as --jobs.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

import bench
import torch
from bench import ARGUMENTS, note
from torch.nn import functional as F

import detreduce as dr
import detreduce.torch as drt

try:
    from liger_kernel.transformers import functional as liger
except ImportError:
    liger = None

DTYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
LENGTHS = (1024, 4096, 16384, 50257, 65536, 131072, 262144)


def medians(calls, rounds=7):
    """Microseconds of the GPU for a call, by name; a text in place of a time where the call failed."""
    found, times, host = {}, {}, {}
    for name, call in calls.items():
        try:
            call(), call()
            torch.cuda.synchronize()
            began = time.perf_counter()
            call()
            times[name], host[name] = [], time.perf_counter() - began
        except Exception as error:  # noqa: BLE001
            found[name] = f"failed: {type(error).__name__}: {str(error)[:200]}".replace("\n", " ")
    torch.cuda.synchronize()
    names = list(times)
    for _ in range(rounds):
        pairs = []
        names.append(names.pop(0))
        for name in names:
            # The GPU waits until the host is done, whose time would be in that of the call: of Liger's cross entropy 12 ms.
            torch.cuda._sleep(int((3 * host[name] + 2e-3) * 2e9))
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            calls[name]()
            end.record()
            pairs.append((name, begin, end))
        torch.cuda.synchronize()
        for name, begin, end in pairs:
            times[name].append(begin.elapsed_time(end) * 1000)
    return found | {name: statistics.median(t) for name, t in times.items()}


def rows_of(n, dtype, size):
    """As many rows of n normal numbers as take `size` bytes."""
    count = size // (n * dtype.itemsize)
    x = torch.empty(count * n, dtype=dtype, device="cuda")
    for piece in x.split(1 << 26):  # normal_() of all of it takes more memory
        piece.normal_()
    return x.reshape(count, n)


def reductions():
    """(case, dtype, elements, library: call): those of `exact` and `tree` are ours. To be called before the next is asked for."""
    ours = {
        "sum": (dr.sum, torch.sum, ("exact", "tree")),
        "nrm2": (dr.nrm2, lambda x, dim: torch.linalg.vector_norm(x, dim=dim), ("exact", "tree")),
        "variance": (dr.var, torch.var, ("exact", "tree")),
        "prod": (dr.prod, lambda x, dim: torch.prod(x) if dim is None else torch.prod(x, dim), ("tree",)),
        "argmax": (dr.argmax, torch.argmax, (None,)),
        "minmax": (dr.minmax, lambda x, dim: torch.aminmax(x, dim=dim), (None,)),
        "count_nonzero": (dr.count_nonzero, torch.count_nonzero, (None,)),
    }
    shapes = [("flat", 0, None)] + [(f"rows of {n}", n, 1) for n in (32, 128, 512, 4096, 65536)]
    shapes += [("4096 columns", 4096, 0), ("columns of 4096", 0, 0)]
    for dtype, name in DTYPES.items():
        x = rows_of(1, dtype, 4 * ARGUMENTS.bytes)
        for op, (mine, theirs, methods) in ours.items():
            some = [s for s in shapes if s[0] in ("flat", "rows of 4096", "columns of 4096")]
            for shape, n, dim in shapes if op in ("sum", "argmax") else some:
                a = x.reshape(-1) if dim is None else x.reshape(-1, n) if n else x.reshape(4096, -1)
                words = {m or "exact": {"method": m} if m else {} for m in methods}
                calls = {m: lambda k=k: mine(a, dim, **k) for m, k in words.items()}
                if not (op == "prod" and x.numel() > 1 << 30):  # torch 2.11 writes outside its results, says memcheck
                    calls["torch"] = lambda: theirs(a, dim=dim)
                yield f"{op}, {shape}", name, x.numel(), calls
        first, second = x.reshape(2, -1)
        calls = {m: lambda m=m: dr.dot(first, second, method=m) for m in ("exact", "tree")}
        yield "dot, flat", name, x.numel(), calls | {"torch": lambda: torch.dot(first, second)}


def row_op_kinds():
    """Name: (of a library's functions, the call on rows x and what else there is; of Liger Kernel; with gradients, too)."""
    last = (-1,)

    def norms(f):
        return lambda x, t, w, b: f.layer_norm(x, x.shape[-1:], w, b)

    def roots(f):
        return lambda x, t, w, b: f.rms_norm(x, x.shape[-1:], w, 1e-6)

    return {
        "softmax": (lambda f: lambda x, t, w, b: f.softmax(x, *last), lambda x, t, w, b: liger.liger_softmax(x), True),
        "log_softmax": (lambda f: lambda x, t, w, b: f.log_softmax(x, *last), None, False),
        "logsumexp": (
            lambda f: lambda x, t, w, b: (torch if f is F else f).logsumexp(x, *last),
            None,
            False,
        ),
        "cross_entropy": (
            lambda f: lambda x, t, w, b: f.cross_entropy(x, t),
            lambda x, t, w, b: liger.liger_cross_entropy(x, t),
            True,
        ),
        "layernorm": (norms, lambda x, t, w, b: liger.liger_layer_norm(x, w, b, 1e-5), True),
        "rmsnorm": (roots, lambda x, t, w, b: liger.liger_rms_norm(x, w, 1e-6, in_place=False), True),
    }


def forward_and_backward(call, inputs, wanted, up):
    out = call(*inputs)
    return torch.autograd.grad(out, wanted, None if out.dim() == 0 else up)


def row_ops(compiled_only=False):
    """As reductions(), of rows; "with gradients" is forward and backward, in which Liger Kernel writes the gradient of cross entropy
    over the logits."""
    for dtype in (torch.bfloat16, torch.float32):
        for n in LENGTHS:
            x = rows_of(n, dtype, ARGUMENTS.bytes)
            target = torch.arange(x.shape[0], device="cuda") * 7919 % n
            w, b = torch.ones(n, dtype=dtype, device="cuda"), torch.zeros(n, dtype=dtype, device="cuda")
            up = rows_of(n, dtype, ARGUMENTS.bytes)
            for op, (of, of_liger, has_gradients) in row_op_kinds().items():
                for gradients in (False, True) if has_gradients else (False,):
                    leaves = [a.detach().requires_grad_(gradients) for a in (x, w, b)]
                    wanted = leaves[: {"layernorm": 3, "rmsnorm": 2}.get(op, 1)]
                    torch._dynamo.reset()
                    calls = {"detreduce": of(drt), "torch": of(F), "compiled": torch.compile(of(F), dynamic=False)}
                    if liger and of_liger:
                        calls["liger"] = of_liger
                    calls = {"compiled": calls["compiled"]} if compiled_only else calls
                    timed = {}
                    for name, call in calls.items():
                        mine, want = leaves, wanted
                        if name == "liger" and op == "cross_entropy":
                            mine = want = [x.clone().requires_grad_(gradients), *leaves[1:]]
                            want = want[:1]
                        inputs = (mine[0], target, mine[1], mine[2])
                        if gradients:
                            timed[name] = lambda c=call, i=inputs, v=want: forward_and_backward(c, i, v, up)
                        else:
                            timed[name] = lambda c=call, i=inputs: c(*i)
                    case = f"{op}{' with gradients' if gradients else ''}, rows of {n}"
                    yield case, DTYPES[dtype], x.numel(), timed


def compile_ahead():
    """Fills the cache of torch.compile, of every --jobs-th case one process."""
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", f"/tmp/detreduce_inductor_{os.getuid()}")
    if ARGUMENTS.jobs < 2:
        return
    command = [sys.executable, os.path.abspath(__file__), "--bytes", str(ARGUMENTS.bytes)]
    command += ["--jobs", str(ARGUMENTS.jobs), "--compile"]
    more = dict(os.environ, TORCHINDUCTOR_COMPILE_THREADS="1")
    several = [subprocess.Popen([*command, str(i)], env=more) for i in range(ARGUMENTS.jobs)]
    for one in several:
        one.wait()


def measure(part, cases):
    for case, dtype, elements, calls in cases:
        if bench.left() < 2:
            note(part, case, "", note="left out: no time")
            break
        for library, us in medians(calls).items():
            figure = dict(note=us) if isinstance(us, str) else dict(microseconds=us)
            note(part, case, library, **figure, dtype=dtype, elements=elements, device="cuda")


PARTS = {"reductions": reductions, "row_ops": row_ops}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--parts", type=lambda s: s.split(","), default=list(PARTS))
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--compile", type=int, default=None, help=argparse.SUPPRESS)
    parser.parse_args(namespace=ARGUMENTS)
    for part in ARGUMENTS.parts:
        if part not in PARTS:
            parser.error(f"--parts: allowed are {', '.join(PARTS)}, not {part!r}")
    if not bench.has_gpu():
        parser.error("there is no GPU that detreduce was built for")
    if ARGUMENTS.compile is not None:
        for i, (_, _, _, calls) in enumerate(row_ops(compiled_only=True)):
            if i % ARGUMENTS.jobs == ARGUMENTS.compile:
                calls["compiled"]()
        return
    bench.PROVENANCE = bench.provenance()
    for part in ARGUMENTS.parts:
        began = time.monotonic()
        if part == "row_ops":
            compile_ahead()
            note(part, "compiled", "", (time.monotonic() - began) * 1e6)
            bench.BEGAN += time.monotonic() - began  # which is none of the seconds
        measure(part, PARTS[part]())
        note(part, "all of it", "", (time.monotonic() - began) * 1e6)
        bench.write("peers.json")


if __name__ == "__main__":
    main()
