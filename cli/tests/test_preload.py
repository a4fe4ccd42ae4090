from pathlib import Path

import pytest

from unisono import places, preload
from unisono.places import Failure

ENV = "/usr/bin/env"


@pytest.fixture(autouse=True)
def no_preload(monkeypatch):
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.setattr(preload.shutil, "which", _which(preload.shutil.which))


def _which(real):
    return lambda word: ENV if word == "env" else real(word)


@pytest.fixture
def launcher(executable):
    """A launcher of each family by name; it is never run."""
    return {name: str(executable(f"mpiexec.{name}")) for name in ("mpich", "openmpi")}


def rewrite(words, **settings):
    return preload.rewrite(words, settings, lambda mpi: Path(f"/lib/{mpi}.so"))


def test_only_the_program_is_preloaded(launcher):
    job = rewrite([launcher["mpich"], "-n", "4", "true", "-x"], UNISONO_REPORT="json")
    assert job.command == [
        launcher["mpich"], "-n", "4",
        ENV, "LD_PRELOAD=/lib/mpich.so", "UNISONO_REPORT=json", "true", "-x",
    ]  # fmt: skip
    assert job.mpi == "mpich"


def test_each_program_of_a_job_is_preloaded(launcher):
    command = [launcher["openmpi"], "-n", "1", "true", ":", "-n", "2", "echo", "x"]
    preloaded = [ENV, "LD_PRELOAD=/lib/openmpi.so"]
    assert rewrite(command).command == [
        launcher["openmpi"], "-n", "1", *preloaded, "true", ":", "-n", "2", *preloaded, "echo", "x",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("family", "words"),
    [
        ("mpich", ["-genv", "LD_PRELOAD", "/his.so", "true"]),
        ("mpich", ["-env", "LD_PRELOAD=/his.so", "true"]),
        ("openmpi", ["-x", "LD_PRELOAD=/his.so", "true"]),
        ("openmpi", ["env", "A=1", "LD_PRELOAD=/his.so", "true"]),
        ("mpich", ["timeout", "9", "env", "LD_PRELOAD=/his.so", "true"]),
    ],
)
def test_what_is_preloaded_already_stays_behind_us(launcher, family, words):
    job = rewrite([launcher[family], *words])
    assert f"LD_PRELOAD=/lib/{family}.so:/his.so" in job.command
    assert job.command[-3:] == [ENV, f"LD_PRELOAD=/lib/{family}.so:/his.so", "true"]


def test_what_an_option_for_all_programs_preloads_stays_behind_us_in_each(launcher):
    job = rewrite([launcher["mpich"], "-genv", "LD_PRELOAD", "/his.so", "-n", "1", "true", ":", "-n", "1", "true"])
    assert job.command.count("LD_PRELOAD=/lib/mpich.so:/his.so") == 2


def test_what_a_wrapper_before_the_launcher_preloads_stays_behind_us(launcher, monkeypatch):
    job = rewrite(["env", "LD_PRELOAD=/his.so", launcher["mpich"], "true"])
    assert job.command[-2:] == ["LD_PRELOAD=/lib/mpich.so:/his.so", "true"]
    monkeypatch.setenv("LD_PRELOAD", "/his.so")
    assert rewrite(["env", "-u", "LD_PRELOAD", launcher["mpich"], "true"]).command[-2] == "LD_PRELOAD=/lib/mpich.so"


@pytest.fixture
def stdbuf(executable):
    """A stand-in, and what it preloads."""
    library = str(places.PREFIX / "lib" / "libunisono-yield.so")
    return str(executable("stdbuf", f'#!/bin/sh\nshift\nexec env LD_PRELOAD={library} "$@"\n')), library


# What ranks print came when they ended.
def test_what_stdbuf_preloads_before_the_launcher_reaches_the_ranks(launcher, stdbuf, monkeypatch):
    word, library = stdbuf
    job = rewrite([word, "-oL", launcher["mpich"], "-n", "2", "true"])
    assert job.command == [word, "-oL", launcher["mpich"], "-n", "2", ENV, f"LD_PRELOAD=/lib/mpich.so:{library}", "true"]
    monkeypatch.setenv("LD_PRELOAD", "/his.so")
    assert rewrite([word, "-oL", launcher["mpich"], "true"]).command[-2] == f"LD_PRELOAD=/lib/mpich.so:/his.so:{library}"


def test_what_stdbuf_preloads_stays(launcher):
    job = rewrite([launcher["mpich"], "-n", "2", "stdbuf", "-oL", "true"])
    assert job.command == [launcher["mpich"], "-n", "2", ENV, "LD_PRELOAD=/lib/mpich.so", "stdbuf", "-oL", "true"]


def test_the_environments_preload_stays_unless_it_is_taken_back(launcher, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", "/his.so")
    assert "LD_PRELOAD=/lib/mpich.so:/his.so" in rewrite([launcher["mpich"], "true"]).command
    for option in ("-i", "-"):
        assert "LD_PRELOAD=/lib/mpich.so" in rewrite([launcher["mpich"], "env", option, "true"]).command


# Of another build it took the same calls a second time.
def test_what_a_site_has_for_all_programs_is_not_loaded_as_well(launcher, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", "/site/libunisono-mpich.so:/site/libunisono-openmpi.so /his.so")
    assert rewrite([launcher["mpich"], "true"]).command[1:] == [ENV, "LD_PRELOAD=/lib/mpich.so:/his.so", "true"]


def test_a_command_without_unisono_keeps_what_else_is_preloaded(launcher, monkeypatch):
    def without():
        return preload.rewrite([launcher["mpich"], "true"], {"UNISONO_DISABLE": "1"}, lambda _mpi: None).command[1:]

    assert without() == [ENV, "UNISONO_DISABLE=1", "true"]
    monkeypatch.setenv("LD_PRELOAD", "/site/libunisono-mpich.so:/his.so")
    assert without() == [ENV, "LD_PRELOAD=/his.so", "UNISONO_DISABLE=1", "true"]
    monkeypatch.setenv("LD_PRELOAD", "/site/libunisono-mpich.so")
    assert without() == [ENV, "LD_PRELOAD=", "UNISONO_DISABLE=1", "true"]


def test_a_launcher_may_be_wrapped(launcher):
    job = rewrite(["timeout", "60", launcher["mpich"], "-n", "2", "true"])
    assert job.command[:5] == ["timeout", "60", launcher["mpich"], "-n", "2"]
    assert job.command[5:] == [ENV, "LD_PRELOAD=/lib/mpich.so", "true"]


def test_a_launcher_without_a_program_is_left_as_it_is(launcher):
    job = rewrite([launcher["mpich"], "--version"])
    assert job.command == [launcher["mpich"], "--version"]
    assert job.mpi == "mpich"


def test_a_program_that_only_the_launcher_would_find_gets_its_path(launcher, executable, tmp_path):
    program = executable("else/where")
    job = rewrite([launcher["openmpi"], "-path", str(tmp_path / "else"), "where"])
    assert job.command[-1] == str(program)


def test_a_bare_name_in_the_working_directory_gets_its_path(
    launcher, executable, monkeypatch, tmp_path
):
    program = executable("here")
    monkeypatch.chdir(tmp_path)
    assert rewrite([launcher["openmpi"], "here"]).command[-1] == str(program)


def test_a_relative_path_under_the_ranks_folder_stays(launcher, executable, tmp_path):
    executable("folder/app")
    job = rewrite([launcher["mpich"], "-wdir", str(tmp_path / "folder"), "./app"])
    assert job.command[-1] == "./app"


@pytest.mark.parametrize(("family", "option"), [("mpich", "-configfile"), ("openmpi", "--app")])
def test_a_file_of_programs_is_copied_and_rewritten(launcher, tmp_path, family, option):
    file = tmp_path / "programs"
    file.write_text("# two programs\n-n 1 true\n-n 2 echo a b\n")
    job = rewrite([launcher[family], option, str(file)])
    copy = Path(job.command[-1])
    assert job.temporary == [copy]
    assert copy.read_text().splitlines() == [
        "# two programs",
        f"-n 1 {ENV} LD_PRELOAD=/lib/{family}.so true",
        f"-n 2 {ENV} LD_PRELOAD=/lib/{family}.so echo a b",
    ]
    copy.unlink()


def test_several_programs_in_one_line_of_hydras_file_are_all_preloaded(launcher, tmp_path):
    file = tmp_path / "programs"
    file.write_text("-n 1 true : -n 2 echo\n")
    preloaded = f"{ENV} LD_PRELOAD=/lib/%s.so"
    job = rewrite([launcher["mpich"], f"-configfile={file}"])
    copy = Path(job.command[-1])
    ours = preloaded % "mpich"
    assert copy.read_text() == f"-n 1 {ours} true : -n 2 {ours} echo\n"
    copy.unlink()
    job = rewrite([launcher["openmpi"], "--app", str(file)])  # to Open MPI the colon is an argument
    copy = Path(job.command[-1])
    assert copy.read_text() == f"-n 1 {preloaded % 'openmpi'} true : -n 2 echo\n"
    copy.unlink()


def test_names_in_a_file_of_programs_may_be_any_bytes(launcher, tmp_path):
    (tmp_path / "programs").write_bytes(b"-n 1 true \xff\n")
    job = rewrite([launcher["mpich"], "-configfile", str(tmp_path / "programs")])
    copy = Path(job.command[-1])
    assert copy.read_bytes().endswith(b" true \xff\n")
    copy.unlink()


def test_programs_that_srun_reads_from_a_file_are_not_called_missing(executable):
    with pytest.raises(Failure, match="the programs in the file of --multi-prog are not looked at"):
        rewrite([str(executable("srun")), "-n", "4", "--multi-prog", "programs.conf"])


def test_a_program_that_may_have_become_an_options_value_is_worth_a_warning(launcher):
    job = rewrite([launcher["openmpi"], "-n", "2", "--new", "./nope"])
    assert len(job.warnings) == 1 and "behind the option --new ./nope" in job.warnings[0]
    assert rewrite([launcher["openmpi"], "--help", "all"]).warnings == []


def test_programs_that_cannot_be_found_are_named(launcher):
    for words in (["no-such-program"], [launcher["mpich"], "-n", "2", "no-such-program"]):
        with pytest.raises(Failure, match="program not found: no-such-program") as failure:
            rewrite(words)
        assert failure.value.exit_code == 127


def test_without_a_launcher_the_program_must_tell_its_mpi():
    with pytest.raises(Failure, match="cannot tell which MPI 'true' uses"):
        rewrite(["true"])
    job = preload.rewrite(["true"], {}, lambda mpi: Path(f"/lib/{mpi}.so"), "openmpi")
    assert job.command == [ENV, "LD_PRELOAD=/lib/openmpi.so", "true"]


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_a_program_of_the_standard_abi_is_at_home_with_any_launcher(launcher, monkeypatch, name):
    monkeypatch.setattr(preload.mpi, "mpi_of_program", lambda _words: "abi")
    job = rewrite([launcher[name], "-n", "2", "true"])
    assert "LD_PRELOAD=/lib/abi.so" in job.command
    assert job.warnings == []


def test_a_launcher_of_another_mpi_is_worth_a_warning(launcher, monkeypatch):
    monkeypatch.setattr(preload.mpi, "mpi_of_program", lambda _words: "openmpi")
    job = rewrite([launcher["mpich"], "-n", "2", "true"])
    assert "LD_PRELOAD=/lib/openmpi.so" in job.command
    assert len(job.warnings) == 1 and "linked with openmpi" in job.warnings[0]
