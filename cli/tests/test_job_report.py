"""The report of a whole job: what its files come to, what that cost, and how it is shown."""

import copy
import io
import json
import re

import pytest
from rich.console import Console

from unisono import chrome_trace, file_report, html_report, report, screen, summary
from unisono.causes import causes
from unisono.job import Job, jobs_of

SCREEN_LINES = 40


def set_times(direction, **means):
    """The phases of a direction, the others 0."""
    means |= {"whole": sum(means.values())}
    direction["seconds"] = {
        phase: {"mean": means.get(phase, 0.0), "longest": means.get(phase, 0.0)} for phase in direction["seconds"]
    }


@pytest.fixture
def quiet(sample_report):
    """Four ranks with a core each, of which none waits; each writes 1 MiB at a time for 10 of 60 s."""
    record = json.loads(sample_report.read_text())
    record |= {"ranks": 4, "opened_by": 4, "aggregators": 4, "notes": [], "errors": [], "settings": []}
    record["program"] |= {"ranks": 4, "cores": 4, "seconds": 60, "core_wait_seconds": 0}
    record["gate"]["waits"] = 0
    for name in ("open", "sync", "close", "other", "whole"):
        record["seconds"][name] = {"mean": 0.0, "longest": 0.0}
    for name in ("read", "write"):
        direction = record[name]
        direction["calls"] = {"collective": 0, "failed": 0, "independent": 0, "failed_independent": 0,
                              "native": {}, "native_independent": {}}  # fmt: skip
        direction["bytes"] = dict.fromkeys(direction["bytes"], 0)
        direction |= {"pieces": 0, "piece_sizes": [], "latest": None, "strategies": {}, "selections": []}
        set_times(direction)
    write = record["write"]
    write["calls"]["collective"] = 100
    write["bytes"] |= {"asked": 400 << 20, "moved": 400 << 20, "most": 100 << 20}
    write |= {"pieces": 400, "piece_sizes": [[1 << 20, 400]]}
    write["strategies"] = {"independent": {"calls": 100, "why": ["one piece per rank"]}}
    set_times(write, file=10.0)
    return record


def shown(*records, wall_s=None, width=80):
    stream = io.StringIO()
    for job in jobs_of(list(records), wall_s):
        screen.show(job, Console(file=stream, width=width))
    return stream.getvalue()


def flat(*records, **options):
    return " ".join(shown(*records, **options).split())


def verdict(*records, **options):
    return shown(*records, **options).split("\n\n")[0].replace("\n", " ")


def advice(*records):
    return [(round(cause.seconds, 3), cause.evidence, cause.change) for cause in causes(Job(list(records)))]


# ---- the verdict


def test_the_verdict_says_how_much_of_the_programs_time_was_io_and_what_most_of_it_was(quiet):
    set_times(quiet["write"], arrival=9.0, file=3.0)
    quiet["write"]["latest"] = {"rank": 3, "seconds": 0.1}
    assert verdict(quiet) == "I/O took 12 of 60 s (20%); 9 s of it waiting for rank 3."


def test_what_is_not_worth_tuning_is_said_to_be_and_gets_no_advice(quiet):
    quiet["program"]["seconds"] = 1000
    assert verdict(quiet) == "I/O took 10 s of 16 min 40 s (1%): not worth tuning."
    assert "What cost most" not in shown(quiet)


def test_a_program_that_is_over_at_once_is_not_worth_tuning(quiet):
    set_times(quiet["write"], file=0.05)
    assert verdict(quiet, wall_s=0.1) == "I/O took 50 ms of 0.1 s (50%): not worth tuning."


def by_one_rank(record, seconds, size):
    """Rank 0 does it all."""
    write = record["write"]
    write["calls"] |= {"collective": 0, "independent": 4}
    write["bytes"] |= {"asked": size, "moved": size, "most": size}
    set_times(write, file=seconds)
    ranks = record["ranks"]
    for phase in ("file", "whole"):
        write["seconds"][phase]["mean"] = seconds / ranks


def on_64_ranks(record):
    record |= {"ranks": 64, "opened_by": 64, "aggregators": 0}
    record["program"]["ranks"] = 64


def test_what_one_rank_does_alone_is_not_said_to_be_not_worth_tuning(quiet):
    on_64_ranks(quiet)
    by_one_rank(quiet, 32.0, 32 << 30)
    assert verdict(quiet) == "I/O took 0.5 of 60 s (1%) on average, up to 32 s (53%) on single ranks."
    assert "What cost most" in shown(quiet)


def test_the_measured_time_of_the_program_counts_more_than_that_of_its_last_close(quiet):
    assert verdict(quiet, wall_s=40.0).startswith("I/O took 10 of 40 s (25%)")


def test_what_failed_and_what_was_not_closed_stands_at_the_top(quiet):
    quiet["write"]["calls"]["failed"] = 1
    quiet |= {"unfinished": "the program was killed", "ranks": 1}
    top = verdict(quiet)
    assert "1 call failed; the program was told." in top
    assert "Not closed (1 file): the program was killed." in top
    assert "what follows is of 1 of 4 ranks." in top


def test_bytes_of_calls_that_failed_are_not_said_to_be_written(quiet):
    quiet["write"]["calls"]["failed"] = 60
    quiet["write"]["bytes"]["moved"] = 160 << 20
    text = flat(quiet, {**quiet, "file": "/scratch/other.h5"})
    assert "Wrote 320 MiB at 16 MiB/s of 800 MiB asked for, in 200 collective calls, 1 MiB per rank" in text
    assert [row.written for row in summary.file_rows(Job([quiet]))] == [160 << 20]
    assert file_report._rate(quiet["write"]) == "16.00 MiB/s"


# ---- speeds


def test_the_speed_of_one_rank_is_not_multiplied_by_those_that_do_nothing(quiet):
    """32 GiB in 32 s were "at 64 GiB/s"."""
    on_64_ranks(quiet)
    by_one_rank(quiet, 32.0, 32 << 30)
    text = flat(quiet)
    assert "Wrote 32 GiB at 1 GiB/s, in 4 independent calls" in text
    assert "The file system: 32 GiB written (1 GiB/s), through posix." in text


def test_nor_where_that_rank_has_opened_the_file_alone(quiet):
    on_64_ranks(quiet)
    quiet |= {"ranks": 1, "opened_by": 1}
    by_one_rank(quiet, 32.0, 32 << 30)
    text = flat(quiet)
    assert "Wrote 32 GiB at 1 GiB/s" in text and "32 GiB written (1 GiB/s)" in text


def test_files_of_single_ranks_are_written_side_by_side(quiet):
    alone = quiet | {"ranks": 1, "opened_by": 1}
    by_one_rank(alone, 10.0, 10 << 30)
    text = flat(*[alone] * 4)
    assert "Wrote 40 GiB at 4 GiB/s" in text and "40 GiB written (4 GiB/s)" in text


def test_the_speed_of_few_aggregators_is_not_multiplied_by_those_that_wait_for_them(quiet):
    write = quiet["write"]
    write["bytes"] |= {"asked": 1 << 30, "moved": 1 << 30, "sent": 1 << 30}
    set_times(write, waiting=0.75, exchange=0.25, file=0.25)
    write["seconds"]["file"]["longest"] = write["seconds"]["exchange"]["longest"] = 1.0
    evidence = [evidence for _, evidence, _ in advice(quiet | {"aggregators": 1})]
    assert "The file system: 1 GiB written (1 GiB/s), through posix." in evidence
    assert "1 GiB in messages between nodes, 1 GiB/s." in evidence


@pytest.mark.parametrize("waiting", [0.0, 1.5])  # at the end of a split call
def test_what_goes_on_beside_the_program_is_part_of_its_speed(quiet, waiting):
    """1 GiB was written at 19.53 TiB/s."""
    write = quiet["write"]
    write["bytes"] |= {"asked": 1 << 30, "moved": 1 << 30}
    write["beside_seconds"] = {"mean": 2.0, "longest": 2.0}
    set_times(write, other=50e-6, waiting=waiting)
    assert "Wrote 1 GiB at 511.99 MiB/s" in flat(quiet)
    assert file_report._rate(write) == "511.99 MiB/s"


def test_a_program_that_waits_for_nonblocking_calls_was_told_that_its_io_is_not_worth_tuning(quiet):
    set_times(quiet["write"], other=0.02)
    quiet["write"]["beside_seconds"] = {"mean": 20.0, "longest": 20.0}
    waits = "20 s more went on beside the program; its waits in MPI_Wait are not seen."
    assert verdict(quiet) == f"I/O took 20 ms of 60 s (0%). {waits}"
    set_times(quiet["write"], file=10.0)
    assert verdict(quiet) == f"I/O took 10 of 60 s (17%); 10 s of it in the file system. {waits}"


def test_no_speed_is_said_of_the_file_system_where_threads_did_a_part(quiet):
    quiet["write"]["beside_seconds"] = {"mean": 2.0, "longest": 2.0}
    assert "The file system: 400 MiB written, through posix." in flat(quiet)


def test_nor_where_a_part_was_in_memory_until_sync_or_close(quiet):
    quiet["write"]["strategies"] = {"view_based": {"calls": 100, "why": ["asked for"]}}
    assert "The file system: 400 MiB written, through posix." in flat(quiet)


def test_no_speed_is_said_of_nonblocking_calls_of_the_mpi_library(quiet):
    """Only their beginning is seen."""
    write = quiet["write"]
    write["calls"] |= {"collective": 0, "native": {"nonblocking collective call": 12}}
    write["bytes"]["native"] = write["bytes"]["asked"]
    assert "Wrote 400 MiB, in 12 calls left to the MPI library" in flat(quiet)
    assert file_report._rate(write) == ""


def test_time_that_other_causes_have_claimed_is_part_of_the_file_systems_speed(quiet):
    """Two of three seconds had gone to what was moved in vain."""
    write = quiet["write"]
    write["bytes"] |= {"asked": 1 << 30, "moved": 3 << 30}
    set_times(write, file=3.0)
    assert "The file system: 3 GiB written (1 GiB/s), through posix." in flat(quiet)


def test_nothing_takes_longer_than_the_program(quiet):
    """A hundred files of all ranks, each written by another rank for 1 s."""
    by_one_rank(quiet, 1.0, 1 << 30)
    assert "Wrote 100 GiB at 1.67 GiB/s" in flat(*[quiet] * 100)


def test_bytes_that_had_not_to_be_moved_are_not_said_to_have_failed(quiet):
    """Of two ranks that write the same, one's are enough."""
    quiet["write"]["bytes"]["moved"] = 100 << 20
    assert "Wrote 400 MiB at 40 MiB/s, in 100" in flat(quiet)


def test_a_job_whose_files_were_all_left_alone_is_said_to_be_the_mpi_librarys(quiet):
    quiet["left_alone"] = "MPI_MODE_SEQUENTIAL"
    quiet["write"]["calls"]["collective"] = 0
    set_times(quiet["write"])
    text = shown(quiet)
    assert verdict(quiet) == "The MPI library did all calls by itself: MPI_MODE_SEQUENTIAL."
    assert "Time of a rank" not in text and "No data" not in text


def test_a_file_that_was_only_opened_is_shown_too(quiet):
    quiet["write"]["calls"]["collective"] = 0
    set_times(quiet["write"])
    assert verdict(quiet).startswith("No data were read or written")


# ---- causes


@pytest.mark.parametrize(("own_s", "named"), [(0.1, True), (4.0, False)])
def test_a_rank_is_named_as_late_only_if_it_did_not_wait_like_the_others(quiet, own_s, named):
    set_times(quiet["write"], arrival=5.0)
    quiet["write"]["latest"] = {"rank": 3, "seconds": own_s}
    assert ("Rank 3 comes late" in advice(quiet)[0][1]) is named
    assert ("now one last, now another" in advice(quiet)[0][1]) is not named


def test_more_ranks_than_cores_are_blamed_for_waiting_and_fewer_recommended(quiet):
    quiet["program"]["cores"] = 2
    set_times(quiet["write"], arrival=0.5, waiting=3.0, file=1.0)
    quiet["write"]["latest"] = {"rank": 3, "seconds": 0.01}  # 5 ms a call: a matter of the scheduler
    assert advice(quiet)[0] == (3.5, "4 ranks share 2 cores: each waits while others run.",
                                "mpiexec -n 2, or more cores")  # fmt: skip


def test_cores_that_other_programs_have_are_said_to_be_scarce(quiet):
    said = "Cores were scarce: a rank waited 6 s (10%) for one that other processes or threads had."
    assert said not in flat(quiet)
    quiet["program"]["core_wait_seconds"] = 6
    assert said in flat(quiet)
    quiet["program"]["cores"] = 2  # for 4 ranks, which wait for each other
    assert "scarce" not in flat(quiet)


# After each sync the rank that had waited for the other one's fsync had no core, and was told to do less.
@pytest.mark.parametrize(("core_wait_s", "blamed"), [(6, "other processes or threads have their cores"),
                                                     (0, "Rank 3 comes late"), (1, "Rank 3 comes late")])
def test_a_rank_that_has_no_core_was_told_to_do_less(quiet, core_wait_s, blamed):
    set_times(quiet["write"], arrival=1.5)  # 15 ms a call
    quiet["write"]["latest"] = {"rank": 3, "seconds": 0.1}
    quiet["program"]["core_wait_seconds"] = core_wait_s
    assert blamed in advice(quiet)[0][1]


def test_cores_are_counted_per_node(quiet):
    quiet["program"]["cores"] = 2
    quiet["nodes"] = 2
    set_times(quiet["write"], waiting=3.0)
    assert not any("share" in evidence for _, evidence, _ in advice(quiet))


def test_a_rank_that_is_much_too_late_is_named_also_where_cores_are_few(quiet):
    quiet["program"]["cores"] = 2
    set_times(quiet["write"], arrival=9.0, waiting=1.0)
    quiet["write"]["latest"] = {"rank": 3, "seconds": 0.1}
    assert [(seconds, evidence[:6]) for seconds, evidence, _ in advice(quiet)] == [(9, "Rank 3"), (1, "4 rank")]


def independent(record, calls, size):
    write = record["write"]
    write["calls"] |= {"collective": 0, "independent": calls}
    write["bytes"] |= {"asked": calls * size, "moved": calls * size}
    write |= {"pieces": calls, "strategies": {}, "independent_seconds": {"mean": 10.0, "longest": 10.0}}


def test_small_independent_writes_are_to_be_made_collective(quiet):
    independent(quiet, 20000, 1024)
    assert advice(quiet) == [(10, "20,000 independent writes of 1 KiB, over all ranks.",
                              "MPI_File_set_view for all pieces, then one MPI_File_write_all")]  # fmt: skip


# Each call takes a lock, and so would collective ones.
def test_small_independent_writes_in_atomic_mode_are_to_leave_it(quiet):
    independent(quiet, 20000, 1024)
    quiet["settings"] = ["atomic mode (MPI_File_set_atomicity)"]
    assert advice(quiet)[0][2] == ("MPI_File_set_atomicity(file, 0), where no ranks' data meet; MPI_File_set_view for all"
                                   " pieces, then one MPI_File_write_all")  # fmt: skip


# It was said that all ranks meet, and nothing to change.
def test_ranks_that_wait_in_close_for_the_one_that_writes_all_are_told(quiet):
    independent(quiet, 100, 1 << 20)
    quiet["write"]["bytes"]["most"] = quiet["write"]["bytes"]["asked"]
    quiet["seconds"]["close"] = {"mean": 20.0, "longest": 20.0}
    assert advice(quiet)[0][2] == "", "it was told although no rank spent longer than others"
    quiet["write"]["seconds"]["whole"]["longest"] = 40.0
    assert advice(quiet)[0][2] == "give ranks equal parts: the others wait for the one with 4.0 times the mean"
    quiet["write"]["calls"] |= {"collective": 100, "independent": 0}
    assert advice(quiet)[0][2] == ""


def test_collective_calls_are_not_recommended_for_a_file_of_one_rank(quiet):
    independent(quiet, 20000, 1024)
    quiet |= {"ranks": 1, "opened_by": 1}
    (seconds, _, change), = advice(quiet)  # fmt: skip
    assert seconds == 2.5, "a quarter of the job's ranks spent 10 s"
    assert change == "gather 1 MiB or more in memory for each MPI_File_write"


def test_a_file_that_each_rank_opened_for_itself_beside_all_was_taken_for_one_of_its_own(quiet):
    """As PnetCDF opens it for independent data; nor is it opened again and again."""
    own = copy.deepcopy(quiet)
    independent(own, 5000, 1024)
    own |= {"ranks": 1, "opened_by": 1}
    for record in (own, quiet):
        record["seconds"]["open"] = {"mean": 5.0, "longest": 5.0}
    changes = {evidence: change for _, evidence, change in advice(quiet, *4 * [own])}
    assert changes["20,000 independent writes of 1 KiB, over all ranks."].endswith("one MPI_File_write_all")
    assert changes["5 calls of MPI_File_open, 5 s each."] == ""


def test_large_independent_writes_get_no_advice(quiet):
    independent(quiet, 400, 1 << 20)
    assert [change for _, _, change in advice(quiet)] == [""]


def small_collective(record, meetings):
    """5000 writes of 1 KiB a rank."""
    record["write"]["calls"]["collective"] = 5000
    record["write"]["bytes"] |= {"asked": 5000 * 4 * 1024, "moved": 5000 * 4 * 1024}
    record["write"]["meetings"] = meetings
    set_times(record["write"], waiting=4.0, other=1.0, file=0.1)


def test_small_collective_calls_are_to_be_put_together(quiet):
    small_collective(quiet, meetings=5000)
    assert advice(quiet) == [(5.1, "5,000 collective calls of 1 KiB per rank: all ranks agree on each.",
                              "gather the data of 1,024 calls for one MPI_File_write_all")]  # fmt: skip


def test_small_collective_calls_were_not_told_where_cores_were_few(quiet):
    """Fewer of them cost less on any number of cores."""
    small_collective(quiet, meetings=5000)
    quiet["program"]["cores"] = 2
    (_, evidence, change), = advice(quiet)  # fmt: skip
    assert evidence.endswith("all ranks agree on each, and 4 ranks share 2 cores.")
    assert change == "gather the data of 1,024 calls for one MPI_File_write_all"


def test_small_collective_calls_were_not_told_beside_the_few_calls_for_hdf5s_metadata(quiet):
    small_collective(quiet, meetings=5000)
    quiet["write"]["calls"]["independent"] = 16
    assert advice(quiet)[0][1].startswith("5,000 collective calls of ")


def test_small_collective_calls_that_wait_for_the_file_system_were_told_to_change_nothing(quiet):
    small_collective(quiet, meetings=80)
    set_times(quiet["write"], arrival=0.1, file=10.0)
    assert advice(quiet) == [(10.1, "5,000 collective calls of 1 KiB per rank: the ranks met 80 times.",
                              "gather the data of 1,024 calls for one MPI_File_write_all")]  # fmt: skip
    quiet |= {"ranks": 4000, "opened_by": 4000}  # 4 MB a call
    quiet["write"]["bytes"] |= {"asked": 5000 * 4000 * 1024, "moved": 5000 * 4000 * 1024}
    assert advice(quiet)[0][1].startswith("The file system")


def test_holes_in_small_collective_calls_are_to_be_written_as_that_helps_more(quiet):
    small_collective(quiet, meetings=5000)
    with_holes(quiet)
    quiet["backend"] = "posix uring counted"
    set_times(quiet["write"], file=10.0)
    assert "ds_write=enable" in advice(quiet)[0][2]


def test_small_collective_calls_that_repeat_need_few_meetings(quiet):
    small_collective(quiet, meetings=80)
    (_, evidence, _), = advice(quiet)  # fmt: skip
    assert evidence == "5,000 collective calls of 1 KiB per rank: the ranks met 80 times."


def test_holes_that_are_left_out_piece_by_piece(quiet):
    write = quiet["write"]
    write["calls"]["collective"] = 1
    write["strategies"] = {"two_phase": {"calls": 1, "why": ["small or interleaved pieces"]}}
    write["bytes"] |= {"asked": 64 << 20, "moved": 64 << 20}
    write["extents"] = 1 << 20
    set_times(write, file=10.0)
    quiet["backend"] = "posix uring counted"
    assert advice(quiet) == [(10, "1,048,576 pieces of 64 B were written one by one.",
                              "UNISONO_HINTS='*:ds_write=enable', for holes of up to 4 KiB, if it is on servers, not on"
                              " NFS, and nobody else writes into them")]  # fmt: skip
    quiet["backend"] = "posix mapped counted"
    assert "pieces" not in advice(quiet)[0][1], "a node's own file system"


def with_holes(record):
    write = record["write"]
    write["strategies"] = {"two_phase": {"calls": 100, "why": ["small or interleaved pieces"]}}
    write["extents"] = 1 << 20


def test_holes_are_not_to_be_written_where_they_are_already(quiet):
    """Where that does not help, the file is on NFS or holes are longer."""
    with_holes(quiet)
    quiet["settings"] = ["ds_write=disable (site)", "romio_ds_write=enable (MPI_Info)"]
    ((_, evidence, change),) = advice(quiet)
    assert "were written one by one" in evidence and change == ""


def test_a_setting_that_holes_are_not_to_be_written_is_to_be_changed(quiet):
    with_holes(quiet)
    quiet["settings"] = ["ds_write=disable (MPI_Info)"]
    assert advice(quiet)[0][2].startswith("ds_write=enable instead of ds_write=disable (MPI_Info), for holes")


def test_calls_of_the_mpi_library_are_told_with_what_to_call_instead(quiet):
    quiet["write"]["calls"]["native"] = {"nonblocking collective call": 12, "shared file pointer": 2}
    set_times(quiet["write"], native=5.0)
    assert advice(quiet) == [
        (5, "The MPI library did 14 calls by itself: nonblocking collective call; for 12 of them that is why.",
         "MPI_File_write_at_all instead of the nonblocking MPI_File_iwrite_at_all")]  # fmt: skip


@pytest.mark.parametrize("reason, change", [("atomic mode", "MPI_File_set_atomicity(file, 0)"),
                                            ("data representation", 'the representation "native"')])
def test_what_the_mpi_library_had_to_do_is_told_apart(quiet, reason, change):
    quiet["write"]["calls"]["native"] = {reason: 3}
    set_times(quiet["write"], native=5.0)
    (_, told, advised), = advice(quiet)
    assert told == f"The MPI library did 3 calls by itself: {reason}." and advised.startswith(change)


def test_the_strategy_native_is_to_be_taken_back_where_it_was_set(quiet):
    quiet["settings"] = ["UNISONO_STRATEGY=native"]
    quiet["write"]["strategies"] = {"native": {"calls": 100, "why": ["asked for"]}}
    set_times(quiet["write"], native=5.0)
    assert advice(quiet)[0][2] == "take back UNISONO_STRATEGY=native"


def test_a_note_on_striping_is_advice_for_the_time_in_the_file(quiet):
    quiet["notes"] = ["striping hurts: all of the file is on one data server; give striping_factor for the next one"]
    assert advice(quiet) == [(10, "1 file: all of the file is on one data server.",
                              "give striping_factor for the next one")]  # fmt: skip


@pytest.mark.parametrize(("names", "evidence", "change"), [
    ("a", "1 call of MPI_File_open.", ""),
    ("aaa", "3 calls of MPI_File_open, 4 s each.", "keep it open between steps"),
    ("abc", "3 calls of MPI_File_open, 4 s each.", "keep files open between steps, or put several into one"),
])  # fmt: skip
def test_opening_again_and_again_is_told(quiet, names, evidence, change):
    quiet["seconds"]["open"] = {"mean": 12.0 / len(names), "longest": 12.0}
    found = causes(Job([quiet | {"file": name} for name in names]))
    assert (evidence, change) in [(cause.evidence, cause.change) for cause in found]


@pytest.mark.parametrize(("nodes", "syncs", "change"), [
    (1, 1, ""), (4, 4, ""), (1, 2, "MPI_File_sync once, after the last write that must survive a crash"),
])  # fmt: skip
def test_who_syncs_once_is_not_told_to(quiet, nodes, syncs, change):
    quiet["seconds"]["sync"] = {"mean": 12.0, "longest": 12.0}
    found = causes(Job([quiet | {"nodes": nodes, "syncs": syncs}]))
    assert [cause.change for cause in found if "MPI_File_sync" in cause.evidence] == [change]


def test_opening_took_as_long_as_for_the_rank_that_did_it(quiet):
    """It was divided by all ranks of the job, also where a file is opened by one."""
    quiet["seconds"]["open"] = {"mean": 12.0, "longest": 12.0}
    alone = quiet | {"ranks": 1, "opened_by": 1}
    assert "4 calls of MPI_File_open, 12 s each." in [evidence for _, evidence, _ in advice(*[alone] * 4)]


def test_waiting_for_turns_is_counted_once_though_a_gate_knows_no_directions(quiet):
    quiet["read"] = copy.deepcopy(quiet["write"])
    quiet["gate"] |= {"waits": 4, "accesses": 30, "seconds": {"mean": 2.0, "longest": 2.0}}
    turns = [(seconds, evidence) for seconds, evidence, _ in advice(quiet) if "turn" in evidence]
    assert turns == [(2, "4 of 30 accesses waited for the program's turn at the servers.")]


def test_small_pieces_are_blamed_for_copying_and_large_ones_are_not(quiet):
    """Nor was it said then that so much of the time went there."""
    set_times(quiet["write"], copying=5.0)
    assert advice(quiet) == [(5, "400 MiB were copied to or from collective buffers.", "")]
    quiet["write"]["pieces"] = 400 << 14
    assert advice(quiet)[0][1] == "6,553,600 pieces of 64 B are copied one by one."


def test_converting_data_was_no_cause_though_most_of_the_time_went_there(quiet):
    set_times(quiet["write"], other=6.0, file=1.0)
    assert advice(quiet)[0] == (6, "Views and datatypes are looked at, and data in external32 are converted.", "")
    assert verdict(quiet) == "I/O took 7 of 60 s (12%); 6 s of it looking at what is asked for."


def test_few_aggregators_on_many_nodes_are_to_be_more(quiet):
    """Without a hint there are fewer only where calls touch few stripes: cb_nodes, which was advised, lets several write
    into one."""
    quiet |= {"nodes": 4, "aggregators": 1}
    quiet["write"]["strategies"] = {"two_phase": {"calls": 100, "why": ["small or interleaved pieces"]}}
    quiet["write"]["bytes"]["sent"] = 1 << 30
    set_times(quiet["write"], exchange=5.0)
    assert advice(quiet) == [(5, "1 GiB went through 1 aggregator on 4 nodes.",
                              "larger calls: these touch fewer stripes than there are nodes")]  # fmt: skip
    quiet["settings"] = ["cb_nodes=1 (MPI_Info)"]  # is stronger than UNISONO_HINTS
    assert advice(quiet)[0][2] == "cb_nodes=4 instead of cb_nodes=1 (MPI_Info)"


@pytest.mark.parametrize(("settings", "change"), [
    (["cb_config_list=hostA:1 (MPI_Info)"], "cb_config_list=*:1 instead of cb_config_list=hostA:1 (MPI_Info)"),
    (["cb_config_list=hostA:1 (site)", "cb_nodes=8 (MPI_Info)"],
     "cb_config_list=*:1 instead of cb_config_list=hostA:1 (site)"),
    (["cb_config_list=*:1 (site)", "cb_nodes=1 (MPI_Info)"], "cb_nodes=4 instead of cb_nodes=1 (MPI_Info)"),
])  # fmt: skip
def test_a_list_that_allows_few_aggregators_is_to_be_changed_as_no_other_hint_helps(quiet, settings, change):
    quiet |= {"nodes": 4, "aggregators": 1, "settings": settings}
    quiet["write"]["bytes"]["sent"] = 1 << 30
    set_times(quiet["write"], exchange=5.0)
    assert advice(quiet)[0][2] == change


def test_resonant_has_several_aggregators_for_a_server_where_a_hint_says_so(quiet):
    """It was taken for disk_first, which has one in any case."""
    quiet |= {"nodes": 4, "aggregators": 2}
    quiet["write"]["strategies"] = {"resonant": {"calls": 100, "why": ["asked for"]}}
    quiet["write"]["bytes"]["sent"] = 1 << 30
    set_times(quiet["write"], exchange=5.0)
    assert advice(quiet)[0][2] == "UNISONO_HINTS='*:cb_nodes=4'"
    quiet["settings"] = ["cb_config_list=hostA:1 (site)", "cb_nodes=2 (MPI_Info)"]  # it does not know lists
    assert advice(quiet)[0][2] == "cb_nodes=4 instead of cb_nodes=2 (MPI_Info)"


def test_no_hint_is_advised_to_a_strategy_that_has_an_aggregator_for_each_server(quiet):
    quiet |= {"nodes": 4, "aggregators": 2}
    quiet["write"]["strategies"] = {"disk_first": {"calls": 100, "why": ["asked for"]}}
    quiet["write"]["bytes"]["sent"] = 1 << 30
    set_times(quiet["write"], exchange=5.0)
    assert advice(quiet) == [(5, "1 GiB went through 2 aggregators on 4 nodes.", "")]


@pytest.mark.parametrize(("aggregators", "evidence"), [
    (1, "Ranks wait for 1 aggregator, which accesses the file for them."),
    (2, "Ranks wait for 2 aggregators, which access the file for them."),
])  # fmt: skip
def test_waiting_within_calls_is_for_aggregators_where_ranks_have_cores(quiet, aggregators, evidence):
    quiet["aggregators"] = aggregators
    set_times(quiet["write"], waiting=5.0)
    assert advice(quiet) == [(5, evidence, "")]


def test_a_hint_that_allows_few_aggregators_is_to_be_tried_without(quiet):
    quiet |= {"aggregators": 1, "settings": ["cb_nodes=1 (MPI_Info)"]}
    set_times(quiet["write"], waiting=5.0)
    assert advice(quiet)[0][2] == "try it without cb_nodes=1 (MPI_Info)"
    quiet["write"]["strategies"] = {"disk_first": {"calls": 100, "why": ["asked for"]}}
    assert advice(quiet)[0][2] == ""


def test_waiting_within_calls_was_left_out_where_all_ranks_aggregate(quiet):
    """So that something else was said to be most of the time."""
    set_times(quiet["write"], waiting=5.0, file=1.0)
    assert advice(quiet)[0] == (5, "Ranks wait for each other in collective calls, of which each does a part for all.", "")


def test_waiting_within_calls_was_told_twice_in_the_same_words(quiet):
    set_times(quiet["write"], waiting=5.0)
    quiet["read"] = copy.deepcopy(quiet["write"])
    assert [cause[0] for cause in advice(quiet)] == [10]


def test_atomic_mode_was_not_blamed_for_what_it_takes(quiet):
    write = quiet["write"]
    write["strategies"] = {"independent": {"calls": 100, "why": ["atomic mode"]}}
    set_times(write, waiting=1.0, file=4.0)
    assert advice(quiet) == [(5, "100 collective calls in atomic mode: each rank for itself, under a lock on its range.",
                              "MPI_File_set_atomicity(file, 0), where no ranks' data meet")]  # fmt: skip


def test_closing_a_file_that_was_only_read_was_said_to_write_it(quiet):
    quiet["read"], quiet["write"] = quiet["write"], quiet["read"]
    quiet["seconds"]["close"] = {"mean": 20.0, "longest": 20.0}
    assert advice(quiet)[0][1] == "1 call of MPI_File_close: all ranks meet."


def test_no_second_is_claimed_twice_and_small_costs_are_left_out(record_with_everything):
    job = Job([record_with_everything])
    found = causes(job)
    assert sum(cause.seconds for cause in found) <= job.io_s * 1.000001
    assert min(cause.seconds for cause in found) >= 0.05 * job.io_s
    assert [cause.seconds for cause in found] == sorted((cause.seconds for cause in found), reverse=True)


@pytest.fixture
def record_with_everything(quiet):
    """As much of everything as rules look for."""
    independent(quiet, 20000, 64)
    write = quiet["write"]
    write["calls"] |= {"collective": 5000, "native": {"shared file pointer": 2}}
    write["bytes"] |= {"moved": 1 << 30, "sent": 1 << 20}
    write["latest"] = {"rank": 1, "seconds": 0.01}
    set_times(write, arrival=3.0, waiting=2.0, exchange=1.5, copying=2.5, file=8.0, native=3.0, other=0.01)
    quiet["read"] = copy.deepcopy(write)
    quiet |= {"nodes": 4, "aggregators": 2, "notes": ["striping hurts: 1 server; give more"]}
    quiet["gate"] |= {"waits": 4, "seconds": {"mean": 1.0, "longest": 1.0}}
    quiet["seconds"]["close"] = {"mean": 2.0, "longest": 2.0}
    return quiet


# ---- what is shown


def test_the_program_is_named_with_where_it_ran_and_what_was_set(sample_report):
    text = flat(json.loads(sample_report.read_text()))
    assert "app: 2 ranks on 1 node with 2 cores; MPICH 4.0.2, Unisono 0.1.0" in text
    assert "Set cb_nodes=4 (MPI_Info)" in text
    assert "File /scratch/chk_0001.h5; through posix (asked for), 12 servers, 1 MiB stripes (hints)" in text
    assert "and 1 call left to the MPI library (atomic mode)" in text
    assert "by independent in 4 calls (one piece per rank)" in text
    assert "measured: two_phase won, 2.00 times as fast as independent" in text
    assert "Note striped over 1 of 12 servers" in text
    assert "Errors MPI_File_read on /scratch/chk_0001.h5: the file is open for writing only" in text


def test_a_file_whose_layout_nobody_asked_for_was_said_to_be_accessed_otherwise(quiet):
    unasked, elsewhere, mapped = ({**quiet, "file": name} for name in "abc")
    unasked["layout"], elsewhere["layout"], mapped["backend"] = "", "1 server", "mapped"
    asked = "through posix (asked for), 12 servers, 1 MiB stripes (hints)"
    assert f"2 files; {asked};" in flat(quiet, unasked)
    assert f"2 files; {asked}, 1 otherwise" in flat(quiet, mapped)
    assert "2 files; through posix (asked for), 2 layouts" in flat(quiet, elsewhere)


def test_who_gathers_all_data_on_one_rank_was_not_told_that_others_have_no_file(quiet):
    alone = [quiet | {"ranks": 1, "opened_by": 1, "file": name} for name in ("/a", "/b")]
    assert "File /a, opened by 1 of 4 ranks; through" in flat(alone[0])
    assert "File /a, opened 2 times, each by 1 of 4 ranks; through" in flat(alone[0], alone[0])
    assert "Files 2 files, each opened by 1 of 4 ranks; through" in flat(*alone)
    assert "2 files, each opened by 1 to 2 of 4 ranks; through" in flat(alone[0], alone[1] | {"ranks": 2, "opened_by": 2})
    assert "opened by" not in flat(*alone, quiet)


def test_what_measuring_cost_is_not_said_again_with_each_file_of_a_communicator(sample_report):
    """Their table grows: who added the numbers up had most of them several times."""
    first = json.loads(sample_report.read_text())
    later = copy.deepcopy(first)
    (selection,) = [found for name in ("read", "write") for found in later[name]["selections"]]
    selection["examination_seconds"] += 1.5
    text = flat(first, later)
    assert text.count("measured:") == 1
    assert f"trying others took {selection['examination_seconds']:.1f}" in text


def test_who_did_most_calls_was_left_out_where_many_were_tried(quiet):
    """Four were shown, by name; with the others went who won."""
    tried = ("disk_first", "lacio", "resonant", "transpose")
    quiet["write"]["strategies"] = {name: {"calls": 1, "why": ["tried"]} for name in tried}
    quiet["write"]["strategies"]["two_phase"] = {"calls": 146, "why": ["fastest so far"]}
    quiet["write"]["selections"] = [{"calls": "writes", "tried": ["two_phase", *tried], "winner": "two_phase",
                                     "why": "2 times as fast as lacio", "examination_seconds": 0.2}]  # fmt: skip
    text = flat(quiet)
    assert "by two_phase in 146 calls (fastest so far) by disk_first in 1 call (tried) by lacio in 1 call" in text
    assert "measured: two_phase won, 2 times as fast as lacio" in text


def test_a_strategy_that_was_refused_is_said_with_the_reason(quiet):
    quiet["write"]["refusals"] = {"lacio": {"calls": 3, "why": ["it is not known where bytes are"]}}
    assert "not by lacio, which was asked for, in 3 calls (it is not known where bytes are)" in flat(quiet)


def test_pieces_of_several_sizes_are_counted_by_size(quiet):
    quiet["write"]["piece_sizes"] = [[64, 1000], [1 << 20, 12]]
    quiet["write"]["pieces"] = 1012
    assert "1,012 pieces: 1,000 of 64-127 B, 12 of 1-2 MiB" in flat(quiet)


def test_a_rank_that_has_more_to_write_than_others_is_told_of(quiet):
    assert "busiest" not in flat(quiet)
    quiet["write"]["bytes"]["most"] = 200 << 20
    assert "the busiest rank has 2.0 times the mean" in flat(quiet)


def test_files_may_have_different_busiest_ranks(quiet):
    """Four files, each written by another rank: no rank has more than another."""
    by_one_rank(quiet, 1.0, 1 << 30)
    assert "the busiest rank of a file has 4.0 times the mean" in flat(*[quiet] * 4)


def test_ranks_that_a_program_has_spawned_are_ranks_of_the_job(quiet):
    """A file of twice as many ranks as the program began with took twice as long."""
    quiet |= {"ranks": 8, "opened_by": 8}
    assert Job([quiet]).io_s == 10


def test_every_phase_has_a_name_in_the_table_of_times():
    for part in ("direction", "file"):
        assert set(summary.PHASE_LABELS[part]) == set(report.phases(part))


def test_times_add_up_to_the_time_of_io(record_with_everything):
    lines = shown(record_with_everything).split("Time of a rank")[1].split("\n\n")[0].splitlines()[1:]
    in_all = [float(re.search(r"([\d.]+) s +\d+%$", line)[1]) for line in lines]
    assert sum(in_all[:-1]) == pytest.approx(in_all[-1], rel=0.01)
    assert lines[-1].split()[0] == "I/O"


def forty_files(record):
    for number in range(40):
        one = copy.deepcopy(record)
        one["file"] = f"/scratch/a/very/long/way/to/the/results/of/the/project/run/step_{number:04}.h5"
        set_times(one["write"], file=1.0 + number)
        yield one


def test_forty_files_fit_on_a_screen_the_slowest_first(record_with_everything):
    lines = shown(*forty_files(record_with_everything)).splitlines()
    files = [line.split()[-1] for line in lines if line.endswith(".h5")]
    assert len(lines) <= SCREEN_LINES + 5
    assert files[0] == "step_0039.h5" and files == sorted(files, reverse=True)
    assert 4 <= len(files) <= 10
    assert any(line.endswith(f"{40 - len(files)} more (--files shows all)") for line in lines)


def test_nothing_is_wider_than_a_terminal(record_with_everything):
    for width in (80, 200):
        text = shown(*forty_files(record_with_everything), width=width)
        assert max(map(len, text.splitlines())) <= 80


def test_a_name_that_is_too_long_keeps_its_end(quiet):
    other = copy.deepcopy(quiet)
    other["file"] = "relative/" + "x" * 90 + "/end.nc"
    assert re.search(r"\.\.\.x+/end\.nc$", shown(quiet, other), re.MULTILINE)


def test_opening_one_file_again_and_again_is_one_file(quiet):
    assert "/scratch/chk_0001.h5, opened 3 times;" in flat(quiet, quiet, quiet)


class Counted(dict):
    """How often somebody looks into reports."""

    looks = 0

    def __getitem__(self, key):
        Counted.looks += 1
        return super().__getitem__(key)


@pytest.mark.parametrize("show", [lambda job: screen.show(job, Console(file=io.StringIO())),
                                  lambda job: html_report.render([job]), lambda job: chrome_trace.trace([job])],
                         ids=["screen", "page", "trace"])  # fmt: skip
def test_all_files_were_gone_through_for_each_file_and_thousands_took_minutes(record_with_everything, show):
    def looks(files):
        before = Counted.looks
        show(Job([Counted(record_with_everything, file=f"/scratch/{number}") for number in range(files)]))
        return Counted.looks - before

    assert looks(400) < 11 * looks(40)


def test_programs_in_one_report_file_are_told_apart(quiet):
    other = copy.deepcopy(quiet)
    other["program"]["id"] = "launch:8@node1"
    assert [len(job.records) for job in jobs_of([quiet, other, quiet])] == [2, 1]
    assert [len(job.records) for job in jobs_of([quiet, other], 60.0)] == [2], "one run, seen from two nodes"


def test_files_of_single_ranks_count_with_their_part_of_the_job(quiet):
    alone = quiet | {"ranks": 1, "opened_by": 1}
    job = Job([alone] * 4)
    assert job.io_s == pytest.approx(10.0), "each of 4 ranks spent 10 s on its file"
    assert job.nodes == 0, "no file tells where all ranks are"
    assert "4 ranks;" in flat(*[alone] * 4)


def test_words_agree_with_their_numbers(quiet):
    one = quiet | {"ranks": 1, "opened_by": 1, "aggregators": 1}
    one["program"] |= {"ranks": 1, "cores": 1}
    one["write"]["calls"]["collective"] = 1
    one["write"]["pieces"] = 1
    one["write"]["strategies"]["independent"]["calls"] = 1
    text = flat(one)
    assert not re.search(r"\b1 (\w+ )?(ranks|nodes|cores|calls|pieces|files|aggregators)\b", text), text
    assert not re.search(r"\de-\d", text)


def test_names_are_not_taken_for_markup(quiet):
    quiet["file"] = "/data/[red]x[/nothing].h5"
    assert quiet["file"] in shown(quiet)


def test_errors_are_listed_the_first_few(quiet):
    quiet["errors"] = [f"MPI_File_write_all on x: pwrite failed at offset {number}" for number in range(5)]
    text = shown(quiet)
    assert text.count("pwrite failed") == 3 and "and 2 more (--files shows all)" in text
