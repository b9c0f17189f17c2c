"""Times of the Python package beside NumPy and torch, and the bits of a training step, as CSV:

    python bench.py [--out FILE] [--seconds 60] [--parts overhead,cpu,graphs,step,splits]

Needs detreduce and NumPy; torch and a GPU as far as they are there. A part that fails, or for which no time is left, is a line
with what was wrong. Times are medians, in microseconds a call; libraries take turns within a case.
"""

import argparse
import csv
import os
import statistics
import subprocess
import sys
import time

import numpy as np

import detreduce as dr

try:
    import torch

    import detreduce.torch as drt
    from torch.nn import functional as F
except ImportError:
    torch = None

COLUMNS = "part case dtype elements device threads library microseconds bits note".split()
BEGAN = time.monotonic()
ARGUMENTS = argparse.Namespace(seconds=60.0)


def left():
    return ARGUMENTS.seconds - (time.monotonic() - BEGAN)


def note(part, case, library, microseconds=None, **more):
    row = dict(part=part, case=case, library=library, **more)
    if microseconds is not None:
        row["microseconds"] = f"{microseconds:.3f}"
    WRITER.writerow([row.get(c, "") for c in COLUMNS])
    OUT.flush()


def medians(calls, seconds, calls_each=1):
    """Microseconds a call, by name; the calls take turns."""
    for call in calls.values():
        call()
    times = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[next(iter(calls))]) < 3:
        for name, call in calls.items():
            began = time.perf_counter()
            for _ in range(calls_each):
                call()
            times[name].append((time.perf_counter() - began) / calls_each * 1e6)
    return {name: statistics.median(t) for name, t in times.items()}


def part_overhead():
    """A call on 16 elements: what it costs beside the work."""
    x = np.ones(16, np.float32)
    cases = [("sum of 16", "cpu", {"detreduce": lambda: dr.sum(x), "numpy": lambda: np.sum(x)})]
    for device in ["cpu"] + (["cuda"] if torch and torch.cuda.is_available() else []) if torch else []:
        t = torch.ones(16, device=device)
        g = torch.ones(16, device=device, requires_grad=True)

        def backward(f, g=g):
            g.grad = None
            f(g).backward()

        cases.append(
            (
                "torch sum of 16",
                device,
                {"detreduce": lambda t=t: drt.sum(t), "torch": lambda t=t: torch.sum(t)},
            )
        )
        both = {"detreduce": lambda b=backward: b(drt.sum), "torch": lambda b=backward: b(torch.sum)}
        cases.append(("torch sum of 16, forward and backward", device, both))
        mode = drt.reproducible()

        def inside(t=t, mode=mode):
            with mode:
                t.sum()

        cases.append(
            (
                "torch sum of 16 within reproducible()",
                device,
                {"detreduce": inside, "torch": lambda t=t: t.sum()},
            )
        )
    for case, device, calls in cases:
        for library, us in medians(calls, 0.3, 500).items():
            note("overhead", case, library, us, dtype="float32", elements=16, device=device)


def cpu_cases():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(1 << 22).astype(np.float32)
    rows, targets = x.reshape(1024, 4096), rng.integers(0, 4096, 1024)
    w = np.ones(4096, np.float32)
    cases = {
        "sum": {"detreduce": lambda: dr.sum(x), "numpy": lambda: np.sum(x)},
        "sum of rows": {"detreduce": lambda: dr.sum(rows, 1), "numpy": lambda: np.sum(rows, 1)},
        "logsumexp of rows": {"detreduce": lambda: dr.logsumexp(rows, 1)},
        "softmax of rows": {"detreduce": lambda: dr.softmax(rows)},
        "layer_norm of rows": {"detreduce": lambda: dr.layer_norm(rows, 4096, w, w)},
        "cross_entropy": {"detreduce": lambda: dr.cross_entropy(rows, targets)},
    }
    if torch:
        t, tw, tt = torch.from_numpy(x), torch.from_numpy(w), torch.from_numpy(targets)
        trows = t.reshape(1024, 4096)
        for case, call in {
            "sum": lambda: torch.sum(t),
            "sum of rows": lambda: torch.sum(trows, 1),
            "logsumexp of rows": lambda: torch.logsumexp(trows, 1),
            "softmax of rows": lambda: torch.softmax(trows, 1),
            "layer_norm of rows": lambda: F.layer_norm(trows, (4096,), tw, tw),
            "cross_entropy": lambda: F.cross_entropy(trows, tt),
        }.items():
            cases[case]["torch"] = call
    return cases


def part_cpu():
    """4 Mi elements of float32, in rows of 4096, on the cores that this process may use."""
    threads = len(os.sched_getaffinity(0))
    if torch:
        torch.set_num_threads(threads)
    for case, calls in cpu_cases().items():
        for library, us in medians(calls, 0.4).items():
            note("cpu", case, library, us, dtype="float32", elements=1 << 22, device="cpu", threads=threads)


def in_graph(call, times=20):
    """Microseconds of a call inside a CUDA graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            call()
    graph.replay()
    found = []
    for _ in range(7):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end) * 1000 / times)
    return statistics.median(found)


def part_graphs():
    """Sums on the GPU, without what a call costs the host."""
    for exponent in range(10, 27, 2):
        x = torch.randn(1 << exponent, device="cuda")
        calls = {"detreduce": lambda: drt.sum(x), "torch": lambda: torch.sum(x)}
        for library, call in calls.items():
            note(
                "graphs",
                "sum",
                library,
                in_graph(call),
                dtype="float32",
                elements=1 << exponent,
                device="cuda",
            )


def bits_of(*tensors):
    """A number that knows every bit of the tensors and where it is."""
    total = torch.zeros((), dtype=torch.int64, device=tensors[0].device)
    for t in tensors:
        words = t.detach().contiguous().reshape(-1)
        words = words.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[words.element_size()])
        for begin in range(0, words.numel(), 1 << 26):
            piece = words[begin : begin + (1 << 26)].to(torch.int64)
            places = torch.arange(begin, begin + piece.numel(), device=t.device) * 2 + 1
            total = total * 31 + (piece * places * 0x9E3779B97F4A7C1).sum()
    return f"{int(total) & (2**64 - 1):016x}"


class Block(torch.nn.Module if torch else object):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = torch.nn.RMSNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width, bias=False), torch.nn.Linear(
            width, width, bias=False
        )
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (
            p.unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in self.qkv(self.before(x)).chunk(3, -1)
        )
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Model(torch.nn.Module if torch else object):
    def __init__(self, vocabulary, width=1024, layers=2):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, width)
        self.blocks = torch.nn.ModuleList(Block(width, width // 64) for _ in range(layers))
        self.norm, self.out = torch.nn.RMSNorm(width), torch.nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.out(self.norm(x)).flatten(0, 1), targets.flatten())


def steps(model, tokens, targets, ours, compiled):
    """Microseconds of a step, and the bits of three runs: of the loss, of the gradients of the last layer, of all gradients."""

    def loss_of(tokens, targets):
        if not ours:
            return model(tokens, targets)
        with drt.reproducible():
            return model(tokens, targets)

    call = torch.compile(loss_of) if compiled else loss_of
    clip = drt.clip_grad_norm_ if ours else torch.nn.utils.clip_grad_norm_
    parameters = list(model.parameters())
    times, bits = [], []
    for run in range(3 + 8):
        model.zero_grad(set_to_none=True)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        loss = call(tokens, targets)
        loss.backward()
        norm = clip(parameters, 1.0)
        end.record()
        torch.cuda.synchronize()
        if run < 3:
            last = [model.norm.weight.grad, model.out.weight.grad]
            bits.append((bits_of(loss), bits_of(*last), bits_of(norm, *(p.grad for p in parameters))))
        else:
            times.append(begin.elapsed_time(end) * 1000)
    return statistics.median(times), bits


def part_step():
    """Forward, backward and clipping of a small transformer, bf16: 8 sequences of 2048 tokens."""
    for compiled in (False, True):
        for vocabulary in (50304, 128256):
            torch.manual_seed(0)
            model = Model(vocabulary).to("cuda", torch.bfloat16)
            tokens = torch.randint(0, vocabulary, (8, 2048), device="cuda")
            targets = tokens.roll(-1, 1)
            for ours in (False, True):
                case = f"step, vocabulary {vocabulary}, {'compiled' if compiled else 'eager'}"
                library = "detreduce" if ours else "torch"
                more = dict(dtype="bfloat16", elements=8 * 2048 * vocabulary, device="cuda")
                if left() < (25 if compiled else 8):
                    note("step", case, library, note="left out: no time", **more)
                    continue
                try:
                    us, bits = steps(model, tokens, targets, ours, compiled)
                    counts = [len(set(b)) for b in zip(*bits)]
                    text = "different in 3 runs: {} losses, {} gradients of the last layer, {} of all".format(
                        *counts
                    )
                    note(
                        "step", case, library, us, bits=" ".join("/".join(b) for b in bits), note=text, **more
                    )
                except Exception as error:  # noqa: BLE001
                    note(
                        "step",
                        case,
                        library,
                        note=f"failed: {type(error).__name__}: {str(error)[:200]}",
                        **more,
                    )
            del model
            torch.cuda.empty_cache()


def part_splits():
    """Losses of tokens, and gradients of logits, of a batch of 8 and of the same in batches of 4 and of 1."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokens, vocabulary = (16384, 50304) if device == "cuda" else (64, 5030)
    logits = torch.randn(tokens, vocabulary, device=device).to(torch.bfloat16)
    targets = torch.randint(0, vocabulary, (tokens,), device=device)
    for library, norm, loss in (
        ("torch", F.rms_norm, F.cross_entropy),
        ("detreduce", drt.rms_norm, drt.cross_entropy),
    ):
        bits = []
        for parts in (1, 2, 8):
            losses, gradients = [], []
            for x, t in zip(logits.chunk(parts), targets.chunk(parts)):
                x = x.clone().requires_grad_()
                each = loss(norm(x, (vocabulary,)), t, reduction="none")
                each.sum().backward()
                losses.append(each.detach())
                gradients.append(x.grad)
            bits.append(bits_of(torch.cat(losses), torch.cat(gradients)))
            del losses, gradients
        text = f"{len(set(bits))} different of batches of 8, 4 and 1"
        note(
            "splits",
            "rms_norm and cross_entropy",
            library,
            bits=" ".join(bits),
            note=text,
            dtype="bfloat16",
            device=device,
        )


PARTS = ("overhead", "cpu", "graphs", "step", "splits")


def main():
    global OUT, WRITER
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="-")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--cores", type=int, default=0, help=argparse.SUPPRESS)
    parser.parse_args(namespace=ARGUMENTS)
    OUT = sys.stdout if ARGUMENTS.out == "-" else open(ARGUMENTS.out, "w", newline="")
    WRITER = csv.writer(OUT)
    if ARGUMENTS.cores:
        part_cpu()
        return
    WRITER.writerow(COLUMNS)
    for library, version in [("detreduce", dr.__version__), ("numpy", np.__version__)] + (
        [("torch", torch.__version__)] if torch else []
    ):
        note("version", "", library, note=version)
    gpu = torch is not None and torch.cuda.is_available() and len(dr.devices()) > 1
    note("version", "", "gpu", note=torch.cuda.get_device_name() if gpu else "none")
    for part in ARGUMENTS.parts.split(","):
        try:
            if part not in PARTS:
                raise ValueError(f"--parts: allowed are {', '.join(PARTS)}, not {part!r}")
            if part != "overhead" and part != "cpu" and torch is None:
                note(part, "", "", note="left out: there is no torch")
            elif part in ("graphs", "step") and not gpu:
                note(part, "", "", note="left out: there is no GPU that detreduce was built for")
            elif left() < 5:
                note(part, "", "", note="left out: no time")
            elif part == "cpu":  # in a process of its own, that has no more threads than cores
                for cores in (1, 2):
                    mine = sorted(os.sched_getaffinity(0))[:cores]
                    text = subprocess.run(
                        [sys.executable, os.path.abspath(__file__), "--cores", str(cores)],
                        preexec_fn=lambda: os.sched_setaffinity(0, mine),
                        check=True,
                        capture_output=True,
                        text=True,
                        timeout=max(5, left()),
                    ).stdout
                    OUT.write(text)
                    OUT.flush()
            else:
                globals()["part_" + part]()
        except Exception as error:  # noqa: BLE001
            text = (
                error.stderr[-300:] if isinstance(error, subprocess.CalledProcessError) else str(error)[:300]
            )
            note(part, "", "", note=f"failed: {type(error).__name__}: {text}".replace("\n", " "))


if __name__ == "__main__":
    main()
