"""What tests of several jobs with each MPI have alike. They are programs, run as

    NAME_test.py BUILD_DIRECTORY MPI [MPI] [TEST]
"""

import functools
import sys
import tempfile
import unittest
from pathlib import Path

from harness import LAUNCHERS

BUILD = Path(sys.argv[1]).absolute()
MPIS = [word for word in sys.argv[2:] if word in LAUNCHERS]
TESTS = [word for word in sys.argv[2:] if word not in LAUNCHERS]


def library(mpi):
    return BUILD / "lib" / f"libunisono-{mpi}.so"


def program(name, mpi):
    return BUILD / "programs" / f"{name}.{mpi}"


class ClientTest(unittest.TestCase):
    """With a folder and a file of its own."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="unisono-clients-")
        self.addCleanup(scratch.cleanup)
        self.directory = Path(scratch.name)
        self.file = self.directory / "client-file"


def each_mpi(test):
    """Calls test(self, mpi) for each of them."""
    @functools.wraps(test)
    def test_each(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                test(self, mpi)
    return test_each


def main():
    unittest.main(argv=[sys.argv[0], *TESTS], verbosity=2)
