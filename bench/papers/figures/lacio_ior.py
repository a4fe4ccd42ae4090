"""LACIO, figures 7 and 8: IOR, random and interleaved."""

import dataclasses

from ..experiment import Claim, Figure, Job, Line
from .engine import with_two_phase
from .lacio_fig6 import AGGREGATORS
from .testbeds import LACIO

XS = ("64M", "128M", "256M")
HOLES = ("ROMIO reads (and writes) what lies between, nearly all of the file in each call; `two_phase` of our own"
         " gains as much: it is not LACIO's idea. Made to read that, too (bdda82c), lacio has 0.62 of ROMIO's speed")
EXCHANGING = "ROMIO made to exchange"
EXCHANGE = ("16 processes' exchange on two cores is the limit: with instant servers lacio has 243 MB/s, and ROMIO,"
            " which does not exchange here, 542; simulated, where exchange costs nothing, 1.58 and 1.46",
            "as with reads: with instant servers lacio has 198 MB/s, ROMIO 533; made to exchange, 319")
OWN_EXCHANGE = ("its exchange costs more than ROMIO's: with instant servers lacio reads 243 and writes 198 MB/s,"
                " ROMIO made to exchange 310 and 319")
TRANSFER = "256K"  # the paper does not say


def random(direction: str) -> dict[str, tuple[Job, ...]]:
    return {x: (Job("ior-mpi-io", 16, {"transfer-bytes": TRANSFER, "file-bytes": x, "random": 1},
                    direction),) for x in XS}


def interleaved(direction: str, ranks: int = 16) -> dict[str, tuple[Job, ...]]:
    return {x: (Job("mpi-io-test", ranks, {"segment-bytes": TRANSFER, "file-bytes": x}, direction),)
            for x in XS}


def lines(jobs) -> tuple[Line, ...]:
    return with_two_phase(tuple(
        Line(f"{name}, {direction}", side, jobs(direction), hints=AGGREGATORS)
        for direction in ("read", "write")
        for name, side in (("ROMIO", "mpich-tuned"), ("lacio", "unisono-mpich:lacio"))))


def claims(number: int, best: tuple[float, float], mean: tuple[float, float],
           why: tuple[str, str]) -> tuple[Claim, ...]:
    """Each a pair: of reads and writes."""
    found = []
    for direction, most, average, cause in zip(("read", "write"), best, mean, why):
        for at, value in (("best", most), ("mean", average)):
            found.append(Claim(f"lacio against ROMIO, {direction}, {at}", value,
                               f"section IV.C, figure {number}", f"lacio, {direction}", at,
                               f"ROMIO, {direction}", why=cause))
    return tuple(found)


def figure(number: int, title: str, jobs, best, mean, why: tuple[str, str]) -> Figure:
    return Figure(
        name=f"lacio-fig{number}",
        title=title,
        source=f"LACIO (IPDPS 2011), figure {number}",
        testbed=LACIO,
        x_label="file",
        nodes=8,
        differs="16 processes on 8 servers instead of 64 on 32; 64 to 256 MiB instead of 64 MB to"
                " 16 GB; transfers of 256 KiB (the paper does not say); writes go over an existing"
                " file and include MPI_File_sync.",
        lines=lines(jobs),
        claims=claims(number, best, mean, why),
    )


def with_exchange(figure: Figure) -> Figure:
    """ROMIO sees that nothing has to be exchanged, and each process accesses the file by itself; whether
    the paper's did, it does not say."""
    forced = tuple(dataclasses.replace(line, name=line.name.replace("ROMIO", EXCHANGING),
                                       hints=f"{line.hints},romio_cb_read=enable,romio_cb_write=enable")
                   for line in figure.lines if line.name.startswith("ROMIO"))
    other = tuple(dataclasses.replace(claim, says=claim.says.replace("ROMIO", EXCHANGING),
                                      against=claim.against.replace("ROMIO", EXCHANGING), why=OWN_EXCHANGE)
                  for claim in figure.claims if claim.at == "mean")
    return dataclasses.replace(figure, lines=figure.lines + forced, claims=figure.claims + other)


RANDOM = figure(7, "IOR, transfers of the whole file dealt to processes at random", random,
                (1.741, 1.384), (1.404, 1.227), (HOLES, HOLES))
INTERLEAVED = with_exchange(figure(8, "IOR, transfers of all processes interleaved", interleaved,
                                   (2.12, 1.28), (1.453, 1.167), EXCHANGE))


def an_eighth(figure: Figure) -> Figure:
    """Fewer disks, so that they are the limit and not two cores that exchange for all."""
    def fewer(line):
        jobs = interleaved("read", ranks=8)
        return dataclasses.replace(line, jobs=jobs, hints=line.hints.replace("cb_nodes=8", "cb_nodes=4"))

    reads = tuple(fewer(line) for line in figure.lines if line.name.endswith("read"))
    return dataclasses.replace(
        figure, name=f"{figure.name}-eighth", title=f"{figure.title}, at an eighth of the paper's scale",
        testbed=dataclasses.replace(figure.testbed, servers=4), nodes=4, lines=reads,
        differs=figure.differs.replace("16 processes on 8 servers", "8 processes on 4 servers"),
        claims=tuple(dataclasses.replace(claim, why="") for claim in figure.claims if ", read, " in claim.says))


INTERLEAVED_EIGHTH = an_eighth(INTERLEAVED)
