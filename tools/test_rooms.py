"""Which part of the sources may see which: docs/architecture.md, "Folders"."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)
# What the core does not know: who takes turns, what a simulated cluster is made of, who starts it.
BEYOND_THE_CORE = ("orchestra/", "testbed/", "daemons/", "bench/")


def sources_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*")
                  if path.suffix in (".c", ".h", ".cpp", ".hpp"))  # fmt: skip


def includes_of(folder: Path, forbidden: tuple[str, ...]) -> list[str]:
    return [f"{path.relative_to(ROOT)} includes {name}" for path in sources_below(folder)
            for name in INCLUDE.findall(path.read_text()) if name.startswith(forbidden)]  # fmt: skip


CORE = [part.name for part in (ROOT / "src").iterdir() if part.is_dir() and part.name != "interpose"]


@pytest.mark.parametrize("part", CORE)
def test_the_core_sees_neither_the_orchestra_nor_the_engine(part):
    assert includes_of(ROOT / "src" / part, (*BEYOND_THE_CORE, "interpose/")) == []


def test_the_vocabulary_stands_alone():
    parts = tuple(f"{part}/" for part in (*CORE, "interpose"))
    assert includes_of(ROOT / "include", BEYOND_THE_CORE + parts) == []


def test_support_stands_below_all_other_parts():
    parts = tuple(f"{part}/" for part in CORE if part != "support")
    assert includes_of(ROOT / "src" / "support", parts) == []


def test_the_engine_is_where_both_meet():
    """Or the tests above could pass for a wrong reason."""
    assert includes_of(ROOT / "src" / "interpose", ("orchestra/gate/file_gate.hpp",)) != []
