"""What a synced write cannot take less than: its bytes are on the modelled disks at its end."""

from __future__ import annotations

import json
import math
import pathlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Media:
    """Of all servers together. `cache_bytes`: what the drives' own caches can hold; a flush empties
    them, so that this is more than they can keep from the disks."""

    mb_per_s: float
    cache_bytes: float

    @classmethod
    def of(cls, profile: pathlib.Path, servers: int) -> Media:
        """From the file that the emulator reads, where 0 is infinitely fast. A disk is as fast as its
        outermost zone."""
        described = json.loads(profile.read_text())

        def figure(part: str, name: str) -> float:
            return described[part].get(name, {"value": 0})["value"]

        medium = "outer_mb_s" if described["drive"]["kind"] == "rotating" else "interface_mb_s"
        of_each = min(figure("drive", medium) or math.inf, figure("link", "server_mb_s") or math.inf)
        return cls(servers * of_each, servers * figure("drive", "write_cache_bytes"))

    def why_too_fast(self, written_bytes: float, seconds: float) -> str:
        """Why so many different bytes cannot have been synced in this time; empty if they can."""
        if (written_bytes - self.cache_bytes) / 1e6 <= self.mb_per_s * seconds:
            return ""
        return (f"synced write of {written_bytes / 1e6:.1f} MB in {seconds:.3f} s is"
                f" {written_bytes / seconds / 1e6:.0f} MB/s, but the media take at most"
                f" {self.mb_per_s:.0f} MB/s: nothing was synced")


def why_unsynced(printed: dict, file: pathlib.Path, media: Media, statistics: dict) -> str:
    """Why MPI_File_sync cannot have done its work on the emulated servers; empty if it can. `printed`:
    the program's line."""
    if not any(server["flushes"] for server in statistics["servers"]):
        return "no server was asked to flush: MPI_File_sync synced nothing"
    # A program that goes on from the beginning writes the same bytes again, before they are synced.
    return media.why_too_fast(min(printed["bytes"], file.stat().st_size), printed["seconds"])
