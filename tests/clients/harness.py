"""Runs MPI jobs for the client tests, natively or under Unisono, and reads what they leave behind."""

import functools
import json
import os
import re
import signal
import subprocess
from pathlib import Path

LAUNCHERS = {
    "mpich": ["mpiexec.mpich"],
    "openmpi": ["mpiexec.openmpi", "--oversubscribe", "--allow-run-as-root"],
}


@functools.cache
def hides_failures(mpi):
    """MPICH 4.2's launcher ends with 0 after MPI_Abort, and where a rank is killed."""
    said = subprocess.run([LAUNCHERS[mpi][0], "--version"], capture_output=True, text=True, check=False).stdout
    return mpi == "mpich" and bool(re.search(r"Version:\s+4\.2\.", said))


class JobFailed(AssertionError):
    """A job that ended badly or left something unexpected; the text has its output."""


class Job:
    """One MPI job: `ranks` ranks of `command` below the launcher of `mpi`."""

    def __init__(self, build, mpi, ranks, command, directory):
        self.build = Path(build)
        self.mpi = mpi
        self.ranks = ranks
        self.command = [str(word) for word in command]
        self.report_path = Path(directory) / "report.json"
        self.environment = {}
        self.folder = None  # where the launcher is started; None: here
        self.returncode = None
        self.output = ""
        self.errors = ""

    def engine(self, mpi=None):
        return self.build / "lib" / f"libunisono-{mpi or self.mpi}.so"

    def run(self, engines, seconds=300):
        """Preloads `engines` (none: a native run) and the yield shim. Returns self."""
        for engine in engines:
            if not engine.exists():
                raise JobFailed(f"{engine} is missing: build it first")
        preload = ":".join(map(str, [*engines, self.build / "lib" / "libunisono-yield.so"]))
        settings = {"LD_PRELOAD": preload, "UNISONO_REPORT": "json", "UNISONO_TUNE": "off",
                    "UNISONO_REPORT_FILE": str(self.report_path), **self.environment}
        self._execute([*LAUNCHERS[self.mpi], "-n", str(self.ranks), "env",
                       *(f"{name}={value}" for name, value in settings.items()),
                       *self.command], seconds)
        return self

    def _execute(self, command, seconds):
        """The job is a process group of its own, so that a hang leaves nothing running."""
        inherited = {name: value for name, value in os.environ.items()
                     if name != "LD_PRELOAD" and not name.startswith("UNISONO_")}
        inherited.update({name: os.environ[name]
                          for name in ("UNISONO_STRATEGY", "UNISONO_EXCHANGE", "UNISONO_TOPOLOGY")
                          if name in os.environ})
        # Open MPI 5.0.7 complains of networks on which it finds no way.
        inherited["OMPI_MCA_btl_tcp_if_include"] = "lo"
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace",
                                   env=inherited, cwd=self.folder, start_new_session=True)
        try:
            self.output, self.errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            self.output, self.errors = process.communicate()
            raise JobFailed(f"no end after {seconds} s\n{self.transcript()}") from None
        self.returncode = process.returncode

    def transcript(self):
        return (f"command: {' '.join(self.command)} ({self.ranks} ranks, {self.mpi})\n"
                f"stdout:\n{self.output}\nstderr:\n{self.errors}")

    def require_early_end(self):
        """Of programs that say at their end that they went on."""
        self.require("went on" not in self.output, "it went on")
        self.require(self.returncode != 0 or hides_failures(self.mpi), "its launcher ended with 0")

    def require(self, condition, what):
        if not condition:
            raise JobFailed(f"{what}\n{self.transcript()}")

    def require_success(self):
        self.require(self.returncode == 0, f"exit status {self.returncode}")

    def lines_from_unisono(self):
        """What the preload library itself said on standard error."""
        return [line for line in self.errors.splitlines() if "unisono" in line.lower()]

    def strategy(self):
        """The info value that the program saw (empty: none), from its verdict line."""
        marker = "verdict: ok strategy="
        verdicts = [line[len(marker):] for line in self.output.splitlines()
                    if line.startswith(marker)]
        self.require(len(verdicts) == 1, "the program did not print its verdict")
        return verdicts[0].strip()

    def reports(self):
        """One object per file that Unisono had open; empty after a native run."""
        if not self.report_path.exists():
            return []
        return [json.loads(line) for line in self.report_path.read_text().splitlines()
                if line.strip()]


def own_calls(reports):
    """How many collective calls Unisono performed itself, that is, not by the native library."""
    return sum(used["calls"] for report in reports
               for direction in ("read", "write")
               for strategy, used in report[direction]["strategies"].items()
               if strategy != "native")
