"""What the tests of installations and packages have in common: the program that they run, and how."""

import os
import pathlib
import re
import struct
import subprocess
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("UNISONO_BUILD_DIR", ROOT / "build"))
PROGRAM = ROOT / "tests/install/uses_unisono.c"
VERSION = re.search(r"project\(unisono VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
PYTHON = "/usr/bin/python3"
RANKS = 2
PIECES = 1000

LAUNCHER = {
    "mpich": ["mpiexec.mpich"],
    "openmpi": ["mpiexec.openmpi", "--oversubscribe", "--allow-run-as-root"],
}
MPI_PACKAGE = {"mpich": "mpich", "openmpi": "ompi-c"}

each_mpi = pytest.mark.parametrize("mpi", LAUNCHER)


def run(command, seconds=300, **options) -> str:
    """Standard output of a command that must succeed; shows all it said when it does not."""
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          timeout=seconds, stdin=subprocess.DEVNULL, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def fetch_from_pypi(package: str, folder: pathlib.Path) -> pathlib.Path:
    """The programs of a package in a virtual environment of its own; skips the test where PyPI cannot
    be reached."""
    run([PYTHON, "-m", "venv", "--without-pip", folder])
    fetched = subprocess.run(
        [PYTHON, "-m", "pip", "--disable-pip-version-check", "--python", folder / "bin/python", "install",
         "--quiet", "--retries", "1", "--timeout", "15", package],
        capture_output=True, text=True, timeout=300)  # fmt: skip
    if fetched.returncode != 0:
        pytest.skip(f"{package} cannot be fetched from PyPI")
    return folder / "bin"


def require_library(mpi: str) -> None:
    for name in (f"libunisono-{mpi}.so", f"libunisono-{mpi}-engine.so"):
        if not (BUILD / "lib" / name).exists():
            pytest.skip(f"{name} has not been built")


def check_data(path: pathlib.Path) -> None:
    """That PROGRAM, run with two ranks, wrote what it should have."""
    assert path.read_bytes() == struct.pack(f"{RANKS * PIECES}i", *range(RANKS * PIECES))


def run_program(program: pathlib.Path, mpi: str, folder: pathlib.Path, environment=()) -> str:
    """Runs it with two ranks and checks the file it wrote; returns what it printed."""
    printed = run([*LAUNCHER[mpi], "-n", RANKS, "env", *environment, program, folder / "data"])
    check_data(folder / "data")
    return printed


def assert_unisono_did_it(printed: str) -> None:
    assert re.search(r"^unisono_strategy=(?!none$)\w+", printed, re.MULTILINE), printed


def assert_command_works(command: pathlib.Path | str, mpi: str, folder: pathlib.Path, **options) -> None:
    """Builds PROGRAM in the folder and runs it with two ranks by `unisono run`."""
    program = folder / f"program.{mpi}"
    run([f"mpicc.{mpi}", PROGRAM, "-o", program])
    assert_unisono_did_it(run([command, "run", "--", *LAUNCHER[mpi], "-n", RANKS, program, folder / "data"],
                              **options))
    check_data(folder / "data")


def dead_links(documents: pathlib.Path) -> list[tuple[str, str]]:
    """Links and pictures of Markdown pages below this folder that lead to no file: page and target."""
    pages = sorted(documents.rglob("*.md"))
    assert len(pages) > 10, documents
    reader = MarkdownIt("commonmark").enable("table")
    dead = []
    for page in pages:
        blocks = reader.parse(page.read_text())
        words = [word for block in blocks for word in block.children or []]
        targets = [word.attrs[name] for word in words for name in ("href", "src") if name in word.attrs]
        local = [unquote(target).split("#")[0] for target in targets if not re.match(r"\w+:", target)]
        dead += [(str(page), target) for target in local if not (page.parent / target).exists()]
    return dead
