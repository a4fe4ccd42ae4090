"""Output as users see it: in terminals of 80 columns, without colour, in pipes, as somebody without a home."""

import contextlib
import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import tempfile
import termios
from pathlib import Path

import pytest

from unisono import places

BUILD = places.PREFIX

NOBODY = 65534
SEQUENCE = re.compile(r"\x1b\[([0-9;]*)m")
LAYOUT = "stripe_bytes=64K,servers=4"
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith("UNISONO_") and name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}  # fmt: skip


def in_terminal(words, columns=80, **variables):
    """What it writes into a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = ENVIRONMENT | {"TERM": "xterm-256color"} | variables
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        written = b""
        with contextlib.suppress(OSError):  # nobody holds the other end any more
            while block := os.read(ours, 1 << 16):
                written += block
        assert process.wait(200) == 0, written
    os.close(ours)
    return written.decode().replace("\r\n", "\n")


@pytest.fixture(params=["--help", "replay --help", "strategies", "report FILE", "report --files FILE", "report --help-fields",
                        f"explain --ranks 8 --nodes 2 --layout {LAYOUT}", "explain --pattern help", "tune list --file TUNE",
                        "tune show --file TUNE", "tune history --file TUNE", "orchestra policies", "pocket profiles"])  # fmt: skip
def words(request, tmp_path, sample_report):
    score = {"calls": 3, "bytes_per_second": 1e9, "deviation": 0.1}
    record = {"machine": "a processor, 64 cores", "software": "Unisono 1, MPICH 4", "storage": "lustre /scratch; 1 MiB over 8 servers",
              "direction": "write", "ranks": 4096, "nodes": 64, "bytes_class": 31, "pieces_class": 21, "gap_class": 13,
              "frozen": False, "updated": 1764000000, "candidates": {"two_phase": score, "two_phase/cb_nodes=2": score}}  # fmt: skip
    run = {"run": "a", "bytes": 1 << 30, "seconds": 2.0, "storage_seconds": 1.0}
    history = {"program": "a_program_with_a_long_name.x", "files": "checkpoint_#.h#", "storage": record["storage"], "machine": "x",
               "ranks": 4096, "nodes": 64, "updated": 1764000000, "runs": [run] * 12}  # fmt: skip
    (tmp_path / "tune").write_text(json_of(record, history))
    names = {"FILE": str(sample_report), "TUNE": str(tmp_path / "tune")}
    return [str(BUILD / "bin" / "unisono"), *(names.get(word, word) for word in request.param.split())]


def json_of(record, history):
    return json.dumps({"unisono_tune": 2, "frozen": False, "records": [record], "histories": [history]})


def test_no_line_is_longer_than_a_terminal_of_80_columns(words):
    shown = SEQUENCE.sub("", in_terminal(words))
    assert "\x1b" not in shown
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    assert "…" not in shown  # what has no room is continued, not left out
    assert len(shown.splitlines()) > 3


def test_with_no_color_nothing_is_coloured(words):
    codes = {code for sequence in SEQUENCE.findall(in_terminal(words, NO_COLOR="1")) for code in sequence.split(";")}
    assert codes <= {"", "0", "1", "2", "3", "4"}  # bold, dim and the like are no colours


def test_columns_are_believed_where_there_is_no_terminal():
    done = subprocess.run([BUILD / "bin" / "unisono", "doctor"], capture_output=True, text=True, env=ENVIRONMENT | {"COLUMNS": "60"},
                          check=False, timeout=120)  # fmt: skip
    assert {len(line) for line in done.stdout.splitlines()} == {60}


def test_a_pipe_gets_nothing_but_text(words):
    done = subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT | {"TERM": "xterm-256color"}, check=True)
    assert "\x1b" not in done.stdout + done.stderr


@pytest.fixture
def open_folder():
    """One that others can get at. Whenever a pytest begins it closes those of all of them."""
    with tempfile.TemporaryDirectory(prefix="unisono-terminal-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def as_nobody(open_folder):
    """Runs the command as a user that is not root, whose home is of a kind."""
    work = open_folder / "work"
    work.mkdir(mode=0o777)
    work.chmod(0o777)
    read_only = open_folder / "home"
    read_only.mkdir(mode=0o555)
    homes = {"read-only": str(read_only), "missing": "/nonexistent/home", "unset": None}
    leave_root = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
    reachable = [*leave_root, "test", "-x", str(BUILD / "bin" / "unisono")]
    if leave_root and (not shutil.which("setpriv") or subprocess.run(reachable, check=False).returncode != 0):
        pytest.skip("needs setpriv, and a build that other users can read")

    def call(home, *words, **variables):
        environment = ENVIRONMENT | variables
        for name in ("XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "HOME", "MPLCONFIGDIR"):
            environment.pop(name, None)
        if homes[home] is not None:
            environment["HOME"] = homes[home]
        return subprocess.run([*leave_root, BUILD / "bin" / "unisono", *map(str, words)], cwd=work, env=environment,
                              capture_output=True, text=True, timeout=120, check=False)  # fmt: skip

    return call


@pytest.mark.parametrize("home", ["read-only", "missing", "unset"])
@pytest.mark.parametrize(("words", "said"), [
    ("strategies", "two_phase"), ("tune list", "Nothing was learnt yet"), ("tune history", "No run was noted yet"),
    ("tune forget --all", ""), ("explain --picture picture.svg", "The rule chooses"), ("pocket status", "mountpoint|no pocket file system")])  # fmt: skip
def test_commands_need_no_home(as_nobody, home, words, said):
    done = as_nobody(home, *words.split())
    assert done.returncode == 0 and re.search(said, done.stdout)
    assert done.stderr == ""


@pytest.mark.parametrize("home", ["read-only", "missing"])
def test_what_cannot_be_kept_is_told_with_the_reason(as_nobody, home):
    done = as_nobody(home, "tune", "freeze")
    assert done.returncode == 2 and re.fullmatch(r"unisono: \S+tune\.json: Permission denied\n", done.stderr)


@pytest.mark.skipif(not (shutil.which("mpiexec.mpich") and (BUILD / "libexec" / "unisono-bench.mpich").exists()),
                    reason="needs MPICH")  # fmt: skip
@pytest.mark.parametrize("home", ["read-only", "missing", "unset"])
@pytest.mark.parametrize("select", ["rule", "measured"])
def test_programs_need_no_home(as_nobody, home, select):
    done = as_nobody(home, "run", "--report", "--", "mpiexec.mpich", "-n", 2, BUILD / "libexec" / "unisono-bench.mpich", "demo",
                     "--segment-bytes", "256K", "--file-bytes", "8M", "--write", "--path", "data", UNISONO_SELECT=select)  # fmt: skip
    assert done.returncode == 0 and "I/O took" in done.stderr
    complaints = [line for line in done.stderr.splitlines() if line.startswith("unisono: ")]
    expected = select == "measured" and home != "unset"
    assert len(complaints) == expected
    assert not expected or complaints[0].endswith("Permission denied; what was learnt is not kept")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("words", ["report FILE", "report --schema", "report --help-fields", "strategies", "--version", "--help"])
def test_output_without_space_is_said_not_a_traceback(sample_report, words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([BUILD / "bin" / "unisono", *words.replace("FILE", str(sample_report)).split()],
                              stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, timeout=200)  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "unisono: output: No space left on device\n")


@pytest.mark.parametrize("words", ["doctor", "run --html io.html -- true", "compare -- true"])
def test_a_current_folder_that_is_gone_is_named(tmp_path, words):
    (tmp_path / "gone").mkdir()
    script = 'rmdir ../gone && exec "$0" "$@"'
    done = subprocess.run(["sh", "-c", script, BUILD / "bin" / "unisono", *words.split()], cwd=tmp_path / "gone",
                          capture_output=True, text=True, env=ENVIRONMENT, timeout=200)  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "unisono: the current folder: No such file or directory\n")


@pytest.mark.parametrize("streams", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_traceback(sample_report, streams):
    done = subprocess.run(["sh", "-c", f'"$0" report "$1" {streams}', BUILD / "bin" / "unisono", sample_report],
                          env=ENVIRONMENT, capture_output=True, timeout=200)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("stream", ["2>&-", "2>/dev/full", "2>&1 | true"])
def test_a_report_that_nobody_can_read_changes_no_exit_code(sample_report, tmp_path, stream):
    libraries = [name for name in ("mpich", "openmpi") if (BUILD / "lib" / f"libunisono-{name}.so").exists()]
    if not libraries:
        pytest.skip("needs a library of Unisono")
    script = f'cat {sample_report} >> "$UNISONO_REPORT_FILE"; sleep 0.2; exit 7'
    command = f'("$0" run --report --mpi {libraries[0]} -- sh -c "$1"; echo $? > code) {stream}'
    subprocess.run(["sh", "-c", command, BUILD / "bin" / "unisono", script], env=ENVIRONMENT, cwd=tmp_path, timeout=200)
    assert (tmp_path / "code").read_text() == "7\n"


@pytest.mark.parametrize("columns", ["0", "1", "x"])
def test_a_width_of_nothing_is_none_that_is_told(sample_report, columns):
    done = subprocess.run([BUILD / "bin" / "unisono", "report", "--files", sample_report], text=True, capture_output=True,
                          env=ENVIRONMENT | {"COLUMNS": columns}, timeout=200)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert columns == "1" or max(map(len, done.stdout.splitlines())) > 60
