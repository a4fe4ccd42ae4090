import pytest

from unisono import launchers
from unisono.launchers import (
    HYDRA,
    OPEN_MPI,
    OTHER,
    SLURM,
    parse_segment,
    skip_wrappers,
    split_segments,
)

PROGRAMS = {"./app", "env", "timeout", "valgrind", "/bin/debug-me"}


def runnable(word):
    return word in PROGRAMS


def parse(line, family):
    return parse_segment(line.split(), family, runnable)


@pytest.mark.parametrize(
    ("family", "options"),
    [
        (HYDRA, "-n 4"),
        (HYDRA, "-np 4 -ppn 2 -l"),
        (HYDRA, "-genv NAME VALUE -n 4"),
        (HYDRA, "-genv NAME=VALUE -n 4"),
        (HYDRA, "--env NAME VALUE --n=4"),
        (HYDRA, "-hosts a,b -bind-to core -prepend-rank"),
        (OPEN_MPI, "--oversubscribe --allow-run-as-root -np 4"),
        (OPEN_MPI, "-x NAME -x OTHER=value -n 4"),
        (OPEN_MPI, "--mca btl self,vader -mca io ompio -n 4 --bind-to none"),
        (OPEN_MPI, "--host a:2,b:2 --map-by ppr:2:node --tag-output"),
        (SLURM, "-n4 -N 2 --cpu-bind=none --mpi pmix"),
        (SLURM, "-ln4 -Ku -uN 2 -t 5 --overlap"),
        (OTHER, "-n 4 --some-new-option 7 --flag"),
        (HYDRA, ""),
    ],
)
def test_program_begins_after_the_launchers_options(family, options):
    segment = parse(f"{options} ./app -n 7 --mca", family)
    assert segment.options == options.split()
    assert segment.program == ["./app", "-n", "7", "--mca"]


def test_double_dash_ends_the_options():
    segment = parse("-n 2 -- ./app", OPEN_MPI)
    assert segment.options == ["-n", "2", "--"]
    assert segment.program == ["./app"]


def test_an_option_that_takes_a_word_may_be_followed_by_a_programs_name():
    assert parse("-x ./app ./app", OPEN_MPI).program == ["./app"]


def test_only_options():
    assert parse("--version", HYDRA).program == []
    assert parse("-n", HYDRA).program == []


def test_variables_that_a_launcher_sets_are_known():
    assert parse("-genv LD_PRELOAD a.so ./app", HYDRA).variables == {"LD_PRELOAD": "a.so"}
    assert parse("-env LD_PRELOAD=a.so ./app", HYDRA).variables == {"LD_PRELOAD": "a.so"}
    assert parse("-x LD_PRELOAD=a.so ./app", OPEN_MPI).variables == {"LD_PRELOAD": "a.so"}


def test_folders_where_a_launcher_looks():
    assert parse("-wdir /w -path /a:/b ./app", OPEN_MPI).folders == ["/w", "/a", "/b"]


@pytest.mark.parametrize("options", ["-n4", "-ln4", "-Kn 4", "-n 4 -t5", "--chdir=/w"])
def test_a_program_that_is_not_there_is_no_value_of_options_whose_values_stand_in_the_same_word(options):
    assert parse(f"{options} ./nope", SLURM).program == ["./nope"]


def test_a_program_that_may_have_been_taken_for_the_value_of_an_unknown_option_is_noticed():
    assert parse("-n 2 --new ./nope", OPEN_MPI).guessed == "--new"
    assert parse("-n 2 --new value ./app", OPEN_MPI).guessed == ""
    assert parse("--version", OPEN_MPI).guessed == ""


def test_folders_and_files_of_programs_may_stand_in_the_options_word():
    assert parse("-wdir=/w ./app", HYDRA).folders == ["/w"]
    assert parse("--chdir=/w ./app", SLURM).folders == ["/w"]
    assert parse("-D/w ./app", SLURM).folders == ["/w"]
    segment = parse("-l -configfile=a=b", HYDRA)
    assert segment.options[segment.programs_file] == "a=b"


def test_variables_of_srun():
    assert parse("--export=ALL,LD_PRELOAD=a.so ./app", SLURM).variables["LD_PRELOAD"] == "a.so"


def test_colons_separate_programs():
    assert split_segments("-n 1 a : -n 2 b x".split()) == [["-n", "1", "a"], ["-n", "2", "b", "x"]]


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("./app x", 0),
        ("env A=1 B=2 ./app", 3),
        ("env -u LD_PRELOAD ./app", 3),
        ("timeout 60 ./app", 2),
        ("timeout -s KILL 60 env A=1 ./app", 6),
        ("valgrind ./app", 0),
        ("env A=1", 0),
        ("timeout 60 env", 2),
    ],
)
def test_wrappers_are_skipped(line, at):
    assert skip_wrappers(line.split(), launchers.TRANSPARENT, runnable) == at
