#!/usr/bin/env python3
"""Runs the differential fuzzer for a while and reports what failed, each failure with the command
that shows it again.

    fuzz.py --seconds 60 --mpi both              random seeds, under Unisono
    fuzz.py --seconds 60 --mpi mpich --seed 1    the same batches every time
    fuzz.py --seconds 60 --faults                injected failures only (else one batch in five)
    fuzz.py --seconds 60 --turns                 takes turns with a rival, under an orchestrator
    fuzz.py --seconds 60 --beside 3              so many threads of each rank at once, each with cases of its own
    fuzz.py --seconds 60 --pocket                on a pocket file system: storage of several servers
    fuzz.py --seconds 60 --pocket --deal loops   there, and selection measures: others must be tried
    fuzz.py --seconds 60 --power-cuts            on a pocket file system that loses what is not synced
    fuzz.py --seconds 20 --native                without Unisono, to check the fuzzer itself
    fuzz.py --seconds 10 --native --canary       spoils a byte per case: each must be noticed

Many cases share one launch, because a launch costs more than a case. BUILD/fuzz-failures keeps all that a
launch that failed has said, and how to do it again. A launch that does not end in time is a failure:
the progress file says which seed and step each rank was at, and BUILD/fuzz-hangs keeps what its
processes were doing.
"""

import argparse
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from processes import save_processes_that_name

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pocket"))
from run import reason_to_skip  # noqa: E402

LAUNCHERS = {
    "mpich": ["mpiexec.mpich"],
    "openmpi": ["mpiexec.openmpi", "--oversubscribe", "--allow-run-as-root"],
}
PROGRESS_LINE_BYTES = 64
RANKS_MOST = 64  # FileModel::ranks_most
VERDICT = re.compile(r"(\d+) passed, (\d+) failed")
CANARIES = re.compile(r"^(\d+) canaries$", re.MULTILINE)


class Batch:
    """One launch: some cases with consecutive seeds on some ranks."""

    def __init__(self, arguments, mpi, seed, dice):
        self.mpi = mpi
        self.seed = seed
        self.ranks = arguments.ranks or dice.choice([1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9])
        self.nodes = dice.choice([None, None, 2, 3, self.ranks])
        self.fragments = dice.random() < 0.5
        self.faults = not (arguments.native or arguments.power_cuts) and (
            arguments.faults or dice.random() < 0.2)
        self.folder = dice.choice(arguments.folders)
        # Calls that repeat do without meetings only where nothing is checked.
        self.check = dice.choice(["none", "none", "none", "plans", "communicate"])
        self.threads = arguments.threads or dice.choice(["single", "single", "funneled", "serialized", "multiple"])
        if arguments.beside > 1:
            self.ranks = arguments.ranks or 1 + self.ranks % 4
            self.threads = "multiple"
        self.arguments = arguments

    @property
    def topology(self):
        return f"nodes={self.nodes}" + (",fragments" if self.fragments else "")

    def command(self, seconds, progress, seed=None, cases=None, ranks=None):
        build = self.arguments.build
        preload = [build / "lib" / "libunisono-yield.so"]
        environment = ["UNISONO_TUNE=off"]
        if not self.arguments.native:
            preload.insert(0, build / "lib" / f"libunisono-{self.mpi}.so")
            environment.append(f"UNISONO_CHECK={self.check}")
            if self.nodes:
                environment.append(f"UNISONO_TOPOLOGY={self.topology}")
        launcher = shlex.split(self.arguments.launcher or "") or LAUNCHERS[self.mpi]
        command = launcher + ["-n", str(ranks or self.ranks), "env"] + environment
        command += ["LD_PRELOAD=" + ":".join(map(str, preload))]
        command += [str(build / "programs" / f"fuzz.{self.mpi}"), "--folder", str(self.folder)]
        command += ["--seed", str(self.seed if seed is None else seed)]
        command += ["--cases", str(cases or 1000000), "--threads", self.threads]
        if seconds:
            command += ["--seconds", f"{seconds:.1f}"]
        for switch in ("native", "canary", "pocket", "power-cuts"):
            if getattr(self.arguments, switch.replace("-", "_")):
                command.append(f"--{switch}")
        if self.faults:
            command.append("--faults")
        if self.arguments.beside > 1:
            command += ["--beside", str(self.arguments.beside)]
        for option in ("skip", "deal"):
            if features := getattr(self.arguments, option):
                command += [f"--{option}", features]
        if progress:
            command += ["--progress", str(progress)]
        return command

    def __str__(self):
        nodes = f", topology {self.topology}" if self.nodes else ""
        kind = " with faults" if self.faults else ""
        return f"{self.mpi}, {self.ranks} ranks, {self.threads}{nodes}{kind}, {self.folder}, seed {self.seed}"


def run_limited(command, limit_seconds, before_it_is_ended):
    """Output and exit code; None as the code when the time is up."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=limit_seconds)
        return output, process.returncode
    except subprocess.TimeoutExpired:
        before_it_is_ended()
        # The launcher kills its ranks when it is asked to end; the group is ours alone.
        os.killpg(process.pid, signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return output, None


def read_progress(path, ranks):
    """[(seed, step)] per rank, of one thread after the other, as far as they got."""
    lines = []
    data = path.read_bytes() if path.exists() else b""
    for line in range(min(ranks, 64)):
        words = data[line * PROGRESS_LINE_BYTES:][:PROGRESS_LINE_BYTES].split(b"\0")[0].split()
        lines.append(tuple(int(word) for word in words) if len(words) == 2 else (-1, -1))
    return lines


def save_hang(batch):
    """Of the ranks, and of whoever else serves their folder: a rival, a pocket file system."""
    folder = batch.arguments.build / "fuzz-hangs" / f"{batch.mpi}-{batch.seed}"
    save_processes_that_name(str(batch.folder), folder)
    print(f"  what each process was doing: {folder}", flush=True)


class Rival:
    """Another program on the same file system, so that there is somebody to take turns with: the
    fuzzer itself on one rank, with other seeds. What it finds is not looked at."""

    def __init__(self, batch, seconds):
        command = batch.command(seconds, None, seed=batch.seed + 500_000_000, ranks=1)
        self.process = subprocess.Popen(["env", "UNISONO_PROGRAM=rival", *command],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def orchestrate(arguments, command):
    """An orchestrator with tiny windows for each folder, up or down."""
    options = ["--gate", "clients", "--policy", "even", "--window-ms", "20", "--lease-ms", "200"]
    for folder in arguments.folders:
        subprocess.run([arguments.build / "bin" / "unisono", "orchestra", command, folder,
                        *(options if command == "up" else [])], check=command == "up", timeout=60)


def took_turns(arguments, folder):
    """Whether the orchestrator of that folder let programs take turns: else nothing was tried."""
    shown = subprocess.run([arguments.build / "bin" / "unisono", "orchestra", "status", folder,
                            "--json"], capture_output=True, check=True, timeout=60)
    return bool(json.loads(shown.stdout)["turns"])


def others_were_tried(reports):
    """Whether selection has measured more than one way to do a call: else nothing was tried."""
    # Programs that end at once may leave empty lines between them.
    lines = filter(None, reports.read_text().splitlines()) if reports.exists() else []
    directions = [json.loads(line)[direction] for line in lines for direction in ("read", "write")]
    return any(len(kind["tried"]) > 1 for direction in directions for kind in direction["selections"])


def save_failure(batch, output):
    """All that a failed launch has said: what is shown of it lacks the middle."""
    folder = batch.arguments.build / "fuzz-failures"
    folder.mkdir(exist_ok=True)
    file = folder / f"{batch.mpi}-{batch.seed}.txt"
    file.write_text(f"{batch}\n{shlex.join(batch.command(batch.arguments.batch_seconds, None))}\n{output}")
    print(f"  all of it: {file}", flush=True)


def shown(lines):
    """What a failed launch has said, without the middle of a long case."""
    return lines if len(lines) <= 120 else lines[:20] + ["..."] + lines[-100:]


class Fuzzer:
    def __init__(self, arguments):
        self.arguments = arguments
        self.passed = 0
        self.failed = 0
        self.canaries = 0
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="unisono-fuzz-"))

    def run(self, enough=lambda: True):
        """On a busy machine more than --seconds, until it is enough, but no more than --hang-seconds more."""
        dice = random.Random(self.arguments.seed)
        seed = self.arguments.seed
        end = time.monotonic() + self.arguments.seconds
        last_end = end + self.arguments.hang_seconds
        print(f"fuzz: first seed {seed}", flush=True)
        turn = 0
        while self.failed < self.arguments.failures:
            left = end - time.monotonic()
            if left <= 0:
                left = last_end - time.monotonic()
                if left <= 0 or enough():
                    break
            mpi = self.arguments.mpis[turn % len(self.arguments.mpis)]
            turn += 1
            batch = Batch(self.arguments, mpi, seed, dice)
            seed += self.run_batch(batch, min(left, self.arguments.batch_seconds))
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        if not self.failed and not self.passed:
            print("FAILED: not one case was tried")
            return 1
        if not self.failed and self.arguments.canary and not self.canaries:
            print("FAILED: not one byte was spoilt")
            return 1
        return 1 if self.failed else 0

    def run_batch(self, batch, seconds):
        """Returns how many seeds it used up."""
        progress = self.scratch / "progress"
        progress.unlink(missing_ok=True)
        limit = seconds + self.arguments.hang_seconds
        rival = Rival(batch, limit) if self.arguments.turns else None
        try:
            output, code = run_limited(batch.command(max(seconds, 0.5), progress), limit,
                                       lambda: save_hang(batch))
        finally:
            if rival:
                rival.end()
        verdict = VERDICT.search(output)
        passed = int(verdict[1]) if verdict else self.cases_before(batch, progress)
        self.passed += passed
        self.canaries += sum(int(found) for found in CANARIES.findall(output))
        print(f"  {passed:5d} passed: {batch}", flush=True)
        if code != 0 or not verdict:
            self.failed += 1
            self.explain(batch, output, code, progress, passed)
        return passed + 1

    @staticmethod
    def cases_before(batch, progress):
        """Cases that were over when the launch died."""
        return max(0, read_progress(progress, batch.ranks)[0][0] - batch.seed)

    def explain(self, batch, output, code, progress, passed):
        seed = batch.seed + passed
        if code is None:
            print(f"FAILED: hang in {batch}")
        elif not VERDICT.search(output):
            print(f"FAILED: exit code {code} in {batch}")
        places = read_progress(progress, batch.ranks * self.arguments.beside)
        if code is None or not VERDICT.search(output):
            print("  seed and step per rank: " + ", ".join(f"{s}/{n}" for s, n in places))
        print("\n".join("  | " + line for line in shown(output.strip().splitlines())))
        save_failure(batch, output)
        if self.arguments.pocket:
            print("  mount:  " + shlex.join(pocket_command(self.arguments, "up", batch.folder)))
        if self.arguments.beside > 1:
            print("  again:  " + shlex.join(batch.command(self.arguments.batch_seconds, None)), flush=True)
            return
        # The case alone, and with all that went before it in the same processes.
        print("  alone:  " + shlex.join(batch.command(None, None, seed, 1)))
        row = batch.command(None, None, batch.seed, passed + 1)
        print("  in row: " + shlex.join(row), flush=True)


def pocket_command(arguments, command, mountpoint):
    options = ["--backing", f"{mountpoint}.bytes", "--profile", "off"]
    if arguments.power_cuts:
        options.append("--power-cuts")
    return [str(arguments.build / "bin" / "unisono"), "pocket", command, str(mountpoint),
            *(options if command == "up" else [])]


def pocket(arguments, command, mountpoint):
    """A pocket file system, up or down."""
    subprocess.run(pocket_command(arguments, command, mountpoint), check=True, timeout=60)


def writable_folders(scratch):
    """One in memory, one on disk, both ours alone."""
    folders = [scratch / "disk"]
    memory = pathlib.Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK):
        folders.append(pathlib.Path(tempfile.mkdtemp(prefix="unisono-fuzz-", dir=memory)))
    for folder in folders:
        folder.mkdir(exist_ok=True)
    return folders


def ranks(text):
    if not 1 <= int(text) <= RANKS_MOST:
        raise argparse.ArgumentTypeError(f"it must be 1 to {RANKS_MOST}")
    return int(text)


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--mpi", choices=["mpich", "openmpi", "both", "abi"], default="both")
    parser.add_argument("--launcher", help="words to start ranks with, instead of the MPI's own launcher")
    parser.add_argument("--seed", type=int, help="first seed; by default from the time")
    parser.add_argument("--ranks", type=ranks, help="always so many; by default 1 to 9")
    parser.add_argument("--threads", choices=["single", "funneled", "serialized", "multiple"],
                        help="always this level; by default any")
    parser.add_argument("--beside", type=int, default=1, metavar="THREADS", help="that have cases of their own at once")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--canary", action="store_true")
    parser.add_argument("--turns", action="store_true")
    parser.add_argument("--pocket", action="store_true")
    parser.add_argument("--power-cuts", action="store_true")
    parser.add_argument("--skip", help="features to look past, see generator.hpp")
    parser.add_argument("--deal", help="features that each case has, see generator.hpp")
    parser.add_argument("--failures", type=int, default=3, help="stop after so many")
    parser.add_argument("--batch-seconds", type=float, default=6)
    parser.add_argument("--hang-seconds", type=float, default=45,
                        help="a launch that takes so much longer than it should is a hang")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    if arguments.seed is None:
        arguments.seed = int(time.time()) * 1000
    if arguments.mpi == "abi" and not arguments.launcher:
        parser.error("--mpi abi needs a --launcher")
    wanted = ["mpich", "openmpi"] if arguments.mpi == "both" else [arguments.mpi]
    programs = arguments.build / "programs"
    arguments.pocket = arguments.pocket or arguments.power_cuts
    arguments.mpis = [mpi for mpi in wanted if (programs / f"fuzz.{mpi}").exists()]
    if not arguments.mpis:
        parser.error(f"no fuzz program in {programs}: build it first")
    return arguments


def main():
    arguments = parse()
    if arguments.pocket and (reason := reason_to_skip(arguments.build)):
        print(f"skipped: {reason}")
        return 77
    fuzzer = Fuzzer(arguments)
    mountpoint = fuzzer.scratch / "pocket"
    arguments.folders = [mountpoint] if arguments.pocket else writable_folders(fuzzer.scratch)
    try:
        if arguments.pocket:
            pocket(arguments, "up", mountpoint)
        if arguments.turns:
            os.environ["UNISONO_RUNTIME"] = str(fuzzer.scratch)
            orchestrate(arguments, "up")
        reports = fuzzer.scratch / "reports"
        loops = arguments.pocket and "loops" in (arguments.deal or "").split(",")
        if loops:
            os.environ |= {"UNISONO_REPORT": "json", "UNISONO_REPORT_FILE": str(reports)}
        tried = {}
        if loops:
            tried["selection has tried nothing"] = lambda: others_were_tried(reports)
        if arguments.turns:
            tried["no program had a turn"] = lambda: any(took_turns(arguments, f) for f in arguments.folders)
        failed = fuzzer.run(enough=lambda: all(was_tried() for was_tried in tried.values()))
        for otherwise, was_tried in tried.items():
            if not was_tried():
                print(f"FAILED: {otherwise}")
                failed = 1
        return failed
    finally:
        if arguments.turns:
            orchestrate(arguments, "down")
        if arguments.pocket:
            pocket(arguments, "down", mountpoint)
        for folder in arguments.folders + [fuzzer.scratch]:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
