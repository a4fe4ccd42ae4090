"""What libcephfs says of a file, asked directly: the oracle for what Unisono finds."""

import ctypes
import dataclasses
import os
import time

COPIES_MOST = 32


@dataclasses.dataclass(frozen=True)
class Striping:
    """How a file is cut; sizes in bytes."""

    unit: int
    count: int
    object_size: int


class CephFs:
    """A client of the cluster that CEPH_CONF describes. Errors: OSError."""

    def __init__(self, configuration):
        self.library = ctypes.CDLL("libcephfs.so.2")
        self.library.ceph_get_file_extent_osds.argtypes = [
            ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_int), ctypes.c_int]
        self.library.ceph_read.argtypes = [
            ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64]
        self.mount = ctypes.c_void_p()
        self._call("create", ctypes.byref(self.mount), None)
        self._call("conf_read_file", self.mount, os.fsencode(configuration))
        self._call("mount", self.mount, b"/")

    def close(self):
        self._call("unmount", self.mount)
        self._call("release", self.mount)

    def _call(self, name, *arguments):
        result = getattr(self.library, f"ceph_{name}")(*arguments)
        if result < 0:
            raise OSError(-result, f"ceph_{name}: {os.strerror(-result)}")
        return result

    def look_at(self, path, unit_bytes):
        """The contents, the striping, and the (primary) OSD of every unit, of the file `path`,
        counted from the root of the file system."""
        file = self._call("open", self.mount, os.fsencode(path), os.O_RDONLY, 0)
        try:
            contents = self._contents(file)
            striping = self._striping(file)
            osds = [self._osd_at(file, offset) for offset in range(0, len(contents), unit_bytes)]
        finally:
            self._call("close", self.mount, file)
        return contents, striping, osds

    def _contents(self, file):
        piece = ctypes.create_string_buffer(1 << 22)
        contents = bytearray()
        while count := self._call("read", self.mount, file, piece, len(piece), len(contents)):
            contents += piece.raw[:count]
        return bytes(contents)

    def _striping(self, file):
        unit, count, object_size, pool = (ctypes.c_int() for _ in range(4))
        self._call("get_file_layout", self.mount, file, *map(ctypes.byref, (
            unit, count, object_size, pool)))
        self._wait_for_pool(pool)
        return Striping(unit.value, count.value, object_size.value)

    def _wait_for_pool(self, pool):
        """The library aborts when it is asked for OSDs before it knows the pool."""
        end_s = time.monotonic() + 10
        while self.library.ceph_get_pool_replication(self.mount, pool) < 0:
            if time.monotonic() > end_s:
                raise TimeoutError("libcephfs has no map of the OSDs")
            time.sleep(0.01)

    def _osd_at(self, file, offset):
        osds = (ctypes.c_int * COPIES_MOST)()
        self._call("get_file_extent_osds", self.mount, file, offset, None, osds, COPIES_MOST)
        return osds[0]
