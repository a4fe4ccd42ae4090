"""What the demonstration says about its own numbers."""

import collections
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import demo
import pytest

Program = collections.namedtuple("Program", "title")
CHECKPOINT, LATTICE = Program("checkpoint"), Program("lattice")


def runs(native_s, unisono_s):
    return {side: [{"bytes": 1e6, "write_seconds": seconds, "read_seconds": seconds}]
            for side, seconds in (("native", native_s), ("unisono", unisono_s))}


def test_the_table_is_summed_up_with_what_was_slower():
    said = demo.in_short({("mpich", CHECKPOINT): runs(0.9, 1.0), ("openmpi", LATTICE): runs(8.0, 1.0)})
    assert said == ("In short: with Unisono these programs write 0.9 to 8.0 times as fast and read 0.9 to 8.0 times as fast as with"
                    " the MPI library alone, and their files are equal; slower: checkpoint on mpich (write 0.90), checkpoint on mpich"
                    " (read 0.90).")


def test_other_programs_are_warned_of(monkeypatch):
    monkeypatch.setattr(demo, "Path", lambda _: types.SimpleNamespace(read_text=lambda: "9.0 1.0 1.0 4/200 17"))
    assert "Other programs were running before this began (3 at a time)" in demo.busy(demo.others_running(3, 0))
    monkeypatch.setattr(demo, "Path", lambda _: types.SimpleNamespace(read_text=lambda: "9.0 1.0 1.0 1/200 17"))
    assert not demo.busy(demo.others_running(3, 0))


@pytest.mark.parametrize(("words", "said"), [
    (["--ranks", "0"], "0: a number from 1 on"), (["--repeats", "0"], "0: a number from 1 on"),
    (["--directory", "/no/folder"], "nothing can be written into /no/folder"),
    (["--json", "/no/folder/x"], "nothing can be written into /no/folder"),
])  # fmt: skip
def test_what_cannot_be_done_is_said_before_anything_runs(monkeypatch, capsys, words, said):
    monkeypatch.setattr("sys.argv", ["demo.py", *words])
    with pytest.raises(SystemExit):
        demo.parse_arguments()
    assert said in capsys.readouterr().err


def test_launchers_that_are_missing_are_no_missing_programs(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(demo.DemoError, match="none of mpiexec.mpich, mpiexec.openmpi is in PATH"):
        demo.find_jobs(types.SimpleNamespace(build=tmp_path))


def test_a_demonstration_that_is_ended_leaves_no_files(tmp_path):
    """With programs that take their time, in a build of nothing else."""
    for name in ("programs/demo_lattice.mpich", "lib/libunisono-mpich.so", "bin/mpiexec.mpich"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\nsleep 60\n")
        (tmp_path / name).chmod(0o755)
    package = tmp_path / "lib/unisono/python/unisono"
    package.parent.mkdir(parents=True)
    package.symlink_to(Path(demo.__file__).resolve().parents[1] / "cli/unisono")
    (tmp_path / "files").mkdir()
    process = subprocess.Popen([sys.executable, "-B", demo.__file__, "--build", tmp_path, "--directory", tmp_path / "files"],
                               env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}, stderr=subprocess.PIPE, text=True)  # fmt: skip
    deadline = time.monotonic() + 90
    while not list((tmp_path / "files").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=90)[1] == "demo: interrupted\n"
    assert list((tmp_path / "files").iterdir()) == []
