"""Trains a softmax classifier on the CPU, on a GPU or by several processes: the same curve, bit by bit.

python training.py                      # the loss of each step, as bits
python training.py --device cuda
python training.py --ranks 2            # each process has a part of every batch
python training.py --torch              # the same by torch's own sums and losses
"""

import argparse
import os
import struct
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist

import detreduce.torch as drt
import detreduce.torch.distributed as drd

CLASSES, FEATURES, BATCH, STEPS, RATE = 10, 24, 512, 20, 0.5


def data(step):
    """A batch that is the same everywhere: numbers with few bits, whose classes a hidden classifier knows."""
    i = torch.arange(BATCH * FEATURES, dtype=torch.int64) + step * BATCH * FEATURES
    x = ((i * 2654435761 >> 7) % 2001 - 1000).float().reshape(BATCH, FEATURES) / 1024
    hidden = ((torch.arange(CLASSES * FEATURES) * 40503 >> 3) % 201 - 100).double().reshape(CLASSES, FEATURES)
    return x, (x.double() @ hidden.T).round().argmax(1)


def train(device="cpu", rank=0, ranks=1, ours=True, shuffled=False):
    """The losses of all steps."""
    weights = torch.zeros(CLASSES, FEATURES, device=device)
    losses = []
    for step in range(STEPS):
        x, target = data(step)
        if shuffled:
            order = torch.randperm(BATCH, generator=torch.Generator().manual_seed(step))
            x, target = x[order], target[order]
        part = slice(BATCH * rank // ranks, BATCH * (rank + 1) // ranks)
        x, target = x[part].to(device), target[part].to(device)
        # Products are rounded one by one, everywhere alike; how they are added is what differs.
        products = x[:, None, :] * weights
        if ours:
            logits = drt.sum(products, -1).requires_grad_()
            loss = drd.cross_entropy(logits, target) if ranks > 1 else drt.cross_entropy(logits, target)
        else:
            logits = products.sum(-1).requires_grad_()
            loss = torch.nn.functional.cross_entropy(logits, target)
        (gradient,) = torch.autograd.grad(loss, logits)
        terms = gradient[:, :, None] * x[:, None, :]
        if not ours:
            total = terms.sum(0)
        else:
            total = drd.sum(terms, 0) if ranks > 1 else drt.sum(terms, 0)
        change = (
            total * RATE
        )  # not one operation with the next line: that would be rounded once on some machines
        weights = weights - change
        losses.append(loss.item())
    return losses


def bits(losses):
    return ["0x" + struct.pack(">f", loss).hex() for loss in losses]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    parser.add_argument("--shuffled", action="store_true", help="every batch in another order")
    parser.add_argument("--torch", action="store_true", help="torch's own sums and losses")
    o = parser.parse_args(arguments)
    if o.ranks > 1 and o.rank is None:
        with tempfile.TemporaryDirectory() as folder:
            more = ["--ranks", str(o.ranks), "--store", os.path.join(folder, "store")]
            command = [sys.executable, os.path.abspath(__file__), *more, "--rank"]
            processes = [subprocess.Popen([*command, str(rank)]) for rank in range(o.ranks)]
            sys.exit(max(process.wait() for process in processes))
    if o.rank is not None:
        dist.init_process_group("gloo", init_method=f"file://{o.store}", world_size=o.ranks, rank=o.rank)
    losses = train(o.device, o.rank or 0, o.ranks, not o.torch, o.shuffled)
    if not o.rank:
        print("\n".join(bits(losses)))
    if o.rank is not None:
        dist.barrier()  # torch, at least to 2.7, may wait for itself where a sum was the last
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
