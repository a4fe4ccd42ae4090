"""check_exports.py against small libraries made for it, good ones and bad ones."""

import pathlib
import subprocess

import pytest

import check_exports

GOOD_SHIM = "int MPI_File_write_all(void) { return 0; } int PMPI_File_write_all(void) { return 0; }"
LARGE = "int MPI_File_write_all_c(void) { return 0; } int PMPI_File_write_all_c(void) { return 0; }"
GOOD_ENGINE = "int unisono_start(void) { return 0; }"


@pytest.fixture
def complaints(tmp_path):
    """Builds both libraries from C text and gives what is complained about."""
    def build(name: str, text: str, *flags: str) -> pathlib.Path:
        source, library = tmp_path / f"{name}.c", tmp_path / f"{name}.so"
        source.write_text(text)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, *flags], check=True)
        return library

    def check(shim=GOOD_SHIM, engine=GOOD_ENGINE, mpi=GOOD_SHIM, flags=()):
        return check_exports.complaints_about(build("shim", shim, *flags), build("engine", engine),
                                              build("mpi", mpi))
    return check


def test_good_libraries_pass(complaints):
    assert complaints() == []


def test_foreign_symbol_is_found(complaints):
    assert complaints(shim=GOOD_SHIM + "int helper;") == [
        "shim.so exports helper, which is no MPI-IO entry point"]


def test_engine_shows_its_own_symbols_only(complaints):
    assert complaints(engine=GOOD_ENGINE + "int MPI_File_open;") == [
        "engine.so exports MPI_File_open"]


def test_both_names_are_wanted(complaints):
    assert complaints(shim=GOOD_SHIM + "int MPI_File_open(void) { return 0; }") == [
        "shim.so exports MPI_File_open but not PMPI_File_open"]


def test_needed_library_is_found(complaints):
    assert complaints(flags=["-Wl,--no-as-needed", "-lstdc++"]) == ["shim.so needs libstdc++.so.6"]


def test_shim_may_not_want_mpi_symbols(complaints):
    shim = GOOD_SHIM + "int PMPI_Comm_rank(); int MPI_File_x() { return PMPI_Comm_rank(); }"
    assert "shim.so wants PMPI_Comm_rank, which programs without MPI do not have" in complaints(
        shim=shim)


@pytest.mark.parametrize("part, good", [("shim", GOOD_SHIM), ("engine", GOOD_ENGINE)])
def test_variables_are_not_asked_for_in_privileged_programs(complaints, part, good):
    library = "char *getenv(), *secure_getenv(); static void* use[] = {%s};" + good
    assert complaints(**{part: library % "&secure_getenv"}) == []
    assert complaints(**{part: library % "&getenv"}) == [
        f"{part}.so wants getenv, which obeys whoever starts a privileged program"]


def test_large_counts_are_there_exactly_if_the_mpi_has_them(complaints):
    assert complaints(shim=GOOD_SHIM + LARGE, mpi=GOOD_SHIM + LARGE) == []
    assert complaints(mpi=GOOD_SHIM + LARGE) == [
        f"shim.so does not export {name}, which mpi.so has"
        for name in ("MPI_File_write_all_c", "PMPI_File_write_all_c")]
    assert complaints(shim=GOOD_SHIM + LARGE) == [
        f"shim.so exports {name}, which mpi.so does not have"
        for name in ("MPI_File_write_all_c", "PMPI_File_write_all_c")]


def test_missing_library_is_named(tmp_path):
    missing = tmp_path / "none.so"
    assert check_exports.complaints_about(missing, missing, missing)[0].endswith(
        "none.so is missing: build it first")
