"""What `unisono pocket` says when it cannot. tests/pocket has the rest."""

import dataclasses
import os
import signal
from pathlib import Path

import pytest

from unisono import pocket, trace_picture
from unisono.places import Failure

ENTRY = pocket.TraceEntry(0.0, 0, 0, 4096, "write", 1, "app")


def draw(picture, *entries):
    trace_picture.draw(list(entries) or [ENTRY], picture, "hdd", program_of=lambda entry: entry.program)


@pytest.mark.parametrize("name", ["x.gif", "x"])
def test_a_picture_with_an_ending_that_cannot_be_drawn_names_the_valid_ones(tmp_path, name):
    pytest.importorskip("matplotlib")
    with pytest.raises(Failure, match=r"valid: .*\.pdf.*\.png.*\.svg"):
        draw(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_cannot_be_written_is_named(tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(Failure, match="x.png: No such file"):
        draw(tmp_path / "no" / "x.png")


def test_a_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    draw(tmp_path / "x.PNG")
    assert (tmp_path / "x.PNG").read_bytes().startswith(b"\x89PNG")


def marks_in_colour(picture):
    """How many pixels are not grey."""
    from matplotlib import image

    pixels = image.imread(picture)[:, :, :3]
    return int(((pixels.max(axis=2) - pixels.min(axis=2)) > 0.3).sum())


def test_an_access_can_be_seen_and_reads_do_not_look_like_writes(tmp_path):
    """Both were dots of about a pixel."""
    pytest.importorskip("matplotlib")
    entries = [dataclasses.replace(ENTRY, time_us=1e3 * n, lba=8 * n) for n in range(1000)]
    reads = [dataclasses.replace(entry, operation="read") for entry in entries]
    draw(tmp_path / "write.png", *entries)
    draw(tmp_path / "read.png", *reads)
    draw(tmp_path / "few.png", *entries[::250])
    few, read, write = (marks_in_colour(tmp_path / f"{name}.png") for name in ("few", "read", "write"))
    assert few > 4 * 30
    assert write != read


def test_flushes_alone_are_no_picture():
    with pytest.raises(Failure, match="the trace is empty"):
        trace_picture.accesses_of([dataclasses.replace(ENTRY, operation="flush")])


def test_why_nothing_can_be_mounted_is_said(tmp_path, monkeypatch):
    device = tmp_path / "fuse"
    assert "is not there" in pocket.why_no_fuse(str(device))
    device.touch(0o600)
    device.chmod(0o600)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "fuse is not accessible to you (mode 600)" in pocket.why_no_fuse(str(device))
    monkeypatch.setattr(os, "access", lambda *_: True)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert pocket.why_no_fuse(str(device)) == ""


# Whoever believed it took away what is another user's.
def test_a_file_system_that_is_out_of_reach_is_not_broken(monkeypatch):
    def refuse(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "statvfs", refuse)
    assert pocket.state(pocket.Mount("/closed/mount", "/closed/backing")) == "in a folder that is closed to you"


# A traceback, and the record of the mount stayed.
def test_a_daemon_that_ends_just_before_it_is_asked_to_has_ended(monkeypatch):
    asked = []

    def kill(_pid, request):
        asked.append(request)
        raise ProcessLookupError

    monkeypatch.setattr(os, "kill", kill)
    pocket._end(7, lambda: None if asked else 7)
    assert asked == [signal.SIGTERM]


def test_a_record_tells_whose_it_is_whatever_bytes_the_name_has():
    name = os.fsdecode(b"/H\xe4nsel/\xe2\x82x\xff")
    record = {"mountpoint": "/H\ufffdnsel/\ufffdx\ufffd"}  # as the daemon writes it
    assert pocket.Mount(name, "/backing", record).is_recorded_at(name)
    assert not pocket.Mount(name, "/backing", record).is_recorded_at("/H")


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/fuse").exists(), reason="needs root and FUSE")
def test_pocket_up_of_another_user_says_that_the_device_is_not_accessible(unisono, tmp_path):
    if Path("/dev/fuse").stat().st_mode & 0o006:
        pytest.skip("everybody may use /dev/fuse here")
    tmp_path.chmod(0o755)
    done = unisono("pocket", "up", "/tmp/nobodys-pocket", "--backing", "/tmp/nobodys-backing",
                   "--profile", "off", user=65534)  # fmt: skip
    assert done.returncode == 2
    assert "/dev/fuse is not accessible to you" in done.stderr
