"""What fuzz.py leaves of a launch that hangs, and when it has tried enough."""

import pathlib
import subprocess
import sys

FUZZ = pathlib.Path(__file__).with_name("fuzz.py")


def test_a_hang_leaves_what_its_processes_were_doing(tmp_path):
    program = tmp_path / "programs" / "fuzz.mpich"  # which the launcher here does not start
    program.parent.mkdir()
    program.touch()
    run = subprocess.run([sys.executable, FUZZ, "--build", tmp_path, "--mpi", "mpich", "--seed", "7", "--failures", "1",
                          "--launcher", "env PMI_RANK=3 sh -c 'sleep 100; true' launch",
                          "--seconds", "0.1", "--hang-seconds", "3"],
                         capture_output=True, text=True, timeout=200)
    assert run.returncode == 1, run.stderr
    folder = tmp_path / "fuzz-hangs" / "mpich-7"
    assert f"what each process was doing: {folder}\n" in run.stdout
    [left] = folder.glob("sh.*")
    text = left.read_text()
    assert text.startswith("PMI_RANK=3\n") and "\nState:\tS (sleeping)\n" in text and "/wchan:\n" in text
    assert any(said in text for said in ("\n#0 ", "(gdb: ", "ptrace: "))


def fuzz_that_says(tmp_path, words, *options):
    program = tmp_path / "programs" / "fuzz.mpich"
    program.parent.mkdir()
    program.touch()
    return subprocess.run([sys.executable, FUZZ, "--build", tmp_path, "--mpi", "mpich", "--seed", "7", "--native",
                           "--launcher", f"sh -c 'printf \"{words}\"' launch", "--seconds", "0.1", *options],
                          capture_output=True, text=True, timeout=60)


# One failure in 12,874 cases was never explained: the middle of what it said was gone.
def test_all_that_a_failed_launch_has_said_is_kept(tmp_path):
    lines = [f"line {number}" for number in range(300)]
    run = fuzz_that_says(tmp_path, "".join(line + "\\n" for line in lines), "--failures", "1")
    assert run.returncode == 1 and "| line 150\n" not in run.stdout, run.stderr
    file = tmp_path / "fuzz-failures" / "mpich-7.txt"
    assert f"all of it: {file}\n" in run.stdout
    assert file.read_text().splitlines()[2:] == lines


def test_no_case_is_no_success(tmp_path):
    run = fuzz_that_says(tmp_path, "0 passed, 0 failed\\n")
    assert run.returncode == 1, run.stderr
    assert "not one case was tried" in run.stdout


def test_no_canary_is_no_success(tmp_path):
    run = fuzz_that_says(tmp_path, "0 canaries\\n1 passed, 0 failed\\n", "--canary")
    assert run.returncode == 1, run.stderr
    assert "not one byte was spoilt" in run.stdout


def test_cases_that_passed_are_a_success(tmp_path):
    run = fuzz_that_says(tmp_path, "1 canaries\\n1 passed, 0 failed\\n", "--canary")
    assert run.returncode == 0, run.stdout


WANTS_THREE_BATCHES = """
import argparse, fuzz
fuzzer = fuzz.Fuzzer(argparse.Namespace(
    seed=7, seconds=0, hang_seconds=50, batch_seconds=6, failures=1, mpis=["mpich"], ranks=None, threads=None, beside=1,
    folders=["here"], native=True, faults=False, canary=False, power_cuts=False))
fuzzer.scratch.rmdir()
batches = []
def run_batch(batch, seconds):
    batches.append((batch.seed, seconds))
    fuzzer.passed += 1
    return 1
fuzzer.run_batch = run_batch
assert fuzzer.run(enough=lambda: len(batches) == 3) == 0
print(batches)
"""


# "Selection has tried nothing": the time was up before it had seen enough calls.
def test_a_run_on_a_busy_machine_goes_on_until_it_has_tried_what_it_is_for():
    run = subprocess.run([sys.executable, "-c", WANTS_THREE_BATCHES], cwd=FUZZ.parent, capture_output=True, text=True,
                         timeout=60)
    assert run.stdout.endswith("[(7, 6), (8, 6), (9, 6)]\n"), run.stderr
