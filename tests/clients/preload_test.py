#!/usr/bin/python3
"""The preload libraries where they have no business: other programs, the other MPI, switched off.

usage: preload_test.py BUILD_DIRECTORY MPI [MPI]
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from harness import Job

BUILD = Path()
MPIS = []
LIBRARY_OF_MPI = {"mpich": "libmpich.so", "openmpi": "libmpi.so"}
SETTINGS = [
    {},
    {"UNISONO_REPORT": "summary", "UNISONO_STRATEGY": "no-such-strategy"},
    {"UNISONO_DISABLE": "1"},
]


def library(mpi):
    return BUILD / "lib" / f"libunisono-{mpi}.so"


class OtherPrograms(unittest.TestCase):
    """No MPI in them: output, errors and status are what they are without us."""

    commands = [
        ["sh", "-c", "echo out; echo err >&2; ls / | cat | sort > /dev/null; exit 3"],
        ["ls", "-l", str(Path(__file__).parent)],
        ["cat", __file__],
        ["cat", "/no/such/file"],
        [sys.executable, "-c", "import sys, json, socket; print(1); print(2, file=sys.stderr)"],
        ["env", "-i", "true"],
    ]

    @staticmethod
    def outcome(command, additions):
        environment = {**os.environ, "LC_ALL": "C", **additions}
        done = subprocess.run(command, env=environment, capture_output=True, timeout=60,
                              check=False)
        return done.returncode, done.stdout, done.stderr

    def test_nothing_changes(self):
        for mpi in MPIS:
            self.assertTrue(library(mpi).exists(), library(mpi))
            for command in self.commands:
                expected = self.outcome(command, {})
                for settings in SETTINGS:
                    with self.subTest(mpi=mpi, command=command, settings=settings):
                        preloaded = {"LD_PRELOAD": str(library(mpi)), **settings}
                        self.assertEqual(self.outcome(command, preloaded), expected)

    def mapped_files(self, mpi):
        """What a plain `cat` has mapped with the library preloaded."""
        _, output, _ = self.outcome(["cat", "/proc/self/maps"], {"LD_PRELOAD": str(library(mpi))})
        return {Path(words[5]).name for words in map(str.split, output.decode().splitlines())
                if len(words) > 5}

    def test_library_is_loadable(self):
        """Otherwise ld.so would complain and go on, and the other tests here would mean little."""
        for mpi in MPIS:
            self.assertIn(library(mpi).name, self.mapped_files(mpi))

    def test_no_mpi_library_is_pulled_in(self):
        for mpi in MPIS:
            unwanted = [name for name in self.mapped_files(mpi)
                        if name.startswith(("libmpich.", "libmpi.", "libopen-rte.", "libucp."))]
            self.assertEqual(unwanted, [], mpi)


class MpiPrograms(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="unisono-preload-")
        self.addCleanup(scratch.cleanup)
        self.directory = Path(scratch.name)

    def job(self, mpi, ranks):
        program = BUILD / "programs" / f"client_cpp.{mpi}"
        return Job(BUILD, mpi, ranks, [program, self.directory / "client-file"], self.directory)

    def assert_native(self, job):
        job.require_success()
        self.assertEqual(job.strategy(), "", job.transcript())
        self.assertEqual(job.reports(), [], job.transcript())

    @unittest.skipUnless(len(sys.argv) > 3, "needs two MPIs")
    def test_the_library_of_the_other_mpi_says_so_and_steps_aside(self):
        for mpi, other in (MPIS, MPIS[::-1]):
            for ranks in (1, 3):
                with self.subTest(program=mpi, library=other, ranks=ranks):
                    job = self.job(mpi, ranks)
                    job.run([library(other)])
                    self.assert_native(job)
                    lines = job.lines_from_unisono()
                    self.assertIn(len(lines), range(1, ranks + 1), job.transcript())
                    self.assertEqual(len(set(lines)), 1, job.transcript())
                    self.assertIn(f"libunisono-{other}", lines[0])
                    self.assertIn(LIBRARY_OF_MPI[mpi], lines[0])

    def test_disable_means_off(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                job = self.job(mpi, 2)
                job.environment["UNISONO_DISABLE"] = "1"
                self.assert_native(job.run([library(mpi)]))
                self.assertEqual(job.lines_from_unisono(), [])

    def test_without_disable_it_is_on(self):
        """The counterpart: the same job with the same library is not native."""
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                job = self.job(mpi, 2).run([library(mpi)])
                job.require_success()
                self.assertNotEqual(job.strategy(), "", job.transcript())
                self.assertNotEqual(job.reports(), [], job.transcript())


if __name__ == "__main__":
    BUILD = Path(sys.argv[1])
    MPIS = sys.argv[2:]
    unittest.main(argv=sys.argv[:1], verbosity=2)
