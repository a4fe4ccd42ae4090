"""Packs the wheel, installs it into a fresh virtual environment without a network, and uses it."""

import os
import pathlib
import re
import sys

import pytest
from installed import (BUILD, PYTHON, ROOT, VERSION, assert_command_works, dead_links, each_mpi, fetch_from_pypi,
                       require_library, run)

sys.path.insert(0, str(ROOT / "packaging/wheel"))
import pack  # noqa: E402


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> pathlib.Path:
    if not (BUILD / "cmake_install.cmake").exists():
        pytest.skip(f"{BUILD} has not been built")
    return pathlib.Path(run([PYTHON, pack.__file__, "--build", BUILD, "--to", tmp_path_factory.mktemp("wheel")])
                        .strip())


def test_packing_emptied_folders_of_others(wheel, tmp_path):
    others = [tmp_path / "unisono-0.0.1-py3-none-any.whl", tmp_path / "wheel/mine"]
    others[1].parent.mkdir()
    for file in others:
        file.touch()
    packed = run([PYTHON, pack.__file__, "--build", BUILD, "--to", tmp_path]).split()
    assert [file for file in others if not file.exists()] == []
    assert len(packed) == 1 and pathlib.Path(packed[0]).stat().st_size > 0


def make_environment(folder: pathlib.Path) -> pathlib.Path:
    """A virtual environment that has Debian's click and rich; its pip is Debian's, too."""
    run([PYTHON, "-m", "venv", "--without-pip", "--system-site-packages", folder])
    return folder


def pip(environment: pathlib.Path, *words) -> str:
    return run([PYTHON, "-m", "pip", "--disable-pip-version-check", "--python", environment / "bin/python", *words])


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> pathlib.Path:
    folder = make_environment(tmp_path_factory.mktemp("wheel") / "environment")
    pip(folder, "install", "--no-index", "--no-deps", wheel)
    return folder


@each_mpi
def test_program_runs_under_the_wheels_command(mpi, environment, tmp_path):
    require_library(mpi)
    assert_command_works(environment / "bin/unisono", mpi, tmp_path)


def test_command_runs_in_the_environment_and_knows_the_version(environment):
    command = environment / "bin/unisono"
    assert command.read_text().startswith(f"#!{environment}/bin/python")
    assert run([command, "--version"]).split()[1] == VERSION


def test_doctor_finds_the_engines_in_the_environment(environment, tmp_path):
    built = {path.name for path in (BUILD / "lib").glob("libunisono-*-engine.so")}
    assert built and built == {path.name for path in (environment / "lib").glob("libunisono-*-engine.so")}
    said = "".join(re.findall(r"[\w.-]+", run([environment / "bin/unisono", "doctor", tmp_path])))
    with_launcher = built - {"libunisono-abi-engine.so"}
    assert [name for name in with_launcher if name not in said] == []


def test_man_page_and_documents_are_in_the_environment(environment):
    assert (environment / "share/man/man1/unisono.1").exists()
    assert dead_links(environment / "share/doc/unisono") == []


def test_uninstalling_leaves_what_was_there_before(wheel, tmp_path):
    def files():
        return sorted(path for path in tmp_path.rglob("*") if path.is_file())

    folder = make_environment(tmp_path / "environment")
    before = files()
    pip(folder, "install", "--no-index", "--no-deps", wheel)
    assert files() != before
    pip(folder, "uninstall", "--yes", "unisono")
    assert files() == before


of_the_system_that_wheels_are_made_on = pytest.mark.skipif(
    tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))) > (2, 36),
    reason="wheels for others are made on Debian 12: what is made on newer systems needs more")


@of_the_system_that_wheels_are_made_on
def test_tag_is_the_one_that_auditwheel_arrives_at(wheel, tmp_path):
    said = run([fetch_from_pypi("auditwheel==6.*", tmp_path) / "auditwheel", "show", wheel])
    tag = re.search(r'This constrains the platform tag to "(\w+)"', " ".join(said.split()))[1]
    assert wheel.name.endswith(f"-py3-none-{tag}.whl")


@of_the_system_that_wheels_are_made_on
def test_wheel_fits_fewer_systems_than_the_documentation_says(wheel):
    told = (ROOT / "docs/use/quick-start.md").read_text()
    assert re.search(r"manylinux_\d+_\d+", wheel.name)[0] in told


def test_what_is_linked_with_an_mpi_is_no_part_of_a_wheel():
    program = next((BUILD / "libexec").glob("unisono-bench.*"), None)
    if program is None:
        pytest.skip("the papers' benchmarks have not been built")
    with pytest.raises(SystemExit, match=r"unisono-bench.* needs libmp\S+, which a wheel cannot count on"):
        pack.check_needs(program)
