"""Runs one figure: mounts, runs the sides in turn, rejects what came too late, keeps everything.

Each seed of the jitter is a mount of its own. Within it all lines take turns, x by x; the turn
begins with another line at each seed. The two ceilings have fewer seeds.
"""

from __future__ import annotations

import dataclasses
import pathlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import environment
import sides
from run import timing_lock
from sides import LaunchError, Side, Tools

from . import testbed
from .experiment import Figure, Job, Line, Servers
from .media import Media, why_unsynced
from .results import Results, Sample, ceilings_of, loaded_or_new
from .testbed import Pocket

TRIES = 3  # of a run that the machine was too late for
LOCKED_S = 40
PAUSE_S = 0.3  # whoever waits for the lock needs a moment to take it
FORGETTING = {"UNISONO_TUNE": "off"}  # nothing that one run has learnt is there for the next

VIEW_TAG = 5  # of messages with views: 1 + Team::Kind::view (src/interpose/mpi_team_messages.cpp)

PREPARING_SIDE = "mpich"


@dataclass(frozen=True)
class Settings:
    """How to measure."""

    build: pathlib.Path
    folder: pathlib.Path  # of the results
    scratch: pathlib.Path  # where the pocket file system has its bytes
    lock: pathlib.Path
    realtime: bool = False  # the emulator goes first, then the programs: docs/understand/papers-method.md
    timeout_s: float = 120.0
    seeds_max: int = sys.maxsize
    say: Callable[[str], None] = print


def side_of(line: Line) -> Side:
    """The line's side with its strategy and hints."""
    name, _, strategy = line.side.partition(":")
    side = next(side for side in sides.SIDES if side.name == name)
    return dataclasses.replace(side, strategy=strategy, hints=line.hints or side.hints)


def ready_of(begin: pathlib.Path) -> pathlib.Path:
    """What a program makes when it waits for the file `begin`."""
    return begin.with_suffix(".ready")


def program_of(job: Job, side: Side, build: pathlib.Path) -> list[str]:
    """flash-io is with HDF5, and so a program of its own."""
    if job.program == "flash-io":
        return [str(build / "libexec" / f"unisono-bench-flash-io.{side.mpi}")]
    return [str(build / "libexec" / f"unisono-bench.{side.mpi}"), job.program]


def words_of(job: Job, mountpoint: pathlib.Path) -> list[str]:
    """The job's options as its program takes them. alltoall has no file, and flash-io no ways."""
    words = [f"--{name}={value}" for name, value in job.options.items()]
    if job.program == "alltoall":
        return words
    if job.program == "flash-io":
        words = [word for name, value in job.options.items() for word in (f"--{name}", str(value))]
        return ["--path", str(mountpoint / job.file), f"--{job.direction}", *words]
    direction = [f"--{job.direction}"] if job.direction != "both" else []
    sync = ["--sync"] if job.synced else []
    return ["--path", str(mountpoint / job.file), *direction, "--access", job.access,
            *sync, *job.flags, *words]


def in_both_directions(written: dict, read: dict) -> dict:
    """One line for the whole program, from its first open to its last close. Between reads nothing is
    computed, as where BTIO reads what it wrote."""
    end_s = sum(read[part] for part in ("began_at", "open_seconds", "seconds", "close_seconds"))
    return {**written, "direction": "both", "bytes": written["bytes"] + read["bytes"],
            "open_seconds": 0.0, "close_seconds": 0.0,
            "seconds": end_s - read["compute_seconds"] - written["began_at"]}


def throughput(line: Line, lines: list[dict], jobs: tuple[Job, ...]) -> float:
    """MB/s of the jobs that count: all their bytes, from the first one's beginning to the last one's
    end."""
    counted = [_interval(printed, line, job) for printed, job in zip(lines, jobs)
               if not job.background]
    begin_s = min(begin for _bytes, begin, _end in counted)
    end_s = max(end for _bytes, _begin, end in counted)
    return sum(moved for moved, _begin, _end in counted) / (end_s - begin_s) / 1e6


def _interval(printed: dict, line: Line, job: Job) -> tuple[float, float, float]:
    """Bytes, begin and end in seconds."""
    if job.program == "flash-io":
        return printed["bytes"], 0.0, printed[f"{job.direction}_open_to_close_seconds"]
    begin_s = printed["began_at"] + printed["open_seconds"]
    close_s = printed["close_seconds"] if line.with_close else 0.0
    between_s = printed["compute_seconds"] if line.calls_only else 0.0
    return printed["bytes"], begin_s, begin_s + printed["seconds"] - between_s + close_s


CALLS = {"point-to-point": 2, "collective": 3}  # where the counter has them


def counter_of(tools: Tools) -> pathlib.Path:
    """Adds up messages that processes send, and collective calls: programs/message_counter.c."""
    return tools.build / "lib" / "libunisono-message-counter.so"


def counting(command: list[str], side: Side, tools: Tools, counts: pathlib.Path) -> list[str]:
    """The command, with the counter preloaded first and told where to write."""
    at = next(at for at, word in enumerate(command) if word.startswith("LD_PRELOAD="))
    others = command[at].removeprefix("LD_PRELOAD=")
    wanted = [f"LD_PRELOAD={counter_of(tools)}:{others}", f"MESSAGE_COUNTER_FILE={counts}"]
    if side.unisono:
        wanted.append(f"MESSAGE_COUNTER_LIST_TAG={VIEW_TAG}")
    return [*command[:at], *wanted, *command[at + 1:]]


class FigureRun:
    """One figure on its way from what was measured before to all that is asked for."""

    def __init__(self, figure: Figure, settings: Settings, results: Results):
        self.figure = figure
        self.settings = settings
        self.results = results
        self.tools = Tools(settings.build, timeout_s=settings.timeout_s)
        self.revision = "unknown"  # where there was no git

    @property
    def path(self) -> pathlib.Path:
        return self.settings.folder / f"{self.figure.name}.json"

    def lines(self) -> list[Line]:
        """Those that can run here; notes why the others cannot."""
        usable = []
        for line in self.figure.lines:
            why = self._missing_for(line)
            if why:
                self.results.skipped[line.name] = why
            else:
                self.results.skipped.pop(line.name, None)
                usable.append(line)
        return usable

    def _missing_for(self, line: Line) -> str:
        side = side_of(line)
        if self.figure.cluster and (why := testbed.reason_without_cluster()):
            return why
        programs = {pathlib.Path(program_of(job, side, self.settings.build)[0])
                    for jobs in line.jobs.values() for job in jobs}
        if why := self.tools.missing_for(side, *sorted(programs)):
            return why
        if line.counts_messages and not counter_of(self.tools).exists():
            return f"{counter_of(self.tools)} is not built"
        if line.orchestra is not None:
            return testbed.reason_without_orchestra(self.settings.build, line.orchestra)
        return ""

    def mounts(self) -> Iterator[tuple[str, int]]:
        """Profile and seed of each mount, the emulated ones first."""
        most = self.settings.seeds_max
        for seed in range(1, min(self.figure.seeds, most) + 1):
            yield self.figure.testbed.profile, seed
        for seed in range(1, min(self.figure.ceiling_seeds, most) + 1):
            for profile in ceilings_of(self.figure):
                yield profile, seed

    def run(self) -> None:
        """An interrupted run keeps what it has measured."""
        self.settings.folder.mkdir(parents=True, exist_ok=True)
        described = environment.describe([self.settings.scratch], self.settings.build)
        described["realtime"] = self.settings.realtime
        self.results.environment = self.results.environment or described
        self.revision = described["git_revision"] or self.revision
        if earlier := [one or "unknown ones" for one in self.results.revisions if one != self.revision[:7]]:
            self.settings.say(f"{self.figure.name}: runs of {', '.join(earlier)} stay, and this is"
                              f" {self.revision[:7]}; --fresh makes them anew")
        lines = self.lines()
        try:
            if lines:
                self._measure_all(lines)
        finally:
            self.results.save(self.path)

    def _measure_all(self, lines: list[Line]) -> None:
        with (testbed.pocket_for(self.figure, self.settings.build, self.settings.scratch,
                                 self.settings.realtime) as pocket,
              testbed.cluster_for(self.figure.cluster, self.settings.build) as cluster):
            prepared = False
            for profile, seed in self.mounts():
                wanted = [cell for cell in self._in_turn(lines, seed)
                          if not self.results.has(profile, seed, cell[0].name, cell[1])
                          and not (profile == "off" and self._needs_servers(cell[0]))]
                if not wanted:
                    continue
                if not prepared:
                    self._prepare(pocket, lines)
                    prepared = True
                    pocket.cluster = cluster  # from here on
                for servers, cells in self._by_servers(wanted):
                    self._measure(pocket, servers, profile, seed, cells)
                self.results.save(self.path)

    @staticmethod
    def _needs_servers(line: Line) -> bool:
        """Its gate is in the emulated servers."""
        return line.orchestra is not None and not line.gated_in_clients

    def _by_servers(self, cells: list[tuple[Line, str]]
                    ) -> Iterator[tuple[Servers, list[tuple[Line, str]]]]:
        """What can take turns on one mount."""
        kinds = {line.testbed or self.figure.testbed: None for line, _x in cells}
        for servers in kinds:
            yield servers, [cell for cell in cells
                            if (cell[0].testbed or self.figure.testbed) == servers]

    def _in_turn(self, lines: list[Line], seed: int) -> list[tuple[Line, str]]:
        by = seed % len(lines) if lines else 0
        turned = lines[by:] + lines[:by]
        return [(line, x) for x in self.figure.xs for line in turned
                if x in line.jobs and line.name not in self.results.failed]

    def _prepare(self, pocket: Pocket, lines: list[Line]) -> None:
        """Writes each file once, without emulation. Several lines have the same files: where they
        differ in size, the largest one is made last."""
        self.settings.say(f"{self.figure.name}: preparing the files")
        jobs = [job for line in lines for jobs in line.jobs.values() for job in jobs]
        side = next(side for side in sides.SIDES if side.name == PREPARING_SIDE)
        done: set[str] = set()
        with pocket.mounted(self.figure.testbed, "off", seed=0):
            for job in jobs:
                words = self._preparing_words(job, side, pocket)
                if words is None or str(words) in done:
                    continue
                done.add(str(words))
                if job.address_bytes is not None and not (pocket.mountpoint / job.file).exists():
                    pocket.place(job.file, job.address_bytes)
                sides.lines_of(sides.start(words), self.settings.timeout_s)

    def _preparing_words(self, job: Job, side: Side, pocket: Pocket) -> list[str] | None:
        """None: there is nothing to prepare."""
        if job.program == "alltoall" or (job.program, job.direction) == ("flash-io", "write"):
            return None
        before = sides.words_before(side, self.tools, job.ranks, self.settings.folder)
        program = program_of(job, side, self.settings.build)
        if job.program == "flash-io":
            words = words_of(dataclasses.replace(job, direction="write"), pocket.mountpoint)
            return [*before, *program, *words]
        options = [f"--{name}={value}" for name, value in job.options.items()]
        return [*before, *program, "--path", str(pocket.mountpoint / job.file), "--prepare",
                *options]

    def _measure(self, pocket: Pocket, servers: Servers, profile: str, seed: int,
                 cells: list[tuple[Line, str]]) -> None:
        begin_s = time.monotonic()
        with pocket.mounted(servers, profile, seed):
            left = list(cells)
            while left:
                with timing_lock(self.settings.lock):
                    self._measure_for_a_while(pocket, profile, seed, left)
                time.sleep(PAUSE_S)
        spent_s = time.monotonic() - begin_s
        self.settings.say(f"{self.figure.name}: {profile}, seed {seed}: {len(cells)} runs in"
                          f" {spent_s:.0f} s, {len(self.results.rejected)} rejected so far")

    def _measure_for_a_while(self, pocket: Pocket, profile: str, seed: int,
                             left: list[tuple[Line, str]]) -> None:
        """Takes cells from the list, and ends after LOCKED_S: others want to measure, too."""
        begin_s = time.monotonic()
        while left and time.monotonic() - begin_s < LOCKED_S:
            line, x = left.pop(0)
            if line.name not in self.results.failed:
                self._measure_cell(pocket, profile, seed, line, x)
        self.results.spent_s += time.monotonic() - begin_s

    def _measure_cell(self, pocket: Pocket, profile: str, seed: int, line: Line, x: str) -> None:
        for _ in range(TRIES):
            pocket.begin_run()
            sent = testbed.segments_sent(pocket.cluster) if line.segments else 0
            try:
                with pocket.orchestrated(line.orchestra):
                    printed = self._run_jobs(pocket, line, line.jobs[x])
                statistics = pocket.statistics()
                self._refuse_unsynced(pocket, profile, line, x, printed, statistics)
                speed = (testbed.segments_sent(pocket.cluster) - sent if line.segments
                         else self._value(line, printed, line.jobs[x]))
            except LaunchError as error:  # once is enough, it may be a hang
                self.results.failed[line.name] = f"at {x}, {profile}: {error}"
                return
            if not testbed.too_late(statistics):
                self.results.samples.append(Sample(profile, seed, line.name, x, speed, printed,
                                                   testbed.summary_of(statistics),
                                                   self.revision, self.settings.realtime))
                return
            self.results.rejected.append({"profile": profile, "seed": seed, "line": line.name,
                                          "x": x, "mb_per_s": speed,
                                          "lateness_us": statistics["lateness_us"]})
        self.settings.say(f"{self.figure.name}: {line.name} at {x}, {profile}, seed {seed}: the machine was too late"
                          f" {TRIES} times; the same command tries it again")

    def _refuse_unsynced(self, pocket: Pocket, profile: str, line: Line, x: str,
                         printed: list[dict], statistics: dict) -> None:
        """Raises LaunchError. Without emulation nothing is known of the media; but a line that is
        refused on emulated servers, which come first, does not run there."""
        if not statistics.get("emulated"):
            return
        servers = (line.testbed or self.figure.testbed).servers
        media = Media.of(pocket.commands.profile_file(profile), servers)
        for job, one in zip(line.jobs[x], printed):
            file = pocket.mountpoint / job.file
            if job.synced and (why := why_unsynced(one, file, media, statistics)):
                raise LaunchError(why)

    def _run_jobs(self, pocket: Pocket, line: Line, jobs: tuple[Job, ...]) -> list[dict]:
        """Starts all of them, and waits for all; the programs begin together."""
        side = side_of(line)
        begins = [self.settings.folder / f"begin-{number}" for number in range(len(jobs))]
        for begin in begins:
            begin.unlink(missing_ok=True)
            ready_of(begin).unlink(missing_ok=True)
        started = []
        for number, job in enumerate(jobs):
            report = self.settings.folder / f"report-{number}"
            report.unlink(missing_ok=True)
            tools = dataclasses.replace(self.tools, settings=self._settings_of(line, job))
            words = [*program_of(job, side, self.settings.build),
                     *words_of(job, pocket.mountpoint)]
            if len(jobs) > 1:
                words += ["--begin-when", str(begins[number])]
            if side.hints and job.program not in ("alltoall", "flash-io"):
                words += ["--hints", side.hints.format(ranks=job.ranks)]
            command = [*sides.words_before(side, tools, job.ranks, report), *words]
            if line.counts_messages:
                command = counting(command, side, tools, self._counts)
            if self.settings.realtime:
                command = testbed.going_first(command)
            started.append((sides.start(command, pocket.environment), report))
        try:
            if len(jobs) > 1:
                self._begin_together([process for process, _report in started], begins, jobs)
            return self._outputs(started, side, jobs)
        finally:  # after an interrupt from the keyboard
            for process, _report in started:
                if process.poll() is None:
                    sides.end_session_of(process)

    def _begin_together(self, processes: list, begins: list[pathlib.Path],
                        jobs: tuple[Job, ...]) -> None:
        """Says when, once all are there; or one has ended, for which nobody has to wait."""
        end_s = time.monotonic() + self.settings.timeout_s
        while (not all(ready_of(begin).exists() for begin in begins)
               and all(process.poll() is None for process in processes)
               and time.monotonic() < end_s):
            time.sleep(0.005)
        soon_s = time.time() + 0.05
        for begin, job in zip(begins, jobs):
            ready = ready_of(begin)
            ready.write_text(f"{soon_s + job.begins_after_s:.3f}\n")
            ready.replace(begin)  # it is there as a whole

    @property
    def _counts(self) -> pathlib.Path:
        return self.settings.folder / "message-counts"

    def _value(self, line: Line, printed: list[dict], jobs: tuple[Job, ...]) -> float:
        if not line.counts_messages:
            return throughput(line, printed, jobs)
        column = CALLS[line.calls_of] if line.calls_of else 0
        counted = sum(int(row.split()[column]) for row in self._counts.read_text().splitlines())
        self._counts.unlink()
        if line.calls_of:
            return counted
        if counted == 0:
            raise LaunchError("none of the messages was one that says what is wanted")
        return counted * line.lists_of / 1024

    def _settings_of(self, line: Line, job: Job) -> dict[str, str]:
        """Variables for Unisono. On a cluster it sees the nodes itself."""
        nodes = {"UNISONO_TOPOLOGY": f"nodes={self.figure.nodes or job.ranks}"}
        return {**({} if self.figure.cluster else nodes), **FORGETTING, **line.settings}

    def _outputs(self, started: list, side: Side, jobs: tuple[Job, ...]) -> list[dict]:
        """One line of each job. If one fails, the others are waited for all the same."""
        lines: list[dict] = []
        failures: list[LaunchError] = []
        for (process, report), job in zip(started, jobs):
            try:
                lines_of_job = sides.lines_of(process, self.settings.timeout_s)
                line = in_both_directions(*lines_of_job) if job.direction == "both" else lines_of_job[-1]
                if side.unisono and job.program != "alltoall":
                    line["strategies"] = sides.strategies_in(report)
                lines.append(line)
            except LaunchError as error:
                failures.append(error)
            report.unlink(missing_ok=True)
        if failures:
            raise failures[0]
        return lines


def run_figure(figure: Figure, settings: Settings, fresh: bool) -> Results:
    """Measures what is missing; all of it if `fresh`."""
    path = settings.folder / f"{figure.name}.json"
    if fresh:
        path.unlink(missing_ok=True)
    work = FigureRun(figure, settings, loaded_or_new(figure, path))
    work.run()
    return work.results
