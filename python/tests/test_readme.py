"""The Python on the pages: the README of the repository and of the package, and docs/. Every block runs."""

import importlib.util
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


def torch_names():
    """What a block with torch may take as given; others run as they are pasted."""
    torch = pytest.importorskip("torch")
    import detreduce.torch as drt

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(5, 3)

        def forward(self, x, target):
            return torch.nn.functional.cross_entropy(self.layer(x), target)

    target = torch.tensor([0, 2, 1, 1])
    return {
        "drt": drt,
        "torch": torch,
        "model": Model(),
        "x": torch.ones(4, 5),
        "logits": torch.ones(4, 3),
        "target": target,
    }


@pytest.mark.parametrize("block", BLOCKS)
def test_the_python_of_the_pages_runs(block):
    names = torch_names() if "torch" in block.split("\n")[0] else {}
    exec(compile(block, "a block of Python", "exec"), names)


def test_the_table_of_the_package_has_all_that_it_exports():
    page = (ROOT / "python" / "README.md").read_text(encoding="utf-8")
    table = page[page.index("| reductions |") :].partition("\n\n")[0]
    of_results = (dr.Extremes, dr.Moments)
    exported = {n for n in dr.__all__ if callable(f := getattr(dr, n)) and f not in of_results}
    assert set(re.findall(r"`(\w+)`", table)) == exported


def test_there_are_blocks_on_every_page_that_shows_python():
    seen = {param.id.split(":")[0] for param in BLOCKS}
    assert {"README.md", "python/README.md", "docs/start.md"} <= seen


def test_the_edge_cases_are_those_of_the_page():
    """docs/edge-cases/edge_cases.py: detreduce gives its true sums, bit by bit, and the page has its lines."""
    spec = importlib.util.spec_from_file_location(
        "edge_cases", ROOT / "docs" / "edge-cases" / "edge_cases.py"
    )
    edge_cases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(edge_cases)
    page = (ROOT / "docs" / "edge-cases.md").read_text(encoding="utf-8")
    for name, dtype, values in edge_cases.CASES:
        x = np.array(values, dtype)
        true = edge_cases.true_sum(x)
        assert dr.sum(x).tobytes() == x.dtype.type(true).tobytes() or (np.isnan(true) and np.isnan(dr.sum(x)))
        assert f"| {name} | {dtype} | {edge_cases.text(true, x.dtype.type)} |" in page
