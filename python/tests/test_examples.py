"""examples/python: the curves are equal, and the notebook runs."""

import json
import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
FOLDER = Path(__file__).resolve().parents[2] / "examples" / "python"


def test_the_notebook_runs(monkeypatch, capsys):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))
    monkeypatch.syspath_prepend(str(FOLDER))
    cells = json.loads((FOLDER / "training.ipynb").read_text())["cells"]
    names = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert len(set(map(tuple, names["ours"].values()))) == 1 and len(names["ours"]) >= 3
    losses = names["ours"]["CPU"]
    assert (
        len(losses) == names["training"].STEPS and losses[-1] < losses[0]
    )  # positive floats are ordered as their bits are
    assert "two processes" in capsys.readouterr().out
