"""What another user of the machine may do with a file system that root has mounted. Run by run.py."""

import errno
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile

import pytest
from mounts import BUILD, Pocket, unisono

if os.geteuid() != 0:
    pytest.skip("only root can be two users", allow_module_level=True)

NOBODY = 65534


def errno_of_another_user(action, *arguments):
    """0 if the other user may do that."""
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        try:
            action(*arguments)
            os._exit(0)
        except OSError as error:
            os._exit(error.errno)
        finally:
            os._exit(255)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def shared():
    """A pocket file system that others can get at; pytest's own folders are closed to them."""
    folder = pathlib.Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    made = Pocket(folder)
    yield made
    made.down()
    shutil.rmtree(folder)


def test_nobody_deletes_or_overwrites_what_is_root_s(shared):
    shared.up()
    (shared / "file").write_bytes(b"root's")
    assert errno_of_another_user(os.unlink, shared / "file") == errno.EACCES
    assert errno_of_another_user(open, shared / "file", "ab") == errno.EACCES
    assert errno_of_another_user(open, shared / "new", "w") == errno.EACCES
    assert errno_of_another_user(pathlib.Path.read_bytes, shared / "file") == 0


def test_nobody_gets_at_the_bytes_past_the_mount(shared):
    shared.up("instant")
    for key in ("trace", "turns", "programs"):
        os.getxattr(shared.mountpoint, f"user.pocketfs.{key}")  # writes a table beside the files
    for path in [shared.backing, *shared.backing.iterdir()]:
        assert path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH) == 0, path
        assert errno_of_another_user(os.stat, path / "x") == errno.EACCES, path


@pytest.mark.parametrize("key", ["fault", "control", "gate"])
def test_only_who_mounted_it_and_root_control_it(shared, key):
    shared.up("instant")
    shared.mountpoint.chmod(0o777)
    words = (shared.mountpoint, f"user.pocketfs.{key}", b"reset")
    assert errno_of_another_user(os.setxattr, *words) == errno.EPERM


@pytest.mark.parametrize(("key", "expected"), [("stats", 0), ("trace", errno.EPERM), ("turns", errno.EPERM),
                                               ("programs", errno.EPERM), ("gate", errno.EPERM)])  # fmt: skip
def test_others_read_what_neither_disturbs_nor_tells_about_programs(shared, key, expected):
    shared.up("instant")
    words = (shared.mountpoint, f"user.pocketfs.{key}")
    assert errno_of_another_user(os.getxattr, *words) == expected


def test_in_a_folder_for_all_each_has_his_own_rights(shared):
    shared.up()
    shared.mountpoint.chmod(0o1777)
    (shared / "secret").touch(0o600)
    assert errno_of_another_user(open, shared / "theirs", "w") == 0
    assert (shared / "theirs").stat().st_uid == NOBODY
    assert errno_of_another_user(os.unlink, shared / "secret") == errno.EPERM
    assert errno_of_another_user(open, shared / "secret") == errno.EACCES
    assert errno_of_another_user(os.unlink, shared / "theirs") == 0


def test_what_is_made_in_a_set_group_id_folder_is_its_group_s(shared):
    shared.up()
    (shared / "project").mkdir()
    os.chown(shared / "project", NOBODY, 1234)
    (shared / "project").chmod(0o2775)
    for make, name in ((pathlib.Path.touch, "file"), (pathlib.Path.mkdir, "below")):
        assert errno_of_another_user(make, shared / "project" / name) == 0
        status = (shared / "project" / name).stat()
        assert (status.st_uid, status.st_gid) == (NOBODY, 1234)
    assert (shared / "project" / "below").stat().st_mode & stat.S_ISGID


# Everybody may use /dev/fuse here, in a mount namespace that only these commands see.
ORDINARY = """
mount --bind "$1/device" /dev/fuse
cd "$1/home"
exec setpriv --reuid {user} --regid {user} --clear-groups sh -euc '{script}' sh "$2"
"""
FILES = """
"$1" pocket up m --backing b --profile instant
trap "\"$1\" pocket down m" EXIT
(umask 0333; echo text > m/read-only)
cat m/read-only
python3 -c "
import os
fd = os.open(\\"m/closed\\", os.O_RDWR | os.O_CREAT | os.O_DSYNC, 0o000)
os.pwrite(fd, b\\"kept\\", 1 << 20)
print(os.pread(fd, 4, 1 << 20).decode(), oct(os.fstat(fd).st_mode))"
mkdir -m 0000 m/folder
"$1" pocket down m
"$1" pocket up m --backing b --profile off --power-cuts
cat m/read-only
"""
CLUSTER = '"$1" pocket up m --backing b --profile instant --node cluster'


@pytest.fixture
def as_another_user():
    folder = pathlib.Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    os.mknod(folder / "device", stat.S_IFCHR | 0o666, os.stat("/dev/fuse").st_rdev)
    (folder / "device").chmod(0o666)
    (folder / "home").mkdir()
    os.chown(folder / "home", NOBODY, NOBODY)

    def run(script):
        command = ORDINARY.format(user=NOBODY, script=script)
        return subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-euc", command, "sh",
                               folder, BUILD / "bin" / "unisono"],
                              capture_output=True, text=True, timeout=60, check=False)  # fmt: skip

    yield run
    shutil.rmtree(folder)


@pytest.mark.skipif(shutil.which("fusermount3") is None, reason="needs fusermount3")
def test_an_ordinary_user_s_files_may_be_closed_to_himself(as_another_user):
    done = as_another_user(FILES)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["text", "kept", "0o100000", "text"]


@pytest.mark.skipif(shutil.which("fusermount3") is None, reason="needs fusermount3")
def test_the_nodes_of_a_cluster_are_not_an_ordinary_user_s(as_another_user):
    done = as_another_user(CLUSTER)
    assert done.returncode == 2
    assert "--node cluster needs root" in done.stderr


@pytest.mark.parametrize("spoil", [lambda folder: folder.chmod(0o777),
                                   lambda folder: os.chown(folder, NOBODY, NOBODY)])  # fmt: skip
def test_a_backing_folder_that_others_can_write_into_is_refused(tmp_path, spoil):
    backing = tmp_path / "backing"
    backing.mkdir()
    spoil(backing)
    done = unisono("up", tmp_path / "m", "--backing", backing, "--profile", "off", check=False)
    assert "must be yours, and writable by nobody else" in done.stderr
    assert list(backing.iterdir()) == []
    assert not os.path.ismount(tmp_path / "m")
