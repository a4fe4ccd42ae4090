"""What users are told about must be what there is."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from click import Option

from unisono import places, report
from unisono.command import main

BUILD = places.PREFIX
ROOT = Path(__file__).parents[2]
HINTS = (ROOT / "docs" / "use" / "hints.md").read_text()
REPORT = (ROOT / "docs" / "use" / "report.md").read_text()
OVERVIEW = (ROOT / "docs" / "man" / "unisono.1").read_text().replace("\\-", "-")
MAN_PAGES = BUILD / "share" / "man" / "man1"
SOURCE = (ROOT / "src" / "options" / "settings.cpp").read_text()


@pytest.mark.parametrize("name", re.findall(r'Known\{"(\w+)"', SOURCE))
def test_every_hint_and_variable_is_documented(name):
    assert f"`{name}`" in HINTS


def test_every_documented_variable_exists():
    known = set(re.findall(r'(?:Known\{|elsewhere\()"(UNISONO_[A-Z_]+)"', SOURCE))
    assert set(re.findall(r"^\| `(UNISONO_[A-Z_]+)`", HINTS, re.MULTILINE)) <= known


_READS = re.compile(r"""(?:getenv\(|environ\.get\(|environ\[|variable\(|value_of\(|Variable\{)\s*"(UNISONO_\w+)\"""")


def test_every_variable_that_is_read_anywhere_is_known_to_the_library():
    """Else it is called a misspelling."""
    read = set()
    for folder in ("src", "cli", "orchestra", "daemons", "testbed", "tests", "demo", "bench", "tools"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in (".c", ".cpp", ".hpp", ".py") and not file.name.startswith("options_test"):
                read |= set(_READS.findall(file.read_text(errors="replace")))
    assert {"UNISONO_HINTS", "UNISONO_TEST_SEED", "UNISONO_RUNTIME", "UNISONO_PROGRAM"} <= read
    known = set(re.findall(r'(?:Known\{|elsewhere\()"(UNISONO_\w+)"', SOURCE))
    assert {name for name in read if not name.startswith("UNISONO_TEST_")} <= known


def commands_below(command, words=()):
    for name, one in getattr(command, "commands", {}).items():
        if not one.hidden:
            yield (*words, name), one
            yield from commands_below(one, (*words, name))


@pytest.mark.parametrize("command", main.commands)
def test_every_command_is_in_the_overview(command):
    assert f".B unisono {command}" in OVERVIEW or f" | {command} " in OVERVIEW.replace('"', "")
    assert f".BR unisono-{command} (1)" in OVERVIEW


@pytest.mark.skipif(not (MAN_PAGES / "unisono-run.1").exists(), reason="not made: see cli/HelpAndCompletion.cmake")
@pytest.mark.parametrize(("words", "command"), commands_below(main), ids=lambda value: str(value))
def test_every_command_has_a_page_with_its_options_files_and_neighbours(words, command):
    page = (MAN_PAGES / f"unisono-{'-'.join(words)}.1").read_text().replace("\\-", "-").replace("\\fR", "")
    for parameter in command.params:
        if isinstance(parameter, Option):
            assert parameter.opts[0] in page
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "FILES", '"SEE ALSO"'):
        assert re.search(f"^.SH {section}$", page, re.MULTILINE), section
    neighbours = re.findall(r"^\.BR (unisono\S*) \(1\)", page.split('.SH "SEE ALSO"')[1], re.MULTILINE)
    assert "unisono" in neighbours
    assert [name for name in neighbours if not (MAN_PAGES / f"{name}.1").exists()] == []
    for document in re.findall(r"PREFIX/share/doc/unisono/(docs/\S+\.md)", page):
        assert (ROOT / document).exists()


@pytest.mark.parametrize("page", sorted(MAN_PAGES.glob("unisono-*.1")), ids=lambda page: page.name)
def test_examples_were_joined_to_one_command_and_paragraphs_broken(page):
    lines = page.read_text().splitlines()
    assert not [line for line, following in pairwise(lines) if line.startswith("unisono ") and following.startswith("unisono ")]
    assert "  " not in lines[lines.index(".SH NAME") + 1]


@pytest.mark.parametrize("part", ["file", "direction"])
def test_every_phase_is_documented_as_the_library_says_it(part):
    table = "".join(f"| `{phase['name']}` | {phase['meaning']} |\n" for phase in report.fields()["phases"][part])
    assert f"| Phase | Meaning |\n|---|---|\n{table}\n" in REPORT


def way_of_a_call() -> list[tuple[int, Path, str]]:
    """Depth, file and function of each line of the picture in docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    picture = text.split("## The way of a call")[1].split("```")[1]
    lines = re.findall(r"^( *)([\w/]+\.\w+)(?:: (\w+))?", picture, re.MULTILINE)
    return [(len(indent) // 2, ROOT / "src" / path, name) for indent, path, name in lines]


def test_the_way_of_a_call_is_as_drawn():
    steps = way_of_a_call()
    assert len(steps) > 10
    callers: dict[int, Path] = {}
    for depth, path, name in steps:
        assert path.exists(), path
        assert re.search(rf"\b{name}\(", path.read_text()) or not name, f"{path} has no {name}"
        # Planners and backends are called through pointers.
        caller = callers.get(depth - 1)
        if caller is not None and name and path.parent.name != "strategies":
            assert re.search(rf"\b{name}\(", caller.read_text()), f"{caller} does not call {name}"
        callers[depth] = path


def headings(text: str) -> set[str]:
    """Anchors, as forges make them of headings."""
    plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.*)$", plain, re.MULTILINE)}  # fmt: skip


PAGES = sorted(page for folder, pattern in ((".", "*.md"), ("bench", "**/*.md"), ("docs", "**/*.md"))
               for page in (ROOT / folder).glob(pattern))  # fmt: skip
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for target, anchor in LINK.findall(page.read_text()):
        other = (page.parent / target).resolve() if target else page
        assert other.exists(), target
        assert not anchor or anchor in headings(other.read_text()), f"{target}#{anchor}"


def test_every_page_can_be_reached_from_the_first():
    found, new = set(), [ROOT / "README.md"]
    while new:
        page = new.pop()
        found.add(page)
        linked = {(page.parent / target).resolve() for target, _ in LINK.findall(page.read_text())}
        new += [other for other in linked - found if other.suffix == ".md"]
    assert set(PAGES) <= found
