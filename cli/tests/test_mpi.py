import shutil
import subprocess

import pytest

from unisono import launchers, mpi, mpi_versions

CALLS_MPI = "int MPI_Finalize(void); int {function}(void) {{ return MPI_Finalize(); }}"
ON_DEBIAN = pytest.mark.skipif(
    not (shutil.which("mpiexec.mpich") and shutil.which("mpiexec.openmpi")),
    reason="needs both MPIs of Debian",
)


@pytest.mark.parametrize(
    ("libraries", "expected"),
    [
        (["libmpich.so.12", "libc.so.6"], "mpich"),
        (["libmpi.so.12", "libc.so.6"], "mpich"),
        (["libmpi_cray.so.12"], "mpich"),
        (["libmpi.so.40", "libopen-rte.so.40"], "openmpi"),
        (["libmpi.so.40"], "openmpi"),
        (["libmpi_abi.so.1"], "abi"),
        (["libmpifort_abi.so.1", "libmpi_abi.so.1"], "abi"),
        (["libmpi_abi.so.0"], None),  # drafts of the standard
        (["libhdf5.so.103", "libc.so.6"], None),
        ([], None),
    ],
)
def test_libraries_tell_the_mpi(libraries, expected):
    assert mpi.mpi_of_libraries(libraries) == expected


@ON_DEBIAN
def test_debians_launchers_are_recognised():
    assert mpi.launcher_family("mpiexec.mpich") is launchers.HYDRA
    assert mpi.launcher_family("/usr/bin/mpirun.openmpi") is launchers.OPEN_MPI
    assert mpi.launcher_family("mpiexec") in (launchers.HYDRA, launchers.OPEN_MPI)
    assert mpi.launcher_family("env") is None
    assert mpi.launcher_family("srun") is launchers.SLURM
    assert mpi.launcher_family("./my_program.mpich") is None


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ("mpirun (Open MPI) 4.1.4", launchers.OPEN_MPI),
        ("HYDRA build details:", launchers.HYDRA),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.9", launchers.HYDRA),
        ("something else", launchers.OTHER),
    ],
)
def test_an_unknown_mpiexec_is_asked_for_its_version(executable, says, expected):
    script = executable("mpiexec", f"#!/bin/sh\necho '{says}'\n")
    assert mpi.launcher_family(str(script)) is expected


def test_a_link_to_a_launcher_is_followed(tmp_path, executable):
    target = executable("real/mpiexec.hydra")
    link = tmp_path / "mpirun"
    link.symlink_to(target)
    assert mpi.launcher_family(str(link)) is launchers.HYDRA


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a compiler")
@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_program_is_asked_for_its_libraries(tmp_path, library):
    compiler = shutil.which(f"mpicc.{library}")
    if compiler is None:
        pytest.skip(f"needs {library}")
    program = _compile(tmp_path, compiler, CALLS_MPI.format(function="main"))
    assert mpi.mpi_of_program([program]) == library
    assert mpi.mpi_of_program(["env", "A=1", program, "argument"]) == library
    assert mpi.mpi_of_program(["valgrind", program]) in (library, None)  # None: not installed


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a compiler")
@pytest.mark.parametrize("option", ["-static", "-static-pie"])
def test_static_programs_are_recognised(tmp_path, option):
    program = _compile(tmp_path, "cc", "int main(void) { return 0; }", option)
    assert mpi.is_static(program)
    assert not mpi.is_static("/bin/sh")


def test_programs_are_asked_in_english(monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    assert mpi.output_of(["sh", "-c", "echo $LC_ALL"]) == "C\n"


def test_programs_without_mpi_have_none(executable):
    assert mpi.mpi_of_program(["true"]) is None
    assert mpi.mpi_of_program([str(executable("script"))]) is None
    assert mpi.mpi_of_program(["no-such-program"]) is None


@pytest.mark.skipif(not shutil.which("mpicc.mpich"), reason="needs MPICH")
def test_python_is_asked_for_its_mpi4py(tmp_path, executable):
    package = tmp_path / "mpi4py"
    package.mkdir()
    (package / "__init__.py").write_text("")
    text = CALLS_MPI.format(function="f")
    module = _compile(tmp_path, "mpicc.mpich", text, "-shared", "-fPIC")
    shutil.move(module, package / "MPI.cpython-311-x86_64-linux-gnu.so")
    interpreter = executable(
        "python3", f'#!/bin/sh\nPYTHONPATH={tmp_path} exec /usr/bin/python3 "$@"\n'
    )
    assert mpi.mpi_of_program([str(interpreter), "script.py"]) == "mpich"


def test_pythons_modules_in_the_current_folder_were_run(tmp_path, executable, monkeypatch):
    """Somebody else may have put them there. An interpreter alone (-S) has loaded the fewest of its own before."""
    (tmp_path / "importlib.py").write_text("open('was_run', 'w')\n")
    monkeypatch.chdir(tmp_path)
    interpreter = executable("bin/python3", '#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n')
    mpi.mpi_of_program([str(interpreter), "script.py"])
    assert not (tmp_path / "was_run").exists()


@ON_DEBIAN
@pytest.mark.skipif(not shutil.which("cc"), reason="needs a compiler")
def test_an_mpi4py_with_a_module_for_each_mpi_leaves_it_to_the_launcher(tmp_path, executable):
    package = tmp_path / "mpi4py"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for library in ("mpich", "openmpi"):
        module = _compile(tmp_path, f"mpicc.{library}", CALLS_MPI.format(function="f"), "-shared", "-fPIC")
        shutil.move(module, package / f"MPI.{library}.cpython-311-x86_64-linux-gnu.so")
    interpreter = executable(
        "python3", f'#!/bin/sh\nPYTHONPATH={tmp_path} exec /usr/bin/python3 "$@"\n'
    )
    assert mpi.mpi_of_program([str(interpreter), "script.py"]) is None


@pytest.mark.parametrize(
    ("says", "name", "state"),
    [
        ("MPICH Version:      5.0.2", "MPICH 5.0.2", mpi_versions.TESTED),
        ("MPICH Version:\t4.3.2", "MPICH 4.3.2", mpi_versions.BELIEVED),
        ("MPICH Version:\t3.4.3", "MPICH 3.4.3", mpi_versions.REFUSED),
        ("Intel(R) MPI Library 2021.19.0 for Linux* OS", "Intel MPI 2021.19.0", mpi_versions.TESTED),
        ("Intel(R) MPI Library 2021.18.1 for Linux* OS", "Intel MPI 2021.18.1", mpi_versions.BELIEVED),
        ("Open MPI v5.0.11, package: Open MPI user@host", "Open MPI 5.0.11", mpi_versions.TESTED),
        ("Open MPI v6.0.0, package: Open MPI user@host", "Open MPI 6.0.0", mpi_versions.REFUSED),
        ("MVAPICH2 Version      :\t2.3.7", "", None),
    ],
)
def test_versions_are_known_by_what_the_library_says(says, name, state):
    row = mpi_versions.known(says)
    assert (mpi_versions.name_of(says), row and row.state) == (name, state)


def _compile(tmp_path, compiler, text, *options):
    source = tmp_path / "program.c"
    source.write_text(text)
    program = tmp_path / "program"
    subprocess.run([compiler, *options, "-o", program, source], check=True)
    return str(program)
