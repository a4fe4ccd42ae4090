"""Power cuts: what was synced is there afterwards, and nothing else. Run by run.py."""

import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading

import pytest
from mounts import BUILD, Pocket, unisono

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "clients"))
import harness  # noqa: E402

SEEDS = [int(os.environ["UNISONO_TEST_SEED"])] if "UNISONO_TEST_SEED" in os.environ else range(1, 6)
STRATEGIES = ["two_phase", "independent", "view_based", "resonant", "lacio", "native"]
MPIS = [mpi for mpi in harness.LAUNCHERS if (BUILD / f"programs/power_cut.{mpi}").exists()]


@pytest.fixture(scope="module", params=["off", "instant"])
def mount(request, tmp_path_factory):
    made = Pocket(tmp_path_factory.mktemp("mount"))
    yield made.up(request.param, "--power-cuts", "--servers", 2)
    made.down()


@pytest.fixture
def mounted(mount):
    """A folder in it, where nothing is yet."""
    return pathlib.Path(tempfile.mkdtemp(dir=mount.mountpoint))


@pytest.fixture
def cut_power(mount):
    return lambda: os.setxattr(mount.mountpoint, "user.pocketfs.control", b"power_cut")


@pytest.fixture
def file(mounted):
    """A descriptor of a file that holds "synced"."""
    fd = os.open(mounted / "file", os.O_RDWR | os.O_CREAT)
    os.write(fd, b"synced")
    os.fsync(fd)
    yield fd
    os.close(fd)


def test_what_was_synced_is_there_and_nothing_else(mounted, cut_power, file):
    os.pwrite(file, b"changed, and longer", 3)
    (mounted / "never synced").write_bytes(b"x" * 100_000)
    cut_power()
    assert (mounted / "file").read_bytes() == b"synced"
    assert (mounted / "never synced").read_bytes() == b"", "names need no sync here"
    assert os.fstat(file).st_size == 6
    assert os.pread(file, 100, 0) == b"synced", "also through a descriptor from before"


def test_life_goes_on_after_a_cut(mounted, cut_power, file):
    for text in (b"first", b"second"):
        os.pwrite(file, text, 0)
        cut_power()
        assert os.pread(file, 100, 0) == b"synced"
    os.pwrite(file, b"SYNCED", 0)
    os.fsync(file)
    cut_power()
    assert os.pread(file, 100, 0) == b"SYNCED"


# It left a hole, as long as what was lost.
def test_who_appends_after_a_cut_goes_on_where_the_file_ends_now(mounted, cut_power, file):
    fd = os.open(mounted / "file", os.O_WRONLY | os.O_APPEND)
    os.write(fd, b" and lost")
    cut_power()
    os.write(fd, b", appended")
    os.write(fd, b" twice")
    os.close(fd)
    assert (mounted / "file").read_bytes() == b"synced, appended twice"


@pytest.mark.parametrize("change", [
    lambda path: os.truncate(path, 2),
    lambda path: os.truncate(path, 2_000_000),
    lambda path: os.close(os.open(path, os.O_WRONLY | os.O_TRUNC)),
    lambda path: path.write_bytes(b"other"),
], ids=["cut off", "grown", "opened to be emptied", "written anew"])  # fmt: skip
def test_sizes_are_lost_as_bytes_are(mounted, cut_power, file, change):
    change(mounted / "file")
    cut_power()
    assert (mounted / "file").read_bytes() == b"synced"


def test_space_that_was_allocated_is_lost(mounted, cut_power, file):
    os.posix_fallocate(file, 0, 1 << 20)
    cut_power()
    assert os.fstat(file).st_size == 6


@pytest.mark.parametrize("sync", [os.fsync, os.fdatasync])
def test_any_descriptor_syncs_the_whole_file(mounted, cut_power, file, sync):
    os.pwrite(file, b"by another", 0)
    reader = os.open(mounted / "file", os.O_RDONLY)
    sync(reader)
    os.close(reader)
    cut_power()
    assert os.pread(file, 100, 0) == b"by another"


@pytest.mark.parametrize("flag", [os.O_SYNC, os.O_DSYNC])
def test_synchronous_descriptors_need_no_sync(mounted, cut_power, flag):
    fd = os.open(mounted / "new", os.O_WRONLY | os.O_CREAT | flag)
    os.write(fd, b"written")
    os.close(fd)
    cut_power()
    assert (mounted / "new").read_bytes() == b"written"


@pytest.mark.parametrize("flag", [os.RWF_SYNC, os.RWF_DSYNC])
def test_synchronous_calls_need_no_sync(mounted, cut_power, file, flag):
    os.pwritev(file, [b"SYNCED"], 0, flag)
    os.pwrite(file, b"lost", 0)
    cut_power()
    assert os.pread(file, 100, 0) == b"SYNCED"


def test_a_file_that_took_the_place_of_another_gets_none_of_its_bytes(mounted, cut_power, file):
    os.pwrite(file, b"changed", 0)
    os.unlink(mounted / "file")
    (mounted / "file").write_bytes(b"new")
    cut_power()
    assert (mounted / "file").read_bytes() == b""
    assert os.pread(file, 100, 0) == b"synced", "the old one is open still"


def test_an_ended_daemon_is_no_power_cut(pocket):
    pocket.up("off", "--power-cuts")
    (pocket / "file").write_bytes(b"not synced")
    pocket.down()
    assert sorted(path.name for path in pocket.backing.iterdir()) == ["files", "lock"]
    pocket.up("off", "--power-cuts")
    unisono("power-cut", pocket.mountpoint)
    assert (pocket / "file").read_bytes() == b"not synced"


def test_without_the_option_a_cut_is_refused(pocket):
    pocket.up("off")
    done = unisono("power-cut", pocket.mountpoint, check=False)
    assert done.returncode == 2
    assert "it was mounted without --power-cuts" in done.stderr


# ---- against a model -----------------------------------------------------------------------------


class Model:
    """What one file holds, and what a power cut leaves of it."""

    def __init__(self):
        self.bytes = self.synced = b""

    def write(self, offset, data):
        self.truncate(max(len(self.bytes), offset + len(data)))
        self.bytes = self.bytes[:offset] + data + self.bytes[offset + len(data):]  # fmt: skip

    def truncate(self, size):
        self.bytes = self.bytes[:size].ljust(size, b"\0")


@pytest.mark.parametrize("seed", SEEDS)
def test_random_changes_syncs_and_cuts(mounted, cut_power, seed):
    dice = random.Random(seed)
    models = {name: Model() for name in "ab"}
    fds = {name: os.open(mounted / name, os.O_RDWR | os.O_CREAT) for name in models}
    for _ in range(150):
        name = dice.choice("ab")
        model, fd = models[name], fds[name]
        what = dice.choice(["write"] * 5 + ["truncate", "fsync", "cut"])
        if what == "write":
            data, offset = dice.randbytes(dice.randrange(1, 200_000)), dice.randrange(300_000)
            os.pwrite(fd, data, offset)
            model.write(offset, data)
        elif what == "truncate":
            size = dice.randrange(400_000)
            os.ftruncate(fd, size)
            model.truncate(size)
        elif what == "fsync":
            os.fsync(fd)
            model.synced = model.bytes
        else:
            cut_power()
            for each in models.values():
                each.bytes = each.synced
        for each in models:
            assert (mounted / each).read_bytes() == models[each].bytes, (each, what)
    for fd in fds.values():
        os.close(fd)


BLOCK = 50_000


def test_a_cut_in_the_middle_leaves_whole_requests_and_all_that_was_synced(mounted, cut_power):
    fd = os.open(mounted / "file", os.O_RDWR | os.O_CREAT)
    synced, enough, end = [0], threading.Event(), threading.Event()

    def write():
        for block in range(100_000):
            if end.is_set():
                return
            os.pwrite(fd, b"x" * BLOCK, block * BLOCK)
            if block % 4 == 3:
                os.fsync(fd)
                synced[0] = block + 1
                if block > 20:
                    enough.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert enough.wait(90)
    promised = synced[0]
    cut_power()
    end.set()
    writer.join()
    data = os.pread(fd, 1 << 30, 0)
    os.close(fd)
    assert data[: promised * BLOCK] == b"x" * promised * BLOCK
    for begin in range(0, len(data), BLOCK):
        assert len(set(data[begin : begin + BLOCK])) == 1, "zeros or all of the block"


# ---- MPI -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mount", ["off"], indirect=True)
@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("strategy", [*STRATEGIES, "native"])
def test_all_that_a_sync_or_a_syncing_close_promised_is_there(mount, tmp_path, mpi, strategy):
    program = BUILD / "programs" / f"power_cut.{mpi}"
    job = harness.Job(BUILD, mpi, 3, [program, mount.mountpoint], tmp_path)
    job.environment = {"UNISONO_STRATEGY": strategy, "UNISONO_LAYOUT": "stripe_bytes=4K,servers=3"}
    job.run([job.engine()]).require_success()


@pytest.mark.parametrize("mpi", MPIS)
def test_random_programs_find_all_that_they_synced(mpi):
    fuzzer = pathlib.Path(__file__).parent.with_name("fuzz") / "fuzz.py"
    done = subprocess.run([sys.executable, fuzzer, "--build", BUILD, "--power-cuts", "--mpi", mpi,
                           "--seconds", "6", "--hang-seconds", "150",  # as in tests/fuzz/CMakeLists.txt
                           "--seed", os.environ.get("UNISONO_TEST_SEED", "1")],
                          capture_output=True, text=True, timeout=250, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout
