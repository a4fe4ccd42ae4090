"""Installs into a temporary prefix and uses the result as a user would: by pkg-config, by CMake,
by preloading, by the command, and by the modulefile; then moves and removes it."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest
from installed import (BUILD, MPI_PACKAGE, PROGRAM, PYTHON, ROOT, VERSION, assert_command_works,
                       assert_unisono_did_it, dead_links, each_mpi, require_library, run, run_program)


@pytest.fixture
def own_prefix(prefix, tmp_path) -> pathlib.Path:
    """A copy that a test may change."""
    return pathlib.Path(shutil.copytree(prefix, tmp_path / "own", symlinks=True))


@pytest.fixture(scope="module")
def prefix(tmp_path_factory) -> pathlib.Path:
    """An installation, moved after it was made: nothing in it may depend on where it was."""
    if not (BUILD / "cmake_install.cmake").exists():
        pytest.skip(f"{BUILD} has not been built")
    first = tmp_path_factory.mktemp("install") / "first"
    run(["cmake", "--install", BUILD, "--strip", "--prefix", first])
    return pathlib.Path(shutil.move(first, first.with_name("moved")))


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


@each_mpi
def test_program_built_by_pkg_config_runs_under_unisono(mpi, prefix, tmp_path):
    require_library(mpi)
    environment = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = run(["pkg-config", "--cflags", "--libs", f"unisono-{mpi}", MPI_PACKAGE[mpi]],
                env=environment).split()
    program = tmp_path / "program"
    run(["gcc", PROGRAM, "-o", program, *flags, f"-Wl,-rpath,{prefix}/lib"])
    assert_unisono_did_it(run_program(program, mpi, tmp_path))


# pkg-config's backslashes are for a shell.
@each_mpi
def test_a_prefix_with_blanks_and_other_letters_is_linked_by_eval(mpi, own_prefix, tmp_path):
    require_library(mpi)
    prefix = own_prefix.rename(own_prefix.with_name("my övn"))
    program = tmp_path / "program"
    environment = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    compiles = f"mpicc.{mpi} {PROGRAM} -o {program} $(pkg-config --libs unisono-{mpi})"
    run(["sh", "-c", f"""eval "{compiles}" '-Wl,-rpath,"{prefix}/lib"'"""], env=environment)
    assert_unisono_did_it(run_program(program, mpi, tmp_path))


@each_mpi
def test_program_built_by_cmake_package_runs_under_unisono(mpi, prefix, tmp_path):
    require_library(mpi)
    (tmp_path / "CMakeLists.txt").write_text(f"""
        cmake_minimum_required(VERSION 3.25)
        project(user C)
        set(library own)  # once was the package's
        find_package(Unisono REQUIRED COMPONENTS {mpi})
        if(NOT library STREQUAL own)
          message(FATAL_ERROR "find_package(Unisono) took the variable")
        endif()
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
def test_the_libraries_of_both_mpis_said_that_the_program_runs_without_unisono(mpi, prefix, tmp_path):
    for name in ("mpich", "openmpi"):
        require_library(name)
    run([f"mpicc.{mpi}", PROGRAM, "-o", tmp_path / "program"])
    for one, other in (("mpich", "openmpi"), ("openmpi", "mpich")):
        preload = f"LD_PRELOAD={prefix}/lib/libunisono-{one}.so:{prefix}/lib/libunisono-{other}.so"
        script = f"exec {tmp_path}/program $1 2>&1"
        said = run_program("sh", mpi, tmp_path, [preload, "sh", "-c", script])
        assert_unisono_did_it(said)
        assert "runs without Unisono" not in said


@each_mpi
def test_program_runs_under_the_installed_command(mpi, prefix, tmp_path):
    require_library(mpi)
    assert_command_works(prefix / "bin/unisono", mpi, tmp_path)


# Programs ran without it.
def test_command_preloaded_from_a_folder_with_blanks_in_vain(own_prefix):
    require_library("mpich")
    prefix = own_prefix.rename(own_prefix.with_name("my own"))
    done = subprocess.run([prefix / "bin/unisono", "run", "--mpi", "mpich", "--", "true"], text=True, capture_output=True)
    assert done.returncode != 0 and "names in LD_PRELOAD end at blanks and colons" in done.stderr


def test_doctor_in_a_folder_with_blanks_advised_to_build_for_the_mpi_that_it_was_built_for(own_prefix):
    require_library("mpich")
    prefix = own_prefix.rename(own_prefix.with_name("my own"))
    done = subprocess.run([prefix / "bin/unisono", "doctor"], text=True, capture_output=True)
    said = " ".join(done.stdout.replace("│", " ").split())
    assert done.returncode == 1 and "move Unisono" in said
    assert "build Unisono" not in said


def test_nobody_said_that_nothing_can_be_preloaded_from_a_prefix_with_blanks(tmp_path):
    if not (BUILD / "cmake_install.cmake").exists():
        pytest.skip(f"{BUILD} has not been built")
    said = {}
    for name in ("own", "my own", "it's"):
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", tmp_path / name], text=True, capture_output=True)
        assert done.returncode == 0
        said[name] = " ".join(done.stderr.split())
    assert said["own"] == ""
    assert "LD_PRELOAD cannot name" in said["my own"]
    assert "pkg-config gives no flags" in said["it's"]


# The path of the prefix that Unisono was configured with used to be built in.
@each_mpi
def test_site_file_beside_a_moved_tree_is_obeyed_by_engine_and_command(mpi, own_prefix, tmp_path):
    require_library(mpi)
    site = own_prefix / "etc/unisono.conf"
    site.write_text("*:unisono_strategy=independent\n")
    program = tmp_path / "program"
    run([f"mpicc.{mpi}", PROGRAM, "-o", program])
    preload = f"LD_PRELOAD={own_prefix}/lib/libunisono-{mpi}.so"
    assert "unisono_strategy=independent" in run_program(program, mpi, tmp_path, [preload])
    said = run(["/usr/bin/python3", "-c", "from unisono import places; print(places.settings_for('x'))"],
               env=os.environ | {"PYTHONPATH": str(own_prefix / "lib/unisono/python")})
    assert f"'site file': '{site}'" in said and "'unisono_strategy': 'independent'" in said


def test_a_mistake_in_the_sites_own_file_stopped_everybodys_jobs(own_prefix):
    require_library("mpich")
    site = own_prefix / "etc/unisono.conf"
    site.write_text("leave_alon /x\n*:cb_nodes=zero\n")
    done = subprocess.run([own_prefix / "bin/unisono", "env", "--mpi", "mpich"], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    said = run([own_prefix / "bin/unisono-strategies", "--check"])
    assert f"{site} line 1: cannot read" in said and '"zero" ignored' in said


def test_a_site_file_that_cannot_be_read_went_without_a_word(own_prefix):
    site = own_prefix / "etc/unisono.conf"
    site.mkdir()  # root may read all files
    assert f"{site} cannot be read; ignored" in run([own_prefix / "bin/unisono-strategies", "--check"])


def test_site_leaves_a_program_alone(own_prefix, tmp_path):
    require_library("mpich")
    (own_prefix / "etc/unisono.conf").write_text("leave_alone_program prog*\n")
    preload = f"LD_PRELOAD={own_prefix}/lib/libunisono-mpich.so"
    for name in ("program", "other"):
        run(["mpicc.mpich", PROGRAM, "-o", tmp_path / name])
        said = run_program(tmp_path / name, "mpich", tmp_path, [preload])
        assert ("unisono_strategy=none" in said) == (name == "program"), said


def test_report_was_lost_where_unisono_was_removed_while_the_program_ran(own_prefix, tmp_path):
    require_library("mpich")
    run(["mpicc.mpich", PROGRAM, "-o", tmp_path / "program"])
    script = f"{tmp_path}/program {tmp_path}/data && rm -r {own_prefix}"
    done = subprocess.run([own_prefix / "bin/unisono", "run", "--report", "--mpi", "mpich", "--", "mpiexec.mpich", "-n", "1",
                           "sh", "-c", script], text=True, capture_output=True)  # fmt: skip
    assert done.returncode == 0 and "Wrote" in done.stderr, done.stderr


def test_preload_library_of_another_build_took_one_entry_point_for_another():
    """That of before an upgrade, or of MPICH 4 with the standard ABI's engine: places differ, names do not."""
    require_library("mpich")
    script = '''
import ctypes, sys
ctypes.CDLL("libmpich.so.12", ctypes.RTLD_GLOBAL)
start = ctypes.CDLL(sys.argv[1]).unisono_start
def taken(*names):
    native = (ctypes.c_void_p * len(names))(*range(1, len(names) + 1))
    own = (ctypes.c_void_p * (len(names) + 1))()
    assert start((ctypes.c_char_p * len(names))(*names), len(names), native, own, None, 1) == 0
    return own[:]
first, second, beyond = taken(b"PMPI_File_open", b"PMPI_Send")
assert first and second and first != second and not beyond
assert taken(b"PMPI_Send", b"PMPI_Of_another_build", b"PMPI_File_open") == [second, None, first, None]
'''
    run([PYTHON, "-c", script, BUILD / "lib/libunisono-mpich-engine.so"])


def test_libraries_and_programs_are_stripped(prefix):
    binaries = [*prefix.glob("lib/*.so"), *prefix.glob("bin/unisono-*"), *prefix.glob("libexec/*")]
    assert len(binaries) > 5
    assert [path for path in binaries if ".debug_info" in run(["readelf", "-SW", path])] == []


def uninstall(prefix: pathlib.Path, *variables: str) -> str:
    return run(["make", "-C", ROOT, "uninstall", f"PREFIX={prefix}", *variables])


def files_below(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(path for path in folder.rglob("*") if not path.is_dir())


def test_uninstall_removes_everything(own_prefix):
    run([own_prefix / "bin/unisono", "--version"])  # leaves bytecode
    uninstall(own_prefix)
    assert not own_prefix.exists()


def test_uninstall_leaves_what_is_not_of_unisono(own_prefix):
    mine = [own_prefix / "etc/unisono.conf", own_prefix / "bin/another"]
    for path in mine:
        path.touch()
    uninstall(own_prefix)
    assert files_below(own_prefix) == sorted(mine)


def test_uninstall_took_brackets_for_a_pattern_and_folders_for_empty(own_prefix):
    prefix = own_prefix.rename(own_prefix.with_name("own[1]"))
    mine = prefix / "bin/another"
    mine.touch()
    uninstall(prefix)
    assert mine.exists()


def test_uninstall_looked_for_a_prefix_with_blanks_elsewhere(own_prefix):
    prefix = own_prefix.rename(own_prefix.with_name("my own"))
    uninstall(prefix)
    assert not prefix.exists()


# The shell made nothing of it, or another folder.
@pytest.mark.parametrize("name", ["say\"so\"", "it's", "a$b", "a`b`"])
def test_install_and_uninstall_went_elsewhere_for_a_quote_or_a_dollar(name, own_prefix):
    prefix = own_prefix.rename(own_prefix.with_name(name))
    escaped = str(prefix).replace("$", "$$")  # for make
    installs = run(["make", "-C", ROOT, "--dry-run", "install", f"PREFIX={escaped}", f"BUILD={BUILD}"])
    [configures] = [line for line in installs.splitlines() if "CMAKE_INSTALL_PREFIX" in line]
    assert shlex.split(configures)[-1] == f"-DCMAKE_INSTALL_PREFIX={prefix}"
    uninstall(escaped)
    assert not prefix.exists()


@pytest.mark.parametrize("target", ["install", "uninstall"])
@pytest.mark.parametrize("name", ["a;b", "a\\b"])
def test_cmake_went_elsewhere_for_a_semicolon_or_a_backslash(target, name, tmp_path):
    prefix = tmp_path / name
    with pytest.raises(AssertionError, match="CMake cannot install into folders with ; or") as refusal:
        run(["make", "-C", ROOT, target, f"PREFIX={prefix}", f"BUILD={tmp_path}/build"])
    assert str(prefix) in str(refusal.value)
    assert not list(tmp_path.iterdir())


def test_uninstall_took_the_prefix_itself_for_what_is_staged_there(own_prefix, tmp_path):
    """With DESTDIR it removed what is installed in PREFIX."""
    staged = tmp_path / "stage" / own_prefix.relative_to("/")
    shutil.copytree(own_prefix, staged)
    before = files_below(own_prefix)
    uninstall(own_prefix, f"DESTDIR={tmp_path}/stage")
    assert files_below(own_prefix) == before
    assert not staged.exists()


def test_uninstall_removed_folders_of_the_systems_own_tree(own_prefix, tmp_path):
    """/usr/local/share/man, which others take for granted."""
    staged = tmp_path / "stage/usr/local"
    shutil.copytree(own_prefix, staged)
    uninstall("/usr/local", f"DESTDIR={tmp_path}/stage")
    assert (staged / "share/man").is_dir()
    assert files_below(staged) == []
    assert [path for path in staged.rglob("*") if path.name.lower() == "unisono"] == []


def test_uninstall_called_removed_what_it_could_not_remove(own_prefix):
    in_the_way = own_prefix / "bin/unisono"
    in_the_way.unlink()
    in_the_way.mkdir()
    for _ in range(2):  # it can be done again
        with pytest.raises(AssertionError, match="1 files of Unisono could not be removed"):
            uninstall(own_prefix)
    in_the_way.rmdir()
    uninstall(own_prefix)
    assert not own_prefix.exists()


def test_uninstall_forgot_files_of_the_version_before(own_prefix):
    earlier = own_prefix / "lib/unisono/python/unisono/of_an_earlier_version.py"
    earlier.touch()
    with open(own_prefix / "share/unisono/installed-files.txt", "a") as names:
        names.write(f"{earlier.relative_to(own_prefix)}\n")
    run(["cmake", "--install", BUILD, "--prefix", own_prefix])
    uninstall(own_prefix)
    assert not own_prefix.exists()


def test_install_into_a_prefix_relative_to_here_failed_at_its_end(tmp_path):
    if not (BUILD / "cmake_install.cmake").exists():
        pytest.skip(f"{BUILD} has not been built")
    run(["cmake", "--install", BUILD.resolve(), "--prefix", "here"], cwd=tmp_path)
    listed = (tmp_path / "here/share/unisono/installed-files.txt").read_text().splitlines()
    assert "bin/unisono" in listed
    assert [name for name in listed if not (tmp_path / "here" / name).exists()] == []


# Where a variable that PREFIX is made of is not set.
@pytest.mark.parametrize("target", ["install", "uninstall"])
def test_an_empty_prefix_was_the_root_folder(target):
    commands = run(["make", "-C", ROOT, "--dry-run", target, "PREFIX=", f"BUILD={BUILD}"])
    assert "PREFIX='/usr/local'" in commands and "PREFIX=''" not in commands


# Of an administrator whose files are his own: nobody else could run it.
def test_an_installation_was_closed_to_others_by_the_umask(tmp_path):
    if not (BUILD / "cmake_install.cmake").exists():
        pytest.skip(f"{BUILD} has not been built")
    commands = run(["make", "-C", ROOT, "--dry-run", "install", f"BUILD={BUILD}"]).splitlines()
    [install] = [command for command in commands if "cmake --install" in command]
    run(["sh", "-c", install], env=os.environ | {"DESTDIR": str(tmp_path / "stage")}, umask=0o077)
    installed = list((tmp_path / "stage").rglob("*"))
    assert any(path.name == "installed-files.txt" for path in installed)
    assert [path for path in installed if path.stat().st_mode & 0o044 != 0o044] == []


# Nothing but the quick start did that, and one of them lacked a header.
def test_on_other_systems_sources_were_compiled_one_by_one(tmp_path):
    run(["cmake", "-S", ROOT, "-B", tmp_path, "-DUNISONO_TESTS=OFF"])
    sources = [entry["file"] for entry in json.loads((tmp_path / "compile_commands.json").read_text())]
    assert any("/Unity/" in source for source in sources)
    assert [source for source in sources if source.startswith(f"{ROOT}/src/execute/")] == []


# Modules of clusters have no mpiexec.mpich.
def test_cmake_takes_the_launcher_from_the_mpis_own_folder(tmp_path):
    for name in ("bin/mpiexec", "lib/libmpich.so"):
        path = tmp_path / "mpich" / name
        path.parent.mkdir(parents=True)
        path.touch()
        path.chmod(0o755)
    described = tmp_path / "mpich/lib/pkgconfig/mpich.pc"
    described.parent.mkdir()
    described.write_text(f"""prefix={tmp_path}/mpich
        Name: mpich
        Description: an MPI
        Version: 4.2
        Libs: -L${{prefix}}/lib -lmpich
        """)
    (tmp_path / "CMakeLists.txt").write_text(f"""
        cmake_minimum_required(VERSION 3.25)
        project(user C)
        set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
        set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
        include({ROOT}/cmake/UnisonoMpi.cmake)
        """)
    said = run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", "-DPKG_CONFIG_EXECUTABLE=/usr/bin/pkg-config"],
               env=os.environ | {"PKG_CONFIG_LIBDIR": str(described.parent)})
    assert f"MPI mpich: {tmp_path}/mpich/bin/mpiexec" in said
    assert "MPI openmpi: not found" in said


def test_cmake_built_without_any_mpi_or_failed_without_a_reason(tmp_path):
    none = [f"-DUNISONO_MPIEXEC_PROGRAM_{mpi}=OFF" for mpi in MPI_PACKAGE] + ["-DUNISONO_MPI_ABI_HEADER=OFF"]
    for tests in ("ON", "OFF"):
        done = subprocess.run(["cmake", "-S", ROOT, "-B", tmp_path, f"-DUNISONO_TESTS={tests}", *none], text=True,
                              capture_output=True)  # fmt: skip
        assert done.returncode != 0 and "No MPI was found" in done.stderr


def test_completion_was_made_by_a_python_without_its_packages(tmp_path):
    """As where Spack's Python has them only when Unisono runs."""
    empty = tmp_path / "python"
    empty.write_text('#!/bin/sh\nexec /usr/bin/python3 -I -S "$@"\n')
    empty.chmod(0o755)
    said = run(["cmake", "-S", ROOT, "-B", tmp_path / "build", "-DUNISONO_TESTS=OFF", f"-DUNISONO_PYTHON={empty}"])
    assert f"No man pages of single commands and no shell completion: they need help2man and, for {empty}" in said


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


# To load them, Lmod and Environment Modules are needed: tests/packages.
MODULEFILES = {  # how a modulefile names a variable and, relative to the prefix, its value
    "": r"^(?:prepend-path|setenv)\s+(\w+)\s+\$root(\S*)",
    ".lua": r"""^(?:prepend_path|setenv)\("(\w+)", (?:pathJoin\()?root(?:, "(\S+)"\))?""",
}


@pytest.mark.parametrize("suffix", MODULEFILES)
def test_modulefile_sets_paths_that_exist_and_preloads_nothing(suffix, prefix):
    text = (prefix / f"share/modulefiles/unisono/{VERSION}{suffix}").read_text()
    assert suffix or text.startswith("#%Module")
    assert "LD_PRELOAD" not in text
    variables = dict(re.findall(MODULEFILES[suffix], text, re.MULTILINE))
    assert variables.keys() == {"UNISONO_ROOT", "PATH", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH"}
    assert [path for path in variables.values() if not (prefix / path.lstrip("/")).is_dir()] == []


@pytest.mark.parametrize("recipe", ["easybuild/Unisono-*.eb", "spack/spack_repo/unisono/packages/unisono/package.py"])
def test_recipe_is_of_this_version(recipe):
    texts = {path: path.read_text() for path in (ROOT / "packaging").glob(recipe)}
    assert texts
    for path, text in texts.items():
        assert re.search(rf"""^ *version( = '|\("){VERSION}['"]""", text, re.MULTILINE), path
        assert path.suffix == ".py" or f"-{VERSION}" in path.name


def test_spack_found_no_repository():
    """From version 2 of its packages' interface on the folders spell the Python module."""
    repository = ROOT / "packaging/spack/spack_repo/unisono"
    assert (repository / "repo.yaml").read_text() == "repo:\n  namespace: unisono\n  api: v2.0\n"
    recipe = repository / "packages/unisono/package.py"
    compile(recipe.read_text(), recipe, "exec")


def test_links_of_installed_pages_lead_somewhere(prefix):
    assert dead_links(prefix / "share/doc/unisono") == []


def test_nothing_that_was_installed_names_the_build_folder(prefix):
    texts = [path for path in prefix.rglob("*") if path.suffix in (".pc", ".cmake", ".py", ".md")]
    texts += [*(prefix / "share/modulefiles/unisono").iterdir(), prefix / "bin/unisono"]
    assert [path for path in texts if str(BUILD) in path.read_text()] == []
