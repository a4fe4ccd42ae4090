"""What IOrchestrator's issue asks beyond the paper: schedulers that a site has today, both places of
the gate, and storage on which turns must do nothing."""

import dataclasses

from ..experiment import Claim, Figure, Job, Line
from .iorchestrator_fig8 import FIRST_BYTE, GIB, SELDOM, SHARE_BYTES, program
from .testbeds import IORCHESTRATOR, OURS, PAPER

CLIENTS = ("--gate", "clients")
ON_A_VIRTUAL_CLOCK = "not in the paper; docs/understand/orchestra.md, on a virtual clock"
CORES = "ten processes and six emulated servers share the cores of this machine"
UNISONO = "unisono-mpich"  # the gate in the clients is in programs that run under Unisono


def pair(distance_bytes: int) -> tuple[Job, Job]:
    second = FIRST_BYTE + SHARE_BYTES + distance_bytes
    return program("first", FIRST_BYTE), program(f"second-{distance_bytes // GIB}", second)


TWO = {"0": pair(0), "30G": pair(30 * GIB)}


def scheduled(scheduler: str, context: str = "process"):
    return dataclasses.replace(IORCHESTRATOR, scheduler=scheduler, context=context)


SCHEDULERS = Figure(
    name="iorchestrator-schedulers",
    title="two programs, schedulers of the servers alone",
    source="Beside IOrchestrator (SC 2010), figure 8",
    testbed=IORCHESTRATOR,
    x_label="distance on each disk",
    run_seconds=6,
    differs="Not in the paper. 'cfq, by request' is what servers with a thread for each request"
            " show it; 'by program' knows what no server's kernel knows. 'bfq' is BFQ-like. The"
            " numbers to compare with are of the same model on a virtual clock"
            " (docs/understand/orchestra.md), where clients take no time.",
    lines=(
        Line("none", "mpich", TWO, testbed=scheduled("none")),
        Line("deadline", "mpich", TWO, testbed=scheduled("deadline")),
        Line("cfq, by request", "mpich", TWO),
        Line("cfq, by process", "mpich", TWO, testbed=scheduled("cfq", "process")),
        Line("cfq, by program", "mpich", TWO, testbed=scheduled("cfq", "file")),
        Line("bfq, by request", "mpich", TWO, testbed=scheduled("bfq", "request")),
        Line("bfq, by program", "mpich", TWO, testbed=scheduled("bfq", "file")),
        Line("orchestrated, policy paper", "mpich", TWO, orchestra=PAPER),
        Line("orchestrated, our default", "mpich", TWO, orchestra=OURS),
    ),
    claims=(
        Claim("at 30 GB turns are worth 2.4 times", 419 / 175, ON_A_VIRTUAL_CLOCK,
              "orchestrated, our default", "30G", "cfq, by request",
              why="clients take time of their own here", own=True),
        Claim("at 30 GB CFQ that were told the program gets 1.6 times", 287 / 175,
              ON_A_VIRTUAL_CLOCK, "cfq, by program", "30G", "cfq, by request", own=True),
        Claim("at 30 GB BFQ as servers use it changes nothing", 1.0, ON_A_VIRTUAL_CLOCK,
              "bfq, by request", "30G", "cfq, by request",
              own=True),
    ),
)

GATES = Figure(
    name="iorchestrator-gates",
    title="two programs, gate in the servers and gate in the clients",
    source="Beside IOrchestrator (SC 2010), figure 8",
    testbed=IORCHESTRATOR,
    x_label="distance on each disk",
    run_seconds=6,
    differs="Not in the paper, whose gate is in the servers. All programs run under Unisono, which"
            " the gate in the clients needs.",
    lines=(
        Line("without", UNISONO, TWO),
        Line("policy paper, servers", UNISONO, TWO, orchestra=PAPER),
        Line("policy paper, clients", UNISONO, TWO, orchestra=(*PAPER, *CLIENTS)),
        Line("our default, servers", UNISONO, TWO, orchestra=OURS),
        Line("our default, clients", UNISONO, TWO, orchestra=(*OURS, *CLIENTS)),
    ),
    claims=(
        *(Claim(f"{how}, gate in the {place}: 2.5 times at 30 GB", 2.5,
                "section IV.D; the paper's gate is in the servers", f"{how}, {place}", "30G",
                "without", why=why, own=True)
          for how, why in (("policy paper", SELDOM), ("our default", CORES))
          for place in ("servers", "clients")),
        Claim("our default in the clients gains as much as in the servers at 30 GB", 1.0,
              "not in the paper", "our default, clients", "30G",
              "our default, servers",
              own=True),
    ),
)


def reader(number: int) -> Job:
    return Job("mpi-io-test", 5, {"segment-bytes": "64K", "file-bytes": "640M"},
               access="independent", flags=("--barrier",), file=f"file-{number}")


RUNS = {"two programs": (reader(1), reader(2)), "one program": (reader(1),)}


def no_difference(line: str, against: str, on: str = "") -> tuple[Claim, ...]:
    where = "on tmpfs" if on else "on the SSD"
    return tuple(Claim(f"{line}: {what} as fast as without, {where}", 1.0,
                       "not in the paper: no difference beyond noise is wanted", line, what,
                       against, on=on, within=1.05, own=True) for what in RUNS)


NO_SEEKS = Figure(
    name="iorchestrator-no-seeks",
    title="turns where nothing seeks: an SSD, and no emulation at all (tmpfs)",
    source="Beside IOrchestrator (SC 2010)",
    testbed=dataclasses.replace(IORCHESTRATOR, profile="ssd", scheduler="none"),
    x_label="what runs",
    differs="Not in the paper. Twenty seeds, in each of which all lines run one after the other.",
    run_seconds=6,
    seeds=20,
    ceiling_seeds=20,
    lines=(
        Line("without", "mpich", RUNS),
        Line("our default", "mpich", RUNS, orchestra=OURS),
        Line("without, under Unisono", UNISONO, RUNS),
        Line("our default, clients", UNISONO, RUNS, orchestra=(*OURS, *CLIENTS)),
    ),
    claims=(
        *no_difference("our default", "without"),
        *no_difference("our default, clients", "without, under Unisono"),
        *no_difference("our default, clients", "without, under Unisono", on="off"),
    ),
)
