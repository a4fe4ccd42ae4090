"""What takes too long, or needs too much, to be part of every test run (`make test-packages`): Debian
packages in a clean system, modulefiles in both kinds of modules, EasyBuild.

Not tried here: the Spack recipe, as Spack is neither on PyPI nor among Debian's packages, and EasyBuild's
compilers and MPI, which it would build for hours: only that they are all known is looked at.
"""

import os
import pathlib
import shutil
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "install"))
from installed import (BUILD, LAUNCHER, PIECES, PROGRAM, PYTHON, RANKS, ROOT, VERSION,  # noqa: E402
                       assert_command_works, assert_unisono_did_it, check_data, fetch_from_pypi, run)

LMOD = "/usr/share/lmod/lmod/libexec/lmod"


@pytest.fixture(scope="module")
def debs(tmp_path_factory) -> list[pathlib.Path]:
    folder = tmp_path_factory.mktemp("deb")
    run(["cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder])
    return [*folder.glob("*.deb")]


def test_lintian_has_nothing_to_say(debs):
    print(run(["lintian", "--allow-root", "--fail-on", "error,warning,info", *debs]))


def test_deb_is_installed_used_and_removed_in_a_clean_system(debs, tmp_path):
    shutil.copy(next(path for path in debs if path.name.startswith("unisono_")), tmp_path)
    (tmp_path / "expected").write_bytes(struct.pack(f"{RANKS * PIECES}i", *range(RANKS * PIECES)))
    for mpi in LAUNCHER:
        run([f"mpicc.{mpi}", PROGRAM, "-o", tmp_path / f"program.{mpi}"])
    release = run(["sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME"]).strip()
    hook = ROOT / "tests/packages/use_deb.sh"
    made = subprocess.run(["mmdebstrap", "--variant=apt", "--format=null", f"--customize-hook={hook}", release],
                          env=os.environ | {"MATERIAL": str(tmp_path)}, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=590)  # fmt: skip
    assert made.returncode == 0 and "use_deb.sh: passed" in made.stdout + made.stderr, made


MPI4PY_PROGRAM = """
import array
import sys
from mpi4py import MPI
ranks, rank = MPI.COMM_WORLD.size, MPI.COMM_WORLD.rank
every_nth = MPI.INT.Create_resized(0, 4 * ranks).Commit()
file = MPI.File.Open(MPI.COMM_WORLD, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_WRONLY)
file.Set_view(4 * rank, MPI.INT, every_nth)
file.Write_all(array.array("i", range(rank, ranks * int(sys.argv[2]), ranks)))
if rank == 0:
    print("unisono_strategy=" + (file.Get_info().Get("unisono_strategy") or "none"))
file.Close()
"""


def test_wheel_needs_nothing_but_what_pip_installs(tmp_path):
    """Neither a compiler nor an MPI of the system: MPICH 5 and mpi4py come from PyPI."""
    programs = fetch_from_pypi("mpich==5.0.*", tmp_path / "environment")
    wheel = run([PYTHON, ROOT / "packaging/wheel/pack.py", "--build", BUILD, "--to", tmp_path]).strip()
    run([PYTHON, "-m", "pip", "--python", programs / "python", "install", "--quiet", wheel, "mpi4py==4.1.*"])
    (tmp_path / "program.py").write_text(MPI4PY_PROGRAM)
    said = run([programs / "unisono", "run", "--", programs / "mpiexec", "-n", RANKS, programs / "python",
                tmp_path / "program.py", tmp_path / "data", PIECES])  # fmt: skip
    assert_unisono_did_it(said)
    check_data(tmp_path / "data")


# ---- modulefiles -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def prefix(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("modules") / "unisono"
    run(["cmake", "--install", BUILD, "--strip", "--prefix", folder])
    return folder


def environment_modules(folder: pathlib.Path) -> list[str]:
    """Their command, unpacked only, as Debian's package conflicts with lmod."""
    run(["apt-get", "download", "-q", "environment-modules"], cwd=folder)
    run(["dpkg-deb", "--extract", *folder.glob("environment-modules_*.deb"), folder])
    return ["tclsh", str(next(folder.glob("usr/lib/**/modulecmd.tcl")))]


@pytest.mark.parametrize("kind", ["lmod", "environment-modules"])
def test_module_is_loaded_used_and_unloaded(kind, prefix, tmp_path):
    command = [LMOD] if kind == "lmod" else environment_modules(tmp_path)
    environment = os.environ | {"MODULEPATH": str(prefix / "share/modulefiles")}
    words = " ".join(command)
    script = f"""set -eu
        eval "$({words} bash load unisono)"
        test "$(command -v unisono)" = {prefix}/bin/unisono
        test "$UNISONO_ROOT" = {prefix}
        pkg-config --exists unisono-mpich
        test -z "${{LD_PRELOAD:-}}${{MANPATH:-}}"
        unisono --version
        eval "$({words} bash unload unisono)"
        test -z "${{UNISONO_ROOT:-}}"
        case :$PATH: in *:{prefix}/bin:*) exit 1 ;; esac
        """
    assert run(["bash", "-c", script], env=environment).split()[1] == VERSION


@pytest.mark.parametrize("kind", ["lmod", "environment-modules"])
def test_module_that_a_site_has_a_link_to_took_the_links_folder_for_its_own(kind, prefix, tmp_path):
    command = [LMOD] if kind == "lmod" else environment_modules(tmp_path)
    (tmp_path / "modulefiles/unisono").mkdir(parents=True)
    for file in (prefix / "share/modulefiles/unisono").iterdir():
        (tmp_path / "modulefiles/unisono" / file.name).symlink_to(file)
    environment = os.environ | {"MODULEPATH": str(tmp_path / "modulefiles")}
    said = run([*command, "bash", "load", "unisono"], env=environment)
    assert f"UNISONO_ROOT={prefix};" in said.replace(" ;", ";").replace('"', "")


# ---- EasyBuild -------------------------------------------------------------------------------------


def make_source(folder: pathlib.Path) -> None:
    """The tarball that the recipes name, of what git knows here, changes included."""
    folder.mkdir()
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True).stdout  # fmt: skip
    subprocess.run(["tar", "-C", ROOT, "--null", "--files-from=-", f"--transform=s,^,unisono-{VERSION}/,",
                    "-czf", folder / f"unisono-{VERSION}.tar.gz"], input=listed, check=True)  # fmt: skip


@pytest.fixture(scope="module")
def easybuild(tmp_path_factory):
    """A function that runs `eb` with these words, and where it installs to."""
    folder = tmp_path_factory.mktemp("easybuild")
    program = fetch_from_pypi("easybuild==5.*", folder / "easybuild") / "eb"
    make_source(folder / "sources")
    settings = {"EB_PYTHON": str(program.with_name("python")), "EASYBUILD_MODULES_TOOL": "Lmod", "LMOD_CMD": LMOD,
                "EASYBUILD_PREFIX": str(folder / "installed"), "EASYBUILD_SOURCEPATH": str(folder / "sources"),
                "EASYBUILD_ALLOW_USE_AS_ROOT_AND_ACCEPT_CONSEQUENCES": "1"}  # fmt: skip

    def eb(*words) -> str:
        return run([program, *words], env=os.environ | settings, seconds=3000)

    return eb, folder / "installed"


def test_easybuild_knows_all_that_the_recipe_for_its_own_mpi_needs(easybuild):
    eb, _ = easybuild
    said = eb("--dry-run", "--robot", f"{ROOT}/packaging/easybuild/Unisono-{VERSION}-gompi-2025b.eb")
    assert f"(module: Unisono/{VERSION}-gompi-2025b)" in said


# Compiles everything: 5 to 10 minutes.
def test_easybuild_installs_with_the_systems_mpis(easybuild, tmp_path):
    eb, installed = easybuild
    eb(f"{ROOT}/packaging/easybuild/Unisono-{VERSION}.eb")
    for mpi in LAUNCHER:
        assert_command_works(installed / f"software/Unisono/{VERSION}/bin/unisono", mpi, tmp_path)
    said = run([LMOD, "bash", "load", f"Unisono/{VERSION}"],
               env=os.environ | {"MODULEPATH": str(installed / "modules/all")})
    assert f"UNISONO_ROOT={installed}/software/Unisono/{VERSION}" in said
