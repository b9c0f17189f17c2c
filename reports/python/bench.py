"""Times of the Python package beside NumPy and torch, and the bits of a training step:

    python bench.py [--out FOLDER] [--seconds 85] [--parts overhead,graphs,splits,step,cpu,shapes] [--cpu-time]

Writes FOLDER/python.json: on what and when it was measured, and a row for each figure. Prints the figures, and whether they
are where they should be. Needs detreduce and NumPy; torch and a GPU as far as they are there. A part that fails, or for which
no time is left, is a row with what was wrong. Times are medians, in microseconds a call; libraries take turns within a case.
On a busy machine --cpu-time takes the time of the processor in the place of the clock's, and one thread.
DETREDUCE_XSUM names a shared library made of Radford Neal's xsum.c (gitlab.com/radfordneal/xsum), which is timed with the others.
Where there is no git, DETREDUCE_COMMIT says what was measured.
"""

import argparse
import ctypes
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

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
ARGUMENTS = argparse.Namespace(seconds=85.0, cpu_time=False, out=None)
ROWS = []


def left():
    return ARGUMENTS.seconds - (time.monotonic() - BEGAN)


def note(part, case, library, microseconds=None, **more):
    row = dict(part=part, case=case, library=library, **more)
    if microseconds is not None:
        row["microseconds"] = round(microseconds, 3)
    row = {c: row[c] for c in COLUMNS if c in row}
    ROWS.append(row)
    shown = dict(row, bits="") if "bits" in row else row
    print(*(shown.get(c, "") for c in COLUMNS), sep=",", flush=True)


def clock():
    return time.process_time() if ARGUMENTS.cpu_time else time.perf_counter()


def medians(calls, seconds, calls_each=1, pause=0.0):
    """Microseconds a call, by name; the calls take turns, with a pause before each."""
    for call in calls.values():
        call()
    times = {name: [] for name in calls}
    end = clock() + seconds
    while clock() < end or len(times[next(iter(calls))]) < 3:
        for name, call in calls.items():
            time.sleep(pause)
            began = clock()
            for _ in range(calls_each):
                call()
            times[name].append((clock() - began) / calls_each * 1e6)
    return {name: statistics.median(t) for name, t in times.items()}


def calls_of_torch(device):
    """Name, function of `drt` or torch, and arguments of 16 elements, in 2 rows where there are rows."""
    x, y = (torch.linspace(0, 1, 16, device=device) + i for i in range(2))
    rows, w, b = x.reshape(2, 8), torch.ones(8, device=device), torch.zeros(8, device=device)
    classes = torch.tensor([1, 5], device=device)
    x, rows, w, b = (t.clone().requires_grad_() for t in (x, rows, w, b))
    return [
        ("sum", lambda of: of.sum, (x,)),
        ("sum of rows", lambda of: lambda t: of.sum(t, 1), (rows,)),
        ("mean", lambda of: of.mean, (x,)),
        ("mse_loss", lambda of: functions(of).mse_loss, (x, y)),
        ("cross_entropy", lambda of: functions(of).cross_entropy, (rows, classes)),
        ("softmax", lambda of: lambda t: of.softmax(t, -1), (rows,)),
        ("layer_norm", lambda of: lambda t, *p: functions(of).layer_norm(t, (8,), *p), (rows, w, b)),
    ]


def functions(of):
    return F if of is torch else of


def there_and_back(f, arguments):
    up = torch.ones_like(f(*arguments))

    def call():
        for a in arguments:
            a.grad = None
        f(*arguments).backward(up)

    return call


def part_overhead():
    """A call on 16 elements: what it costs beside the work. The C call makes a plan and runs it."""
    x = np.ones(16, np.float32)
    c_call = medians({"C": lambda: dr._core.seconds_of_a_call("sum", x, 10000)}, 0.1)["C"] / 10000
    note("overhead", "sum of 16", "C", c_call, dtype="float32", elements=16, device="cpu")
    cases = [("sum of 16", "cpu", {"detreduce": lambda: dr.sum(x), "numpy": lambda: np.sum(x)})]
    for device in ["cpu"] + (["cuda"] if has_gpu() else []) if torch else []:
        t = torch.ones(16, device=device)
        g = torch.ones(16, device=device, requires_grad=True)
        mode = drt.reproducible()

        def within(t=t, mode=mode):
            with mode:
                t.sum()

        for case, ours, theirs in [
            (", with a gradient", lambda g=g: drt.sum(g), lambda g=g: torch.sum(g)),
            (" within reproducible()", within, lambda t=t: t.sum()),
        ]:
            cases.append((f"torch sum of 16{case}", device, {"detreduce": ours, "torch": theirs}))
        for name, call, arguments in calls_of_torch(device):
            alone = [a.detach() for a in arguments]
            calls = {"detreduce": drt, "torch": torch}
            forward = {k: lambda f=call(of), a=alone: f(*a) for k, of in calls.items()}
            both = {k: there_and_back(call(of), arguments) for k, of in calls.items()}
            cases.append((f"torch {name} of 16", device, forward))
            cases.append((f"torch {name} of 16, forward and backward", device, both))
    for case, device, calls in cases:
        for library, us in medians(calls, 0.4, 300).items():
            note("overhead", case, library, us, dtype="float32", elements=16, device=device)
        if device == "cuda":
            torch.cuda.synchronize()


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
    """4 Mi elements of float32, in rows of 4096, on the cores that this process may use. The threads of OpenMP, which torch has, keep
    a core busy for milliseconds after their work is done; each call waits until they sleep."""
    threads = len(os.sched_getaffinity(0))
    if torch:
        torch.set_num_threads(threads)
    for case, calls in cpu_cases().items():
        for library, us in medians(calls, 1.0, pause=0.03).items():
            note("cpu", case, library, us, dtype="float32", elements=1 << 22, device="cpu", threads=threads)


def xsum_calls(x, y):
    """Exact sums of doubles by the library that DETREDUCE_XSUM names: none without it."""
    if not os.environ.get("DETREDUCE_XSUM"):
        return {}
    library = ctypes.CDLL(os.environ["DETREDUCE_XSUM"])
    library.xsum_large_round.restype = ctypes.c_double
    accumulator = ctypes.create_string_buffer(1 << 17)  # an xsum_large_accumulator is smaller

    def call(add, *inputs):
        arguments = [ctypes.c_void_p(a.ctypes.data) for a in inputs] + [ctypes.c_long(inputs[0].size)]

        def run(inputs=inputs):  # whose memory stays theirs
            library.xsum_large_init(accumulator)
            add(accumulator, *arguments)
            return library.xsum_large_round(accumulator)

        return run

    return {
        "sum": call(library.xsum_large_addv, x),
        "nrm2": call(library.xsum_large_add_sqnorm, x),
        "dot": call(library.xsum_large_add_dot, x, y),
    }


def shape_cases():
    """(name, dtype, library: call), 2^24 elements each: rows and columns of n elements are sums over them. To be called before the
    next is asked for."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(1 << 24)
    ours = {"exact": {}, "tree": {"method": "tree"}}
    for dtype in ("float32", "float64"):
        a, b = x.astype(dtype), x[::-1].astype(dtype)
        ta, tb = (torch.from_numpy(i) for i in (a, b)) if torch else (None, None)
        xsum = xsum_calls(a, b) if dtype == "float64" else {}
        for name, numpy, inputs, theirs in [
            ("sum", np.sum, (a,), lambda: torch.sum(ta)),
            ("nrm2", np.linalg.norm, (a,), lambda: torch.linalg.vector_norm(ta)),
            ("dot", np.dot, (a, b), lambda: torch.dot(ta, tb)),
            ("mse", None, (a, b), lambda: F.mse_loss(ta, tb)),
        ]:
            calls = {m: lambda f=getattr(dr, name), i=inputs, k=k: f(*i, **k) for m, k in ours.items()}
            calls |= {"numpy": lambda f=numpy, i=inputs: f(*i)} if numpy else {}
            calls |= {"torch": theirs} if torch else {}
            calls |= {"xsum": xsum[name]} if name in xsum else {}
            yield name, dtype, calls
    for shape, axis in [("rows", 1), ("columns", 0)]:
        for n in (32, 512, 4096):
            a = x.astype("float32").reshape((-1, n) if axis else (n, -1))
            t = torch.from_numpy(a) if torch else None
            calls = {m: lambda k=k: dr.sum(a, axis, **k) for m, k in ours.items()}
            calls["numpy"] = lambda: np.sum(a, axis)
            calls |= {"torch": lambda: torch.sum(t, axis)} if torch else {}
            yield f"sum, {shape} of {n}", "float32", calls


def part_shapes():
    """2^24 elements by one thread. From memory: they are more than most caches hold."""
    if torch:
        torch.set_num_threads(1)
    for case, dtype, calls in shape_cases():
        for library, us in medians(calls, 2.0).items():
            note("shapes", case, library, us, dtype=dtype, elements=1 << 24, device="cpu", threads=1)


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
    """Sums on the GPU, without what a call costs the host. What fits its cache is there."""
    busy = torch.randn(1 << 28, device="cuda")
    end = time.monotonic() + 2  # a GPU that has just begun to work is slower
    while time.monotonic() < end:
        busy.sum()
        torch.cuda.synchronize()
    del busy
    for dtype in (torch.float32, torch.bfloat16):
        for exponent in range(10, 29, 2):
            x = torch.randn(1 << exponent, device="cuda").to(dtype)
            calls = {"detreduce": lambda: drt.sum(x), "torch": lambda: torch.sum(x)}
            more = dict(dtype=str(dtype)[6:], elements=1 << exponent, device="cuda")
            for library, call in calls.items():
                note("graphs", "sum", library, in_graph(call), **more)


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
    """Of the shape of GPT-2. What is called is a block, and what follows the last one, each with reproducible() around it if
    `ours`, and compiled if `compiled`: then once for all blocks."""

    def __init__(self, vocabulary, width=768, layers=12):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, width)
        self.blocks = torch.nn.ModuleList(Block(width, width // 64) for _ in range(layers))
        self.norm, self.out = torch.nn.RMSNorm(width), torch.nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, targets, of_block, of_end):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = of_block(block, x)
        return of_end(self.norm, self.out, x, targets)


def of_block(block, x):
    return block(x)


def of_end(norm, out, x, targets):
    return F.cross_entropy(out(norm(x)).flatten(0, 1), targets.flatten())


def called(ours, compiled, backend="inductor"):
    """Both of them, as they are called."""

    def wrapped(f):
        def reproducibly(*args):
            with drt.reproducible():
                return f(*args)

        called = reproducibly if ours else f
        return torch.compile(called, backend=backend, dynamic=False) if compiled else called

    return wrapped(of_block), wrapped(of_end)


def steps(model, tokens, targets, compiled, rounds=5, at_once=4):
    """By library, microseconds of a step, and the bits of three: of the loss, of the gradients of the last layer, of all
    gradients. The rate of learning is 0, so that steps are alike. As in training a step follows others of its own library, and
    the host does not wait for it: in each round a library makes two, and then `at_once`, which are timed together. The round
    before all others is for the bits."""
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=0.0, weight_decay=0.0, fused=True)
    libraries = {
        "torch": (called(False, compiled), torch.nn.utils.clip_grad_norm_),
        "detreduce": (called(True, compiled), drt.clip_grad_norm_),
    }

    def step(calls, clip):
        optimizer.zero_grad(set_to_none=True)
        loss = model(tokens, targets, *calls)
        loss.backward()
        norm = clip(parameters, 1.0)
        optimizer.step()
        return loss, norm

    found = {library: ([], []) for library in libraries}
    for turn in range(1 + rounds):
        for library, (calls, clip) in libraries.items():
            times, kinds = found[library]
            for _ in range(3 if turn == 0 else 2):
                loss, norm = step(calls, clip)
                if turn == 0:
                    last = [model.norm.weight.grad, model.out.weight.grad]
                    kinds.append(
                        (bits_of(loss), bits_of(*last), bits_of(norm, *(p.grad for p in parameters)))
                    )
            if turn > 0:
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                for _ in range(at_once):
                    step(calls, clip)
                end.record()
                torch.cuda.synchronize()
                times.append(begin.elapsed_time(end) * 1000 / at_once)
    return {library: (statistics.median(t), bits) for library, (t, bits) in found.items()}


def part_step():
    """A step of a transformer of the shape of GPT-2, bf16, of 8 sequences of 2048 tokens: forward, backward, clipping, AdamW."""
    for compiled in (False, True):
        for vocabulary in (50304, 128256):
            case = f"step, vocabulary {vocabulary}, {'compiled' if compiled else 'eager'}"
            more = dict(dtype="bfloat16", elements=8 * 2048 * vocabulary, device="cuda")
            if left() < (28 if compiled else 10):
                note("step", case, "", note="left out: no time", **more)
                continue
            torch.manual_seed(0)
            model = Model(vocabulary).to("cuda", torch.bfloat16)
            tokens = torch.randint(0, vocabulary, (8, 2048), device="cuda")
            try:
                for library, (us, bits) in steps(model, tokens, tokens.roll(-1, 1), compiled).items():
                    counts = [len(set(b)) for b in zip(*bits)]
                    text = "different in 3 runs: {} losses, {} gradients of the last layer, {} of all"
                    text = text.format(*counts)
                    bits = " ".join("/".join(b) for b in bits)
                    note("step", case, library, us, bits=bits, note=text, **more)
            except Exception as error:  # noqa: BLE001
                text = f"failed: {type(error).__name__}: {str(error)[:300]}"
                note("step", case, "", note=text, **more)
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


def has_gpu():
    return torch is not None and torch.cuda.is_available() and len(dr.devices()) > 1


def output_of(*command):
    try:
        said = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent, timeout=10)
        return said.stdout.strip() if said.returncode == 0 else ""
    except OSError:
        return ""


def provenance():
    """On what this is measured, and what."""
    commit = output_of("git", "rev-parse", "HEAD")
    if commit and output_of("git", "status", "--porcelain"):
        commit += " (with changes)"
    cpuinfo = Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
    models = [line.partition(":")[2].strip() for line in cpuinfo.splitlines() if line[:10] == "model name"]
    found = {
        "commit": commit or os.environ.get("DETREDUCE_COMMIT", "unknown"),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "detreduce": dr.__version__,
        "spec_version": dr._core.spec_version,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__ if torch else "none",
        "cpu": models[0] if models else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],  # beside this, on the CPU
        "clock": "CPU time" if ARGUMENTS.cpu_time else "wall clock",
    }
    if has_gpu():
        driver = output_of("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").splitlines()
        found.update(
            gpu=torch.cuda.get_device_name(), driver=(driver or ["unknown"])[0], cuda=torch.version.cuda
        )
    return found


def marks():
    """What the figures should be, and whether they are: (what, is it so, the figure)."""
    times = {}
    for row in ROWS:
        if "microseconds" in row:
            key = tuple(row.get(c) for c in ("part", "case", "dtype", "elements", "device", "threads"))
            times.setdefault(key, {})[row["library"]] = row["microseconds"]

    def beside(limit, allowed, ours, theirs):
        return f"{limit}", ours <= allowed, f"{ours:.2f} beside {theirs:.2f} us"

    for (part, case, dtype, elements, device, threads), t in times.items():
        if part == "shapes" and "torch" in t:
            name = f"{case}, {dtype}"
            for method, factor in {"tree": 1.0, "exact": 1.5}.items() if case.startswith("sum, ") else ():
                yield f"{name}, {method}", *beside(f"{factor} x torch", factor * t["torch"], t[method], t["torch"])
            if dtype == "float64" and case == "dot":
                yield f"{name}, exact", *beside("2.5 x torch", 2.5 * t["torch"], t["exact"], t["torch"])
        if "detreduce" not in t:
            continue
        ours = t["detreduce"]
        name = f"{case}, {device}" + (f", {dtype} {elements}" if part == "graphs" else "")
        name += f", {threads} threads" if threads else ""
        if part == "overhead" and "C" in t:
            yield name, *beside("C call + 2 us", t["C"] + 2, ours, t["C"])
        elif part == "overhead" and "torch" in t and "reproducible" not in case:
            more = 25 if "gradient" in case or "backward" in case else 8
            yield name, *beside(f"torch + {more} us", t["torch"] + more, ours, t["torch"])
        elif part == "graphs" and "torch" in t and (elements <= 1 << 20 or elements >= 1 << 24):
            factor = 1.2 if elements <= 1 << 20 else 1.0
            yield name, *beside(f"{factor} x torch", factor * t["torch"], ours, t["torch"])
        elif part == "step" and "torch" in t:
            yield name, *beside("1.03 x torch", 1.03 * t["torch"], ours, t["torch"])
        elif part == "cpu" and "torch" in t:
            factor = 1.0 if "logsumexp" in case else 1.25
            yield name, *beside(f"{factor} x torch", factor * t["torch"], ours, t["torch"])
            if "numpy" in t and case == "sum":
                yield name, *beside("numpy", t["numpy"], ours, t["numpy"])


def write(name="python.json"):
    """A row a line."""
    if ARGUMENTS.out is None:
        return
    os.makedirs(ARGUMENTS.out, exist_ok=True)
    rows = ",\n  ".join(json.dumps(row) for row in ROWS)
    text = f'{{\n "provenance": {json.dumps(PROVENANCE)},\n "rows": [\n  {rows}\n ]\n}}\n'
    (Path(ARGUMENTS.out) / name).write_text(text)


PARTS = ("overhead", "graphs", "splits", "step", "cpu", "shapes")


def main():
    global PROVENANCE
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out")
    parser.add_argument("--seconds", type=float, default=85.0)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--cores", type=int, default=0, help=argparse.SUPPRESS)
    parser.parse_args(namespace=ARGUMENTS)
    if ARGUMENTS.cores:
        globals()["part_" + ARGUMENTS.parts]()
        print(json.dumps(ROWS))
        return
    PROVENANCE = provenance()
    for name, value in PROVENANCE.items():
        print(f"{name:12} {value}")
    gpu = has_gpu()
    for part in ARGUMENTS.parts.split(","):
        began = time.monotonic()
        try:
            if part not in PARTS:
                raise ValueError(f"--parts: allowed are {', '.join(PARTS)}, not {part!r}")
            if part in ("graphs", "splits", "step") and torch is None:
                note(part, "", "", note="left out: there is no torch")
            elif part in ("graphs", "step") and not gpu:
                note(part, "", "", note="left out: there is no GPU that detreduce was built for")
            elif left() < {"shapes": 40, "cpu": 25}.get(part, 5):
                note(part, "", "", note="left out: no time")
            elif part in ("cpu", "shapes"):  # in a process of its own, that has no more threads than cores
                for cores in (1,) if ARGUMENTS.cpu_time or part == "shapes" else (1, 2):
                    mine = sorted(os.sched_getaffinity(0))[:cores]
                    command = [sys.executable, os.path.abspath(__file__), "--cores", str(cores), "--parts", part]
                    command += ["--cpu-time"] if ARGUMENTS.cpu_time else []
                    said = subprocess.run(
                        command,
                        preexec_fn=lambda: os.sched_setaffinity(0, mine),
                        check=True,
                        capture_output=True,
                        text=True,
                        timeout=max(5, left()),
                    ).stdout
                    *shown, rows = said.splitlines()
                    print("\n".join(shown))
                    ROWS.extend(json.loads(rows))
            else:
                globals()["part_" + part]()
        except Exception as error:  # noqa: BLE001
            text = (
                error.stderr[-300:] if isinstance(error, subprocess.CalledProcessError) else str(error)[:300]
            )
            note(part, "", "", note=f"failed: {type(error).__name__}: {text}".replace("\n", " "))
        note(part, "all of it", "", (time.monotonic() - began) * 1e6)
        write()
    for what, limit, reached, figure in marks():
        print(f"{'  ok' if reached else 'MISS'}  {what}: at most {limit}: {figure}")


if __name__ == "__main__":
    main()
