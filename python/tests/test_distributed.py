"""detreduce.torch.distributed over gloo: the bits of one process, whatever the number of processes."""

import subprocess
import sys
from pathlib import Path

import pytest

import detreduce as dr

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("torch was built without distributed", allow_module_level=True)


def run(device, worlds, tmp_path):
    program, store = Path(__file__).with_name("ranks.py"), tmp_path / "store"
    subprocess.run([sys.executable, program, store, device, *map(str, worlds)], check=True)


def test_bits_are_those_of_one_process(tmp_path):
    run("cpu", [1, 2, 3, 4], tmp_path)


def test_bits_are_those_of_one_process_on_gpus(tmp_path):
    gpus = len(dr.devices()) - 1
    if gpus == 0 or not torch.cuda.is_available() or not torch.distributed.is_nccl_available():
        pytest.skip("there is no GPU that detreduce was built for, or no NCCL")
    run("cuda", [min(gpus, 4)], tmp_path)
