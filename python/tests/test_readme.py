"""The Python on the pages: the README of the repository and of the package, and docs/. Every block runs."""

import re
from pathlib import Path

import numpy as np
import pytest

import detreduce as dr

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "python" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^(```|~~~~)python\n(.*?)^\1$", re.M | re.S)
BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}:{number}")
    for page in PAGES
    for number, (_, block) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1)
]


def numpy_names():
    """What a block may take as given."""
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    logits = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    return {"dr": dr, "x": x, "y": x + 1, "logits": logits, "target": np.array([0, 2, 1, 1])}


def torch_names():
    torch = pytest.importorskip("torch")
    import detreduce.torch as drt

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(5, 3)

        def forward(self, x, target):
            return torch.nn.functional.cross_entropy(self.layer(x), target)

    target = torch.tensor([0, 2, 1, 1])
    return {"drt": drt, "torch": torch, "model": Model(), "x": torch.ones(4, 5), "logits": torch.ones(4, 3), "target": target}


@pytest.mark.parametrize("block", BLOCKS)
def test_the_python_of_the_pages_runs(block):
    names = torch_names() if "torch" in block.split("\n")[0] else numpy_names()
    exec(compile(block, "a block of Python", "exec"), names)


def test_there_are_blocks_on_every_page_that_shows_python():
    seen = {param.id.split(":")[0] for param in BLOCKS}
    assert {"README.md", "python/README.md", "docs/start.md"} <= seen
