"""Random file operations, replayed on two folders: what one says the other must say."""

import os
import random

NAMES = ["a", "b", "c", "long name", "d/x", "d/y", "d/e/z", "d", "d/e", "s"]
SIZE_MAX = 300_000


class Side:
    """One folder; every operation returns something comparable, errors by their number."""

    def __init__(self, folder: str):
        self.folder = folder

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def do(self, operation: str, *arguments):
        try:
            return getattr(self, operation)(*arguments)
        except OSError as error:
            return ("errno", error.errno)

    def create(self, name, flags, mode):
        os.close(os.open(self.path(name), os.O_CREAT | flags, mode))

    def write(self, name, offset, data):
        fd = os.open(self.path(name), os.O_WRONLY)
        try:
            return os.pwrite(fd, data, offset)
        finally:
            os.close(fd)

    def append(self, name, data):
        fd = os.open(self.path(name), os.O_WRONLY | os.O_APPEND)
        try:
            return os.write(fd, data)
        finally:
            os.close(fd)

    def read(self, name, offset, size):
        fd = os.open(self.path(name), os.O_RDONLY)
        try:
            return os.pread(fd, size, offset)
        finally:
            os.close(fd)

    def truncate(self, name, size):
        os.truncate(self.path(name), size)

    def fallocate(self, name, offset, size):
        fd = os.open(self.path(name), os.O_RDWR)
        try:
            os.posix_fallocate(fd, offset, size)
        finally:
            os.close(fd)

    def fsync(self, name):
        fd = os.open(self.path(name), os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def rename(self, name, new_name):
        os.rename(self.path(name), self.path(new_name))

    def unlink(self, name):
        os.unlink(self.path(name))

    def mkdir(self, name, mode):
        os.mkdir(self.path(name), mode)

    def rmdir(self, name):
        os.rmdir(self.path(name))

    def listdir(self, name):
        return sorted(os.listdir(self.path(name)))

    def link(self, name, new_name):
        os.link(self.path(name), self.path(new_name))

    def symlink(self, target, name):
        os.symlink(target, self.path(name))

    def readlink(self, name):
        return os.readlink(self.path(name))

    def chmod(self, name, mode):
        os.chmod(self.path(name), mode)

    def utime(self, name, seconds):
        os.utime(self.path(name), (seconds, seconds))

    def setxattr(self, name, key, value):
        os.setxattr(self.path(name), key, value)

    def getxattr(self, name, key):
        return os.getxattr(self.path(name), key)

    def removexattr(self, name, key):
        os.removexattr(self.path(name), key)

    def listxattr(self, name):
        return sorted(key for key in os.listxattr(self.path(name)) if key.startswith("user."))

    def stat(self, name):
        status = os.lstat(self.path(name))
        folder = os.path.isdir(self.path(name))
        return (status.st_mode, None if folder else status.st_size, status.st_nlink,
                status.st_uid, status.st_gid)

    def rename_while_open(self, name, new_name, data):
        """The descriptor goes on naming the file."""
        fd = os.open(self.path(name), os.O_RDWR)
        try:
            os.rename(self.path(name), self.path(new_name))
            os.pwrite(fd, data, 10)
            return os.pread(fd, 100, 0)
        finally:
            os.close(fd)

    def unlink_while_open(self, name, data):
        fd = os.open(self.path(name), os.O_RDWR)
        try:
            os.unlink(self.path(name))
            os.pwrite(fd, data, 0)
            return os.pread(fd, SIZE_MAX, 0), os.fstat(fd).st_nlink
        finally:
            os.close(fd)


def random_operation(dice: random.Random):
    name, other = dice.choice(NAMES), dice.choice(NAMES)
    offset = dice.choice([0, 1, 4096, 65535, 65536, dice.randrange(SIZE_MAX)])
    data = dice.randbytes(dice.choice([1, 511, 4096, 65536, dice.randrange(1, 100_000)]))
    key = dice.choice(["user.one", "user.two"])
    return dice.choice([
        ("create", name, dice.choice([os.O_RDWR, os.O_EXCL, os.O_TRUNC | os.O_RDWR]),
         dice.choice([0o644, 0o600, 0o444])),
        ("create", name, os.O_RDWR, 0o644),
        ("write", name, offset, data),
        ("write", name, offset, data),
        ("append", name, data),
        ("read", name, offset, len(data)),
        ("read", name, 0, SIZE_MAX * 2),
        ("truncate", name, offset),
        ("fallocate", name, offset, len(data)),
        ("fsync", name),
        ("rename", name, other),
        ("unlink", name),
        ("mkdir", name, 0o755),
        ("rmdir", name),
        ("listdir", dice.choice([".", "d", "d/e"])),
        ("link", name, other),
        ("symlink", other, name),
        ("readlink", name),
        ("chmod", name, dice.choice([0o600, 0o755, 0o000])),
        ("utime", name, 12345),
        ("setxattr", name, key, data[:50]),
        ("getxattr", name, key),
        ("removexattr", name, key),
        ("listxattr", name),
        ("stat", name),
        ("rename_while_open", name, other, data[:1000]),
        ("unlink_while_open", name, data),
    ])  # fmt: skip


def show(operation) -> str:
    return str(tuple(f"<{len(word)} bytes>" if isinstance(word, bytes) else word
                     for word in operation))  # fmt: skip


def tree(side: Side):
    """Everything that is below the folder."""
    found = []
    for folder, folders, files in os.walk(side.folder):
        for name in sorted(folders + files):
            path = os.path.relpath(os.path.join(folder, name), side.folder)
            found.append((path, side.do("stat", path), side.do("readlink", path),
                          None if os.path.islink(side.path(path))
                          else side.do("read", path, 0, SIZE_MAX * 2)))  # fmt: skip
    return sorted(found, key=lambda entry: entry[0])


def compare(first: Side, second: Side, seed: int, count: int) -> None:
    dice = random.Random(seed)
    history = []
    for _ in range(count):
        operation = random_operation(dice)
        history.append(show(operation))
        expected, got = first.do(*operation), second.do(*operation)
        assert got == expected, f"seed {seed}:\n" + "\n".join(history)
    assert tree(second) == tree(first), f"seed {seed}:\n" + "\n".join(history)
