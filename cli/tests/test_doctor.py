"""`unisono doctor`: what it finds, and that it can find something wrong."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from unisono import doctor, launchers, places, run
from unisono.command import doctor_command

ENVIRONMENT = {
    k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("UNISONO_")
}
READY = [name for name in ("mpich", "openmpi") if shutil.which(f"mpiexec.{name}")
         and (places.PREFIX / "lib" / f"libunisono-{name}-engine.so").exists()
         and (places.PREFIX / "libexec" / f"unisono-bench.{name}").exists()]  # fmt: skip
needs_mpi = pytest.mark.skipif(not READY, reason="needs an MPI, its engine and the benchmarks")


def words(done):
    """The table without its frames; cells are wrapped, so only words can be looked for."""
    return " ".join(done.stdout.replace("│", " ").split())


@needs_mpi
def test_a_machine_that_is_well_has_exit_code_0_and_nothing_stays(unisono, tmp_path):
    done = unisono("doctor", tmp_path, "--", f"mpiexec.{READY[0]}", "-n", 1, "printenv", "HOME",
                   env=ENVIRONMENT)  # fmt: skip
    if "MPI libraries may fail there" in words(done):
        pytest.skip("this machine's /dev/shm is too small")
    # printenv is linked with no MPI: the launcher's counts.
    assert done.returncode == 0, done.stdout + done.stderr
    assert "started, preloaded, and wrote a file together" in words(done)
    assert "for 1 rank" in words(done)
    assert list(tmp_path.iterdir()) == []


@needs_mpi
def test_what_is_wrong_gives_exit_code_1_and_what_to_change(unisono, tmp_path):
    done = unisono("doctor", tmp_path, env=ENVIRONMENT | {"UNISONO_STRATGEY": "x", "UNISONO_DISABLE": "1"})
    assert done.returncode == 1
    assert "UNISONO_STRATGEY:" in words(done) and "UNISONO_STRATEGY?" in words(done)
    assert "take UNISONO_DISABLE back" in words(done)


@pytest.mark.parametrize("layout", ["", "unknown (none: no provider for file system type 0x1)"])
def test_files_without_servers_are_not_said_to_have_an_unknown_layout(layout):
    record = {"left_alone": "", "layout": layout, "backend": "mapped", "backend_why": "", "write": {"strategies": {}}}
    found, = doctor._what_was_done(record, "mpich")
    assert found.said.startswith(f"layout {layout}; backend" if layout else "backend mapped;")


def test_a_command_that_is_not_there_is_named(unisono, tmp_path):
    done = unisono("doctor", tmp_path, "--", "no-such-program", env=ENVIRONMENT)
    assert done.returncode == 1
    assert "command wrong program not found:" in words(done)


@needs_mpi
def test_no_launcher_is_blamed_for_a_folder_of_temporary_files(monkeypatch, tmp_path):
    def none(*_):
        raise FileNotFoundError(2, "No usable temporary directory found in ['/no']")

    monkeypatch.setattr(doctor.run, "run_with_limit", none)
    found, = doctor._trial(READY[0], tmp_path, None)
    assert (found.state, found.said) == (doctor.WRONG, "No usable temporary directory found in ['/no']")
    assert "TMPDIR" in found.change


def test_a_command_without_a_program_is_no_missing_library(executable):
    found, = doctor._command([str(executable("srun")), "--version"])
    assert (found.state, found.said) == (doctor.WRONG, "no program is in it")


def test_for_a_folder_that_is_not_there_no_other_is_examined(unisono, tmp_path):
    done = unisono("doctor", tmp_path / "no", env=ENVIRONMENT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"unisono: {tmp_path}/no is not there")


def test_a_folder_is_on_the_file_system_that_was_mounted(tmp_path):
    """Of ext4 it said ext2/ext3, as `stat -f` does."""
    found, = doctor._place(tmp_path, named=True)
    mounted = {line.split()[2] for line in Path("/proc/mounts").read_text().splitlines()}
    assert found.said.removeprefix(f"{tmp_path} is on ") in mounted


def test_a_folder_whose_file_system_nobody_tells_is_examined_all_the_same(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor.mpi, "output_of", lambda command: "")
    found, = doctor._place(tmp_path, named=True)
    assert found.said == f"{tmp_path} is on an unknown file system"


def test_a_full_folder_is_said_to_be_full(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "_FOLDER_LEAST_BYTES", 1 << 62)
    found, = doctor._place(tmp_path, named=True)
    assert found.state == doctor.WRONG
    assert "is full: " in found.said and found.change.startswith("free space there")


# Ranks there lock no pages in some calls, and others do.
def test_a_folder_that_this_node_serves_by_nfs_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "_EXPORTS", tmp_path / "etab")
    folder = tmp_path / "of all" / "mine"
    folder.mkdir(parents=True)
    assert len(list(doctor._place(folder, named=True))) == 1
    served = str(tmp_path / "of all").replace(" ", "\\040")
    (tmp_path / "etab").write_text(f"/elsewhere\t*(rw)\n{served}\t*(rw,sync)\n{served}\tnode2(ro)\n")
    assert len(list(doctor._place(tmp_path, named=True))) == 1
    _, found = doctor._place(folder, named=True)
    assert found.state == doctor.NOTE and f"serves {tmp_path}/of all by NFS" in found.said


@needs_mpi
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_no_folder_beside_the_users_files(tmp_path, number):
    process = subprocess.Popen([places.PREFIX / "bin" / "unisono", "doctor", tmp_path], env=ENVIRONMENT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
    deadline = time.monotonic() + 90
    while not list(tmp_path.glob(".unisono-doctor-*/traces")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    assert process.communicate(timeout=90)[1] == "unisono: interrupted\n"
    assert process.returncode == 128 + number
    assert list(tmp_path.iterdir()) == []


@needs_mpi
def test_the_launcher_of_a_program_that_is_not_there_starts_no_other_mpis_ranks(monkeypatch):
    tried = []
    monkeypatch.setattr(doctor, "_trial", lambda name, *_: tried.append(name) or [])
    doctor.examine(None, [f"mpiexec.{READY[0]}", "-n", "2", "./nope"])
    assert tried == [READY[0]]


def test_the_command_begins_after_the_first_dashes():
    for given, path, command in [
        (["/p", "--", "mpiexec", "app", "--", "x"], "/p", ["mpiexec", "app", "--", "x"]),
        (["--", "mpiexec", "--help"], None, ["mpiexec", "--help"]),
        (["/p"], "/p", []),
    ]:
        context = doctor_command.make_context("doctor", list(given))
        assert (context.params["path"], context.obj) == (path, command)


def test_a_program_that_hangs_is_ended_at_the_limit_with_its_children():
    began = time.monotonic()
    code, output = run.run_with_limit(["sh", "-c", "echo begun; sleep 50 & sleep 50"], 0.5)
    assert (code, output) == (None, "begun\n")
    assert time.monotonic() - began < 40  # not until the sleep is over


@pytest.mark.parametrize("name", READY)
def test_ranks_that_hang_are_ended_with_their_launcher(name):
    seconds = f"{os.getpid()}.25"  # nobody else sleeps so long
    code, _ = run.run_with_limit([f"mpiexec.{name}", "-n", "2", "sleep", seconds], 2, doctor.AS_ROOT)
    assert code is None
    deadline = time.monotonic() + 90
    while (left := sleepers(seconds)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []


def sleepers(seconds):
    found = []
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if words.read_bytes() == f"sleep\0{seconds}\0".encode():
                found.append(words.parent.name)
        except OSError:
            pass  # it has just ended
    return found


def test_what_became_of_a_trial_is_told_apart():
    def state(code, records, why=""):
        found = doctor._of_trial("two ranks", code, "last words", records, why, 30)
        return found.state, found.said, found.change

    assert state(0, [{"ranks": 2}])[0] == doctor.OK
    assert "within 30 s: last words" in state(None, [])[1]
    assert "exit code 137, as after SIGKILL: last words" in state(-9, [])[1]
    assert "did not reach them" in state(0, [])[1]
    assert "take UNISONO_DISABLE back" in state(0, [], "UNISONO_DISABLE is set")[2]
    assert "jobs of 1 rank each" in state(0, [{"ranks": 1}])[1]


CALL = "MPI_File_write_all on /f/x: pwritev failed at offset 0 on rank 0: "


@pytest.mark.parametrize(("output", "line"), [
    (f"rank 1: {CALL}Input/output error\n"
     "Abort(1) on node 1 (rank 1 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 1) - process 1\n",
     f"rank 1: {CALL}Input/output error"),
    (f"unisono: a remark\nrank 1: {CALL}No space left on device (errno 28)\n-----\n"
     "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n\n"
     "NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.\n"
     "You may or may not see output from other processes, depending on\nexactly when Open MPI kills them.\n-----\n"
     "[vm:1] 1 more process has sent help message help-mpi-api.txt / mpi-abort\n"
     '[vm:1] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages\n',
     f"rank 1: {CALL}No space left on device (errno 28)"),
    ("unisono: why\nrank 1: what\n", "unisono: why"),
    ('unisono: UNISONO_BACKEND: "x" ignored; valid: auto\nunisono: /none cannot be read; ignored\n'
     "unisono: unknown variable UNISONO_X: docs/use/hints.md lists them all\nunisono: why\n", "unisono: why"),
    ("Abort(1) on node 0: application called MPI_Abort\n",) * 2,
    ("\n----\n", ""),
    ("words " * 40, "words " * 32 + "..."),
])  # fmt: skip
def test_of_what_a_trial_wrote_the_line_that_tells_is_shown_and_no_word_cut(output, line):
    assert doctor._telling_line(output) == line.strip()


def test_no_mpi_is_blamed_for_a_full_folder():
    found = doctor._of_trial("two ranks", 1, f"rank 1: {CALL}No space left on device\nAbort(1)\n", [], "", 30)
    assert found.said == f"rank 1: {CALL}No space left on device" and found.change.startswith("free space there")


def test_no_mpi_was_blamed_for_another_ones_launcher():
    said = "unisono: Open MPI's launcher started 2 processes, but the program's MPI library (MPICH 4.0.2) knows of none but itself"
    found = doctor._of_trial("two ranks", 1, f"{said}: each would access x as the only rank.\n", [], "", 30)
    assert found.change == "use the launcher of the MPI that the program is linked with"


@pytest.mark.parametrize(("options", "family", "ranks", "trial"), [
    (["-n", "64", "-ppn", "8"], launchers.HYDRA, 64, ["-ppn", "8", "-n", "2"]),
    (["--oversubscribe", "-np", "7"], launchers.OPEN_MPI, 7, ["--oversubscribe", "-n", "2"]),
    (["--ntasks=512", "-p", "short"], launchers.SLURM, 512, ["-p", "short", "-n", "2"]),
    (["-ln64", "-pshort", "-c", "4"], launchers.SLURM, 64, ["-pshort", "-c", "4", "-n", "2"]),
    (["-c", "4", "--exact"], launchers.SLURM, None, ["-c", "4", "--exact", "-n", "2"]),
    (["-ppn", "4"], launchers.HYDRA, None, ["-ppn", "4", "-n", "2"]),
    (["-o", "results", "--error=log", "-n", "64"], launchers.SLURM, 64, ["-n", "2"]),
    (["--output-filename", "results", "-n", "64"], launchers.OPEN_MPI, 64, ["-n", "2"]),
])  # fmt: skip
def test_the_trial_keeps_the_launchers_options_but_for_the_number_of_ranks(options, family, ranks, trial):
    segment = launchers.parse_segment([*options, "./app"], family)
    assert doctor.ranks_of(segment) == ranks
    assert doctor._trial_launcher(["env", "A=1", "mpiexec"], segment) == ["env", "A=1", "mpiexec", *trial]


@pytest.mark.skipif(len(READY) < 2, reason="needs two MPIs")
@pytest.mark.parametrize(("command", "tried"), [([], ["mpich"]), (["mpiexec", "./of-openmpi"], ["openmpi"])])
def test_an_mpi_whose_launcher_is_not_there_was_tried_with_another_ones(monkeypatch, tmp_path, command, tried):
    (tmp_path / "mpiexec").symlink_to(shutil.which("mpiexec.mpich"))
    names = []
    monkeypatch.setattr(doctor, "_trial", lambda name, *_: names.append(name) or [])
    monkeypatch.setattr(doctor, "_mpi_of", lambda command: "openmpi" if command else None)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin/none")
    found = doctor.examine(None, command)
    assert names == tried
    notes = [one.said for one in found if one.subject == "two ranks, openmpi"]
    assert notes == ([] if command else ["not tried: mpiexec is mpich's"])


@needs_mpi
def test_wrappers_before_the_launcher_are_tried_with_it():
    words = ["env", "A=1", f"mpiexec.{READY[0]}"]
    family, before, segment = doctor._launcher_of([*words, "-n", "4", "./app"])
    assert (family.mpi, before, doctor.ranks_of(segment)) == (READY[0], words, 4)


def test_more_ranks_than_cores_are_noticed(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    segment = launchers.parse_segment(["-n", "64", "./app"], launchers.HYDRA)
    assert doctor._cores(segment).state == doctor.NOTE
    assert doctor._cores(segment).said.startswith("2 cores here for 64 ranks")
    assert doctor._cores(None) == doctor.Finding("cores", doctor.OK, "2 cores")


@pytest.mark.parametrize(("preload", "states"), [
    ("", []),
    ("libdarshan.so", [doctor.OK]),
    ("/no/such/libscorep.so", [doctor.WRONG, doctor.OK]),
    ("libunisono-mpich.so", [doctor.OK]),
    ("/usr/lib/libm.so:/no/such/libunisono-mpich.so", [doctor.WRONG]),
])  # fmt: skip
def test_what_is_preloaded_already_is_looked_at(monkeypatch, preload, states):
    monkeypatch.setenv("LD_PRELOAD", preload)
    assert [finding.state for finding in doctor._preloaded(None)][-len(states):] == states


# Of what a site had set up by a TaskProlog it said that it was wrong.
@pytest.mark.parametrize(("served", "wanted", "state", "said"), [
    (["mpich", "openmpi"], "openmpi", doctor.OK, "for all programs here (mpich, openmpi)"),
    (["mpich"], "abi", doctor.OK, "(mpich)"),
    (["mpich"], "openmpi", doctor.NOTE, "not for openmpi"),
])  # fmt: skip
def test_what_a_site_has_switched_on_is_right_where_it_serves_the_program(monkeypatch, served, wanted, state, said):
    monkeypatch.setenv("LD_PRELOAD", ":".join(f"libunisono-{name}.so" for name in served))
    found, = doctor._preloaded(wanted)
    assert found.state == state and said in found.said


@needs_mpi
def test_a_library_of_another_installation_is_told(monkeypatch, tmp_path):
    (tmp_path / f"libunisono-{READY[0]}.so").touch()
    for folder, states in ((tmp_path, [doctor.NOTE, doctor.OK]), (places.PREFIX / "lib", [doctor.OK])):
        monkeypatch.setenv("LD_PRELOAD", f"{folder}/libunisono-{READY[0]}.so")
        assert [finding.state for finding in doctor._preloaded(READY[0])] == states


def test_huge_pages_are_named_as_the_kernel_has_them(monkeypatch, tmp_path):
    setting = tmp_path / "shmem_enabled"
    monkeypatch.setattr(doctor, "_HUGE_PAGES", setting)
    assert [*doctor._huge_pages()] == []
    setting.write_text("always within_size [advise] never deny force\n")
    found, = doctor._huge_pages()
    assert (found.state, found.said) == (doctor.OK, "for shared memory: advise")


def test_a_refused_ring_is_a_note_that_says_what_to_change(monkeypatch):
    monkeypatch.setattr(doctor, "_try_io_uring", lambda: "Operation not permitted")
    found = doctor._io_uring()
    assert found.state == doctor.NOTE
    assert "Operation not permitted" in found.said and "kernel.io_uring_disabled" in found.change


def test_the_settings_in_force_are_shown_with_their_sources(monkeypatch, tmp_path):
    site = tmp_path / "site"
    site.write_text("*:unisono_strategy=native:cb_nodes=3\n")
    for name in [name for name in os.environ if name.startswith("UNISONO_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("UNISONO_SITE_FILE", str(site))
    monkeypatch.setenv("UNISONO_STRATEGY", "two_phase")
    monkeypatch.setenv("UNISONO_ROOT", "/opt/unisono")  # as modulefiles do
    said = [finding.said for finding in doctor._settings("/scratch/x", [])]
    assert said[0].endswith(f"the last wins: site file {site}, UNISONO_STRATEGY")
    assert "cb_nodes=3" in said[1] and "unisono_strategy=two_phase" in said[1]


# All was said to be well, as the trial's program is another one.
@pytest.mark.parametrize(("command", "left_alone"), [
    ("mpiexec.mpich -n 2 env A=1 ./solver-2.1 in", True), ("python3 ./solver-2.1.py", True), ("./solver", False), ("", False),
])  # fmt: skip
def test_a_program_that_the_site_leaves_alone_is_told(monkeypatch, tmp_path, executable, command, left_alone):
    for name in [name for name in os.environ if name.startswith("UNISONO_")]:
        monkeypatch.delenv(name)
    (tmp_path / "site").write_text("leave_alone_program solver-2.1*\n")
    monkeypatch.setenv("UNISONO_SITE_FILE", str(tmp_path / "site"))
    monkeypatch.chdir(tmp_path)
    for name in ("solver", "solver-2.1", "solver-2.1.py"):
        executable(name)
    words = command.split()
    segment = launchers.parse_segment(words[1:], launchers.HYDRA) if words[:1] == ["mpiexec.mpich"] else None
    notes = [found.said for found in doctor._settings("x", doctor._program_of(words, segment)) if found.state == doctor.NOTE]
    expected = f"the MPI library does all calls: a line leave_alone_program of {tmp_path}/site"
    assert notes == [expected] * left_alone
