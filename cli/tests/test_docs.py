"""What users are told about must be what there is."""

import re
from pathlib import Path

import pytest
from click import Option

from unisono.command import main

ROOT = Path(__file__).parents[2]
HINTS = (ROOT / "docs" / "hints.md").read_text()
MANUAL = (ROOT / "docs" / "man" / "unisono.1").read_text().replace("\\-", "-")
SOURCE = (ROOT / "src" / "options" / "options.cpp").read_text()


@pytest.mark.parametrize("name", re.findall(r'Known\{"(\w+)"', SOURCE))
def test_every_hint_and_variable_is_documented(name):
    assert f"`{name}`" in HINTS


def test_every_documented_variable_exists():
    opening = (ROOT / "src" / "interpose" / "file_calls.cpp").read_text()
    read = set(re.findall(r'"(UNISONO_[A-Z_]+)"', SOURCE + opening))
    assert set(re.findall(r"^\| `(UNISONO_[A-Z_]+)`", HINTS, re.MULTILINE)) == read


@pytest.mark.parametrize("command", main.commands)
def test_every_command_and_option_is_in_the_manual(command):
    assert f".B unisono {command}" in MANUAL
    for parameter in main.commands[command].params:
        if isinstance(parameter, Option):
            assert parameter.opts[0] in MANUAL
