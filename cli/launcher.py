#!@UNISONO_PYTHON@
"""The command `unisono`. Its package lies in ../lib/unisono/python, installed or in a build."""

import sys
from pathlib import Path

PREFIX = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PREFIX / "lib" / "unisono" / "python"))

try:
    from unisono.command import main
except ModuleNotFoundError as missing:
    if missing.name not in ("click", "rich"):
        raise
    sys.exit(f"unisono: needs the Python package {missing.name} (Debian: python3-{missing.name})")

main(prog_name="unisono")
