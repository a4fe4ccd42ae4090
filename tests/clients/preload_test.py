#!/usr/bin/python3
"""The preload libraries where they have no business: other programs, the other MPI, switched off.

usage: preload_test.py BUILD_DIRECTORY MPI [MPI]
"""

import os
import shutil
import signal
import struct
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from each_mpi import BUILD, MPIS, ClientTest, each_mpi, library, main, program
from harness import LAUNCHERS, Job

LIBRARY_OF_MPI = {"mpich": "libmpich.so", "openmpi": "libmpi.so"}
SETTINGS = [
    {},
    {"UNISONO_REPORT": "summary", "UNISONO_STRATEGY": "no-such-strategy"},
    {"UNISONO_DISABLE": "1"},
]
# Runs the program that follows, after a command on rank 1 only.
ON_RANK_1 = 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]; then %s; fi; exec "$@"'


class OtherPrograms(unittest.TestCase):
    """No MPI in them: output, errors and status are what they are without us."""

    commands = [
        ["sh", "-c", "echo out; echo err >&2; ls / | cat | sort > /dev/null; exit 3"],
        ["ls", "-l", "/usr/share/common-licenses"],  # where no other test writes
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


class MpiJobs(ClientTest):
    def job(self, mpi, ranks):
        return Job(BUILD, mpi, ranks, [program("client_cpp", mpi), self.file], self.directory)

    def assert_native(self, job):
        job.require_success()
        self.assertEqual(job.strategy(), "", job.transcript())
        self.assertEqual(job.reports(), [], job.transcript())


class MpiPrograms(MpiJobs):
    @unittest.skipUnless(len(MPIS) > 1, "needs two MPIs")
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

    def write_by_a_large_count(self, count, libraries, **variables):
        """As mpi4py's wheels do, which take what they find: with Open MPI, that of MPICH's preload library."""
        script = f'''
import ctypes
mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
first = ctypes.CDLL(None)
def handle(name): return ctypes.byref(ctypes.c_char.in_dll(mpi, name))
file = ctypes.c_void_p()
mpi.MPI_Init(None, None)
first.MPI_File_open(handle("ompi_mpi_comm_world"), b"{self.file}", 5, handle("ompi_mpi_info_null"), ctypes.byref(file))
first.MPI_File_write_at_all_c(file, ctypes.c_long(2), b"abc", ctypes.c_long({count}), handle("ompi_mpi_byte"), None)
first.MPI_File_close(ctypes.byref(file))
mpi.MPI_Finalize()
'''
        preload = ":".join(str(library(name)) for name in libraries)
        return subprocess.run([sys.executable, "-c", script], text=True, capture_output=True, timeout=60, check=False,
                              env=os.environ | {"LD_PRELOAD": preload} | variables)

    @unittest.skipUnless({"mpich", "openmpi"} <= set(MPIS), "needs MPICH and Open MPI")
    def test_large_counts_that_only_the_wrong_library_has_ended_programs(self):
        for libraries in (["mpich"], ["mpich", "openmpi"], ["openmpi", "mpich"]):
            with self.subTest(libraries=libraries):
                done = self.write_by_a_large_count(3, libraries, UNISONO_REPORT="summary")
                self.assertEqual((done.returncode, self.file.read_bytes()), (0, b"\0\0abc"), done.stderr)
                self.assertIn("in 1 collective call" if "openmpi" in libraries else "the program runs without Unisono", done.stderr)
                self.file.unlink()

    @unittest.skipUnless({"mpich", "openmpi"} <= set(MPIS), "needs MPICH and Open MPI")
    def test_what_ends_a_program_whose_large_count_does_not_fit_into_its_librarys(self):
        """The line did not say what to do, and Open MPI wrote a page more."""
        done = self.write_by_a_large_count(1 << 31, ["mpich"])
        self.assertEqual(done.returncode, -signal.SIGABRT, done.stderr)
        lines = done.stderr.splitlines()
        self.assertIn("preload libunisono-openmpi.so instead", lines[-1])
        self.assertEqual([line for line in lines if not line.startswith("unisono: ")], [])

    def test_a_relative_name_led_to_no_engine_in_a_program_that_changes_its_folder(self):
        elsewhere = ("import os, runpy, sys; os.chdir('/'); del sys.argv[0]; "
                     "runpy.run_path(sys.argv[0], run_name='__main__')")
        host = Path(__file__).with_name("python_host.py").absolute()
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                plugin = program("client_plugin", mpi)
                job = Job(BUILD, mpi, 2, [sys.executable, "-c", elsewhere, host, plugin,
                                          self.file], self.directory)
                job.folder = BUILD
                job.environment["LD_PRELOAD"] = f"lib/libunisono-{mpi}.so:lib/libunisono-yield.so"
                job.run([library(mpi)]).require_success()
                self.assertNotEqual(job.strategy(), "", job.transcript())

    def test_disable_means_off(self):
        for mpi in MPIS:
            for word in ("1", "Yes"):
                with self.subTest(mpi=mpi, word=word):
                    job = self.job(mpi, 2)
                    job.environment["UNISONO_DISABLE"] = word
                    self.assert_native(job.run([library(mpi)]))
                    self.assertEqual(job.lines_from_unisono(), [])

    def test_a_word_that_does_not_mean_disable_does_not_disable(self):
        for mpi in MPIS:
            for word, lines in (("no", 0), ("maybe", 1)):
                with self.subTest(mpi=mpi, word=word):
                    job = self.job(mpi, 2)
                    job.environment["UNISONO_DISABLE"] = word
                    job.run([library(mpi)]).require_success()
                    self.assertNotEqual(job.strategy(), "", job.transcript())
                    self.assertEqual(len(set(job.lines_from_unisono())), lines, job.transcript())

    def assert_named_by_first_ranks(self, job, words):
        """The program opens files on all ranks, and on those with odd and even numbers."""
        job.require_success()
        self.assertNotEqual(job.reports(), [], job.transcript())
        lines = job.lines_from_unisono()
        self.assertEqual(len(lines), 2, job.transcript())
        self.assertEqual(lines[0], lines[1], job.transcript())
        self.assertIn(words, lines[0])

    def test_a_hint_that_is_not_valid_does_not_reach_the_mpi_library_and_is_named(self):
        """MPICH asked for -5 bytes and ended the program: "Out of memory"."""
        wrong = "*:cb_buffer_size=-5"
        site = self.directory / "site"
        site.write_text(wrong + "\n")
        for mpi in MPIS:
            for name, value in (("MPICH_MPIIO_HINTS", wrong), ("UNISONO_HINTS", wrong),
                                ("UNISONO_SITE_FILE", site)):
                with self.subTest(mpi=mpi, source=name):
                    job = self.job(mpi, 4)
                    job.environment[name] = str(value)
                    self.assert_named_by_first_ranks(job.run([library(mpi)]), "hint cb_buffer_size")

    @each_mpi
    def test_a_plugin_that_is_not_there_is_not_named_by_every_rank(self, mpi):
        job = self.job(mpi, 4)
        job.environment["UNISONO_PLUGINS"] = "/no/such/plugin.so"
        self.assert_named_by_first_ranks(job.run([library(mpi)]), "/no/such/plugin.so")

    @each_mpi
    def test_without_disable_it_is_on(self, mpi):
        """The counterpart: the same job with the same library is not native."""
        job = self.job(mpi, 2).run([library(mpi)])
        job.require_success()
        self.assertNotEqual(job.strategy(), "", job.transcript())
        self.assertNotEqual(job.reports(), [], job.transcript())

    @each_mpi
    def test_the_mpi_library_has_nothing_to_complain_of_at_the_end(self, mpi):
        """MPICH did, of a datatype that leaders of nodes had left."""
        native = self.job(mpi, 4).run([])
        job = self.job(mpi, 4)
        job.environment["UNISONO_TOPOLOGY"] = "nodes=2"
        job.run([library(mpi)])
        job.require_success()
        self.assertEqual(job.errors, native.errors, job.transcript())


@unittest.skipUnless({"mpich", "openmpi"} <= set(MPIS), "needs MPICH and Open MPI")
class ForEverybody(MpiJobs):
    """Both libraries in all ranks, as a site has them by the TaskProlog of docs/use/recipes.md."""

    @staticmethod
    def exports_for(folder, before="/its/own.so"):
        recipes = (Path(__file__).parents[2] / "docs/use/recipes.md").read_text()
        script = recipes.split("## For everybody")[1].split("```sh\n")[1].split("```")[0]
        said = subprocess.run(["sh", "-c", script.replace("/opt/unisono/lib", str(folder))], text=True, check=True,
                              stdout=subprocess.PIPE, env={"LD_PRELOAD": before}, stderr=subprocess.DEVNULL).stdout
        return dict(line.removeprefix("export ").split("=", 1) for line in said.splitlines())

    @each_mpi
    def test_each_program_is_served_by_its_own_and_nothing_is_said(self, mpi):
        for order in (1, -1):
            job = self.job(mpi, 2).run([library(name) for name in MPIS[::order]])
            job.require_success()
            self.assertNotEqual(job.strategy(), "", job.transcript())
            self.assertEqual(job.lines_from_unisono(), [])

    @each_mpi
    def test_the_prolog_switches_it_on_and_a_user_off(self, mpi):
        exports = self.exports_for(BUILD / "lib")
        self.assertEqual(exports["LD_PRELOAD"], f"{library('mpich')}:{library('openmpi')}:/its/own.so")
        on, off = self.job(mpi, 2), self.job(mpi, 2)
        on.environment["LD_PRELOAD"] = off.environment["LD_PRELOAD"] = exports["LD_PRELOAD"].removesuffix(":/its/own.so")
        on.run([]).require_success()
        self.assertNotEqual(on.strategy(), "", on.transcript())
        on.report_path.unlink()
        off.environment["UNISONO_DISABLE"] = "1"
        self.assert_native(off.run([]))

    def test_the_prolog_says_nothing_where_the_libraries_are_not_there_or_loaded_already(self):
        self.assertEqual(self.exports_for(self.directory / "none"), {})
        self.assertEqual(self.exports_for(BUILD / "lib", before=str(library("mpich"))), {})


class RanksThatDiffer(MpiJobs):
    """Rank 1 of four has something else: nobody hangs, and everybody is told."""

    def run_with(self, mpi, on_rank_1):
        """The job, run to its end; its file is read back and compared by the program."""
        job = self.job(mpi, 4)
        job.command = ["sh", "-c", ON_RANK_1 % on_rank_1, "sh", *job.command]
        return job.run([library(mpi)])

    def assert_explained(self, job, *others):
        """The MPI library did the shared file; one line says who has what."""
        job.require_success()
        self.assertEqual(job.strategy(), "", job.transcript())
        done_by_unisono = [report for report in job.reports() if not report["left_alone"]]
        self.assertNotIn("client-file", [Path(report["file"]).name for report in done_by_unisono])
        explanations = [line for line in job.lines_from_unisono() if "the 4 ranks" in line]
        self.assertEqual(len(explanations), 1, job.transcript())
        self.assertIn("on rank 0, 2-3", explanations[0])
        for words in (*others, "on rank 1"):
            self.assertIn(words, explanations[0])

    def changed_engine(self, mpi, change):
        """The library in a folder of its own, with an engine whose bytes `change` has replaced."""
        folder = self.directory / f"other-{mpi}"
        folder.mkdir()
        engine = f"libunisono-{mpi}-engine.so"
        original = (BUILD / "lib" / engine).read_bytes()
        changed = change(original)
        self.assertEqual(len(changed), len(original))
        self.assertNotEqual(changed, original)
        (folder / engine).write_bytes(changed)
        return Path(shutil.copy(library(mpi), folder))

    def assert_other_engine_is_noticed(self, change, *words):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                other = self.changed_engine(mpi, change)
                self.assert_explained(self.run_with(mpi, f"export LD_PRELOAD={other}"), *words)

    @each_mpi
    def test_disabled_on_one_rank_is_native_on_all(self, mpi):
        job = self.run_with(mpi, "export UNISONO_DISABLE=1")
        self.assert_explained(job, "switched off by UNISONO_DISABLE")

    def test_another_version_on_one_rank_is_native_on_all(self):
        self.assert_other_engine_is_noticed(
            lambda engine: engine.replace(b"Unisono 0.", b"Unisono 9."), "Unisono 9.")

    def test_another_build_on_one_rank_is_native_on_all(self):
        def change(engine):
            head = struct.pack("<III", 4, 20, 3) + b"GNU\0"  # of the note with the build id
            start = engine.index(head) + len(head)
            return engine[:start] + b"\xaa\xbb" + engine[start + 2:]

        self.assert_other_engine_is_noticed(change, "(build aabb")

    def test_no_library_on_one_rank_ends_with_an_explanation(self):
        with ThreadPoolExecutor() as both:  # they take a minute each
            jobs = list(both.map(lambda mpi: self.run_with(mpi, "unset LD_PRELOAD"), MPIS))
        for job in jobs:
            with self.subTest(mpi=job.mpi):
                self.assertNotEqual(job.returncode, 0)
                waiting = sorted(line.split(" has ")[0] for line in job.lines_from_unisono()
                                 if "run without libunisono" in line)
                self.assertEqual(waiting, [f"unisono: rank {rank} of 4" for rank in (0, 2, 3)],
                                 job.transcript())


@unittest.skipUnless(len(MPIS) > 1, "needs two MPIs")
class LoneRanks(MpiJobs):
    """Under the other MPI's launcher each process takes itself for rank 0 of 1, and wrote the whole file."""

    def run_under(self, launcher, program_mpi, allow="false"):
        job = Job(BUILD, launcher, 3, [program("client_cpp", program_mpi),
                                       self.file], self.directory)
        job.environment["UNISONO_ALLOW_LONE_RANKS"] = allow
        job.run([library(program_mpi)])
        return job, [line for line in job.errors.splitlines() if "as the only rank" in line]

    def test_they_are_stopped_before_they_open_the_file(self):
        for launcher, mpi in (MPIS, MPIS[::-1]):
            with self.subTest(launcher=launcher, program=mpi):
                job, lines = self.run_under(launcher, mpi)
                self.assertNotEqual(job.returncode, 0, job.transcript())
                self.assertEqual(len(lines), 1, job.transcript())
                self.assertIn(" started 3 processes", lines[0])
                self.assertFalse(self.file.exists())

    def test_they_go_on_where_the_user_says_so(self):
        for launcher, mpi in (MPIS, MPIS[::-1]):
            with self.subTest(launcher=launcher, program=mpi):
                _, lines = self.run_under(launcher, mpi, allow="true")
                self.assertEqual(lines, [])
                self.assertTrue(self.file.exists())
                self.file.unlink()

    def test_a_program_that_was_started_alone_by_the_nearest_launcher_goes_on(self):
        for outer, mpi, rank in ((*MPIS, "$PMI_RANK"), (*MPIS[::-1], "$OMPI_COMM_WORLD_RANK")):
            with self.subTest(launcher=outer, program=mpi):
                inner = " ".join(LAUNCHERS[mpi])
                job = Job(BUILD, outer, 2, ["sh", "-c", f'exec {inner} -n 1 "$0" "$1{rank}"',
                                            program("client_cpp", mpi), self.file], self.directory)
                job.run([library(mpi)]).require_success()


if __name__ == "__main__":
    main()
