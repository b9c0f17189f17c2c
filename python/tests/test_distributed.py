"""detreduce.torch.distributed over gloo: the bits of one process, whatever the number of processes."""

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("torch was built without distributed", allow_module_level=True)


@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_bits_are_those_of_one_process(world, tmp_path):
    program = Path(__file__).with_name("ranks.py")
    ranks = [
        subprocess.Popen([sys.executable, str(program), str(tmp_path / "store"), str(world), str(r)])
        for r in range(world)
    ]
    try:
        assert [rank.wait(timeout=300) for rank in ranks] == [0] * world
    finally:
        for rank in ranks:
            rank.kill()
