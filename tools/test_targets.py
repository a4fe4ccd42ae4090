"""What `make demo` and `make build` make: what they need, and nothing else."""

import os
import pathlib
import re
import shlex
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("UNISONO_BUILD_DIR", ROOT / "build")).resolve()

pytestmark = pytest.mark.skipif(not (BUILD / "build.ninja").exists(),
                                reason=f"{BUILD} has not been configured for ninja")


def made_for(target: str) -> set[str]:
    """What is compiled and linked for a target, from nothing: files in the build folder."""
    listed = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", target], text=True, check=True,
                            capture_output=True)
    return set(re.findall(r" -o (\S+)", listed.stdout))


@pytest.mark.parametrize("target", ["demo", "product"])
def test_neither_demo_nor_product_makes_tests(target):
    tests = re.compile(r"_test\.dir/|_test$|^(programs|stand-ins)/(?!demo)|^tests/")
    assert not [file for file in made_for(target) if tests.search(file)]


def test_demo_makes_no_benchmark_no_daemon_and_no_file_system():
    rest = re.compile(r"(^|/)(bench|daemons|pocketfs|model|wire)/")
    assert not [file for file in made_for("demo") if rest.search(file)]


def test_demo_makes_what_the_demonstration_starts():
    made = made_for("demo")
    assert {"lib/libunisono-yield.so", "bin/unisono-strategies"} <= made
    for library in (file for file in made_for("product") if re.search(r"-engine\.so$", file)):
        mpi = re.search(r"libunisono-(\w+)-engine", library)[1]
        if mpi == "abi":  # which none of its programs speaks
            continue
        assert {library, f"lib/libunisono-{mpi}.so", f"programs/demo_lattice.{mpi}"} <= made


def test_product_is_all_that_is_installed():
    scripts = "".join(file.read_text() for file in BUILD.glob("**/cmake_install.cmake"))
    built = re.findall(r"TYPE (?:EXECUTABLE|SHARED_LIBRARY|MODULE) "
                       rf'FILES "{BUILD}/((?:bin|lib|libexec)/[^"]+)"', scripts)
    assert len(built) > 8
    assert set(built) <= made_for("product")


def test_the_makefile_names_targets_that_there_are():
    named = re.findall(r"\$\(BUILD_TARGETS\) (.+)", (ROOT / "Makefile").read_text())
    for target in {target for line in named for target in line.split()}:
        assert made_for(target)


def test_targets_ignored_build_or_took_a_folder_with_blanks_for_several():
    targets = ["build", "demo", "unit", "test", "test-mpis", "bench", "papers", "scale", "fuzz", "install", "uninstall",
               "wheel", "deb", "simulate", "clean"]  # fmt: skip
    said = subprocess.run(["make", "--dry-run", *targets, "BUILD=my [own] build", "PREFIX=/my [own] prefix"], cwd=ROOT,
                          text=True, check=True, capture_output=True).stdout  # fmt: skip
    words = [word for line in said.replace("\\\n", " ").splitlines() for word in shlex.split(line)]
    assert [word for word in words if "own" in word
            and f"{ROOT}/my [own] build" not in word and "/my [own] prefix" not in word] == []
    assert said.count("--preset") == said.count("--preset default -B ")


def test_make_test_goes_on_without_pypi(tmp_path):
    """Its first step: with one line that says what is left out."""
    nobody = {"PIP_INDEX_URL": "http://127.0.0.1:9", "PIP_NO_INDEX": "true"}
    done = subprocess.run(["make", "abi-header", f"BUILD={tmp_path}/my build"], cwd=ROOT, env=os.environ | nobody,
                          text=True, capture_output=True, timeout=300)  # fmt: skip
    assert done.returncode == 0
    assert "no engine for the MPI-5 standard ABI, and its tests are skipped" in done.stderr
    assert not (tmp_path / "my build/mpis/mpich").exists()
