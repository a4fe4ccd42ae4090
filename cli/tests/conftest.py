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
        return subprocess.run(
            [_BUILD / "bin" / "unisono", *map(str, arguments)],
            capture_output=True, text=True, timeout=120, check=False, **options,
        )  # fmt: skip

    return call
