"""What a measurement depends on besides the code: written into the JSON file."""

import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess

from sides import CORES, LAUNCHERS

TELLING = re.compile(r"UNISONO_|ROMIO_|OMPI_|MPICH_|MPIR_|UCX_|YIELD_SHIM_|LD_PRELOAD$")
VERSION_NUMBER = re.compile(r"\d+\.\d+\.\d+")


def describe(directories: list[pathlib.Path], build: pathlib.Path) -> dict:
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "kernel": platform.release(),
        "cpu": _cpu_model(),
        "cores": CORES,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load_at_start": os.getloadavg()[0],
        "mpi": {name: _mpi_version(launcher) for name, launcher in LAUNCHERS.items()},
        "file_systems": {str(directory): file_system_of(directory) for directory in directories},
        # Of one side only, or of all: programs inherit them.
        "variables": {name: value for name, value in sorted(os.environ.items()) if TELLING.match(name)},
        **revision_of(build),
    }


def revision_of(build: pathlib.Path) -> dict:
    """What was built there, which need not be what is checked out by now (cmake/revision.cmake)."""
    built = build / "revision.json"
    return json.loads(built.read_text()) if built.exists() else {"git_revision": "", "git_changed_files": 0}


def file_system_of(directory: pathlib.Path) -> str:
    """Type of the mounted file system, e.g. tmpfs: that of the longest mount point above it."""
    best, best_type = "", "unknown"
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, mount_point, kind, *_ = line.split()
        mount_point = mount_point.replace("\\040", " ")
        if directory.resolve().is_relative_to(mount_point) and len(mount_point) >= len(best):
            best, best_type = mount_point, kind
    return best_type


def _cpu_model() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _mpi_version(launcher: str) -> str:
    if shutil.which(launcher) is None:
        return ""
    output = subprocess.run([launcher, "--version"], capture_output=True, text=True, timeout=30)
    lines = [line.strip() for line in output.stdout.splitlines() if line.strip()]
    return next((line for line in lines if VERSION_NUMBER.search(line)), "")
