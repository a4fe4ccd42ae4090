"""What fuzz.py leaves of a launch that hangs."""

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
                          "--seconds", "0.1", "--hang-seconds", "0.5"],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 1, run.stderr
    folder = tmp_path / "fuzz-hangs" / "mpich-7"
    assert f"what each process was doing: {folder}\n" in run.stdout
    [left] = folder.glob("sh.*")
    text = left.read_text()
    assert text.startswith("PMI_RANK=3\n") and "\nState:\tS (sleeping)\n" in text and "/wchan:\n" in text
    assert any(said in text for said in ("\n#0 ", "(gdb: ", "ptrace: "))
