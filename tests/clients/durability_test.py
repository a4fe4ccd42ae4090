#!/usr/bin/python3
"""What was synced or closed, seen from outside: by strace, and by a libc that fails.

usage: durability_test.py BUILD_DIRECTORY MPI [MPI]
"""

import collections
import re
import subprocess
import unittest

from each_mpi import BUILD, MPIS, ClientTest, library, main, program
from harness import Job

RANKS = 2
FILE_BYTES = RANKS * 64 * 1024
SETTINGS = [{"UNISONO_STRATEGY": strategy}
            for strategy in ("two_phase", "independent", "view_based", "resonant", "lacio")]
SETTINGS += [{"UNISONO_STRATEGY": "two_phase", "UNISONO_BACKEND": backend}
             for backend in ("uring", "threads", "mpiio", "posix")]


def can_trace():
    return subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode == 0


class Durability(ClientTest):
    def each(self, settings, check):
        """Calls check(mpi, setting, file) for every MPI and setting, each with a new file."""
        for mpi in MPIS:
            for number, setting in enumerate(settings):
                with self.subTest(mpi=mpi, **setting):
                    check(mpi, setting, self.directory / f"{mpi}-{number}")

    def run_steps(self, mpi, file, letters, *, environment=(), tracer=(), preload=()):
        job = Job(BUILD, mpi, RANKS, [*tracer, program("durable", mpi), file, letters], self.directory)
        job.environment = dict(environment)
        return job.run([library(mpi), *preload])

    def traced(self, mpi, file, letters, setting, inject=()):
        """The job, and how often each rank asked the kernel to sync the file (by process id)."""
        trace = self.directory / "trace"
        trace.mkdir(exist_ok=True)
        for old in trace.iterdir():
            old.unlink()
        job = self.run_steps(mpi, file, letters, environment=setting, tracer=[
            "strace", "-ff", "-y", "-o", trace / "of", "-e", "trace=fsync,fdatasync", *inject])
        syncs = collections.Counter()
        for part in trace.iterdir():
            syncs[part.suffix] += len(re.findall(rf"sync\(\d+<{re.escape(str(file))}>",
                                                 part.read_text()))
        return job, +syncs

    @unittest.skipUnless(can_trace(), "strace may not trace here")
    def test_sync_reaches_the_kernel(self):
        def check(mpi, setting, file):
            for letters in ("asc", "wsc", "isc"):
                job, syncs = self.traced(mpi, file, letters, setting)
                job.require_success()
                job.require(syncs.total() >= 1, "no fsync at all")
                self.assertEqual(file.stat().st_size, FILE_BYTES)

        self.each(SETTINGS, check)

    @unittest.skipUnless(can_trace(), "strace may not trace here")
    def test_no_call_that_writes_is_forgotten(self):
        def check(mpi, setting, file):
            for letters in ("nsc", "bsc", "osc", "hsc"):
                job, syncs = self.traced(mpi, file, letters, setting)
                job.require_success()
                job.require(syncs.total() >= 1, f"no fsync at all: {letters}")

        self.each(SETTINGS[:2], check)

    @unittest.skipUnless(can_trace(), "strace may not trace here")
    def test_nothing_new_is_not_synced_again(self):
        def check(mpi, setting, file):
            _, once = self.traced(mpi, file, "asc", setting)
            job, thrice = self.traced(mpi, file, "asssc", setting)
            job.require(thrice.total() == once.total(), f"{once} and {thrice}")

        self.each(SETTINGS, check)

    @unittest.skipUnless(can_trace(), "strace may not trace here")
    def test_a_new_size_is_synced(self):
        def check(mpi, setting, file):
            _, once = self.traced(mpi, file, "asc", setting)
            job, twice = self.traced(mpi, file, "asgsc", setting)
            job.require(twice.total() > once.total(), f"{once} and {twice}")

        self.each(SETTINGS, check)

    @unittest.skipUnless(can_trace(), "strace may not trace here")
    def test_close_syncs_when_the_hint_asks_for_it(self):
        def check(mpi, setting, file):
            job, without = self.traced(mpi, file, "ac", setting)
            job.require(without.total() == 0, "it was not asked for")
            job, syncs = self.traced(mpi, file, "ac", {**setting, "UNISONO_SYNC_AT_CLOSE": "true"})
            job.require(syncs.total() >= 1, "no fsync at all")

        self.each(SETTINGS[:3], check)

    @unittest.skipUnless(can_trace(), "strace may not trace here")
    def test_a_sync_that_fails_fails_on_all_ranks(self):
        def check(mpi, setting, file):
            job, _ = self.traced(mpi, file, "asc", setting, ["-e", "inject=fsync:error=EIO"])
            job.require_success()
            for rank in range(RANKS):
                job.require(re.search(rf"rank {rank}: sync: error .*(MPI_File_sync|fsync)",
                                      job.output), f"rank {rank} was told success")
            if setting.get("UNISONO_BACKEND") != "mpiio":
                job.require(re.search(r"fsync failed on rank \d: .*errno 5", job.output),
                            "neither rank nor errno")

        self.each(SETTINGS, check)

    def told_of_syncs(self, mpi, file, letters, setting, inject):
        job, _ = self.traced(mpi, file, letters, setting, ["-e", inject])
        job.require_success()
        return [re.findall(rf"rank {rank}: sync: (\w+)", job.output) for rank in range(RANKS)]

    # Linux tells of an error once, and takes for clean what it could not write.
    @unittest.skipUnless(can_trace(), "strace may not trace here")
    def test_a_sync_after_one_that_failed_fails_until_something_is_written(self):
        def check(mpi, setting, file):
            told = self.told_of_syncs(mpi, file, "assasc", setting, "inject=fsync:error=EIO:when=1")
            self.assertEqual(told, [["error", "error", "ok"]] * RANKS)

        self.each(SETTINGS, check)

    @unittest.skipUnless(can_trace(), "strace may not trace here")
    def test_a_sync_of_the_mpi_librarys_own_that_failed_is_no_success_later(self):
        def check(mpi, setting, file):
            told = self.told_of_syncs(mpi, file, "hsshsc", setting, "inject=fsync:error=EIO:when=1")
            self.assertEqual(told, [["error", "error", "ok"]] * RANKS)

        self.each([{"UNISONO_OVERLAP": "disable"}], check)

    def test_a_close_that_fails_is_told_to_all_ranks(self):
        def check(mpi, setting, file):
            job = self.run_steps(mpi, file, "afc", environment=setting,
                                 preload=[BUILD / "lib" / "libfailing-close.so"])
            job.require_success()
            for rank in range(RANKS):
                job.require(re.search(rf"rank {rank}: close: quota .*close failed on rank",
                                      job.output), f"rank {rank} was told success")

        self.each(SETTINGS, check)

    def test_what_another_handle_has_in_memory_is_said_once(self):
        def check(mpi, setting, file):
            for letters, said in (("arrc", 1), ("asrc", 0)):
                job = self.run_steps(mpi, file, letters, environment=setting)
                job.require_success()
                lines = [line for line in job.lines_from_unisono() if f"{file} is open twice" in line]
                job.require(len(lines) == said, f"said {lines}")

        self.each([{"UNISONO_STRATEGY": "view_based"}], check)

    def test_a_program_that_never_closes_loses_nothing(self):
        def check(mpi, setting, file):
            job = self.run_steps(mpi, file, "a", environment=setting)
            job.require_success()
            piece = b"".join(bytes([rank + 1]) * 1024 for rank in range(RANKS))
            self.assertEqual(file.read_bytes(), piece * 64)
            lines = [line for line in job.lines_from_unisono() if str(file) in line]
            in_memory = setting["UNISONO_STRATEGY"] == "view_based"
            job.require(len(lines) == in_memory, f"said {lines}")

        self.each(SETTINGS, check)


if __name__ == "__main__":
    main()
