"""The command as users call it, with real launchers where the machine has them."""

import fcntl
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from unisono import ending, places, report

BUILD = places.PREFIX  # the tests' package is the one in the build directory

MPIS = [
    pytest.param(name, marks=pytest.mark.skipif(not ready, reason=f"needs {name} and its library"))
    for name in ("mpich", "openmpi")
    for ready in [
        shutil.which(f"mpiexec.{name}") and (BUILD / "lib" / f"libunisono-{name}.so").exists()
    ]
]
EXTRA = {"mpich": [], "openmpi": ["--allow-run-as-root", "--oversubscribe"]}
ENVIRONMENT = {
    k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("UNISONO_")
}


def launch(mpi, ranks=2):
    return [f"mpiexec.{mpi}", *EXTRA[mpi], "-n", str(ranks)]


def test_help_and_version(unisono):
    assert "run" in unisono("--help").stdout
    assert re.fullmatch(rf"unisono 0\.\S+\nin {places.PREFIX}\nfor [a-z, ]+\n", unisono("--version").stdout)
    assert "--strategy" in unisono("run", "--help").stdout


def test_a_misspelt_command_is_told_which_one_was_meant(unisono):
    done = unisono("rnu", "--", "true")
    assert done.returncode == 2 and "No such command 'rnu'. Did you mean 'run'?" in done.stderr
    assert "No such command 'lsit'. Did you mean 'list'?" in unisono("tune", "lsit").stderr


@pytest.mark.parametrize("group", [(), ("tune",), ("pocket",), ("cluster",), ("orchestra",)])
def test_what_commands_do_is_said_in_whole_sentences(unisono, group):
    _, commands = unisono(*group, "--help").stdout.split("\nCommands:\n")
    assert commands.rstrip().endswith(".") and "..." not in commands


@pytest.mark.parametrize("words", [(), ("run",), ("tune", "list")])
def test_help_is_what_the_commands_own_option_shows(unisono, words):
    assert unisono("help", *words).stdout == unisono(*words, "--help").stdout != ""


@pytest.mark.parametrize(("words", "said"), [
    (("rnu",), "No such command 'rnu'. Did you mean 'run'?"),
    (("run", "env"), "'unisono run' has no commands of its own."),
])  # fmt: skip
def test_help_on_what_is_no_command_is_an_error(unisono, words, said):
    done = unisono("help", *words)
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr


def test_a_report_for_programs_is_no_report_file(unisono, tmp_path):
    (tmp_path / "io.json").write_text('{"format": 1, "unisono_version": "0.1.0", "programs": []}\n')
    assert "what --json wrote, for programs" in unisono("report", tmp_path / "io.json").stderr


def test_works_through_a_link_and_without_the_users_python_path(tmp_path):
    link = tmp_path / "unisono"
    link.symlink_to(BUILD / "bin" / "unisono")
    (tmp_path / "click.py").write_text("raise RuntimeError")
    done = subprocess.run([link, "--version"], env=ENVIRONMENT | {"PYTHONPATH": str(tmp_path)},
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout.startswith("unisono ")


@pytest.mark.parametrize("mpi", MPIS)
def test_ranks_have_the_library_and_the_launcher_has_not(unisono, mpi):
    script = 'echo "rank $LD_PRELOAD"; tr "\\0" "\\n" < /proc/$PPID/environ | grep ^LD_PRELOAD'
    done = unisono("run", "--", *launch(mpi), "sh", "-c", script, env=ENVIRONMENT)
    assert done.stdout.splitlines() == [f"rank {BUILD}/lib/libunisono-{mpi}.so"] * 2, done.stderr


@pytest.mark.parametrize("mpi", MPIS)
def test_choices_reach_the_ranks(unisono, mpi, tmp_path):
    hints = tmp_path / "hints"
    hints.write_text("*:cb_nodes=2\n")
    done = unisono(
        "run", "--strategy", "native", "--backend", "posix", "--topology", "nodes=2",
        "--hints", "hints", "--", *launch(mpi, 1), "env",
        env=ENVIRONMENT | {"UNISONO_EXCHANGE": "messages"}, cwd=tmp_path,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    for line in ("UNISONO_STRATEGY=native", "UNISONO_BACKEND=posix", "UNISONO_TOPOLOGY=nodes=2",
                 f"UNISONO_HINTS={hints}", "UNISONO_EXCHANGE=messages"):  # fmt: skip
        assert line in lines, done.stderr


def test_pretended_nodes_may_send_fragments(unisono):
    done = unisono("env", "--topology", "nodes=2,fragments", "--mpi", "mpich", env=ENVIRONMENT)
    assert "UNISONO_TOPOLOGY=nodes=2,fragments" in done.stdout.split(), done.stderr


@pytest.mark.parametrize("mpi", MPIS)
def test_each_program_of_a_job_and_files_of_programs(unisono, mpi, tmp_path, starts_several_programs):
    starts_several_programs(*map(str, launch(mpi, 1)))
    show = ["sh", "-c", "echo $0 $LD_PRELOAD"]
    library = f"{BUILD}/lib/libunisono-{mpi}.so"
    done = unisono("run", "--", *launch(mpi, 1), *show, "a", ":", "-n", 1, *show, "b",
                   env=ENVIRONMENT)  # fmt: skip
    assert sorted(done.stdout.splitlines()) == [f"a {library}", f"b {library}"], done.stderr

    file = tmp_path / "programs"
    file.write_text("-n 1 printenv LD_PRELOAD\n")
    option = {"mpich": ["-configfile"], "openmpi": ["--allow-run-as-root", "--app"]}[mpi]
    done = unisono("run", "--", f"mpiexec.{mpi}", *option, file,
                   env=ENVIRONMENT | {"TMPDIR": str(tmp_path)})  # fmt: skip
    assert done.stdout.splitlines() == [library], done.stderr
    assert list(tmp_path.glob("unisono-*")) == []


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("report", [[], ["--report"]])
def test_exit_code_is_the_programs(unisono, mpi, report):
    # MPICH's launcher itself ends with 141 (SIGPIPE) at times when a process is over at once.
    done = unisono("run", *report, "--", *launch(mpi, 1), "sh", "-c", "sleep 0.1; exit 7",
                   env=ENVIRONMENT)
    assert done.returncode == 7
    assert ("no report" in done.stderr) == bool(report)


@pytest.mark.parametrize("mpi", MPIS)
def test_an_exit_code_as_after_a_signal_without_a_name_ended_the_command(unisono, mpi):
    done = unisono("run", "--report", "--mpi", mpi, "--", "sh", "-c", "exit 170", env=ENVIRONMENT)
    assert done.returncode == 170, done.stderr
    assert "ended with exit code 170" in done.stderr


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("report", [[], ["--report"]])
def test_programs_had_signals_ignored_that_python_ignores(unisono, mpi, report):
    done = unisono("run", *report, "--mpi", mpi, "--", "grep", "SigIgn", "/proc/self/status", env=ENVIRONMENT)
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1))


@pytest.mark.parametrize("mpi", MPIS)
def test_a_report_is_shown_after_the_programs_output(unisono, mpi, sample_report, tmp_path):
    script = f'cat {sample_report} >> "$UNISONO_REPORT_FILE"; echo "$UNISONO_REPORT"'
    environment = ENVIRONMENT | {"TMPDIR": str(tmp_path)}
    done = unisono("run", "--report", "--", *launch(mpi, 1), "sh", "-c", script, env=environment)
    assert done.stdout == "json\n"
    assert "/scratch/chk_0001.h5" in done.stderr
    assert "What cost most, and what to change" in done.stderr
    assert list(tmp_path.glob("unisono-*")) == []


def test_a_file_that_was_open_at_the_end_is_shown_with_how_the_program_ended(
    unisono, sample_report, tmp_path
):
    script = f'cp {sample_report} "$UNISONO_REPORT_TRACES/a.json"; kill -9 $$'
    done = unisono("run", "--report", "--mpi", _any_mpi(), "--", "sh", "-c", script,
                   env=ENVIRONMENT | {"TMPDIR": str(tmp_path)})  # fmt: skip
    assert done.returncode == 137
    text = " ".join(done.stderr.split())
    assert "/scratch/chk_0001.h5" in text
    assert "Not closed (1 file): the program ended with exit code 137, as after SIGKILL before" in text
    assert list(tmp_path.glob("unisono-*")) == []


def test_the_folder_of_traces_is_the_users_alone(unisono):
    script = 'stat -c %a "$UNISONO_REPORT_TRACES/.."'
    done = unisono("run", "--report", "--mpi", _any_mpi(), "--", "sh", "-c", script,
                   env=ENVIRONMENT)  # fmt: skip
    assert done.stdout == "700\n"


@pytest.mark.parametrize("mark, sentence", [
    ("disabled", "UNISONO_DISABLE is set: "),
    ("other-mpi", "the library is for another MPI than the program's: "),
    ("no-engine", "the library could not load its engine: "),
    ("not-opened", "MPI_File_open failed\n"),
])  # fmt: skip
def test_why_there_is_no_report_is_said(unisono, mark, sentence):
    script = f'touch "$UNISONO_REPORT_TRACES/{mark}"'
    done = unisono("run", "--report", "--mpi", _any_mpi(), "--", "sh", "-c", script,
                   env=ENVIRONMENT)  # fmt: skip
    assert done.stderr.startswith(f"unisono: no report: {sentence}") and done.stderr.count("\n") == 1


def test_a_report_file_that_cannot_be_written_is_named(unisono, sample_report, tmp_path):
    script = f'cat {sample_report} >> "$UNISONO_REPORT_FILE"'
    done = unisono("run", "--report", "--mpi", _any_mpi(), "--", "sh", "-c", script,
                   env=ENVIRONMENT | {"UNISONO_REPORT_FILE": f"{tmp_path}/no/report"})  # fmt: skip
    assert f"{tmp_path}/no/report: No such file or directory (errno 2)" in done.stderr
    assert "/scratch/chk_0001.h5" in done.stderr


@pytest.mark.parametrize("name", ["/dev/null", "/dev/stderr", "fifo"])
def test_a_report_file_that_cannot_be_read_again_is_none(unisono, sample_report, tmp_path, name):
    os.mkfifo(tmp_path / "fifo")
    script = f'cat {sample_report} >> "$UNISONO_REPORT_FILE"; exit 7'
    done = unisono("run", "--report", "--mpi", _any_mpi(), "--", "sh", "-c", script, cwd=tmp_path,
                   env=ENVIRONMENT | {"UNISONO_REPORT_FILE": name})  # fmt: skip
    assert done.returncode == 7
    assert f"UNISONO_REPORT_FILE={name}: no regular file" in done.stderr
    assert "/scratch/chk_0001.h5" in done.stderr


def test_the_exit_code_is_the_programs_whatever_others_write_into_its_report_file(unisono, tmp_path):
    script = 'echo "{}" >> "$UNISONO_REPORT_FILE"; exit 7'
    done = unisono("run", "--report", "--mpi", _any_mpi(), "--", "sh", "-c", script,
                   env=ENVIRONMENT | {"UNISONO_REPORT_FILE": str(tmp_path / "io.json")})  # fmt: skip
    assert (done.returncode, done.stderr) == (7, f"unisono: no report: {tmp_path}/io.json line 1: not a report of Unisono\n")


def test_a_folder_of_reports_is_shown_as_its_files(unisono, sample_report, tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    assert "has no report" in unisono("report", folder).stderr
    for name in ("first.json", "second.json"):
        shutil.copy(sample_report, folder / name)
    (folder / "other.txt").write_text("no report")
    one, both = (unisono("report", name).stdout for name in (folder / "first.json", folder))
    assert one and both == one + one


def test_the_fields_of_a_report_are_listed(unisono):
    done = unisono("report", "--help-fields", env=ENVIRONMENT)
    said = re.sub(r"[│\s]+", " ", done.stdout)
    for part in ("file", "direction"):
        for field in report.fields()[part]:
            assert field["key"].replace("/", ".") in said
            assert field["meaning"] in said
    assert "write.bytes.moved" in said
    assert unisono("report", env=ENVIRONMENT).returncode == 2


def test_a_named_report_file_is_kept_and_only_its_news_are_shown(unisono, sample_report, tmp_path):
    file = tmp_path / "all.json"
    file.write_text(sample_report.read_text().replace("chk_0001", "earlier"))
    script = f'sed s/chk_0001/now/ {sample_report} >> "$UNISONO_REPORT_FILE"'
    done = unisono("run", "--report", "--mpi", _any_mpi(), "--", "sh", "-c", script,
                   env=ENVIRONMENT | {"UNISONO_REPORT_FILE": str(file)})  # fmt: skip
    assert "now.h5" in done.stderr and "earlier" not in done.stderr
    assert "earlier" in file.read_text()


def test_a_folder_for_reports_keeps_each_run_in_a_file_of_its_own(unisono, sample_report, tmp_path):
    def run(script):
        done = unisono("run", "--report", "--mpi", _any_mpi(), "--", "sh", "-c", script,
                       env=ENVIRONMENT | {"UNISONO_REPORT_FILE": str(tmp_path)})  # fmt: skip
        assert "warning" not in done.stderr
        return sorted(tmp_path.iterdir())

    assert run("true") == []
    run(script := f'cat {sample_report} >> "$UNISONO_REPORT_FILE"')
    kept = run(script)
    assert [file.read_text() for file in kept] == [sample_report.read_text()] * 2
    assert run("true") == kept


def test_a_named_report_file_is_not_left_empty(unisono, tmp_path):
    (tmp_path / "his").touch()
    for name in ("his", "new"):
        unisono("run", "--report", "--mpi", _any_mpi(), "--", "true", env=ENVIRONMENT | {"UNISONO_REPORT_FILE": str(tmp_path / name)})
    assert [file.name for file in tmp_path.iterdir()] == ["his"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_handed_on(number):
    process = subprocess.Popen(
        [BUILD / "bin" / "unisono", "run", "--report", "--mpi", _any_mpi(), "--", "sh", "-c",
         "trap 'echo got it; exit 5' TERM INT; echo ready; while :; do sleep 0.05; done"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT,
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(number)
    out, _ = process.communicate(timeout=90)
    assert (out, process.returncode) == ("got it\n", 5)


@pytest.mark.parametrize("interrupt", [
    lambda terminal, _group: os.write(terminal, b"\x03"),
    lambda _terminal, group: os.killpg(group, signal.SIGINT),
], ids=["terminal", "group"])  # fmt: skip
def test_an_interrupt_of_the_whole_group_reaches_the_program_once(interrupt):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [BUILD / "bin" / "unisono", "run", "--report", "--mpi", _any_mpi(), "--", "sh", "-c",
         "trap 'echo got it; caught=1' INT; echo ready;"
         " for turn in $(seq 2000); do [ $caught ] && break; sleep 0.05; done; sleep 0.3"],
        stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY),
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    interrupt(ours, process.pid)
    out, errors = process.communicate(timeout=90)
    os.close(ours)
    os.close(theirs)
    assert (out, process.returncode) == ("got it\n", 0)
    assert "no report" in errors


def test_an_interrupt_while_the_program_is_being_started_ends_the_program_not_the_command():
    script = """
import os, signal, subprocess, sys
from unisono import preload, run

class Interrupted(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, stdout=subprocess.PIPE, **options)
        self.stdout.readline()
        os.kill(os.getpid(), signal.SIGINT)

subprocess.Popen = Interrupted
program = ["sh", "-c", "trap 'exit 5' INT; echo ready; while :; do sleep 0.05; done"]
sys.exit(run.run_and_wait(preload.Job(program, "mpich")))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=90,
                          env=ENVIRONMENT | {"PYTHONPATH": str(BUILD / "lib/unisono/python")})  # fmt: skip
    assert (done.returncode, done.stderr) == (5, "")


def test_unknown_strategy_names_the_valid_ones(unisono):
    known = places.known_strategies(BUILD)
    if known is None:
        pytest.skip("unisono-strategies is not built")
    done = unisono("run", "--strategy", "fastest", "--", "true", env=ENVIRONMENT)
    assert done.returncode == 2
    assert done.stderr == (
        "unisono: unknown strategy 'fastest'; valid: "
        + ", ".join(["auto", "orthrus", *(entry.name for entry in known)]) + "\n"
    )  # fmt: skip
    listed = unisono("strategies", env=ENVIRONMENT).stdout
    assert all(entry.name in listed for entry in known)


@pytest.mark.parametrize("words", ["strategies", "explain --strategies mine"])
def test_a_plug_in_that_is_not_used_was_left_out_without_a_word(unisono, tmp_path, words):
    done = unisono(*words.split(), env=ENVIRONMENT | {"UNISONO_PLUGINS": str(tmp_path / "mine.so")})
    assert f"plug-in not used: {tmp_path}/mine.so: " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run"], 2, "nothing to run"),
        (["bench", "foo"], 2, "unknown benchmark 'foo'; valid: demo, "),
        (["run", "--", "no-such-program"], 127, "program not found: no-such-program"),
        (["run", "--topology", "4", "--", "true"], 2, "valid: nodes=N"),
        (["run", "--hints", "/no/such/file", "--", "true"], 2, "does not exist"),
        (["run", "--backend", "foo", "--", "true"], 2, "unknown backend 'foo'; valid: auto, posix,"),
        (["env", "--backend", "foo", "--mpi", "mpich"], 2, "unknown backend 'foo'; valid: auto,"),
        (["run", "--hints", __file__, "--", "true"], 2, "test_command.py line 1: "),
        (["run", "--", "true"], 2, "cannot tell which MPI 'true' uses"),
        (["report", "/dev/null/x"], 2, "does not exist"),
    ],
)
def test_mistakes_are_named(unisono, arguments, code, message):
    done = unisono(*arguments, env=ENVIRONMENT)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_report_renders_a_file(unisono, sample_report):
    assert "/scratch/chk_0001.h5" in unisono("report", sample_report).stdout


def test_report_shows_several_files_and_programs_apart(unisono, sample_report, tmp_path):
    file = tmp_path / "two.json"
    line = sample_report.read_text()
    file.write_text(line + line.replace("launch:7", "launch:8"))
    text = unisono("report", file, sample_report).stdout
    assert text.count("I/O took") == 3
    assert re.search(r"^---- program 2 of 2 -+$", text, re.MULTILINE)


def test_all_numbers_of_each_file_come_with_an_option(unisono, sample_report):
    assert "extents accessed" not in unisono("report", sample_report).stdout
    assert "extents accessed" in unisono("report", "--files", sample_report).stdout


def test_an_empty_report_file_is_said_to_be_empty(unisono, tmp_path):
    file = tmp_path / "report.json"
    file.touch()
    done = unisono("report", file)
    assert done.returncode == 1
    assert f"{file} is empty" in done.stderr
    assert f"with UNISONO_REPORT_FILE={file}" in done.stderr


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("UNISONO_STRATEGY=foo", "unknown strategy 'foo'; valid: auto, "),
        ("UNISONO_BACKEND=foo", "unknown backend 'foo'; valid: auto, posix,"),
        ("UNISONO_HINTS=*:unisono_strategy=foo", 'hint unisono_strategy (UNISONO_HINTS): "foo"; valid: '),
        ("UNISONO_HINTS=*:unisono_backend=foo", 'hint unisono_backend (UNISONO_HINTS): "foo"; valid: '),
        ("UNISONO_HINTS=/data/*:cb_nodes=foo", 'hint cb_nodes (UNISONO_HINTS): "foo"; valid: '),
        ("UNISONO_LAYOUT=foo", 'UNISONO_LAYOUT: "foo"; valid: stripe_bytes=64K,servers=4 '),
        ("UNISONO_FAULTS=foo", 'UNISONO_FAULTS: "foo"; valid: write@OFFSET=ERRNO '),
        ("UNISONO_PRELOAD_CHILDREN=foo", 'UNISONO_PRELOAD_CHILDREN: "foo"; valid: true, false'),
        ("UNISONO_DISABLE=foo", 'UNISONO_DISABLE: "foo"; valid: true, false'),
        ("UNISONO_HINTS=/none", "UNISONO_HINTS: /none cannot be read\n"),
        ("UNISONO_HINTS=foo=", 'UNISONO_HINTS: cannot read "foo="; valid: '),
    ],
)
def test_a_mistake_in_the_environment_ends_the_command_as_one_in_an_option_does(unisono, variable, message):
    """And it does not say that the value is ignored, as the library does, nor names a file alone."""
    name, _, value = variable.partition("=")
    done = unisono("run", "--mpi", "mpich", "--", "true", env=ENVIRONMENT | {name: value})
    assert done.returncode == 2
    assert done.stderr.startswith(f"unisono: {message}") and done.stderr.count("\n") == 1


def test_a_variable_that_nobody_reads_does_not_end_the_command(unisono):
    done = unisono("env", "--mpi", "mpich", env=ENVIRONMENT | {"UNISONO_FOO": "1"})
    assert done.returncode == 0


@pytest.mark.parametrize("variable", ["ROMIO_HINTS", "MPICH_MPIIO_HINTS"])
@pytest.mark.parametrize("own", [{}, {"UNISONO_STRATEGY": "native"}])
def test_what_is_wrong_in_variables_of_other_products_does_not_end_the_command(unisono, tmp_path, variable, own):
    """It did where some variable of Unisono's was set."""
    hints = tmp_path / "hints"
    hints.write_text("zzz\ncb_nodes zero\n")
    for wrong in ("*:cb_nodes=zero,zzz", str(hints)):
        done = unisono("env", "--mpi", "mpich", env=ENVIRONMENT | own | {variable: wrong})
        assert done.returncode == 0, done.stderr


def test_report_closed_to_the_program_what_its_launcher_or_shell_had_opened(unisono):
    """As `mpiexec -n 2 unisono run --report ./app`, and `<(...)`: MPI_Init failed, the file was not there."""
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w"):
        done = unisono("run", "--report", "--mpi", "mpich", "--", "test", "-e", f"/proc/self/fd/{reading}",
                       env=ENVIRONMENT, pass_fds=[reading])  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("rank", "lines"), [("0", 1), ("1", 0)])
def test_ranks_that_each_have_a_command_miss_no_report_but_the_first(unisono, rank, lines):
    done = unisono("run", "--report", "--mpi", "mpich", "--", "true", env=ENVIRONMENT | {"PMI_RANK": rank})
    assert (done.returncode, done.stderr.count("no report")) == (0, lines)


def test_the_command_knew_the_first_rank_by_other_variables_than_the_library():
    shim = (Path(__file__).parents[2] / "src/interpose/shim.c").read_text()
    told_by = re.search(r"is_first_rank\(void\) \{(.*?)\};", shim, re.DOTALL)[1]
    assert tuple(re.findall(r'"(\w+)"', told_by)) == ending.RANKS


def test_a_mistake_in_a_site_file_that_the_user_names_ends_the_command(unisono, tmp_path):
    site = tmp_path / "site"
    site.write_text("leave_alon /x\n")
    done = unisono("env", "--mpi", "mpich", env=ENVIRONMENT | {"UNISONO_SITE_FILE": str(site)})
    assert done.returncode == 2
    assert f'{site} line 1: cannot read "leave_alon /x"; valid: ' in done.stderr
    assert "leave_alone glob" in done.stderr


def test_strategy_help_lists_them_all(unisono):
    done = unisono("run", "--strategy", "help", "--mpi", "mpich", "--", "true", env=ENVIRONMENT)
    assert done.returncode == 0
    assert all(f"  {name}" in done.stderr for name in ("auto", "two_phase", "view_based"))


@pytest.mark.parametrize("mpi", MPIS)
def test_env_prints_what_the_ranks_need(unisono, mpi):
    done = unisono("env", "--strategy", "native", "--", f"mpiexec.{mpi}", env=ENVIRONMENT)
    assert done.stdout == f"LD_PRELOAD={BUILD}/lib/libunisono-{mpi}.so UNISONO_STRATEGY=native\n"


@pytest.mark.parametrize("mpi", MPIS)
def test_the_command_in_envs_help_works_with_spaces(unisono, mpi, tmp_path):
    hints = tmp_path / "my hints"
    hints.write_text("*:cb_nodes=2\n")
    assert 'eval "mpiexec -n 4 env $(unisono env -- mpiexec) ./app"' in unisono("env", "--help").stdout
    printed = unisono("env", "--hints", hints, "--", *launch(mpi, 1), env=ENVIRONMENT).stdout
    form = f'eval "{" ".join(launch(mpi, 1))} env $(echo "$PRINTED") printenv UNISONO_HINTS"'
    done = subprocess.run(["sh", "-c", form], env=ENVIRONMENT | {"PRINTED": printed},
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.stdout == f"{hints}\n", done.stderr


@pytest.mark.parametrize("mpi", MPIS)
def test_a_misspelt_variable_is_named_once_by_rank_0(unisono, mpi, tmp_path):
    program = BUILD / "libexec" / f"unisono-bench.{mpi}"
    if not program.exists():
        pytest.skip("the benchmarks are not built")
    done = unisono("run", "--", *launch(mpi), program, "demo", "--path", tmp_path / "file",
                   "--file-bytes", "1M", "--write", env=ENVIRONMENT | {"UNISONO_STRATGEY": "native"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "STRATGEY" in line] == [
        "unisono: unknown variable UNISONO_STRATGEY: did you mean UNISONO_STRATEGY?"
    ]


def test_a_missing_library_is_explained(tmp_path):
    with pytest.raises(places.Failure, match="libunisono-mpich.so is not in"):
        places.preload_library("mpich", tmp_path)


def test_a_library_in_a_folder_of_its_architecture_is_found(tmp_path):
    library = tmp_path / "lib" / "x86_64-linux-gnu" / "libunisono-mpich.so"
    library.parent.mkdir(parents=True)
    library.touch()
    assert places.preload_library("mpich", tmp_path) == library


def _any_mpi():
    for mpi in ("mpich", "openmpi"):
        if (BUILD / "lib" / f"libunisono-{mpi}.so").exists():
            return mpi
    pytest.skip("no library is built")
