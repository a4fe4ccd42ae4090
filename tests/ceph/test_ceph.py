"""Writes and reads with every strategy on a real CephFS, and compares Unisono's layouts with what
libcephfs says. `make test-ceph` runs it; `make test` does not: Ceph has to be installed."""

import array
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "clients"))
from cephfs import CephFs, Striping  # noqa: E402
from harness import Job  # noqa: E402

BUILD = pathlib.Path(os.environ.get("UNISONO_BUILD_DIR", ROOT / "build"))
KIB = 1024
OSDS = 4
RANKS = 4
WORDS_PER_RANK = 400_000
# 6.4 MB: of these small objects a file has a dozen and more.
FOLDER_LAYOUT = "stripe_unit=65536 stripe_count=1 object_size=262144"
FOLDER_OBJECT = 256 * KIB
CONTENTS = array.array("I", range(RANKS * WORDS_PER_RANK)).tobytes()

# The striping that is asked for (None: the folder's own), and what the file must then have: objects
# grow to whole units.
STRIPINGS = {
    "64K-over-3": (64 * KIB, 3, Striping(64 * KIB, 3, FOLDER_OBJECT)),
    "192K-over-2": (192 * KIB, 2, Striping(192 * KIB, 2, 384 * KIB)),
    "512K-over-7": (512 * KIB, 7, Striping(512 * KIB, 7, 512 * KIB)),
    "not-asked": (None, None, Striping(64 * KIB, 1, FOLDER_OBJECT)),
}


def strategies():
    listed = subprocess.run([BUILD / "bin/unisono-strategies"], text=True, check=True,
                            capture_output=True).stdout
    return [line.split("\t")[0] for line in listed.splitlines() if not line.startswith("native\t")]


@pytest.fixture(scope="module")
def cluster():
    """The folder of a running cluster, with CEPH_CONF set for it."""
    with tempfile.TemporaryDirectory(prefix="unisono-ceph-") as folder:
        place = pathlib.Path(folder) / "cluster"
        try:
            subprocess.run([HERE / "cluster.sh", "up", place], check=True)
            os.environ["CEPH_CONF"] = str(place / "ceph.conf")
            yield place
        finally:
            subprocess.run([HERE / "cluster.sh", "down", place], check=True)


@pytest.fixture(scope="module")
def folder(cluster):
    path = cluster / "mnt/files"
    path.mkdir()
    os.setxattr(path, "ceph.dir.layout", f"{FOLDER_LAYOUT} pool=data".encode())
    return path


@pytest.fixture(scope="module")
def cephfs(cluster):
    client = CephFs(cluster / "ceph.conf")
    yield client
    client.close()


def interleave(mpi, strategy, path, way, scratch, hints=(), **settings):
    """Writes and reads a file; returns Unisono's reports."""
    job = Job(BUILD, mpi, RANKS, [BUILD / f"programs/interleave.{mpi}", path, WORDS_PER_RANK, way,
                                  *(f"{key}={value}" for key, value in hints)], scratch)
    job.environment = {"UNISONO_STRATEGY": strategy, "UNISONO_TOPOLOGY": "nodes=2"} | settings
    job.run([job.engine()], seconds=60).require_success()
    return job.reports()


def assert_strategy_did_every_call(report, strategy):
    assert report["nodes"] == 2
    assert report["notes"] == []
    for direction in (report["write"], report["read"]):
        calls = {name: use["calls"] for name, use in direction["strategies"].items()}
        assert calls == {strategy: 1}, direction
        assert direction["calls"]["native"] == {}


def assert_layout_was_found(layout, striping):
    """`layout` is the report's. "(ceph: by object, ..." at its end would mean that libcephfs was not
    asked. A file of single objects is one of units that are as large."""
    if striping.count == 1:
        assert layout == f"{striping.object_size // KIB} KiB over {OSDS} servers (ceph)"
    else:
        assert layout == (f"{striping.unit // KIB} KiB over {OSDS} servers, {striping.count} objects"
                          f" of {striping.object_size // KIB} KiB in turn (ceph)")


def assert_same_servers(path, unit_bytes, osds):
    """Unisono numbers a file's servers in the order of the OSDs' numbers."""
    printed = subprocess.run([BUILD / "programs/layout_servers", path, str(unit_bytes)], text=True,
                             check=True, capture_output=True, timeout=60).stdout
    servers = [int(line) for line in printed.splitlines()]
    assert len(servers) == len(osds)
    pairs = sorted(set(zip(servers, osds)))
    assert len(pairs) == len(set(osds)) == len(set(servers)), f"server, OSD: {pairs}"
    assert [osd for _, osd in pairs] == sorted(set(osds))
    assert len(pairs) > 1, "all on one server: nothing was compared"


def test_a_cluster_whose_client_had_died_stayed_mounted(tmp_path, record_property):
    place = tmp_path / "cluster"
    subprocess.run([HERE / "cluster.sh", "up", place], check=True)
    os.kill(int((place / "run/client.admin.pid").read_text()), signal.SIGKILL)
    subprocess.run([HERE / "cluster.sh", "down", place], check=True)
    assert not place.exists()
    assert str(place) not in pathlib.Path("/proc/self/mounts").read_text()
    record_property("seen", "a cluster without its client was removed")


# Each strategy with each striping on one MPI; the other one only needs to get through.
CASES = [(mpi, striping, strategy)
         for mpi, stripings in (("mpich", STRIPINGS), ("openmpi", ["64K-over-3"]))
         for striping in stripings for strategy in strategies()]


@pytest.mark.parametrize(("mpi", "striping", "strategy"), CASES)
def test_strategy_moves_the_right_bytes_and_knows_their_servers(
        mpi, striping, strategy, folder, cephfs, tmp_path, record_property):
    unit, count, expected = STRIPINGS[striping]
    path = folder / f"{mpi}-{striping}-{strategy}"
    hints = [("striping_unit", unit), ("striping_factor", count)] if unit else []
    [report] = interleave(mpi, strategy, path, "at-once", tmp_path, hints)

    contents, found, osds = cephfs.look_at(f"/files/{path.name}", expected.unit)
    assert found == expected
    assert contents == CONTENTS
    assert path.read_bytes() == CONTENTS
    assert_strategy_did_every_call(report, strategy)
    assert_layout_was_found(report["layout"], expected)
    assert_same_servers(path, expected.unit, osds)
    record_property("seen", f"{mpi:<8} {striping:<12} {strategy:<12} {len(osds):3} units on"
                            f" {len(set(osds))} OSDs, as libcephfs says; {report['layout']}")
    path.unlink()


# Small calls go a shorter way where no report counts them, as in most users' programs.
@pytest.mark.parametrize("strategy", strategies())
def test_strategy_moves_the_right_bytes_in_small_calls_without_a_report(strategy, folder, tmp_path, record_property):
    path = folder / f"blocks-{strategy}"
    assert interleave("mpich", strategy, path, "by-blocks", tmp_path, UNISONO_REPORT="none") == []
    assert path.read_bytes() == CONTENTS
    record_property("seen", f"mpich    by blocks    {strategy:<12} without a report")
    path.unlink()
