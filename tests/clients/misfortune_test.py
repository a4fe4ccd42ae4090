#!/usr/bin/python3
"""What happens around a program: ranks that are killed, containers, no memory, privileges.

usage: misfortune_test.py BUILD_DIRECTORY MPI [MPI] [TEST]
"""

import os
import re
import shutil
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from each_mpi import BUILD, MPIS, ClientTest, each_mpi, library, main, program
from harness import Job

PRIVATE = "UNISONO_TEST_PRIVATE_SHM"
# What the MPI libraries leave there when their own ranks are killed.
OF_MPI = ("vader_segment.", "sm_segment.", "osc_rdma.", "mpich")
SKIPPED = 77


class SharedMemory(ClientTest):
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

    @each_mpi
    def test_ranks_in_containers_of_their_own_share_memory(self, mpi):
        container = ["unshare", "--user", "--map-root-user"]
        job = Job(BUILD, mpi, 2, [*container, program("client_cpp", mpi), self.file],
                  self.directory)
        # Both MPIs want to see into each other's processes, unless they are told.
        job.environment["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none"
        job.environment["UCX_POSIX_USE_PROC_LINK"] = "n"
        job.run([library(mpi)]).require_success()
        self.assertEqual(job.reports()[0]["nodes"], 1, job.transcript())


class NoMemory(ClientTest):
    """Rank 1 of 2 runs out of memory; see no_memory.cpp."""

    def run_short(self, mpi, call, bytes_min, nth=1, **environment):
        job = Job(BUILD, mpi, 2, [program("no_memory", mpi), self.file, call, bytes_min, nth],
                  self.directory)
        job.environment.update(environment)
        job.run([library(mpi)])
        job.require("terminate called" not in job.errors, "an exception got out")
        return job

    def expect(self, job, *outcomes):
        job.require_success()
        self.assertEqual(job.output.splitlines(), [*outcomes, "went on"], job.transcript())

    def expect_abort(self, job):
        job.require_early_end()
        said = [line for line in job.lines_from_unisono()
                if "no memory left on rank 1, in the middle of a collective call" in line]
        self.assertEqual(len(said), 1, job.transcript())

    @each_mpi
    def test_none_for_an_irregular_datatype_is_the_same_error_on_all_ranks(self, mpi):
        self.expect(self.run_short(mpi, "irregular", 1 << 16), "no_mem", "no_mem")

    @each_mpi
    def test_none_for_a_nonblocking_write_ends_no_program_and_leaves_no_request(self, mpi):
        self.expect(self.run_short(mpi, "iwrite_at", 1, 60), "success", "success")

    @each_mpi
    def test_none_to_pack_in_is_an_error_on_all_ranks_of_a_collective_call(self, mpi):
        for call in ("write_all", "iwrite_at_all"):
            with self.subTest(call=call):
                self.expect(self.run_short(mpi, call, 1 << 20, UNISONO_STRATEGY="independent"), "no_mem", "no_mem")

    @each_mpi
    def test_none_to_pack_in_is_an_error_of_the_rank_that_writes_alone(self, mpi):
        self.expect(self.run_short(mpi, "write_at", 1 << 20), "success", "no_mem")

    @each_mpi
    def test_none_for_windows_is_the_same_error_on_all_ranks(self, mpi):
        job = self.run_short(mpi, "first", 1 << 20, UNISONO_STRATEGY="two_phase",
                             UNISONO_EXCHANGE="messages", UNISONO_HINTS="*:cb_buffer_size=2M")
        self.expect(job, "no_mem", "no_mem")

    @each_mpi
    def test_none_for_a_message_ends_the_program_with_a_line(self, mpi):
        self.expect_abort(self.run_short(mpi, "write_all", 1 << 17,
                                         UNISONO_STRATEGY="two_phase",
                                         UNISONO_EXCHANGE="messages"))

    @each_mpi
    def test_a_terminal_obeyed_the_name_of_the_file_in_that_line(self, mpi):
        self.file = self.directory / "file\x1b[2J"
        job = self.run_short(mpi, "write_all", 1 << 17, UNISONO_STRATEGY="two_phase", UNISONO_EXCHANGE="messages")
        self.expect_abort(job)
        job.require("\x1b" not in job.errors, "a terminal would obey it")

    @each_mpi
    def test_none_at_all_is_an_error_or_the_end_but_no_hang(self, mpi):
        for call in ("write_all", "read_all", "set_view"):
            for nth in (1, 2, 3, 5, 8, 13, 21):
                with self.subTest(call=call, nth=nth):
                    job = self.run_short(mpi, call, 0, nth)
                    if "went on" not in job.output:
                        self.expect_abort(job)
                    elif "success" not in job.output:
                        self.expect(job, "no_mem", "no_mem")

    @each_mpi
    def test_none_in_a_helper_ended_the_program_by_mpi_which_the_programs_thread_was_in(self, mpi):
        for nth in (40, 80):
            with self.subTest(nth=nth):
                job = self.run_short(mpi, "iwrite_at_all", 1, nth)
                job.require("Assertion" not in job.errors, "two threads were in MPI")
                self.expect_abort(job)


class Deposits(ClientTest):
    """Writes that repeat, while ranks are in their window; see deposits.c."""

    RANKS = 2
    RECORD = 1000
    BLOCK = 1 << 16
    IN_MEMORY = 8 * BLOCK  # two windows of four blocks
    CALLS = 2000

    def job(self, mpi, *steps, programs=1, index=0, tracer=()):
        command = [program("deposits", mpi), self.file, self.RECORD, self.CALLS, programs, index]
        job = Job(BUILD, mpi, self.RANKS, [*tracer, *command, *steps], self.directory)
        job.environment = {"UNISONO_STRATEGY": "view_based",
                           "UNISONO_HINTS": f"*:cb_buffer_size={self.BLOCK}"}
        return job

    def record_bytes(self, programs=1):
        """What all records come to."""
        return b"".join(bytes([1 + number % 251]) * self.RECORD
                        for number in range(self.CALLS * self.RANKS * programs))

    def expect_whole_file(self, job, programs=1):
        job.require_success()
        self.assertEqual(job.output.splitlines(), ["went on"], job.transcript())
        job.require(self.file.read_bytes() == self.record_bytes(programs), "wrong bytes")
        calls = job.reports()[0]["write"]["strategies"]
        job.require("view_based" in calls, f"done by {list(calls)}")

    def run_until_killed(self, mpi, synced, killed, environment=None):
        """What the file then has of the records."""
        self.file.unlink(missing_ok=True)
        job = self.job(mpi, synced, "sync", killed, "kill")
        job.environment = environment or job.environment
        job.run([library(mpi)])
        job.require_early_end()
        found, whole = self.file.read_bytes(), self.record_bytes()
        wrong = [at for at, (byte, right) in enumerate(zip(found, whole)) if byte not in (0, right)]
        job.require(not wrong, f"wrong bytes at {wrong[:3]}")
        lost_from = next((at for at, byte in enumerate(found) if byte == 0), len(found))
        return job, lost_from

    def test_a_kill_loses_nothing_that_was_synced_and_two_windows_at_most(self):
        per_call = self.RANKS * self.RECORD
        for mpi in MPIS:
            for synced, killed in ((9, 12), (500, 501), (500, 1500), (1, 1999)):
                with self.subTest(mpi=mpi, synced=synced, killed=killed):
                    job, lost_from = self.run_until_killed(mpi, synced, killed)
                    job.require(lost_from >= synced * per_call, f"synced, lost from {lost_from}")
                    job.require(lost_from >= killed * per_call - self.IN_MEMORY,
                                f"lost from {lost_from}")

    def test_a_kill_loses_no_call_that_each_rank_did_for_itself(self):
        """The killed rank has made all calls before, the other one perhaps not."""
        for mpi in MPIS:
            for killed in (12, 1500):
                with self.subTest(mpi=mpi, killed=killed):
                    self.run_until_killed(mpi, 1, killed, {"UNISONO_WRITE_BEHIND": "enable"})
                    found = self.file.read_bytes()
                    of_killed = [found[(call * self.RANKS + 1) * self.RECORD] for call in range(killed)]
                    self.assertNotIn(0, of_killed)

    def traced(self, mpi, calls, environment=None):
        """A job, and these system calls of its ranks."""
        log = self.directory / f"calls-{mpi}"
        job = self.job(mpi, tracer=["strace", "-f", "-ff", "-o", log, "-e", f"trace={calls}"])
        job.environment = job.environment if environment is None else environment
        job.run([library(mpi)]).require_success()
        return job, "".join(trace.read_text() for trace in self.directory.glob(f"{log.name}.*"))

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    @each_mpi
    def test_a_small_call_of_each_rank_is_one_system_call(self, mpi):
        job, lines = self.traced(mpi, "pwrite64,pwritev,fstat,newfstatat", environment={})
        asked = len(re.findall(r"^(?:new)?fstat", lines, re.M))
        written = len(re.findall(r"^pwrite", lines, re.M))
        self.assertEqual(written, self.RANKS * self.CALLS, job.transcript())
        self.assertLess(asked, self.CALLS / 2)  # when files are opened

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    @each_mpi
    def test_an_open_asks_once_what_it_wants_to_know(self, mpi):
        job, lines = self.traced(mpi, "fstatfs,readlink,openat")
        opens = len(re.findall(rf'^openat\(.*"{re.escape(str(self.file))}", O_RDWR\|O_CLOEXEC', lines, re.M))
        self.assertGreaterEqual(opens, self.RANKS, job.transcript())
        self.assertNotIn('readlink("/proc/self/fd/', lines)  # only where nodes may have other names
        asked = len(re.findall(r"^fstatfs(?!.*SYSFS)", lines, re.M))  # which MPICH's libraries ask
        self.assertEqual(asked, opens, job.transcript())

    @each_mpi
    def test_a_full_dev_shm_is_no_concern_of_a_window(self, mpi):
        self.addCleanup(Path("/dev/shm/full").unlink, missing_ok=True)
        os.system("mount -o remount,size=64m /dev/shm")
        self.expect_whole_file(self.job(mpi, 20, "fill").run([library(mpi)]))
        Path("/dev/shm/full").unlink()

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_no_memory_for_more_blocks_loses_nothing(self):
        for mpi in MPIS:
            refused = number = 1
            while refused:
                with self.subTest(mpi=mpi, number=number):
                    log = self.directory / f"{mpi}-{number}"
                    tracer = ["strace", "-f", "-ff", "-o", log, "-e", "trace=madvise,fallocate",
                              "-e", "inject=madvise:error=ENOMEM",  # then it is fallocate's turn
                              "-e", f"inject=fallocate:error=ENOSPC:when={number}"]
                    self.expect_whole_file(self.job(mpi, tracer=tracer).run([library(mpi)]))
                refused = sum(bool(re.search(r"fallocate.*INJECTED", trace.read_text()))
                              for trace in self.directory.glob(f"{log.name}.*"))
                number += 1
            self.assertGreater(number, 3)  # windows made more of it

    @each_mpi
    def test_two_programs_on_one_file_keep_to_their_own_records(self, mpi):
        self.file.unlink(missing_ok=True)
        jobs = [self.job(mpi, programs=2, index=index) for index in range(2)]
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda job: job.run([library(mpi)]), jobs))
        for job in jobs:
            self.expect_whole_file(job, programs=2)


class PrivilegedPrograms(ClientTest):
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
    main()
