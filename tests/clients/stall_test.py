#!/usr/bin/python3
"""Programs whose ranks are out of step: who says what, and how they end.

usage: stall_test.py BUILD_DIRECTORY MPI [MPI] [TEST]
"""

import itertools
import threading

from each_mpi import BUILD, MPIS, ClientTest, each_mpi, library, main, program
from harness import Job

LOOKS = ({}, {"UNISONO_STALL": "warn"})
# A busy machine has ranks wait for a second, too.
STALL_S, LATE = "2", "late 6"
PLACES = ({}, {"UNISONO_TOPOLOGY": "nodes=2"}, {"UNISONO_EXCHANGE": "messages"})


class OutOfStep(ClientTest):
    """The last of some ranks does something else than to write a second time."""

    def run_job(self, mpi, what, ranks=3, **environment):
        job = Job(BUILD, mpi, ranks, [program("out_of_step", mpi), self.file, *what.split()], self.directory)
        job.environment.update(environment)
        return job.run([library(mpi)], seconds=200)

    def run_on_slow_storage(self, mpi, slow_s=None, **environment):
        """All are in step. The first writes end together, when somebody has said something or after so long."""
        said = self.directory / "said"
        words = ["sh", "-c", 'exec "$@" 2>>"$0"', said, program("out_of_step", mpi), self.file, "late"]
        job = Job(BUILD, mpi, 3, words, self.directory)
        job.environment.update(UNISONO_BACKEND="posix", UNISONO_STALL_S=STALL_S, HELD_WRITES_UNTIL=str(said),
                               **environment)
        said.unlink(missing_ok=True)
        with said.open("a") as end:
            if slow_s:
                threading.Timer(slow_s, print, ["over"], {"file": end, "flush": True}).start()
            job.run([library(mpi), BUILD / "lib" / "libheld-writes.so"], seconds=200)
        job.errors += said.read_text()
        job.require_success()
        return job

    def over(self, choices):
        """All choices with one MPI, and the first one with the others: these tests mostly wait."""
        choices = list(choices)
        return [(mpi, choice) for number, mpi in enumerate(MPIS)
                for choice in (choices if number == 0 else choices[:1])]

    def stalls(self, job):
        return [line for line in job.lines_from_unisono() if " has been for " in line]


class Stall(OutOfStep):
    def expect_end(self, job, said_by, *parts):
        """At least one rank says why, and `said_by` at most."""
        job.require(job.returncode != 0, "it went on")
        said = self.stalls(job)
        self.assertIn(len(said), range(1, said_by + 1), job.transcript())
        for part in (*parts, "; UNISONO_STALL=abort ends the program"):
            self.assertRegex(said[0], part)

    @each_mpi
    def test_a_call_that_a_rank_skips_ends_the_program_where_that_is_wanted(self, mpi):
        job = self.run_job(mpi, "skip", UNISONO_STALL="abort", UNISONO_STALL_S=STALL_S)
        self.expect_end(
            job, 1, "^unisono: rank 0 has been for [.0-9]+ s in MPI_File_write_at_all, "
            f"collective call 2 on {self.file}, offset 0; ranks 0-1: in it; "
            "rank 2: in no collective call; the last was MPI_File_write_at_all, "
            f"collective call 1 on {self.file}-other, offset 128; UNISONO_STALL")

    def test_a_nonblocking_call_that_a_rank_skips_is_named_by_those_that_wait_for_it(self):
        for mpi, what in self.over(("iskip", "iclose")):
            with self.subTest(mpi=mpi, what=what):
                job = self.run_job(mpi, what, UNISONO_STALL="abort", UNISONO_STALL_S=STALL_S)
                self.expect_end(
                    job, 1, "^unisono: rank 0 has been for [.0-9]+ s in MPI_File_iwrite_at_all, "
                    f"collective call 2 on {self.file}, offset 0; ranks 0-1: in it; "
                    "rank 2: in no collective call; the last was MPI_File_write_at_all, "
                    f"collective call 1 on {self.file}-other, offset 128; UNISONO_STALL")

    def test_a_rank_of_another_node_is_missed_too(self):
        for mpi, place in self.over(PLACES[1:]):
            job = self.run_job(mpi, "skip", UNISONO_STALL="abort", UNISONO_STALL_S=STALL_S,
                               **place)
            self.expect_end(job, 2, "MPI_File_write_at_all, collective call 2",
                            "ranks on other nodes cannot be seen")

    @each_mpi
    def test_a_rank_that_will_never_come_is_told_of_at_once(self, mpi):
        job = self.run_job(mpi, "hints", UNISONO_STALL="abort", UNISONO_STALL_S="500")
        self.expect_end(job, 1, "rank 2: in MPI_File_set_info, collective call 2",
                        "these calls never meet")

    def test_a_rank_in_finalize_is_told_of(self):
        # Open MPI's launcher at times does not end when a rank aborts and another is in MPI_Finalize.
        for mpi in sorted({"mpich"} & set(MPIS)):
            with self.subTest(mpi=mpi):
                job = self.run_job(mpi, "finalize", UNISONO_STALL="abort", UNISONO_STALL_S=STALL_S)
                self.expect_end(job, 1, "rank 2: in no collective call; the last was MPI_Finalize")

    def test_a_late_rank_is_told_of_once_and_the_program_goes_on(self):
        for mpi, how in self.over(LOOKS):
            job = self.run_job(mpi, LATE, UNISONO_STALL_S=STALL_S, **how)
            job.require_success()
            # A rank that a busy machine lets come out of the call late says so, too, when all have come.
            told = [line for line in self.stalls(job) if "rank 2: in no coll" in line]
            self.assertEqual(len(told), 1, job.transcript())
            self.assertIn("ranks 0-1: in it; rank 2: in no coll", told[0])
            self.assertEqual(job.output.splitlines(), ["success"] * 3 + ["went on"])

    def test_who_asks_for_it_is_told_of_a_late_node_as_well(self):
        for mpi, place in self.over(PLACES[1:]):
            job = self.run_job(mpi, LATE, UNISONO_STALL_S=STALL_S, UNISONO_STALL="warn",
                               **place)
            job.require_success()
            self.assertIn(len(self.stalls(job)), (1, 2), job.transcript())
            self.assertRegex(self.stalls(job)[0], "ranks on other nodes cannot be seen")

    def test_a_thread_is_there_only_where_it_was_asked_for_and_while_files_are_open(self):
        for mpi, (how, threads) in self.over(
                [(None, 0), ("auto", 0), ("none", 0), ("warn", 1), ("abort", 1)]):
            settings = {} if how is None else {"UNISONO_STALL": how}
            job = self.run_job(mpi, "threads", **settings)
            job.require_success()
            self.assertEqual(job.output.splitlines()[-1], f"threads: {threads}, 0")

    def test_a_rank_that_waits_for_slow_storage_is_told_from_one_that_is_missing(self):
        one_writes = {"UNISONO_STRATEGY": "two_phase", "UNISONO_HINTS": "*:cb_nodes=1"}
        for mpi, how in self.over(LOOKS):
            job = self.run_on_slow_storage(mpi, **one_writes, **how)
            self.assertRegex(self.stalls(job)[0], "; rank 0: in it, accessing the file or "
                             "waiting for its turn to; ranks 1-2: in it$")

    def test_nothing_is_said_while_all_ranks_wait_for_slow_storage(self):
        for mpi, how in self.over(LOOKS):
            job = self.run_on_slow_storage(mpi, slow_s=3 * float(STALL_S), UNISONO_STRATEGY="independent", **how)
            self.assertEqual(job.lines_from_unisono(), [], job.transcript())

    def test_nothing_is_said_before_its_time_or_where_nobody_wants_to_know(self):
        for mpi in MPIS:
            for settings in ({"UNISONO_STALL_S": "40"},
                             {"UNISONO_STALL_S": STALL_S, "UNISONO_STALL": "none"}):
                with self.subTest(mpi=mpi, **settings):
                    job = self.run_job(mpi, LATE, **settings)
                    job.require_success()
                    self.assertEqual(job.lines_from_unisono(), [], job.transcript())


class Mismatch(OutOfStep):
    OTHER = {"read": "MPI_File_read_at_all on PATH", "view": "MPI_File_set_view on PATH",
             "sync": "MPI_File_sync on PATH",
             "other": "MPI_File_write_at_all on PATH-other"}

    def expect_refusal(self, job, called):
        job.require_success()
        self.assertEqual(job.output.splitlines(), ["not_same"] * 3 + ["went on"], job.transcript())
        said = (f"unisono: MPI_File_write_at_all on PATH: rank 2 has called {called} "
                "where rank 0 has called MPI_File_write_at_all on PATH")
        self.assertEqual(job.lines_from_unisono(), [said.replace("PATH", str(self.file))])

    def test_calls_that_do_not_go_together_are_an_error_on_all_ranks(self):
        for mpi, (place, what) in self.over(itertools.product(PLACES, self.OTHER)):
            job = self.run_job(mpi, what, UNISONO_STALL="none", **place)
            self.expect_refusal(job, self.OTHER[what])

    def test_data_calls_of_one_direction_go_together(self):
        for mpi, place in self.over(PLACES):
            job = self.run_job(mpi, "pointer", **place)
            job.require_success()
            self.assertEqual(job.output.splitlines(), ["success"] * 3 + ["went on"])
            self.assertEqual(job.lines_from_unisono(), [])


if __name__ == "__main__":
    main()
