"""The mounted file system, as programs see it. Run by run.py."""

import concurrent.futures
import contextlib
import errno
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import oracle
import pytest
from mounts import BUILD, Pocket, unisono

SEEDS = [int(os.environ["UNISONO_TEST_SEED"])] if "UNISONO_TEST_SEED" in os.environ else range(1, 4)
UNIT = 65536


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "oracle"
    made.mkdir()
    return made


def error_of(function, *arguments):
    with pytest.raises(OSError) as failure:
        function(*arguments)
    return failure.value.errno


# ---- as any file system --------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["off", "instant"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_operations_do_what_they_do_on_a_plain_folder(pocket, folder, seed, profile):
    pocket.up(profile, "--stripe-bytes", "10K", "--servers", 3, "--chunk-bytes", "32K")
    os.umask(0o022)
    oracle.compare(oracle.Side(str(folder)), oracle.Side(str(pocket.mountpoint)), seed, 300)


def test_direct_access_and_large_requests(pocket):
    pocket.up("instant")
    data = random.Random(1).randbytes(5 << 20)
    (pocket / "file").write_bytes(data)
    assert (pocket / "file").read_bytes() == data
    import mmap

    page = mmap.mmap(-1, 1 << 20)
    fd = os.open(pocket / "file", os.O_RDWR | os.O_DIRECT)
    assert os.preadv(fd, [page], 1 << 20) == 1 << 20
    assert page[:] == data[1 << 20 : 2 << 20]
    assert os.pwritev(fd, [page], 4096) == 1 << 20
    os.close(fd)
    assert (pocket / "file").read_bytes()[4096 : 4096 + (1 << 20)] == page[:]


def test_free_space_comes_back_when_the_last_user_of_a_file_is_gone(pocket):
    pocket.up("instant", "--servers", 2, "--chunk-bytes", "1M")

    def placed():
        return pocket.get("again", "map").split(":")[1]

    first = os.open(pocket / "first", os.O_RDWR | os.O_CREAT)
    os.write(first, bytes(100))
    os.unlink(pocket / "first")
    (pocket / "again").write_bytes(bytes(100))
    assert placed() == str(1 << 20)
    assert os.pread(first, 10, 0) == bytes(10)
    os.close(first)
    os.truncate(pocket / "again", 0)
    assert pocket.get("again", "map") == ""


WRITER = """
import os, sys
path, me, blocks, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
fd = os.open(path, os.O_RDWR | os.O_CREAT)
for block in range(me, blocks, 2):
    assert os.pwrite(fd, bytes([block % 251]) * size, block * size) == size
for block in range(me, blocks, 2):
    assert os.pread(fd, size, block * size) == bytes([block % 251]) * size
"""


@pytest.mark.parametrize("size", [1000, 50_000])
def test_two_processes_write_one_file_at_once(pocket, size):
    pocket.up("instant")
    clients = [subprocess.Popen([sys.executable, "-c", WRITER, pocket / "file", str(me), "60",
                                 str(size)]) for me in range(2)]  # fmt: skip
    assert [client.wait(90) for client in clients] == [0, 0]
    expected = b"".join(bytes([block % 251]) * size for block in range(60))
    assert (pocket / "file").read_bytes() == expected


def test_writes_to_one_file_do_not_wait_for_each_other(pocket):
    pocket.up("instant")
    (pocket / "file").write_bytes(bytes(4 * UNIT))
    pocket.fault("--hang", 0, 1000)
    fd = os.open(pocket / "file", os.O_RDWR)
    requests = len(pocket.trace())
    with concurrent.futures.ThreadPoolExecutor() as pool:
        slow = pool.submit(os.pwrite, fd, b"s", 0)
        while len(pocket.trace()) == requests:
            time.sleep(0.01)
        assert os.pwrite(fd, b"f", UNIT) == 1
        assert not slow.done(), "the second one was done first"
        pocket.fault("--clear")
        assert slow.result() == 1
    os.close(fd)


# ---- layouts and places --------------------------------------------------------------------------


def test_layouts_come_from_file_folder_and_mount(pocket):
    pocket.up("off", "--servers", 4, "--stripe-bytes", "64K")
    (pocket / "plain").touch()
    assert pocket.get("plain", "layout") == "stripe_bytes=65536,servers=4,first=0"
    pocket.set("plain", "stripe_bytes", "128K")
    pocket.set("plain", "servers", 2)
    pocket.set("plain", "first", 3)
    assert pocket.get("plain", "layout") == "stripe_bytes=131072,servers=2,first=3"
    (pocket / "folder").mkdir()
    pocket.set("folder", "stripe_bytes", 4096)
    (pocket / "folder" / "below").mkdir()
    (pocket / "folder" / "below" / "file").touch()
    assert pocket.get("folder/below/file", "stripe_bytes") == "4096"
    (pocket / "plain").write_bytes(b"x")
    for key, value in (("stripe_bytes", 1), ("servers", 1), ("first", 0)):
        with pytest.raises(OSError) as refused:
            pocket.set("plain", key, value)
        assert refused.value.errno == errno.EBUSY, "a file with bytes keeps its layout"
    for key, value in (("stripe_bytes", 0), ("servers", 5), ("servers", "x"), ("nonsense", 1)):
        with pytest.raises(OSError) as refused:
            pocket.set("folder/below/file", key, value)
        assert refused.value.errno == errno.EINVAL
    assert os.listxattr(pocket / "plain") == []


@pytest.mark.parametrize("units", [1 << 62, "16777217T"])  # rows, and a number, beyond 2^64
def test_stripe_units_that_do_not_fit_a_number_are_refused(pocket, units):
    """Whoever may write a file ended the daemon with them, or got others."""
    pocket.up("instant", "--servers", 4)
    (pocket / "file").touch()
    for name in ("file", "."):
        assert error_of(pocket.set, name, "stripe_bytes", units) == errno.EINVAL
    (pocket / "file").write_bytes(b"x")
    assert pocket.get("file", "stripe_bytes") == str(UNIT)


def test_bytes_go_to_the_servers_that_the_layout_says(pocket):
    pocket.up("instant", "--servers", 4, "--stripe-bytes", UNIT)
    (pocket / "file").touch()
    pocket.set("file", "servers", 3)
    pocket.set("file", "first", 2)
    (pocket / "file").write_bytes(bytes(4 * UNIT))
    written = [server["written_bytes"] for server in pocket.stats()["servers"]]
    # Units 0 1 2 3 on servers 2 3 0 2.
    assert written == [UNIT, 0, 2 * UNIT, UNIT]


def test_requests_come_to_the_servers_as_programs_make_them(pocket):
    pocket.up("instant", "--servers", 1)
    fd = os.open(pocket / "file", os.O_RDWR | os.O_CREAT)
    for block in range(20):
        os.pwrite(fd, bytes(4096), block * 4096)
    for block in range(20):
        os.pread(fd, 4096, block * 4096)
    os.fsync(fd)
    os.close(fd)
    server = pocket.stats()["servers"][0]
    assert [server[key] for key in ("writes", "reads", "flushes")] == [20, 20, 1]


def test_files_lie_apart_as_far_as_was_said(pocket):
    pocket.up("off", "--distance-bytes", "10G", "--servers", 2)
    for name in ("one", "two", "three"):
        (pocket / name).write_bytes(bytes(100))
    places = [int(pocket.get(name, "map").split(":")[1]) for name in ("one", "two", "three")]
    assert places == [0, 10 << 30, 20 << 30]
    (pocket / "there").touch()
    pocket.set("there", "address", 5 << 30)
    (pocket / "there").write_bytes(bytes(100))
    assert pocket.get("there", "map") == f"0:{5 << 30}:{64 << 20}"


# ---- time ----------------------------------------------------------------------------------------


def test_random_reads_take_the_time_of_a_disk(pocket):
    pocket.up("barracuda-7200.10", "--servers", 1, "--jitter-us", 50, "--seed", 3)
    (pocket / "file").touch()
    fd = os.open(pocket / "file", os.O_RDWR)
    os.posix_fallocate(fd, 0, 1 << 30)
    dice = random.Random(1)
    offsets = [dice.randrange(1 << 18) * 4096 for _ in range(30)]
    begin = time.monotonic()
    for offset in offsets:
        os.pread(fd, 4096, offset)
    mean_ms = (time.monotonic() - begin) / len(offsets) * 1e3
    os.close(fd)
    server = pocket.stats()["servers"][0]
    modelled_ms = server["positioning_ms"] / server["media_accesses"]
    # 1 GiB is 0.7 % of the disk: seeks of 0.8 to 2 ms, half a revolution 4.2, overhead 0.3.
    assert 4 < modelled_ms < 9
    assert mean_ms > modelled_ms
    assert server["seeks"] >= 25
    assert pocket.stats()["lateness_us"]["requests"] >= 30


DISK = "barracuda-7200.10"


@pytest.mark.parametrize("flags", [os.O_SYNC, os.O_DSYNC])
def test_a_synchronous_write_is_over_when_the_disk_of_its_server_has_it(pocket, flags):
    pocket.up(DISK, "--servers", 2)
    (pocket / "file").write_bytes(bytes(2 * UNIT))
    fd = os.open(pocket / "file", os.O_RDWR | flags)
    os.pwrite(fd, b"x", UNIT)
    os.close(fd)
    servers = pocket.stats()["servers"]
    assert [server["flushes"] for server in servers] == [0, 1]
    assert servers[0]["media_accesses"] == 0 < servers[1]["media_accesses"]


def test_a_write_is_synchronous_where_the_call_says_so(pocket):
    pocket.up(DISK, "--servers", 1)
    fd = os.open(pocket / "file", os.O_RDWR | os.O_CREAT)
    os.pwritev(fd, [b"x"], 0, os.RWF_DSYNC)
    os.pwritev(fd, [b"x"], 1, 0)
    os.close(fd)
    assert pocket.stats()["servers"][0]["flushes"] == 1


def test_traces_name_server_place_and_program(pocket, tmp_path):
    pocket.up("nearline", "--servers", 2)
    (pocket / "file").write_bytes(bytes(2 * UNIT))
    place = int(pocket.get("file", "map").split(":")[1]) // 512
    unisono("trace", pocket.mountpoint, "--output", tmp_path / "trace.csv", "--picture",
            tmp_path / "trace.png")  # fmt: skip
    heading, *lines = (tmp_path / "trace.csv").read_text().splitlines()
    assert heading == "time_us,server,lba,bytes,operation,process,program"
    program = pathlib.Path("/proc/self/comm").read_text().strip()
    rest = [line.split(",")[1:] for line in lines]
    assert sorted(rest) == [[str(server), str(place), str(UNIT), "write", str(os.getpid()), program]
                            for server in range(2)]  # fmt: skip
    assert (tmp_path / "trace.png").read_bytes().startswith(b"\x89PNG")
    assert "write" in unisono("trace", pocket.mountpoint).stdout


# ---- what goes wrong -----------------------------------------------------------------------------


def test_faults_on_demand(pocket):
    pocket.up("instant", "--servers", 2)
    (pocket / "file").write_bytes(bytes(4 * UNIT))
    fd = os.open(pocket / "file", os.O_RDWR)
    pocket.fault("--eio", "file", 1000, 2000)
    assert error_of(os.pread, fd, 1, 1999) == errno.EIO
    assert error_of(os.pwrite, fd, b"x", 1000) == errno.EIO
    assert os.pread(fd, 1000, 2000) == bytes(1000)

    pocket.fault("--clear", "--enospc", 5 * UNIT)
    assert os.pread(fd, 1, 1999) == b"\0"
    assert os.pwrite(fd, bytes(2 * UNIT), 4 * UNIT) == UNIT, "what there is room for"
    assert error_of(os.pwrite, fd, b"x", 5 * UNIT) == errno.ENOSPC
    assert error_of(os.posix_fallocate, fd, 0, 6 * UNIT) == errno.ENOSPC
    assert os.fstat(fd).st_size == 5 * UNIT

    pocket.fault("--clear", "--down", 1)
    assert os.pread(fd, 10, 0) == bytes(10)
    assert error_of(os.pread, fd, 10, UNIT) == errno.EIO
    pocket.fault("--clear")
    assert os.pread(fd, 10, UNIT) == bytes(10)
    os.close(fd)


def test_a_full_disk_stops_no_file_that_does_not_grow(pocket):
    pocket.up()
    (pocket / "file").write_bytes(bytes(2 * UNIT))
    pocket.fault("--enospc", UNIT)
    fd = os.open(pocket / "file", os.O_RDWR)
    assert os.pwrite(fd, b"xy", 2 * UNIT - 1) == 1, "the last byte that it has"
    os.ftruncate(fd, 2 * UNIT - 1)
    os.posix_fallocate(fd, 0, UNIT)
    assert error_of(os.ftruncate, fd, 2 * UNIT) == errno.ENOSPC
    os.close(fd)


def test_bad_bytes_behind_the_end_of_a_file_are_not_read(pocket):
    pocket.up()
    (pocket / "file").write_bytes(b"good")
    pocket.fault("--eio", "file", 100, 200)
    fd = os.open(pocket / "file", os.O_RDONLY)
    assert os.pread(fd, 1000, 0) == b"good"
    os.close(fd)


def test_a_file_with_bad_bytes_may_be_named_by_its_whole_path(pocket):
    pocket.up()
    (pocket / "file").write_bytes(bytes(10))
    pocket.fault("--eio", pocket / "file", 0, 10)
    assert error_of((pocket / "file").read_bytes) == errno.EIO


@pytest.mark.parametrize(("words", "reason"), [
    (["--eio", "file", 10, 10], "BEGIN 10 is not below END 10"),
    (["--eio", "file", -1, 10], "-1 is not in the range 0<=x"),
    (["--enospc", -1], "-1 is not in the range 0<=x"),
    (["--slow", 0, 0.5], "0.5 is not in the range 1<=x<=1000000"),
    (["--slow", 0, "nan"], "nan is not in the range 1<=x<=1000000"),
    (["--hang", 0, -1], "-1.0 is not in the range 0<=x<=1000000000"),
    (["--down", 2], "there is no such server; valid: 0 to 1"),
])  # fmt: skip
def test_a_fault_that_would_do_nothing_is_refused(pocket, words, reason):
    pocket.up("instant", "--servers", 2)
    (pocket / "file").touch()
    done = unisono("fault", pocket.mountpoint, *words, check=False)
    assert done.returncode == 2
    assert reason in " ".join(done.stderr.split())


def test_a_fault_of_a_server_where_none_is_emulated_is_refused(pocket):
    pocket.up()
    done = unisono("fault", pocket.mountpoint, "--down", 0, check=False)
    assert done.returncode == 2
    assert "without emulation there are no servers" in done.stderr


def test_a_fault_stays_with_its_file_under_any_name_and_dies_with_it(pocket):
    pocket.up()
    (pocket / "file").write_bytes(bytes(UNIT))
    number = (pocket / "file").stat().st_ino
    pocket.fault("--eio", "file", 0, UNIT)
    (pocket / "file").rename(pocket / "renamed")
    assert error_of((pocket / "renamed").read_bytes) == errno.EIO
    (pocket / "renamed").unlink()
    for attempt in range(100):  # until the number comes back
        again = pocket / f"again{attempt}"
        again.write_bytes(b"good")
        if again.stat().st_ino == number:
            break
    else:
        pytest.skip("this file system does not use inode numbers again")
    assert again.read_bytes() == b"good"


@pytest.mark.parametrize("path", ["/etc/passwd", "../a, backing/mount.json", "link"])
def test_a_fault_of_a_file_elsewhere_is_refused(pocket, path):
    pocket.up()
    (pocket / "link").symlink_to("/etc/passwd")
    done = unisono("fault", pocket.mountpoint, "--eio", path, 0, 1, check=False)
    assert done.returncode == 2
    assert "the path leads out of the file system: give one below the mountpoint" in done.stderr


def wait_for_the_end_of(daemon):
    deadline_s = time.monotonic() + 90
    while os.path.exists(f"/proc/{daemon}"):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def test_files_layouts_and_places_survive_a_restart(pocket):
    pocket.up("instant", "--servers", 4)
    data = random.Random(2).randbytes(300_000)
    (pocket / "file").touch()
    pocket.set("file", "servers", 3)
    (pocket / "file").write_bytes(data)
    before = [pocket.get("file", key) for key in ("layout", "map")]
    pocket.down()
    pocket.up("barracuda-7200.10", "--servers", 4)
    assert (pocket / "file").read_bytes() == data
    assert [pocket.get("file", key) for key in ("layout", "map")] == before
    (pocket / "other").write_bytes(b"x")
    assert pocket.get("other", "map").split(":")[1] != before[1].split(":")[1]


def test_where_an_empty_file_is_to_begin_survives_a_restart(pocket):
    """As it has to survive the kernel's forgetting of the file."""
    pocket.up("off", "--distance-bytes", "1G")
    (pocket / "first").write_bytes(b"x")
    for name in ("set", "apart"):
        (pocket / name).touch()
    pocket.set("set", "address", "5G")
    pocket.down()
    pocket.up("off")
    for name in ("set", "apart"):
        (pocket / name).write_bytes(b"x")
    assert pocket.get("set", "map") == f"0:{5 << 30}:{64 << 20}"
    assert pocket.get("apart", "map") == f"0:{2 << 30}:{64 << 20}"
    assert os.listxattr(pocket / "set") == []


def test_a_file_beyond_the_end_of_smaller_disks_is_placed_anew(pocket):
    """The first access ended the daemon."""
    data = random.Random(4).randbytes(300_000)
    pocket.up()
    (pocket / "file").touch()
    pocket.set("file", "address", "1T")
    (pocket / "file").write_bytes(data)
    pocket.down()
    pocket.up("sata-80gb")
    assert (pocket / "file").read_bytes() == data
    assert int(pocket.get("file", "map").split(":")[1]) < 80e9


@pytest.mark.parametrize("place", [lambda pocket: pocket, lambda pocket: pocket.backing / "files"])
def test_all_bytes_of_a_file_have_a_place_on_fewer_servers_and_when_they_came_past_the_mount(pocket, place):
    """Those that had none were read in no time."""
    pocket.up("off", "--servers", 8, "--chunk-bytes", "64K")
    (place(pocket) / "file").write_bytes(bytes(100 * UNIT))
    pocket.down()
    pocket.up("instant", "--servers", 1, "--chunk-bytes", "64K")
    (pocket / "file").read_bytes()
    assert pocket.stats()["servers"][0]["read_bytes"] == 100 * UNIT


def test_down_cleans_up_after_kill_9_and_no_byte_is_lost(pocket):
    pocket.up("instant")
    data = random.Random(3).randbytes(200_000)
    (pocket / "file").write_bytes(data)
    daemon = pocket.daemon()
    os.kill(daemon, signal.SIGKILL)
    wait_for_the_end_of(daemon)
    assert "broken" in unisono("status").stdout
    pocket.down()
    pocket.up("instant")
    assert (pocket / "file").read_bytes() == data


# Its record could not be written: the daemon ended, and left a mount without one.
def test_a_mountpoint_may_be_named_by_any_bytes(pocket, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8:strict")  # as in most locales
    pocket.mountpoint = pocket.mountpoint.with_name(os.fsdecode(b"of H\xe4nsel"))
    pocket.backing = pocket.backing.with_name(os.fsdecode(b"H\xe4nsel's"))
    pocket.up("instant")
    daemon = pocket.daemon()
    assert str(daemon) in unisono("status").stdout
    pocket.down()
    wait_for_the_end_of(daemon)
    assert not (pocket.backing / "mount.json").exists()


def interrupted_up_leaves_a_mount(pocket):
    words = ["pocket", "up", pocket.mountpoint, "--backing", pocket.backing, "--profile", "off"]
    lock = pocket.backing / "lock"
    lock.unlink(missing_ok=True)
    with subprocess.Popen([BUILD / "bin" / "unisono", *words], start_new_session=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as mounting:  # fmt: skip
        while not lock.exists():  # the daemon runs, and mounts next
            assert mounting.poll() in (None, 0)  # 0: since this last look
        if mounting.returncode is None:
            os.killpg(mounting.pid, signal.SIGINT)  # as Ctrl-C does
    time.sleep(0.5)
    return os.path.ismount(pocket.mountpoint)


def test_an_interrupted_up_mounts_nothing_once_it_has_ended(pocket):
    for _ in range(5):  # on a busy machine it may be mounted already when the interrupt comes
        if not interrupted_up_leaves_a_mount(pocket):
            return
        pocket.down()
    pytest.fail("five interrupts left five mounts")


def test_down_ends_a_mount_that_is_in_use_and_hangs(pocket):
    pocket.up("instant")
    (pocket / "file").write_bytes(bytes(UNIT))
    daemon = pocket.daemon()
    pocket.fault("--hang", 0, 1000)
    reader = subprocess.Popen(["cat", pocket / "file"], cwd=pocket.mountpoint,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    time.sleep(0.3)
    pocket.down()
    assert reader.wait(90) != 0
    wait_for_the_end_of(daemon)


def test_what_was_mounted_through_a_link_is_found_by_both_names(pocket, tmp_path):
    pocket.mountpoint.mkdir()
    (tmp_path / "link").symlink_to(pocket.mountpoint.name)
    unisono("up", tmp_path / "link", "--backing", pocket.backing, "--profile", "instant")
    daemon = pocket.daemon()
    for name in (tmp_path / "link", pocket.mountpoint):
        assert json.loads(unisono("stats", name, "--json").stdout)["emulated"]
    assert "nothing to do" not in unisono("down", tmp_path / "link").stderr
    assert not os.path.ismount(pocket.mountpoint)
    wait_for_the_end_of(daemon)


@pytest.mark.skipif(os.geteuid() != 0, reason="fusermount3 asks the file system")
@pytest.mark.parametrize("name", ["link", "a, mount"])
def test_down_ends_a_daemon_that_stands_still(pocket, tmp_path, name):
    pocket.up()
    (tmp_path / "link").symlink_to(pocket.mountpoint.name)
    daemon = pocket.daemon()
    os.kill(daemon, signal.SIGSTOP)
    try:
        unisono("down", tmp_path / name)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(daemon, signal.SIGCONT)
    wait_for_the_end_of(daemon)


def test_up_where_a_daemon_died_says_what_is_there(pocket):
    pocket.up()
    daemon = pocket.daemon()
    os.kill(daemon, signal.SIGKILL)
    wait_for_the_end_of(daemon)
    done = unisono("up", pocket.mountpoint, "--backing", pocket.backing, "--profile", "off", check=False)
    assert done.returncode == 2
    assert "has a pocket file system already; 'unisono pocket down' removes it" in done.stderr


def test_down_of_a_dead_mount_leaves_what_says_where_its_bytes_are_mounted_now(pocket, tmp_path):
    pocket.up()
    daemon = pocket.daemon()
    os.kill(daemon, signal.SIGKILL)
    wait_for_the_end_of(daemon)
    unisono("up", tmp_path / "new", "--backing", pocket.backing, "--profile", "instant")
    pocket.down()
    assert pocket.daemon() > 0
    assert "instant" in unisono("status").stdout
    unisono("down", tmp_path / "new")


@pytest.mark.parametrize(("make", "reason"), [
    (lambda path: path.touch(), "m: File exists"),
    (lambda path: path.symlink_to(path.name), "m: File exists"),
])  # fmt: skip
def test_a_mountpoint_that_is_no_folder_is_named(tmp_path, make, reason):
    make(tmp_path / "m")
    done = unisono("up", tmp_path / "m", "--backing", tmp_path / "b", "--profile", "off", check=False)
    assert done.returncode == 2
    assert done.stderr.endswith(reason + "\n")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("text", ["[]", "{}", '{"drive": {"rpm": {"value": 1}}}'])
def test_a_profile_without_figures_is_refused(tmp_path, text):
    (tmp_path / "p.json").write_text(text)
    done = unisono("profiles", tmp_path / "p.json", check=False)
    assert done.returncode == 2
    assert "p.json: is no profile" in done.stderr


def test_a_trace_that_cannot_be_written_is_named(pocket, tmp_path):
    pocket.up("instant")
    done = unisono("trace", pocket.mountpoint, "--output", tmp_path / "no" / "t.csv", check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("t.csv: No such file or directory\n")


def test_chunks_that_no_disk_of_the_profile_has_room_for_are_refused(tmp_path):
    done = unisono("up", tmp_path / "m", "--backing", tmp_path / "b", "--profile", DISK,
                   "--chunk-bytes", "1T", check=False)  # fmt: skip
    assert done.returncode == 2
    assert "--chunk-bytes '1099511627776': valid is at most what a disk has" in done.stderr


def test_a_client_killed_in_the_middle_leaves_whole_requests(pocket):
    pocket.up("instant")
    (pocket / "file").write_bytes(bytes(64 * UNIT))
    script = ("import os, sys\nfd = os.open(sys.argv[1], os.O_RDWR)\n"
              "while True:\n for i in range(64): os.pwrite(fd, b'x' * 65536, i * 65536)\n")
    client = subprocess.Popen([sys.executable, "-c", script, pocket / "file"])
    while (pocket / "file").read_bytes()[:1] != b"x":
        time.sleep(0.01)
    client.kill()
    client.wait()
    data = (pocket / "file").read_bytes()
    assert len(data) == 64 * UNIT
    for unit in range(64):
        assert len(set(data[unit * UNIT : (unit + 1) * UNIT])) == 1


def test_down_touches_nothing_else(tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "file").touch()
    assert "nothing to do" in unisono("down", plain).stderr
    assert (plain / "file").exists()


@pytest.mark.parametrize(("options", "message"), [
    (["--profile", "quantum"], "unknown profile 'quantum'; valid: off, barracuda-7200.10"),
    (["--profile", "instant", "--scheduler", "quantum"], "unknown scheduler 'quantum'; valid: none"),
    (["--profile", "instant", "--stripe-bytes", "0"], "--stripe-bytes '0': valid is 1 to 1024T"),
])  # fmt: skip
def test_mistakes_are_named_and_nothing_is_mounted(tmp_path, options, message):
    done = unisono("up", tmp_path / "m", "--backing", tmp_path / "b", *options, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert not os.path.ismount(tmp_path / "m")


def test_figures_are_shown_with_their_sources():
    lines = unisono("profiles", "barracuda-7200.10").stdout.splitlines()
    rows = {cells[1].strip(): cells[2:4] for line in lines if len(cells := line.split("│")) > 3}
    assert rows["drive.rpm"][0].strip() == "7,200"
    assert rows["drive.seek_average_ms"][1].strip() == "[M] data sheet"


def test_statistics_are_shown_and_reset(pocket):
    pocket.up("instant", "--servers", 2)
    (pocket / "file").write_bytes(bytes(4 * UNIT))
    shown = unisono("stats", pocket.mountpoint, "--reset").stdout
    assert "emulated" in shown and "128.00 KiB" in shown and "lateness of" in shown
    after = json.loads(unisono("stats", pocket.mountpoint, "--json").stdout)
    assert [server["writes"] for server in after["servers"]] == [0, 0]


def test_one_backing_folder_has_one_daemon(pocket, tmp_path):
    pocket.up("instant")
    done = unisono("up", tmp_path / "second", "--backing", pocket.backing, "--profile", "off",
                   check=False)  # fmt: skip
    assert "is mounted already" in done.stderr
    done = unisono("up", pocket.mountpoint, "--backing", tmp_path / "x", "--profile", "off",
                   check=False)  # fmt: skip
    assert "has a pocket file system already" in done.stderr


def test_all_profiles_are_listed_and_can_be_mounted(tmp_path):
    listed = unisono("profiles").stdout
    for file in sorted((BUILD / "share" / "unisono" / "profiles").glob("*.json")):
        assert file.stem in listed
        pocket = Pocket(tmp_path).up(file.stem)
        (pocket / "file").write_bytes(b"x" * 1000)
        assert (pocket / "file").read_bytes() == b"x" * 1000
        pocket.down()
