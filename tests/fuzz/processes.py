"""What the processes of a launch that hangs are doing, for who looks into it later."""

import pathlib
import subprocess

PROC = pathlib.Path("/proc")
OF_THREAD = ("wchan", "syscall", "stack")


def text_of(path: pathlib.Path) -> str:
    """Of a file below /proc, which may be gone, or not ours to read."""
    try:
        return path.read_bytes().replace(b"\0", b"\n").decode(errors="replace").strip()
    except OSError as error:
        return f"({error.strerror})"


def processes_that_name(word: str) -> list[int]:
    return [int(path.parent.name) for path in PROC.glob("[0-9]*/cmdline") if word in text_of(path)]


def backtraces(pid: int) -> str:
    command = ["gdb", "-nx", "-p", str(pid), "-batch", "-ex", "thread apply all bt"]
    try:
        run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, errors="replace", timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"(gdb: {error})"
    return run.stdout.strip()


def state_of(pid: int) -> str:
    folder = PROC / str(pid)
    rank = [line for line in text_of(folder / "environ").splitlines()
            if line.startswith(("PMI_RANK=", "OMPI_COMM_WORLD_RANK="))]
    files = [folder / "cmdline", folder / "status",
             *(thread / name for thread in sorted(folder.glob("task/*")) for name in OF_THREAD)]
    parts = [*rank, *(f"{file}:\n{text_of(file)}" for file in files), backtraces(pid)]
    return "\n\n".join(parts) + "\n"


def save_processes_that_name(word: str, folder: pathlib.Path) -> None:
    """A file for each of them, NAME.PID: what it and its threads wait for, and their backtraces."""
    folder.mkdir(parents=True, exist_ok=True)
    for pid in processes_that_name(word):
        (folder / f"{text_of(PROC / str(pid) / 'comm')}.{pid}").write_text(state_of(pid))
