"""The tests run against the copy in the build directory: the one that users get."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# There are other modules of this name: tests take unisono.places.PREFIX, nothing from here.
_BUILD = Path(os.environ.get("UNISONO_BUILD_DIR", Path(__file__).parents[2] / "build")).resolve()
sys.path.insert(0, str(_BUILD / "lib" / "unisono" / "python"))


@pytest.fixture
def sample_report():
    """What the C++ side writes: src/report/report_test.cpp holds it to this file."""
    return Path(__file__).with_name("sample_report.json")


@pytest.fixture
def executable(tmp_path):
    """Makes a small executable script."""

    def make(name, text="#!/bin/sh\n"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def unisono():
    """Runs the command as a user would."""

    def call(*arguments, **options):
        folders = [_BUILD, *_BUILD.parents]
        if "user" in options and not all(folder.stat().st_mode & 0o001 for folder in folders):
            pytest.skip("needs a build that other users can read")
        return subprocess.run(
            [_BUILD / "bin" / "unisono", *map(str, arguments)],
            capture_output=True, text=True, timeout=120, check=False, **options,
        )  # fmt: skip

    return call


@pytest.fixture
def starts_several_programs():
    """Skips the test where the launcher does not: that of Debian 13 (Open MPI 5.0.7) ends with a signal."""

    def check(*launcher):
        if subprocess.run([*launcher, "true", ":", "-n", "1", "true"], check=False, capture_output=True).returncode != 0:
            pytest.skip(f"{launcher[0]} does not start several programs")

    return check
