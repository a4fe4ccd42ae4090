"""Installs into a temporary prefix and uses the result as a user would: by pkg-config, by CMake,
by preloading, by the command, and by the modulefile."""

import os
import pathlib
import re
import shutil
import struct
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("UNISONO_BUILD_DIR", ROOT / "build"))
PROGRAM = ROOT / "tests/install/uses_unisono.c"
RANKS = 2
PIECES = 1000

LAUNCHER = {
    "mpich": ["mpiexec.mpich"],
    "openmpi": ["mpiexec.openmpi", "--oversubscribe", "--allow-run-as-root"],
}
MPI_PACKAGE = {"mpich": "mpich", "openmpi": "ompi-c"}

each_mpi = pytest.mark.parametrize("mpi", LAUNCHER)


def run(command, **options) -> str:
    """Standard output of a command that must succeed; shows all it said when it does not."""
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          timeout=300, stdin=subprocess.DEVNULL, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def require_library(mpi: str) -> None:
    for name in (f"libunisono-{mpi}.so", f"libunisono-{mpi}-engine.so"):
        if not (BUILD / "lib" / name).exists():
            pytest.skip(f"{name} has not been built")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory) -> pathlib.Path:
    """An installation, moved after it was made: nothing in it may depend on where it was."""
    if not (BUILD / "cmake_install.cmake").exists():
        pytest.skip(f"{BUILD} has not been built")
    first = tmp_path_factory.mktemp("install") / "first"
    run(["cmake", "--install", BUILD, "--prefix", first])
    return pathlib.Path(shutil.move(first, first.with_name("moved")))


def run_program(program: pathlib.Path, mpi: str, folder: pathlib.Path, environment=()) -> str:
    """Runs it with two ranks and checks the file it wrote; returns what it printed."""
    path = folder / "data"
    printed = run([*LAUNCHER[mpi], "-n", RANKS, "env", *environment, program, path])
    expected = struct.pack(f"{RANKS * PIECES}i", *range(RANKS * PIECES))
    assert path.read_bytes() == expected
    return printed


def test_manual_and_completion_are_installed(prefix):
    """Of every command where help2man was there, else the overview alone."""
    pages = {file.name for file in (prefix / "share/man/man1").iterdir()}
    assert "unisono.1" in pages
    if not (BUILD / "share/bash-completion").exists():
        pytest.skip("made without help2man")
    assert {"unisono-run.1", "unisono-pocket-up.1"} <= pages
    for script in ("bash-completion/completions/unisono", "zsh/site-functions/_unisono",
                   "fish/vendor_completions.d/unisono.fish"):
        assert "_UNISONO_COMPLETE" in (prefix / "share" / script).read_text()



def assert_unisono_did_it(printed: str) -> None:
    assert re.search(r"^unisono_strategy=(?!none$)\w+", printed, re.MULTILINE), printed


@each_mpi
def test_program_built_by_pkg_config_runs_under_unisono(mpi, prefix, tmp_path):
    require_library(mpi)
    environment = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = run(["pkg-config", "--cflags", "--libs", f"unisono-{mpi}", MPI_PACKAGE[mpi]],
                env=environment).split()
    program = tmp_path / "program"
    run(["gcc", PROGRAM, "-o", program, *flags, f"-Wl,-rpath,{prefix}/lib"])
    assert_unisono_did_it(run_program(program, mpi, tmp_path))


@each_mpi
def test_program_built_by_cmake_package_runs_under_unisono(mpi, prefix, tmp_path):
    require_library(mpi)
    (tmp_path / "CMakeLists.txt").write_text(f"""
        cmake_minimum_required(VERSION 3.25)
        project(user C)
        find_package(Unisono REQUIRED COMPONENTS {mpi})
        find_package(PkgConfig REQUIRED)
        pkg_check_modules(MPI REQUIRED IMPORTED_TARGET {MPI_PACKAGE[mpi]})
        add_executable(program {PROGRAM})
        target_link_libraries(program PRIVATE Unisono::{mpi} PkgConfig::MPI)
        """)
    run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"])
    run(["cmake", "--build", tmp_path / "build"])
    assert_unisono_did_it(run_program(tmp_path / "build/program", mpi, tmp_path))


@each_mpi
def test_program_runs_under_the_preloaded_library(mpi, prefix, tmp_path):
    require_library(mpi)
    program = tmp_path / "program"
    run([f"mpicc.{mpi}", PROGRAM, "-o", program])
    assert "unisono_strategy=none" in run_program(program, mpi, tmp_path)
    preload = f"LD_PRELOAD={prefix}/lib/libunisono-{mpi}.so"
    assert_unisono_did_it(run_program(program, mpi, tmp_path, [preload]))


@each_mpi
def test_program_runs_under_the_installed_command(mpi, prefix, tmp_path):
    require_library(mpi)
    program = tmp_path / "program"
    run([f"mpicc.{mpi}", PROGRAM, "-o", program])
    printed = run([prefix / "bin/unisono", "run", "--", *LAUNCHER[mpi], "-n", RANKS, program,
                   tmp_path / "data"])
    assert_unisono_did_it(printed)


def test_cmake_package_names_the_library_that_is_missing(prefix, tmp_path):
    copy = tmp_path / "without_libraries"
    shutil.copytree(prefix / "lib/cmake", copy / "lib/cmake")
    (tmp_path / "CMakeLists.txt").write_text("""
        cmake_minimum_required(VERSION 3.25)
        project(user C)
        find_package(Unisono REQUIRED COMPONENTS openmpi)
        """)
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build",
                           f"-DCMAKE_PREFIX_PATH={copy}"], text=True, capture_output=True)
    assert done.returncode != 0
    assert "without its library for openmpi" in " ".join(done.stderr.split())


def test_example_plugin_builds_against_the_installation_and_does_the_calls(prefix, tmp_path):
    require_library("mpich")
    run(["cmake", "-S", prefix / "share/doc/unisono/examples/plugin", "-B", tmp_path / "build",
         f"-DCMAKE_PREFIX_PATH={prefix}"])
    run(["cmake", "--build", tmp_path / "build"])
    program = tmp_path / "program"
    run(["mpicc.mpich", PROGRAM, "-o", program])
    report = tmp_path / "report"
    run_program(program, "mpich", tmp_path, [
        f"LD_PRELOAD={prefix}/lib/libunisono-mpich.so", "UNISONO_STRATEGY=one_writer",
        f"UNISONO_PLUGINS={tmp_path}/build/libone_writer.so",
        "UNISONO_REPORT=summary", f"UNISONO_REPORT_FILE={report}"])
    assert "one_writer" in report.read_text()


def test_headers_compile_alone(prefix, tmp_path):
    headers = sorted((prefix / "include").glob("unisono/*.hpp"))
    assert headers
    source = tmp_path / "headers.cpp"
    for header in headers:
        source.write_text(f'#include "unisono/{header.name}"\n')
        run(["g++", "-std=c++20", "-fsyntax-only", f"-I{prefix}/include", source])


def test_modulefile_sets_paths_that_exist_and_preloads_nothing(prefix):
    modulefile, = (prefix / "share/modulefiles/unisono").iterdir()
    text = modulefile.read_text()
    assert text.startswith("#%Module")
    assert "LD_PRELOAD" not in text
    relative = re.findall(r"^(?:prepend-path|setenv)\s+\w+\s+\$root(\S*)", text, re.MULTILINE)
    assert len(relative) >= 5
    assert [path for path in relative if not (prefix / path.lstrip("/")).is_dir()] == []


def test_links_of_installed_pages_lead_somewhere(prefix):
    pages = [*(prefix / "share/doc/unisono").rglob("*.md")]
    assert len(pages) > 10
    links = [(page, target) for page in pages
             for target in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]+)", page.read_text())]
    assert [(page, target) for page, target in links if not (page.parent / target).exists()] == []


def test_nothing_that_was_installed_names_the_build_folder(prefix):
    texts = [path for path in prefix.rglob("*") if path.suffix in (".pc", ".cmake", ".py", ".md")]
    texts += [*(prefix / "share/modulefiles/unisono").iterdir(), prefix / "bin/unisono"]
    assert [path for path in texts if str(BUILD) in path.read_text()] == []
