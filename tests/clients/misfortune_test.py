#!/usr/bin/python3
"""What happens around a program: ranks that are killed, containers, no memory, privileges.

usage: misfortune_test.py BUILD_DIRECTORY MPI [MPI] [TEST]
"""

import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from harness import LAUNCHERS, Job

BUILD = Path()
MPIS = []
PRIVATE = "UNISONO_TEST_PRIVATE_SHM"
# What the MPI libraries leave there when their own ranks are killed.
OF_MPI = ("vader_segment.", "sm_segment.", "osc_rdma.", "mpich")
SKIPPED = 77


def library(mpi):
    return BUILD / "lib" / f"libunisono-{mpi}.so"


def program(name, mpi):
    return BUILD / "programs" / f"{name}.{mpi}"


class Misfortune(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="unisono-misfortune-")
        self.addCleanup(scratch.cleanup)
        self.directory = Path(scratch.name)
        self.file = self.directory / "client-file"


class SharedMemory(Misfortune):
    # What a segment is made and taken with; its name, when it had one, was known in between.
    CALLS = ("memfd_create", "ftruncate", "madvise")

    def left_behind(self):
        return [name for name in os.listdir("/dev/shm") if not name.startswith(OF_MPI)]

    def ranks_killed_at(self, mpi, call, number):
        """How many ranks got to this system call so often, which is where they are killed."""
        log = self.directory / f"{mpi}-{call}-{number}"
        strace = ["strace", "-f", "-ff", "-o", log, "-e", f"trace={call}",
                  "-e", f"inject={call}:signal=KILL:when={number}"]
        Job(BUILD, mpi, 2, [*strace, program("client_cpp", mpi), self.file],
            self.directory).run([library(mpi)])
        return sum(bool(re.search(rf"^{call}\(.*\n.*killed by SIGKILL", trace.read_text(), re.M))
                   for trace in self.directory.glob(f"{log.name}.*"))

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_a_kill_at_any_moment_leaves_nothing_behind(self):
        for mpi in MPIS:
            for call in self.CALLS:
                with self.subTest(mpi=mpi, call=call):
                    kills = 0
                    while kills < 40 and self.ranks_killed_at(mpi, call, kills + 1) > 0:
                        kills += 1
                        self.assertEqual(self.left_behind(), [], f"{call} {kills}")
                    self.assertGreater(kills, 0)

    def test_ranks_in_containers_of_their_own_share_memory(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                container = ["unshare", "--user", "--map-root-user"]
                job = Job(BUILD, mpi, 2, [*container, program("client_cpp", mpi), self.file],
                          self.directory)
                # Both MPIs want to see into each other's processes, unless they are told.
                job.environment["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none"
                job.environment["UCX_POSIX_USE_PROC_LINK"] = "n"
                job.run([library(mpi)]).require_success()
                self.assertEqual(job.reports()[0]["nodes"], 1, job.transcript())


class NoMemory(Misfortune):
    """Rank 1 of 2 runs out of memory; see no_memory.cpp."""

    def run_short(self, mpi, call, bytes_min, nth=1, **environment):
        job = Job(BUILD, mpi, 2, [program("no_memory", mpi), self.file, call, bytes_min, nth],
                  self.directory)
        job.environment.update(environment)
        job.run([library(mpi)], seconds=60)
        job.require("terminate called" not in job.errors, "an exception got out")
        return job

    def expect(self, job, *outcomes):
        job.require_success()
        self.assertEqual(job.output.splitlines(), [*outcomes, "went on"], job.transcript())

    def expect_abort(self, job):
        job.require(job.returncode != 0, "it went on")
        said = [line for line in job.lines_from_unisono()
                if "no memory left on rank 1, in the middle of a collective call" in line]
        self.assertEqual(len(said), 1, job.transcript())

    def test_none_for_an_irregular_datatype_is_the_same_error_on_all_ranks(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.expect(self.run_short(mpi, "irregular", 1 << 16), "no_mem", "no_mem")

    def test_none_to_pack_in_is_an_error_on_all_ranks_of_a_collective_call(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.expect(self.run_short(mpi, "write_all", 1 << 20, UNISONO_STRATEGY="independent"),
                            "no_mem", "no_mem")

    def test_none_to_pack_in_is_an_error_of_the_rank_that_writes_alone(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.expect(self.run_short(mpi, "write_at", 1 << 20), "success", "no_mem")

    def test_none_for_windows_is_the_same_error_on_all_ranks(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                job = self.run_short(mpi, "first", 1 << 20, UNISONO_STRATEGY="two_phase",
                                     UNISONO_EXCHANGE="messages", UNISONO_HINTS="*:cb_buffer_size=2M")
                self.expect(job, "no_mem", "no_mem")

    def test_none_for_a_message_ends_the_program_with_a_line(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.expect_abort(self.run_short(mpi, "write_all", 1 << 17,
                                                 UNISONO_STRATEGY="two_phase",
                                                 UNISONO_EXCHANGE="messages"))

    def test_none_at_all_is_an_error_or_the_end_but_no_hang(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                for call in ("write_all", "read_all", "set_view"):
                    for nth in (1, 2, 3, 5, 8, 13, 21):
                        with self.subTest(call=call, nth=nth):
                            job = self.run_short(mpi, call, 0, nth)
                            if job.returncode != 0:
                                self.expect_abort(job)
                            elif "success" not in job.output:
                                self.expect(job, "no_mem", "no_mem")


class PrivilegedPrograms(Misfortune):
    """Who starts one must not get power over it by variables. With MPICH: Open MPI's launcher does
    not let programs in that run as another group than itself."""

    def setUp(self):
        super().setUp()
        privileges = (os.geteuid() == 0 and not os.statvfs(self.directory).f_flag & os.ST_NOSUID
                      and "NoNewPrivs:\t0" in Path("/proc/self/status").read_text())
        if "mpich" not in MPIS or not privileges:
            self.skipTest("no MPICH, or programs get no privileges here")

    def run_linked(self, privileged, **environment):
        """A copy of the program that Unisono is linked into, which may run as another group."""
        copy = self.directory / "linked"
        shutil.copy(program("client_linked", "mpich"), copy)
        if privileged:
            os.chown(copy, -1, 1)
            copy.chmod(0o2755)
        job = Job(BUILD, "mpich", 1, [copy, self.file], self.directory)
        job.report_path.unlink(missing_ok=True)
        job.environment.update(environment)
        job.run([]).require_success()
        return job

    def test_they_do_as_if_nothing_were_set(self):
        settings = {"UNISONO_PLUGINS": "/no/such/plugin.so", "UNISONO_STRATEGY": "two_phase"}
        ordinary = self.run_linked(False, **settings)
        self.assertEqual(ordinary.strategy(), "two_phase", ordinary.transcript())
        self.assertIn("/no/such/plugin.so", "".join(ordinary.lines_from_unisono()))
        self.assertNotEqual(ordinary.reports(), [])
        privileged = self.run_linked(True, **settings)
        self.assertEqual(privileged.strategy(), "auto", privileged.transcript())
        self.assertEqual(privileged.lines_from_unisono(), [])
        self.assertEqual(privileged.reports(), [])

    def test_they_cannot_be_left_without_unisono(self):
        self.assertEqual(self.run_linked(False, UNISONO_DISABLE="1").strategy(), "")
        self.assertEqual(self.run_linked(True, UNISONO_DISABLE="1").strategy(), "auto")


def run_with_a_dev_shm_of_its_own():
    """What others do in /dev/shm meanwhile is not this test's affair."""
    mount = 'mount -t tmpfs tmpfs /dev/shm && exec "$@"'
    if os.system(f"unshare --mount sh -c '{mount}' sh true") != 0:
        sys.exit(SKIPPED)
    os.environ[PRIVATE] = "1"
    os.execvp("unshare", ["unshare", "--mount", "sh", "-c", mount, "sh", sys.executable,
                          *sys.argv])


if __name__ == "__main__":
    if PRIVATE not in os.environ:
        run_with_a_dev_shm_of_its_own()
    BUILD = Path(sys.argv[1]).absolute()
    MPIS = [word for word in sys.argv[2:] if word in LAUNCHERS]
    unittest.main(argv=[sys.argv[0], *(word for word in sys.argv[2:] if word not in LAUNCHERS)],
                  verbosity=2)
