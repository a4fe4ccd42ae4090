"""Figures on a virtual clock: the executor, a model of ROMIO, and modelled servers of the papers' time
behind simulated links (testbed/simulated). Reads only, no CPU time, the same on every machine.

What is simulated is never mixed with what was measured: it has a file and a table of its own."""

from __future__ import annotations

import csv
import json
import os
import pathlib
import subprocess
from concurrent.futures import ThreadPoolExecutor

from . import measured, page, ticks
from .experiment import Figure, Job, Line
from .figures import lacio_fig6, lacio_ior, resonant_fig2, resonant_fig7
from .results import Results, Sample, definition_of

FIGURES = (resonant_fig2.FIGURE, resonant_fig2.WITH_CFQ, resonant_fig2.TODAY, resonant_fig7.FIGURE,
           lacio_fig6.FIGURE, lacio_fig6.TODAY, lacio_ior.RANDOM, lacio_ior.INTERLEAVED)
PAPERS_BUFFER = 4 << 20  # ROMIO's collective buffer in MPICH2 1.0; the one that is measured has 16 MiB
HINTS = {"cb_config_list", "cb_nodes", "unisono_resonant_groups"}  # that can be simulated
SEEDS = range(1, 6)
COLUMNS = ("figure", "servers", "line", "x", "seed", "mb_per_s")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def bytes_of(size: str | int) -> int:
    text = str(size)
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def strategy_of(line: Line, job: Job) -> str:
    """As build/tests/simulate takes it; empty where the side cannot be simulated."""
    if line.side == "mpich-tuned":
        return "romio"
    if line.side == "mpich" and job.access == "pieces":
        return "pieces"
    side, _, strategy = line.side.partition(":")
    return strategy if side == "unisono-mpich" else ""


def pattern_of(job: Job) -> list[str]:
    """What the program asks for; empty where that cannot be simulated."""
    size = {name: bytes_of(value) for name, value in job.options.items()}
    if job.program == "demo":
        return ["--piece-bytes", str(size["segment-bytes"]), "--pieces", "4"]
    if job.program == "mpi-io-test":
        return ["--piece-bytes", str(size["segment-bytes"]), "--pieces", "1"]
    if job.program == "strided":
        pieces = size["call-bytes"] // (job.ranks * size["block-bytes"])
        return ["--piece-bytes", str(size["block-bytes"]), "--pieces", str(pieces)]
    if job.program == "ior-mpi-io" and size.get("random"):
        return ["--piece-bytes", str(size["transfer-bytes"]), "--dealt"]
    return []


def words_of(figure: Figure, line: Line, job: Job, profiles: pathlib.Path) -> list[str]:
    """Empty where it cannot be simulated."""
    strategy, pattern = strategy_of(line, job), pattern_of(job)
    hints = {hint.partition("=")[0] for hint in line.hints.split(",") if hint}
    if not strategy or not pattern or job.direction != "read" or not hints <= HINTS:
        return []
    servers = line.testbed or figure.testbed
    aggregators = [hint.partition("=")[2] for hint in line.hints.split(",")
                   if hint.startswith("cb_nodes=")]
    return ["servers", "--profile-file", str(profiles / f"{servers.profile}.json"),
            "--servers", str(servers.servers), "--stripe-bytes", str(bytes_of(servers.stripe)),
            "--scheduler", servers.scheduler, "--context", servers.context,
            "--jitter-us", str(servers.jitter_us), "--ranks", str(job.ranks),
            "--ranks-per-node", str(job.ranks // (figure.nodes or job.ranks)),
            "--file-bytes", str(bytes_of(job.options["file-bytes"])), "--strategy", strategy,
            "--page-cache-bytes", str(bytes_of(servers.page_cache or 0)), *pattern,
            *(["--cb-nodes", aggregators[0]] if aggregators else []),
            *(["--groups-by-count"] if resonant_fig7.N_GROUPS in line.hints else []),
            *(["--cb-buffer-size", str(PAPERS_BUFFER)] if strategy == "romio" else [])]


def cells_of(figure: Figure, profiles: pathlib.Path) -> list[tuple[Line, str, list[str]]]:
    return [(line, x, words) for line in figure.lines for x, (job, *_others) in line.jobs.items()
            if (words := words_of(figure, line, job, profiles))]


def simulate(figure: Figure, build: pathlib.Path, profiles: pathlib.Path) -> list[Sample]:
    def run(cell: tuple[Line, str, list[str]], seed: int) -> Sample:
        line, x, words = cell
        command = [build / "tests" / "simulate", *words, "--seed", str(seed)]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        if told["chosen"] not in ("", strategy_of(line, line.jobs[x][0])):
            raise SystemExit(f"{figure.name}, {line.name} at {x}: {told['chosen']} did it")
        return Sample(figure.testbed.profile, seed, line.name, x, told["mb_per_s"], [], told,
                      "simulated")

    asked = [(cell, seed) for cell in cells_of(figure, profiles) for seed in SEEDS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(run, *zip(*asked)))


def save(known: dict[str, list[Sample]], file: pathlib.Path) -> None:
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(COLUMNS)
        for name, samples in known.items():
            writer.writerows((name, one.profile, one.line, one.x, one.seed, f"{one.mb_per_s:.1f}")
                             for one in samples)


def load(file: pathlib.Path) -> dict[str, list[Sample]]:
    known: dict[str, list[Sample]] = {}
    with file.open(newline="") as opened:
        for row in csv.DictReader(opened):
            known.setdefault(row["figure"], []).append(
                Sample(row["servers"], int(row["seed"]), row["line"], row["x"],
                       float(row["mb_per_s"]), [], {}, "simulated"))
    return known


def draw(known: page.Known, folder: pathlib.Path) -> str:
    """A picture of each figure's ratios; the block for docs/understand/papers.md that shows them. Of figures
    that came out alike the first."""
    shown: dict[tuple, str] = {}
    for figure, one in known:
        found = measured.verdicts(figure, one)
        alike = tuple(tuple(page.ratio_of(figure, verdict)) for verdict in found)
        if alike not in shown:
            picture = folder / f"simulated-{figure.name}.svg"
            ticks.draw(f"{figure.name}, simulated", found, picture)
            shown[alike] = f"![{figure.name}, simulated: {figure.title}](papers/{picture.name})"
    return "\n\n".join(shown.values())


def measured_of(known: dict[str, list[Sample]]) -> page.Known:
    return [(figure, measured.Measured.of(
        figure, Results(definition_of(figure), samples=known.get(figure.name, []))))
            for figure in FIGURES]
