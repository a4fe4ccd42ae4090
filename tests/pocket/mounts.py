"""Pocket file systems for the tests here."""

import json
import os
import pathlib
import subprocess

BUILD = pathlib.Path(os.environ["UNISONO_BUILD_DIR"])


def unisono(*words, check=True):
    done = subprocess.run([BUILD / "bin" / "unisono", "pocket", *map(str, words)], text=True, errors="replace",
                          capture_output=True, timeout=90, check=False)  # fmt: skip
    assert not check or done.returncode == 0, done.stderr
    return done


class Pocket:
    """A mount and its backing folder."""

    def __init__(self, folder: pathlib.Path):
        self.mountpoint = folder / "a, mount"
        self.backing = folder / "a, backing"

    def up(self, profile="off", *options):
        unisono("up", self.mountpoint, "--backing", self.backing, "--profile", profile, *options)
        return self

    def down(self):
        unisono("down", self.mountpoint)
        assert not os.path.ismount(self.mountpoint)

    def __truediv__(self, name):
        return self.mountpoint / name

    def get(self, name, key):
        return os.getxattr(self / name, f"user.pocketfs.{key}").decode()

    def set(self, name, key, value):
        os.setxattr(self / name, f"user.pocketfs.{key}", str(value).encode())

    def stats(self):
        return json.loads(os.getxattr(self.mountpoint, "user.pocketfs.stats"))

    def trace(self):
        """What came to the servers, a line for each request."""
        file = os.getxattr(self.mountpoint, "user.pocketfs.trace").decode()
        return pathlib.Path(file).read_text().splitlines()[1:]

    def daemon(self):
        return json.loads((self.backing / "mount.json").read_text())["pid"]

    def fault(self, *words):
        unisono("fault", self.mountpoint, *words)
