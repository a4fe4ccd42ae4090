#!/usr/bin/python3
"""Packs what was built into a wheel: BUILD/packages/unisono-VERSION-py3-none-manylinux_X_Y_ARCH.whl

The wheel's `data` is the tree that `make install` makes; pip lays it into the environment's prefix,
so libraries, command, man page and documents find each other there as in any installation. Only the
command goes through pip's scripts, to be started by the environment's Python. The papers' benchmarks
are left out: they are linked with this machine's MPI libraries.

Nothing is bundled. What is linked must be on every Linux (PEP 600), but for the libraries in
SYSTEMS_OWN, which a few programs take from the system: GnuTLS (`unisono orchestra`) for its security
updates, and libfuse3 (`unisono pocket`) because it goes with the system's fusermount3.
"""

import argparse
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

SYSTEMS_OWN = ("libgnutls.so.30", "libfuse3.so.3", "libfuse3.so.4")
ON_EVERY_LINUX = re.compile(r"(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|ld-linux-[\w-]+)\.so\.\d+")


def output_of(*command: str | pathlib.Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def binaries(folder: pathlib.Path) -> list[pathlib.Path]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return [path for path in files if path.open("rb").read(4) == b"\x7fELF"]


def check_needs(binary: pathlib.Path) -> None:
    """Ends the program where a user's machine may lack what the binary is linked with."""
    for name in re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "-dW", binary)):
        if name not in SYSTEMS_OWN and not ON_EVERY_LINUX.fullmatch(name):
            sys.exit(f"{binary.name} needs {name}, which a wheel cannot count on")


def glibc_needed(binary: pathlib.Path) -> tuple[int, int]:
    """The version of the newest symbol that it takes from glibc."""
    versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", output_of("readelf", "-VW", binary))
    return max(((int(major), int(minor)) for major, minor in versions), default=(2, 5))


def platform_tag(folder: pathlib.Path) -> str:
    for binary in binaries(folder):
        check_needs(binary)
    major, minor = max(glibc_needed(binary) for binary in binaries(folder))
    return f"manylinux_{major}_{minor}_{platform.machine()}"


def stage(build: pathlib.Path, folder: pathlib.Path) -> str:
    """Lays out an unpacked wheel; returns its file's name."""
    metadata = build / "package" / "METADATA"
    name = "unisono-" + re.search(r"^Version: (.+)$", metadata.read_text(), re.MULTILINE)[1]
    data = folder / f"{name}.data"
    subprocess.run(["cmake", "--install", build, "--strip", "--component", "unisono", "--prefix", data / "data"],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    command = data / "data/bin/unisono"
    _, text = command.read_text().split("\n", 1)
    command.write_text(f"#!python\n{text}")  # which pip replaces
    (data / "scripts").mkdir()
    command.rename(data / "scripts/unisono")
    information = folder / f"{name}.dist-info"
    information.mkdir()
    shutil.copy(metadata, information)
    shutil.copy(data / "data/share/doc/unisono/LICENSE", information)
    tag = f"py3-none-{platform_tag(data)}"
    (information / "WHEEL").write_text(
        f"Wheel-Version: 1.0\nGenerator: Unisono\nRoot-Is-Purelib: false\nTag: {tag}\n")
    return f"{name}-{tag}.whl"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default="build")
    parser.add_argument("--to", type=pathlib.Path, help="folder for the wheel, instead of BUILD/packages")
    options = parser.parse_args()
    to = options.to or options.build / "packages"
    to.mkdir(parents=True, exist_ok=True)
    if options.to is None:
        for older in to.glob("unisono-*.whl"):
            older.unlink()
    with tempfile.TemporaryDirectory(prefix="unisono-wheel-") as staged:
        name = stage(options.build.resolve(), pathlib.Path(staged))
        subprocess.run(["/usr/bin/python3", "-m", "wheel", "pack", staged, "--dest-dir", to],
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    print(to / name)


if __name__ == "__main__":
    main()
