"""Keys that daemons of several nodes share (orchestra/wire/key_file.hpp reads them)."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from .places import Failure

_KEY_BYTES = 32


def make(path: Path) -> None:
    """Writes a new key for its owner's eyes only; never over one that is there."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    with os.fdopen(file, "w") as text:
        os.fchmod(file, 0o600)  # whatever the umask
        text.write(secrets.token_hex(_KEY_BYTES) + "\n")
