"""What each paper says and what came out, for the documentation and the report.

docs/understand/papers.md is written by hand but for what stands between `<!-- made: NAME -->` and
`<!-- end -->`, which is renewed from docs/understand/papers/*.csv: pictures, where the report has tables
as well. Every number, with why it differs, is in docs/understand/papers/verdicts.csv."""

from __future__ import annotations

import csv
import pathlib
import re
from collections import Counter

from . import headlines, judge, measured, ticks
from .experiment import Claim, Figure
from .judge import Verdict
from .measured import Measured

Known = list[tuple[Figure, Measured]]

OUTCOMES = {
    "agree": (judge.AGREES,),
    "same direction, another size": (judge.WEAKER, judge.STRONGER, judge.LOSES_LESS,
                                     judge.LOSES_MORE),
    "not seen, or opposite": (judge.NOT_SEEN, judge.NO_LOSS, judge.DISAGREES),
    "another speed": (judge.OTHER_VALUE,),
    "on earlier servers": (judge.EARLIER,),
    "void or not measured": (judge.VOID, judge.NOT_MEASURED),
}

SHORT = 20  # letters; a cause that is no longer is repeated

# As the page says them, which explains each once.
BRIEFLY = {judge.WEAKER: "weaker", judge.STRONGER: "stronger", judge.NOT_SEEN: "not seen",
           judge.OTHER_VALUE: "another speed"}

BLOCK = re.compile(r"(<!-- made: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def renewed(text: str, known: Known, folder: str, more: dict[str, str]) -> str:
    """`text` with every block made anew, those in `more` as they are there; pictures are in `folder`,
    as the text sees it."""
    pictures = {figure.name: f"{folder}/{figure.name}.svg" for figure, _one in known}
    made = brief_blocks(known, pictures) | more
    return BLOCK.sub(lambda match: f"{match[1]}\n{made[match[2]]}\n\n{match[3]}", text)


def blocks(known: Known, pictures: dict[str, str]) -> dict[str, str]:
    """Of the report."""
    made = {"counts": counts(known), "own": own_claims(known)}
    return made | {name_of(paper): claims_of(paper, known, pictures) for paper in papers(known)}


def brief_blocks(known: Known, pictures: dict[str, str]) -> dict[str, str]:
    """Of the documentation."""
    made = {"counts": counts(known), "headlines": quoted(known)}
    return made | {name_of(paper): "\n\n".join(pictures_of(paper, known, pictures))
                    for paper in papers(known)}


def quoted(known: Known) -> str:
    """The headlines, how many of them agree, and why others do not."""
    rows = [["", "the paper says", "paper", "ours", "seeds", "", "why ours differs"]]
    found = headlines.found(known)
    for headline, figure, one, verdict in found:
        claim = verdict.claim
        said = number(claim, claim.paper) + (" (in words)" if claim.in_words else "")
        rows.append([headline.paper, headline.says, said, _ours(verdict), seeds_of(figure, one, verdict),
                     f"**{BRIEFLY.get(verdict.word, verdict.word)}**",
                     "" if verdict.word == judge.AGREES else claim.why])
    return f"**{headlines.agreeing(found)} of {len(rows) - 1} agree.**\n\n{table(rows)}"


def save_verdicts(known: Known, simulated: Known, file: pathlib.Path) -> None:
    """Of every claim: what the paper says, its number, ours, and why ours differs."""
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(["paper", "figure", "seeds", "claim_of", "says", "paper_has", "ours", "verdict", "why"])
        for way, figures in (("", known), ("simulated, ", simulated)):
            for figure, one in figures:
                writer.writerows(
                    [_paper_of(figure), _short(figure), seeds_of(figure, one, verdict), way + _claimed_by(verdict.claim),
                     *ratio_of(figure, verdict)[:3], verdict.word, "" if way else verdict.claim.why]
                    for verdict in measured.verdicts(figure, one)
                    if not way or verdict.word != judge.NOT_MEASURED)


def seeds_of(figure: Figure, one: Measured, verdict: Verdict) -> str:
    """How many this number is of. On earlier records only the figure's are known: at most so many,
    if some of its runs are missing."""
    if verdict.ours is None:
        return "-"
    if verdict.ours.seeds is not None:
        return str(verdict.ours.seeds)
    return str(one.runs.seeds) if one.runs.count >= figure.runs else f"<= {one.runs.seeds}"


def _claimed_by(claim: Claim) -> str:
    return "this project" if claim.own else "the paper, in words" if claim.in_words else "the paper"


def papers(known: Known) -> list[str]:
    return list(dict.fromkeys(_paper_of(figure) for figure, _one in known))


def name_of(paper: str) -> str:
    """Of its block."""
    return re.sub(r"\W+", "-", paper.lower())


def _paper_of(figure: Figure) -> str:
    return figure.source.removeprefix("Beside ").partition(" (")[0]


def draw(known: Known, folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """A picture for each figure that has something to show; by name."""
    drawn = {}
    for figure, one in known:
        picture = folder / f"{figure.name}.svg"
        picture.unlink(missing_ok=True)
        ticks.draw(heading(figure), theirs(figure, one), picture)
        if picture.exists():
            drawn[figure.name] = picture
    return drawn


def theirs(figure: Figure, one: Measured) -> list[Verdict]:
    return [verdict for verdict in measured.verdicts(figure, one) if not verdict.claim.own]


def counts(known: Known) -> str:
    """How many of each paper's numbers came to what. Numbers put in for words count apart."""
    rows = [["of the paper's own numbers", *OUTCOMES, "words only: agree"]]
    for paper in papers(known):
        found = [verdict for figure, one in of_paper(paper, known) for verdict in theirs(figure, one)]
        words = Counter(verdict.word for verdict in found if not verdict.claim.in_words)
        said = [verdict for verdict in found
                if verdict.claim.in_words and verdict.word not in (judge.VOID, judge.NOT_MEASURED)]
        agree = sum(verdict.word == judge.AGREES for verdict in said)
        sums = (sum(words[word] for word in outcome) for outcome in OUTCOMES.values())
        rows.append([paper, *map(str, sums), f"{agree} of {len(said)}"])
    return table(rows)


def claims_of(paper: str, known: Known, pictures: dict[str, str]) -> str:
    head = ["figure", "the paper says", "paper", "ours", "", "why ours differs"]
    ratios: list[list[str]] = []
    speeds: list[list[str]] = []
    for figure, one in of_paper(paper, known):
        found = theirs(figure, one)
        ratios += _rows(figure, one, [verdict for verdict in found if verdict.claim.against])
        speeds += _rows(figure, one, [verdict for verdict in found if not verdict.claim.against])
    rows = _causes_once([*ratios, *speeds])
    parts = [table([head, *rows[:len(ratios)]])]
    if speeds:
        parts.append(_speeds(rows[len(ratios):]))
    return "\n\n".join([*parts, *pictures_of(paper, known, pictures)])


def pictures_of(paper: str, known: Known, pictures: dict[str, str]) -> list[str]:
    return [f"![{heading(figure)}]({pictures[figure.name]})" for figure, one in of_paper(paper, known)
            if ticks.shown(theirs(figure, one))]


def _speeds(rows: list[list[str]]) -> str:
    """A line for each figure's: a table of them would be mostly frame."""
    lines: list[str] = []
    for figure, says, theirs_, ours, _word, why in rows:
        one = f"{says}: {theirs_}, ours {ours}" + (f" {why}" if why else "")
        if figure:
            lines.append(f"* {figure}: {one}")
        else:
            lines[-1] += f"; {one}"
    return "\n".join(["Not ratios:", "", *lines])


def own_claims(known: Known) -> str:
    rows = [["figure", "this project's claim", "held against", "ours", "", "why it differs"]]
    for figure, one in sorted(known, key=_place):
        rows += _rows(figure, one, [verdict for verdict in measured.verdicts(figure, one)
                                    if verdict.claim.own])
    return table(_causes_once(rows))


def of_paper(paper: str, known: Known) -> Known:
    """In the order of the paper's figures, then its tables."""
    return sorted(((figure, one) for figure, one in known if _paper_of(figure) == paper), key=_place)


def heading(figure: Figure) -> str:
    return f"{_short(figure)}: {figure.title}"


def _place(known: tuple[Figure, Measured]) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", known[0].name)]


def _causes_once(rows: list[list[str]]) -> list[list[str]]:
    """A cause that several rows share is said in the first of them, with a letter."""
    times = Counter(row[-1] for row in rows)
    letters: dict[str, str] = {}

    def said(cause: str) -> str:
        if times[cause] == 1 or len(cause) < SHORT:
            return cause
        if cause in letters:
            return f"({letters[cause]})"
        letters[cause] = chr(ord("a") + len(letters))
        return f"({letters[cause]}) {cause}"

    return [[*row[:-1], said(row[-1])] for row in rows]


def _rows(figure: Figure, one: Measured, found: list[Verdict]) -> list[list[str]]:
    seeds = f"{one.runs.seeds} seed{'s' if one.runs.seeds > 1 else ''}"
    title = _short(figure) if ticks.shown(theirs(figure, one)) else heading(figure)
    names = [f"{title}, {seeds}", *[""] * len(found)]
    return [[name, *ratio_of(figure, verdict), verdict.claim.why]
            for name, verdict in zip(names, found)]


def ratio_of(figure: Figure, verdict: Verdict) -> list[str]:
    """What the paper says, its number, ours, and the verdict."""
    return [verdict.claim.says, _said(figure, verdict.claim), _ours(verdict),
            f"**{BRIEFLY.get(verdict.word, verdict.word)}**"]


def _short(figure: Figure) -> str:
    if figure.source.startswith("Beside"):
        return figure.name
    return re.sub(r".*?-(?=fig|table)", "", figure.name)


def _said(figure: Figure, claim: Claim) -> str:
    unit = "" if claim.against else f" {figure.unit}"
    return f"{number(claim, claim.paper)}{unit}{' (ours)' if claim.in_words else ''}"


def _ours(verdict: Verdict) -> str:
    if verdict.ours is None:
        return "-"
    low, median, high = (number(verdict.claim, value) for value in
                         (verdict.ours.low, verdict.ours.median, verdict.ours.high))
    return f"{median} ({low}-{high})" if low != high else median


def number(claim: Claim, value: float) -> str:
    return f"{value:.2f}" if claim.against else f"{value:.0f}"


def table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])
