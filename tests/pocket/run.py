#!/usr/bin/python3
"""Runs the tests of the pocket file system; exits with 77 and the reason where it cannot be mounted."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys


def reason_to_skip(build: pathlib.Path) -> str | None:
    if not (build / "bin" / "unisono-pocketfs").exists():
        return "unisono-pocketfs is not built: libfuse3-dev is missing"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"/dev/fuse: {error.strerror}"
    if os.geteuid() != 0 and shutil.which("fusermount3") is None:
        return "only root can mount without fusermount3 (Debian: fuse3)"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--file", default="pocket_tests.py", help="of this folder")
    options, rest = parser.parse_known_args()
    if reason := reason_to_skip(options.build):
        print(f"skipped: {reason}")
        return 77
    tests = pathlib.Path(__file__).with_name(options.file)
    environment = os.environ | {"UNISONO_BUILD_DIR": str(options.build.resolve())}
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "--durations=3",
                           "-p", "no:cacheprovider", str(tests), *rest],
                          env=environment, check=False).returncode  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
