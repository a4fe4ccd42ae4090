#!/usr/bin/python3
"""Other tools in LD_PRELOAD, before Unisono and after it, and children that do not want either.

usage: tools_test.py BUILD_DIRECTORY MPI [MPI]
UNISONO_TEST_DARSHAN names a libdarshan.so, built for the first of the MPIs: the same with Darshan itself.
"""

import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from each_mpi import BUILD, MPIS, ClientTest, each_mpi, library, main, program
from harness import Job

RANKS = 3
DARSHAN = os.environ.get("UNISONO_TEST_DARSHAN")


def orders(mpi, tool):
    return {"the tool first": [tool, library(mpi)], "Unisono first": [library(mpi), tool]}


class Jobs(ClientTest):
    def job(self, mpi, command=None, **environment):
        job = Job(BUILD, mpi, RANKS, command or [program("client_cpp", mpi), self.file], self.directory)
        job.environment = {"UNISONO_BACKEND": "posix", **environment}
        return job


class CountingTool(Jobs):
    """The program reads back what it wrote; Unisono's report says what it did."""

    def counts(self, mpi, libraries, command=None, **environment):
        log = self.directory / "log"
        log.unlink(missing_ok=True)
        job = self.job(mpi, command, COUNTING_TOOL_LOG=str(log), **environment)
        job.report_path.unlink(missing_ok=True)
        job.run(libraries).require_success()
        lines = log.read_text().splitlines()
        self.assertEqual(len(lines), RANKS, job.transcript())
        ranks = [{key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)} for line in lines]
        return {key: sum(rank[key] for rank in ranks) for key in ranks[0]}, job

    def tool(self, mpi):
        return BUILD / "lib" / f"libcounting-tool-{mpi}.so"

    def test_in_both_orders_unisono_does_the_files_and_the_tool_counts_its_accesses(self):
        for mpi in MPIS:
            for order, libraries in orders(mpi, self.tool(mpi)).items():
                with self.subTest(mpi=mpi, order=order):
                    counted, job = self.counts(mpi, libraries)
                    reports = [one for one in job.reports() if Path(one["file"]).name != "log"]
                    self.assertNotEqual(job.strategy(), "", job.transcript())
                    for kind, direction in (("written", "write"), ("read", "read")):
                        moved = sum(one[direction]["bytes"]["moved"] for one in reports)
                        self.assertGreater(moved, 0)
                        self.assertGreaterEqual(counted[kind], moved, job.transcript())
                        self.assertLess(counted[kind], moved + 4096, job.transcript())

    def test_opens_and_closes_are_counted_in_both_orders(self):
        for mpi in MPIS:
            native, _ = self.counts(mpi, [self.tool(mpi)])
            for order, libraries in orders(mpi, self.tool(mpi)).items():
                with self.subTest(mpi=mpi, order=order):
                    counted, job = self.counts(mpi, libraries)
                    self.assertEqual([counted["opens"], counted["closes"]],
                                     [native["opens"], native["closes"]], job.transcript())

    @each_mpi
    def test_a_tool_before_unisono_counts_the_programs_calls_one_behind_it_none_of_those_that_unisono_does(self, mpi):
        native, _ = self.counts(mpi, [self.tool(mpi)])
        both = orders(mpi, self.tool(mpi))
        first, job = self.counts(mpi, both["the tool first"])
        self.assertEqual(first["collective"], native["collective"], job.transcript())
        self.assertGreater(first["collective"], 0)
        behind, job = self.counts(mpi, both["Unisono first"])
        self.assertEqual(behind["collective"], 0, job.transcript())

    # Those at the end of calls that repeat, which a sync or close may be, were in no report.
    def test_messages_between_nodes_are_those_of_the_report(self):
        for mpi in MPIS:
            for strategy in ("two_phase", "view_based"):
                for mode in ("repeated", "close"):
                    with self.subTest(mpi=mpi, strategy=strategy, mode=mode):
                        self.file.unlink(missing_ok=True)
                        counted, job = self.counts(
                            mpi, [library(mpi), self.tool(mpi)], [program("reported", mpi), mode, self.file],
                            UNISONO_TOPOLOGY="nodes=3", UNISONO_STRATEGY=strategy)
                        [report] = [one for one in job.reports() if one["file"] == str(self.file)]
                        self.assertGreater(counted["messages"], 0, job.transcript())
                        self.assertEqual(report["write"]["messages"] + report["read"]["messages"],
                                         counted["messages"], job.transcript())

    @each_mpi
    def test_each_duplicate_of_the_world_was_divided_into_nodes_anew(self, mpi):
        counted, job = self.counts(mpi, [library(mpi), self.tool(mpi)], [program("duplicates", mpi), self.file],
                                   UNISONO_TOPOLOGY="nodes=2")
        self.assertEqual(counted["splits"], 2 * RANKS, job.transcript())


class Carried(Jobs):
    """What the tool has counted of a nonblocking write between nodes before the program waits for it."""

    def counted(self, mpi, meanwhile):
        job = Job(BUILD, mpi, RANKS, [program("carried", mpi), self.directory / "file", meanwhile],
                  self.directory)
        job.environment = {"UNISONO_BACKEND": "posix", "UNISONO_TOPOLOGY": "nodes=3", "UNISONO_OVERLAP": "enable"}
        (self.directory / "file").unlink(missing_ok=True)
        job.run([library(mpi), BUILD / "lib" / f"libcounting-tool-{mpi}.so"]).require_success()
        lines = re.findall(r"rank \d+ (\w+): messages=(\d+) written=(\d+) (\w+)", job.output)
        self.assertEqual(len(lines), 2 * RANKS, job.transcript())
        return {when: {"messages": sum(int(line[1]) for line in lines if line[0] == when),
                       "written": sum(int(line[2]) for line in lines if line[0] == when),
                       "complete": {line[3] for line in lines if line[0] == when}} for when in ("before", "after")}

    def test_calls_of_other_kinds_move_messages_and_the_file_is_written_before_the_wait(self):
        whole = RANKS * 64 * 4000
        for mpi in MPIS:
            for meanwhile in ("position", "test", "probe"):
                with self.subTest(mpi=mpi, meanwhile=meanwhile):
                    counts = self.counted(mpi, meanwhile)
                    self.assertEqual(counts["before"]["complete"], {"complete"}, counts)
                    self.assertEqual(counts["before"]["written"], whole, counts)
                    self.assertGreater(counts["before"]["messages"], RANKS, counts)

    @each_mpi
    def test_nothing_moves_while_the_program_calls_nothing(self, mpi):
        counts = self.counted(mpi, "nothing")
        self.assertEqual(counts["before"], {"messages": 0, "written": 0, "complete": {"incomplete"}})
        self.assertEqual(counts["after"]["complete"], {"complete"}, counts)


@unittest.skipUnless(DARSHAN and shutil.which("darshan-parser"), "UNISONO_TEST_DARSHAN or darshan-parser is missing")
class Darshan(Jobs):
    def totals(self, libraries):
        log = self.directory / "job.darshan"
        log.unlink(missing_ok=True)
        job = self.job(MPIS[0], DARSHAN_LOGFILE=str(log)).run(libraries)
        job.require_success()
        self.assertNotEqual(job.strategy(), "", job.transcript())
        text = subprocess.run(["darshan-parser", "--total", log], capture_output=True, text=True, timeout=200,
                              check=True).stdout
        return {key: float(value) for key, value in re.findall(r"^total_(\w+): ([\d.-]+)", text, re.MULTILINE)}

    def test_both_orders_work_and_its_counters_say_what_was_done(self):
        both = orders(MPIS[0], Path(DARSHAN))
        native = self.totals([Path(DARSHAN)])
        first, behind = (self.totals(both[order]) for order in ("the tool first", "Unisono first"))
        self.assertEqual(first["MPIIO_COLL_WRITES"], native["MPIIO_COLL_WRITES"])
        self.assertEqual(first["MPIIO_BYTES_WRITTEN"], native["MPIIO_BYTES_WRITTEN"])
        self.assertEqual(behind["MPIIO_COLL_WRITES"], 0)
        for totals in (first, behind):
            self.assertGreaterEqual(totals["POSIX_BYTES_WRITTEN"], native["MPIIO_BYTES_WRITTEN"])


class Children(Jobs):
    """What a program that an MPI program starts has in LD_PRELOAD."""

    def child_preload(self, mpi, **environment):
        """The program is Python, linked with the MPI library by way of LD_PRELOAD."""
        linked = {"mpich": "libmpich.so.12", "openmpi": "libmpi.so.40"}[mpi]
        done = subprocess.run(
            ["env", f"LD_PRELOAD=/no-such/libother.so:{library(mpi)}:{linked}", "sh", "-c", "echo $LD_PRELOAD"],
            env={**os.environ, **environment}, capture_output=True, text=True, timeout=200, check=True)
        return done.stdout.strip()

    @each_mpi
    def test_they_have_it_unless_the_user_says_otherwise(self, mpi):
        self.assertIn(str(library(mpi)), self.child_preload(mpi))
        for word in ("true", "", "falsely", "no child"):
            self.assertIn(str(library(mpi)), self.child_preload(mpi, UNISONO_PRELOAD_CHILDREN=word), word)

    @each_mpi
    def test_on_request_they_have_all_but_unisono(self, mpi):
        for word in ("false", "0", " No ", "disabled"):
            left = self.child_preload(mpi, UNISONO_PRELOAD_CHILDREN=word)
            self.assertNotIn("libunisono", left, word)
            self.assertRegex(left, r"^/no-such/libother.so:libmpi")

    @each_mpi
    def test_the_program_itself_is_still_under_unisono(self, mpi):
        job = self.job(mpi, UNISONO_PRELOAD_CHILDREN="false").run([library(mpi)])
        job.require_success()
        self.assertNotEqual(job.strategy(), "", job.transcript())

    @each_mpi
    def test_a_shell_before_the_program_hands_it_on(self, mpi):
        job = self.job(mpi, ["sh", "-c", '"$0" "$1"; exit $?', program("client_cpp", mpi), self.file],
                       UNISONO_PRELOAD_CHILDREN="false")
        job.run([library(mpi)]).require_success()
        self.assertNotEqual(job.strategy(), "", job.transcript())


if __name__ == "__main__":
    main()
