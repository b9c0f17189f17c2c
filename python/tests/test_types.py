"""The package tells type checkers what its functions take and give, and mypy has nothing to say about it."""

import importlib
import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import detreduce as dr

PACKAGE = Path(dr.__file__).parent
SOURCE = Path(__file__).resolve().parents[2]


def test_the_package_has_types():
    assert (PACKAGE / "py.typed").exists() and (PACKAGE / "_core.pyi").exists()


@pytest.mark.parametrize(
    "module",
    ["detreduce", "detreduce.torch", "detreduce.torch.distributed", "detreduce.dask", "detreduce.mpi"],
)
def test_public_functions_say_what_they_return(module):
    if "torch" in module:
        pytest.importorskip("torch")
    loaded = importlib.import_module(module)
    functions = [
        f
        for name, f in vars(loaded).items()
        if inspect.isfunction(f) and name[0] != "_" and f.__module__.startswith("detreduce")
    ]
    assert len(functions) >= 5
    silent = [
        f.__name__ for f in functions if inspect.signature(f).return_annotation is inspect.Signature.empty
    ]
    assert not silent, silent


def test_mypy_has_nothing_to_say(tmp_path):
    pytest.importorskip("mypy")
    shutil.copytree(PACKAGE, tmp_path / "detreduce", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    options = ["--config-file", str(SOURCE / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "mypy", *options, "detreduce"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr
