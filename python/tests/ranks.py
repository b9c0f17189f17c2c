"""The processes of test_distributed.py: ranks.py STORE DEVICE WORLD…, one world after the other.

They are forks of one that has imported all they need, which takes seconds.
"""

import os
import signal
import sys

import numpy as np
import torch
import torch._dynamo  # which the first DTensor would import
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

try:
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
except ImportError:  # torch 2.4
    from torch.distributed._tensor import Replicate, Shard, distribute_tensor

import detreduce as dr
import detreduce.torch as drt
import detreduce.torch.distributed as drd


def forked(world):
    """The number of a process that was forked; in this one, when all have ended, None."""
    ranks = []
    for rank in range(world):
        ranks.append(os.fork())
        if ranks[-1] == 0:
            signal.alarm(600)
            return rank
    while ranks:
        ended, status = os.wait()
        if ended not in ranks:  # a process of a library's
            continue
        ranks.remove(ended)
        if status != 0:
            for other in ranks:  # which would wait for it
                os.kill(other, signal.SIGKILL)
            sys.exit(f"a rank of {world} ended with {os.waitstatus_to_exitcode(status)}")


store, device = sys.argv[1:3]
for world in map(int, sys.argv[3:]):
    if (rank := forked(world)) is not None:
        break
else:
    sys.exit()

torch.set_num_threads(1)
if device == "cuda":
    torch.cuda.set_device(rank)
torch.set_default_device(device)
dist.init_process_group(
    "nccl" if device == "cuda" else "gloo", init_method=f"file://{store}.{world}", world_size=world, rank=rank
)


def numbers(*shape, dtype=torch.float32, seed=0):
    x = torch.randn(
        shape, generator=torch.Generator("cpu").manual_seed(seed), dtype=torch.float64, device="cpu"
    )
    return x.to(dtype).to(device)


def part(x):
    """Rows of x, of every rank another number."""
    cuts = [x.shape[0] * r * (r + 1) // (world * (world + 1)) for r in range(world + 1)]
    return x[cuts[rank] : cuts[rank + 1]]


def same(a, b, what):
    assert a.dtype == b.dtype and a.shape == b.shape, (what, a, b)
    assert a.equal(b) or (a.isnan().all() and b.isnan().all()), (what, a, b)


def differentiated(f, x, *rest):
    x = x.clone().requires_grad_()
    y = f(x, *rest)
    y.backward(torch.full(y.shape, 1.5).to(y.dtype))
    return y.detach(), x.grad


x = numbers(61, 7, dtype=torch.float32).to(torch.float8_e5m2)
(mean, dx), (want, wanted) = differentiated(drd.mean, part(x)), differentiated(drt.mean, x)
same(mean.float(), want.float(), "mean of float8")
same(dx.float(), part(wanted).float(), "gradient of a mean of float8")
for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
    x, y = numbers(61, 7, dtype=dtype), numbers(61, 7, dtype=dtype, seed=1)
    for dim in (None, 0):
        for ours, theirs in (
            (drd.sum, drt.sum),
            (drd.mean, drt.mean),
            (drd.norm, lambda v, dim: drt.norm(v, 2, dim)),
        ):
            same(ours(part(x), dim=dim), theirs(x, dim=dim), (ours, dim))
        for op, f in (("argmin", dr.argmin), ("argmax", dr.argmax)):
            for nan in ("propagate", "ignore"):
                v = torch.where(y > 1, torch.nan, (x * 2).round()) if nan == "ignore" else (x * 2).round()
                same(drd.reduce(op, part(v), dim=dim, nan=nan), f(v, dim, nan=nan), (op, dim, nan))
        for op, f in (("min", dr.min), ("max", dr.max), ("count_nonzero", dr.count_nonzero)):
            same(drd.reduce(op, part(x), dim=dim), f(x, dim), (op, dim))
        same(drd.reduce("var", part(x), dim=dim, ddof=1), dr.var(x, dim), ("var", dim))
    same(drd.sum(part(x), np.int64(0), True), drt.sum(x, 0, True), "dim of NumPy")
    same(drd.reduce("dot", part(x), part(y)), dr.dot(x, y), "dot")
    (mean, dx), (want, wanted) = differentiated(drd.mean, part(x)), differentiated(drt.mean, x)
    same(mean, want, "mean")
    assert torch.allclose(dx, part(wanted), rtol=1e-2)

    t = torch.arange(61) % 7
    t[::5] = -100
    q, w = torch.softmax(y.float(), 1).to(dtype), numbers(7, dtype=dtype, seed=2).abs() + 0.5
    for reduction in ("sum", "mean"):
        for target, weight, smoothing in ((t, None, 0.0), (t, w, 0.1), (q, None, 0.0)):
            got = differentiated(
                lambda v: drd.cross_entropy(
                    v, part(target), weight, reduction=reduction, label_smoothing=smoothing
                ),
                part(x),
            )
            want = differentiated(
                lambda v: drt.cross_entropy(
                    v, target, weight, reduction=reduction, label_smoothing=smoothing
                ),
                x,
            )
            same(got[0], want[0], ("cross_entropy", reduction, smoothing))
            same(got[1], part(want[1]), ("gradient of cross_entropy", reduction, smoothing))
        got, want = drd.nll_loss(part(x), part(t), w, reduction=reduction), drt.nll_loss(
            x, t, w, reduction=reduction
        )
        same(got, want, ("nll", reduction))
        for name, z in (
            ("mse", x),
            ("mae", x),
            ("huber", x),
            ("smooth_l1", x),
            ("bce", q),
            ("bce_with_logits", x),
            ("kl_div", x),
        ):
            for weight in (None, q):
                mine = None if weight is None else part(weight)
                got = differentiated(
                    lambda v: drd.loss(name, v, part(q), mine, parameter=0.5, reduction=reduction), part(z)
                )
                want = differentiated(
                    lambda v: drt.loss(name, v, q, weight, parameter=0.5, reduction=reduction), z
                )
                same(got[0], want[0], (name, dtype, reduction))
                same(got[1], part(want[1]), ("gradient of", name, dtype, reduction))

# Gradients that every rank has, and those that are dealt out.
for max_norm in (0.25, 1e-30, 1e9, float("inf")):
    whole = [
        numbers(8, 12),
        numbers(24, dtype=torch.bfloat16, seed=1),
        numbers(12, 2, dtype=torch.float16, seed=2) / 8,
        numbers(5, dtype=torch.float64, seed=3),
    ]

    def parameters(gradients):
        made = []
        for g in gradients:
            p = torch.nn.Parameter(torch.zeros_like(g))
            p.grad = g.clone()
            made.append(p)
        return made

    alone = parameters(whole)
    norm = drt.clip_grad_norm_(alone, max_norm)
    for split in (False, True):
        mine = parameters([part(g) for g in whole] if split else whole)
        same(drd.clip_grad_norm_(mine, max_norm, sharded=split), norm, "norm")
        for p, q in zip(mine, alone):
            same(p.grad, part(q.grad) if split else q.grad, ("clipped", max_norm, p.dtype))

meshes = [init_device_mesh(device, (world,))] + ([init_device_mesh(device, (2, 2))] if world == 4 else [])
for mesh in meshes:
    for placements in (
        ([Shard(0)], [Replicate()]) if mesh.ndim == 1 else ([Replicate(), Shard(0)], [Shard(0), Shard(1)])
    ):
        gradient = numbers(10, 8)
        p = torch.nn.Parameter(distribute_tensor(torch.zeros(10, 8), mesh, placements))
        p.grad = distribute_tensor(gradient, mesh, placements)
        plain = torch.nn.Parameter(torch.zeros(3))
        plain.grad = numbers(3, seed=5)
        alone = parameters([gradient, plain.grad])
        same(drd.clip_grad_norm_([p, plain], 0.5), drt.clip_grad_norm_(alone, 0.5), "norm of a DTensor")
        same(p.grad.full_tensor(), alone[0].grad, "a DTensor")
        whole = distribute_tensor(gradient, mesh, placements)
        same(drd.sum(whole), drt.sum(gradient), "sum of a DTensor")
        same(drd.sum(whole, keepdim=True), drt.sum(gradient, keepdim=True), "the same, kept")
        same(drd.reduce("dot", whole, whole), dr.dot(gradient, gradient), "dot of DTensors")
        sent = whole.redistribute(placements=[Replicate()] * mesh.ndim, async_op=True)
        same(drd.sum(sent), drt.sum(gradient), "sum of what is still sent")
        for ours, theirs in ((drd.sum, drt.sum), (drd.mean, drt.mean)):
            leaf, plain_leaf = whole.detach().requires_grad_(), gradient.clone().requires_grad_()
            got, want = ours(leaf), theirs(plain_leaf)
            same(got.detach(), want.detach(), "sum of a DTensor with a gradient")
            got.backward(), want.backward()
            assert type(leaf.grad) is type(leaf) and leaf.grad.placements == leaf.placements
            same(leaf.grad.full_tensor(), plain_leaf.grad, "gradient of a DTensor")
        for refused, argument in (
            (lambda: drd.cross_entropy(whole, torch.arange(10) % 8), "input"),
            (lambda: drd.mse_loss(gradient, whole), "target"),
            (lambda: drt.mse_loss(gradient, whole), "target"),
            (lambda: drt.sum(whole), "input"),
            (lambda: dr.sum(whole), "input"),
            (lambda: drt.clip_grad_norm_([p], 1.0), "parameters[0]"),
            (lambda: drd.reduce("dot", whole, gradient), "y"),
            (lambda: drd.reduce("argmax", whole), "x"),
        ):
            try:
                refused()
                raise AssertionError("no error")
            except (TypeError, ValueError) as error:
                assert str(error).startswith(argument + ": "), error
        with drt.reproducible() as mode:
            shares = torch.softmax(whole, 1)
        assert type(shares) is type(whole) and mode.left == {"softmax": 1}
        q = torch.softmax(numbers(61, 7), 1).requires_grad_()
        x = numbers(61, 7, seed=1)
        mine = part(q.detach()).clone().requires_grad_()
        drd.cross_entropy(part(x), mine).backward()
        drt.cross_entropy(x, q).backward()
        same(mine.grad, part(q.grad), "gradient of probabilities")

if world == 4:  # a mesh of some of the processes: rows of a mesh of two dimensions
    mesh = init_device_mesh(device, (2, 2), mesh_dim_names=("dp", "tp"))["tp"]
    gradient = numbers(10, 8)
    for placement in (Shard(0), Replicate()):
        whole = distribute_tensor(gradient, mesh, [placement])
        leaf = whole.detach().requires_grad_()
        (p,) = parameters([gradient])
        p = torch.nn.Parameter(distribute_tensor(p.detach(), mesh, [placement]))
        for group in (None, mesh.get_group()):
            p.grad = whole.clone()
            alone = parameters([gradient])
            for ours, theirs, argument in (
                (lambda: drd.sum(whole, group=group), lambda: drt.sum(gradient), "x"),
                (lambda: drd.mean(leaf, group=group).detach(), lambda: drt.mean(gradient), "x"),
                (lambda: drd.norm(whole, group=group), lambda: drt.norm(gradient), "x"),
                (
                    lambda: drd.reduce("dot", whole, whole, group=group),
                    lambda: dr.dot(gradient, gradient),
                    "x",
                ),
                (
                    lambda: drd.clip_grad_norm_([p], 0.5, group=group),
                    lambda: drt.clip_grad_norm_(alone, 0.5),
                    "parameters[0]",
                ),
            ):
                if group is not None:
                    same(ours(), theirs(), ("a mesh of some of the processes", placement))
                    continue
                try:
                    ours()
                    raise AssertionError("no error")
                except ValueError as error:
                    assert str(error).startswith(argument + ": ") and "group=mesh.get_group()" in str(
                        error
                    ), error
        same(p.grad.full_tensor(), alone[0].grad, "clipped")

elsewhere = [torch.nn.Parameter(torch.zeros(3)), torch.nn.Parameter(torch.zeros(3, device="meta"))]
for p in elsewhere:
    p.grad = torch.zeros_like(p)
sparse = torch.nn.Parameter(torch.zeros(3))
sparse.grad = torch.ones(3).to_sparse()
for call, argument in (
    (lambda: drd.clip_grad_norm_([sparse], 1.0), "parameters[0]"),
    (lambda: drd.clip_grad_norm_(None, 1.0), "parameters"),
    (lambda: drd.loss("zzz", x, x), "name"),
    (lambda: drd.reduce("var", x, ddof=-1), "ddof"),
    (lambda: drd.norm(x, 3), "p"),
    (lambda: drd.mse_loss(x, x, "none"), "reduction"),
    (lambda: drd.reduce("prod", x), "op"),
    (lambda: drd.clip_grad_norm_(elsewhere, 1.0), "parameters[1]"),
):
    try:
        call()
        raise AssertionError("no error")
    except (TypeError, ValueError) as error:
        assert str(error).startswith(argument + ": ")
dist.barrier()  # torch, at least to 2.7, may wait for itself where a sum was the last
dist.destroy_process_group()
