"""What the demonstration says about its own numbers."""

import collections
import types

import demo

Program = collections.namedtuple("Program", "title")
CHECKPOINT, LATTICE = Program("checkpoint"), Program("lattice")


def runs(native_s, unisono_s):
    return {side: [{"bytes": 1e6, "write_seconds": seconds, "read_seconds": seconds}]
            for side, seconds in (("native", native_s), ("unisono", unisono_s))}


def test_the_table_is_summed_up_with_what_was_slower():
    said = demo.in_short({("mpich", CHECKPOINT): runs(0.9, 1.0), ("openmpi", LATTICE): runs(8.0, 1.0)})
    assert said == ("In short: with Unisono these programs write 0.9 to 8.0 times as fast and read 0.9 to 8.0 times as fast as with"
                    " the MPI library alone, and their files are equal; slower: checkpoint on mpich (write 0.90), checkpoint on mpich"
                    " (read 0.90).")


def test_other_programs_are_warned_of(monkeypatch):
    monkeypatch.setattr(demo, "Path", lambda _: types.SimpleNamespace(read_text=lambda: "9.0 1.0 1.0 4/200 17"))
    assert "Other programs were running before this began (3 at a time)" in demo.busy(demo.others_running(3, 0))
    monkeypatch.setattr(demo, "Path", lambda _: types.SimpleNamespace(read_text=lambda: "9.0 1.0 1.0 1/200 17"))
    assert not demo.busy(demo.others_running(3, 0))
