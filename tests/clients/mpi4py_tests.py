"""One rank of mpi4py's own test_io and test_file, and of a small check of our own.

usage: mpi4py_tests.py FILE CACHE MPI [--unskip] [--only PATTERN], CACHE from build_mpi4py.sh

mpi4py skips the view tests on MPICH 4.0, whose native library fails them; with --unskip they run.
Rank 0 prints the verdict line of the client tests when all ranks passed.
"""

import argparse
import sys
import unittest
from pathlib import Path

VIEW_CLASSES = ["TestIOViewSelf", "TestIOViewWorld"]


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("cache", type=Path)
    parser.add_argument("mpi")
    parser.add_argument("--unskip", action="store_true")
    parser.add_argument("--only", help="a pattern of test names")
    return parser.parse_args()


def strategy_after_own_check(MPI, file):
    """Writes and reads interleaved bytes through a view; returns the file's unisono_strategy."""
    world = MPI.COMM_WORLD
    view = MPI.BYTE.Create_vector(100, 3, 3 * world.size).Commit()
    handle = MPI.File.Open(world, file, MPI.MODE_CREATE | MPI.MODE_RDWR)
    handle.Set_view(3 * world.rank, MPI.BYTE, view)
    handle.Write_all(bytes([world.rank + 1]) * 300)
    handle.Sync()
    world.Barrier()
    handle.Set_view(0, MPI.BYTE, MPI.BYTE)
    whole = bytearray(300 * world.size)
    handle.Read_at_all(0, whole)
    assert whole == b"".join(bytes([rank + 1]) * 3 for rank in range(world.size)) * 100
    strategy = handle.Get_info().Get("unisono_strategy")
    handle.Close()
    view.Free()
    return strategy or ""


def main():
    arguments = parse_arguments()
    sys.path[:0] = [str(arguments.cache / arguments.mpi), str(arguments.cache / "source" / "test")]
    from mpi4py import MPI
    import test_file
    import test_io

    if arguments.unskip:
        for name in VIEW_CLASSES:
            getattr(test_io, name).__unittest_skip__ = False
    loader = unittest.TestLoader()
    if arguments.only:
        loader.testNamePatterns = [f"*{arguments.only}*"]
    suite = unittest.TestSuite(loader.loadTestsFromModule(module)
                               for module in (test_file, test_io))
    world = MPI.COMM_WORLD
    result = unittest.TextTestRunner(verbosity=2 if world.rank == 0 else 1).run(suite)
    passed = world.allreduce(result.wasSuccessful(), MPI.LAND)
    strategy = strategy_after_own_check(MPI, arguments.file)
    if world.rank == 0 and passed:
        print(f"{result.testsRun} tests, {len(result.skipped)} skipped")
        print(f"verdict: ok strategy={strategy}", flush=True)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
