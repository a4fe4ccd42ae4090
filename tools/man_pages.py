#!/usr/bin/python3
"""Writes the man pages of `unisono`'s commands, from their own help, by help2man.

usage: man_pages.py PYTHON_FOLDER INCLUDES OUT

PYTHON_FOLDER holds the package `unisono`; INCLUDES what help cannot say (docs/man/include: one file for each
command, which holds for its commands as well); the pages go to OUT.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WIDTH = 1000  # help2man breaks lines by itself


def contexts(command, name: str, parent=None) -> Iterator:
    """Of a command and all below it."""
    import click

    context = click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH, **command.context_settings)
    yield context
    for below, subcommand in getattr(command, "commands", {}).items():
        if not subcommand.hidden:
            yield from contexts(subcommand, below, context)


def paragraphs_of(command) -> list[str]:
    """Of its docstring, without the indentation of the source, which help2man would take for a meaning."""
    return inspect.cleandoc(command.help).split("\n\n")


def help_of(context) -> str:
    """As --help has it; only examples are indented, each a paragraph, or help2man would join them."""
    said = ["\n\n".join(f"  {line}" for line in one.splitlines()[1:]) if one.startswith("\b") else one
            for one in paragraphs_of(context.command)]  # fmt: skip
    formatter = context.make_formatter()
    context.command.format_usage(context, formatter)
    formatter.write("\n" + "\n\n".join(said) + "\n")
    context.command.format_options(context, formatter)
    return formatter.getvalue()


def write_page(context, includes: Path, out: Path, version: str) -> None:
    name = context.command_path.replace(" ", "-")
    topic = context.command_path.split()[1]
    summary = paragraphs_of(context.command)[0].replace("\n", " ").split(". ")[0].rstrip(".")
    with tempfile.TemporaryDirectory() as folder:
        text, program = Path(folder, "help"), Path(folder, name)
        text.write_text(help_of(context))
        program.write_text(f"#!/bin/sh\ncat '{text}'\n")
        program.chmod(0o755)
        subprocess.run(["help2man", "--no-info", "--section=1", "--manual=User commands", "--source=Unisono",
                        f"--name={summary}", f"--version-string={name} {version}",
                        f"--include={includes / topic}.h2m", f"--output={out / name}.1", program],
                       check=True, timeout=60)  # fmt: skip


def main() -> None:
    package, includes, out = map(Path, sys.argv[1:])
    sys.path.insert(0, str(package))
    from unisono.command import main as unisono
    from unisono.version import VERSION

    out.mkdir(parents=True, exist_ok=True)
    every = [context for context in contexts(unisono, "unisono") if context.parent is not None]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda context: write_page(context, includes, out, VERSION), every))


main()
