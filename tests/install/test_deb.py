"""Makes the Debian packages, looks at what they say of themselves, and uses what is in them. Installing
and removing them, and lintian, is in tests/packages."""

import os
import pathlib
import re
import shutil

import pytest
from installed import BUILD, assert_command_works, dead_links, each_mpi, require_library, run

if not shutil.which("dpkg-shlibdeps"):
    pytest.skip("dpkg-dev is missing", allow_module_level=True)


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> dict[str, pathlib.Path]:
    if not (BUILD / "CPackConfig.cmake").exists():
        pytest.skip(f"{BUILD} has not been built")
    folder = tmp_path_factory.mktemp("deb")
    run(["cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder], umask=0o077)
    return {path.name.split("_")[0]: path for path in folder.glob("*.deb")}


@pytest.fixture(scope="module")
def root(packages, tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("root")
    run(["dpkg-deb", "--extract", packages["unisono"], folder])
    return folder


def names_in(field: str) -> set[str]:
    """The packages that a field of a package names. Some of Debian 13's end in t64."""
    return {name.removesuffix("t64") for name in re.findall(r"(?:^|, |\| )([\w.+-]+)", field)}


def test_only_the_benchmarks_depend_on_mpi_libraries(packages):
    depends = {name: names_in(run(["dpkg-deb", "--field", path, "Depends"])) for name, path in packages.items()}
    assert {"python3", "python3-click", "python3-rich", "libc6", "libgnutls30"} <= depends["unisono"]
    mpi = {"libmpich12", "libopenmpi3", "libopenmpi40"}
    assert not mpi & depends["unisono"]
    assert mpi & depends["unisono-bench"] and "unisono" in depends["unisono-bench"]


def test_what_a_site_writes_survives_updates(packages, root):
    assert run(["dpkg-deb", "--info", packages["unisono"], "conffiles"]).split() == ["/etc/unisono.conf"]
    assert (root / "etc/unisono.conf").exists()


def test_documents_are_where_debian_has_them(root):
    documents = root / "usr/share/doc/unisono"
    assert (root / "usr/share/man/man1/unisono.1.gz").exists()
    assert (documents / "copyright").exists() and (documents / "changelog.Debian.gz").exists()
    assert dead_links(documents) == []


def test_files_are_roots_and_nobody_elses_to_write(packages):
    listed = run(["dpkg-deb", "--contents", packages["unisono"]]).splitlines()
    assert [line for line in listed if not re.match(r"[dl-]rw[x-]r-[x-]r-[x-] root/root", line)] == []


@each_mpi
def test_program_runs_under_the_packages_command(mpi, root, tmp_path):
    require_library(mpi)
    assert_command_works(root / "usr/bin/unisono", mpi, tmp_path, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
