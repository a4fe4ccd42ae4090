"""The ratios that the papers are quoted for, on one table of docs/understand/papers.md."""

from __future__ import annotations

from dataclasses import dataclass

from . import judge, measured
from .judge import Verdict
from .measured import Measured
from .experiment import Figure


@dataclass(frozen=True)
class Headline:
    """A claim of a figure, named by its line and place."""

    paper: str
    says: str
    figure: str
    line: str
    at: str


HEADLINES = (
    Headline("Resonant I/O", "independent calls read 4.2 times as fast as collective ones", "resonant-fig2",
             "independent, 4 ranks", "64K"),
    Headline("", "`resonant` reads 151 % faster", "resonant-fig2", "resonant, 4 ranks", "64K"),
    Headline("", "`resonant` gains up to 157 % (noncontig, read)", "resonant-fig9", "resonant, read", "16384"),
    Headline("IOrchestrator", "two instances of a program gain 43 % on average (39 % over all figures)",
             "iorchestrator-fig2", "two, read, orchestrated, Linux's weights", "mean"),
    Headline("", "two programs 30 GB apart read 2.5 times as fast (here: with slices kept, below)",
             "iorchestrator-fig8", "two programs, orchestrated, slices kept", "30G"),
    Headline("LACIO", "strided reads gain 38 % on average", "lacio-fig6", "lacio", "mean"),
    Headline("", "IOR, interleaved: reads gain 45 % on average (here: at an eighth of the scale, below)",
             "lacio-fig8-eighth", "lacio, read", "mean"),
    Headline("", "IOR, random: reads gain 40 % on average", "lacio-fig7", "lacio, read", "mean"),
    Headline("Orthrus", "reads gain 21 % on average", "orthrus-fig3", "chosen by orthrus, read", "mean"),
    Headline("", "writes gain 36 % on average", "orthrus-fig3", "chosen by orthrus, write", "mean"),
    Headline("", "it switches to `core_first` when links are busy, and has what that has", "orthrus-fig6",
             "chosen by orthrus", "with messages"),
    Headline("View-based", "BTIO writes up to 2.2 times as fast", "view-based-fig3", "view_based, write", "best"),
    Headline("", "coll_perf writes up to 7.3 times as fast", "view-based-fig6", "view_based, write", "best"),
)


def found(known: list[tuple[Figure, Measured]]) -> list[tuple[Headline, Figure, Measured, Verdict]]:
    """The first claim of each headline's line and place; those whose figure was not measured are left out."""
    figures = {figure.name: (figure, one) for figure, one in known}
    result = []
    for headline in HEADLINES:
        if headline.figure not in figures:
            continue
        figure, one = figures[headline.figure]
        result.append((headline, figure, one, next(
            verdict for verdict in measured.verdicts(figure, one)
            if (verdict.claim.line, verdict.claim.at) == (headline.line, headline.at))))
    return result


def agreeing(quoted: list[tuple[Headline, Figure, Measured, Verdict]]) -> int:
    return sum(verdict.word == judge.AGREES for *_which, verdict in quoted)
