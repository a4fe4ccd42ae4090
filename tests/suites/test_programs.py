"""Programs from Debian that use MPI-IO, natively and under Unisono: they write the same bytes (`make test-suites`)."""

import pathlib

import pytest
from test_suites import BUILD, WAYS, Job  # isort: skip
from harness import own_calls  # which test_suites.py makes known

# Dumps and restart files in all formats that LAMMPS writes by MPI-IO, and a run that goes on from one.
LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
dump 1 all atom/mpiio 10 atom.mpiio
dump 2 all custom/mpiio 10 custom.mpiio id type x y z vx vy vz
dump 3 all xyz/mpiio 20 xyz.mpiio
dump 4 all cfg/mpiio 20 cfg.*.mpiio mass type xs ys zs
restart 10 restart.*.mpiio
run 20
write_restart last.mpiio
clear
read_restart last.mpiio
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
dump 1 all custom/mpiio 10 again.mpiio id type x y z
run 10
"""

# A matrix and two vectors in one file, by PETSc's viewer for MPI-IO, and back.
PETSC = """from petsc4py import PETSc
rows = 900
matrix = PETSc.Mat().createAIJ([rows, rows], nnz=3, comm=PETSc.COMM_WORLD)
for row in range(*matrix.getOwnershipRange()):
    for column in (row, (row + 1) % rows, row * row % rows):
        matrix[row, column] = 1 + row + column
matrix.assemble()
vector = matrix.createVecRight()
vector.setRandom()
product = matrix * vector
viewer = PETSc.Viewer().createMPIIO("matrix", "w", comm=PETSc.COMM_WORLD)
for thing in (matrix, vector, product):
    thing.view(viewer)
viewer.destroy()
viewer = PETSc.Viewer().createMPIIO("matrix", "r", comm=PETSc.COMM_WORLD)
assert PETSc.Mat().load(viewer).equal(matrix)
for thing in (vector, product):
    assert PETSc.Vec().load(viewer).equal(thing)
"""


def petsc_for_python() -> str:
    return str(next(pathlib.Path("/usr/lib/petscdir").glob("*/*-real/lib/python3/dist-packages")))


PROGRAMS = {
    "LAMMPS": (LAMMPS, lambda script: ["lmp", "-log", "none", "-in", script]),
    "PETSc": (PETSC, lambda script: ["env", f"PYTHONPATH={petsc_for_python()}", "/usr/bin/python3", script]),
}


def files_of(program: str, ranks: int, folder: pathlib.Path, way: dict | None) -> dict[str, bytes]:
    """What it has written. `way`: settings of Unisono; None: without it."""
    text, command = PROGRAMS[program]
    script, files = folder / "script", folder / "files"
    files.mkdir(parents=True)
    script.write_text(text)
    job = Job(BUILD, "openmpi", ranks, command(script), folder)
    job.folder = files
    job.environment = {"UNISONO_REPORT": "none"} | (way or {})
    job.run([] if way is None else [job.engine()]).require_success()
    job.require(not job.lines_from_unisono(), "Unisono has something to say")
    if job.environment["UNISONO_REPORT"] == "json":
        job.require(own_calls(job.reports()) > 0, "not done by Unisono")
    return {path.name: path.read_bytes() for path in files.iterdir()}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_writes_the_same_bytes(program, way, tmp_path, record_property):
    for ranks in (1, 3, 4):
        natively = files_of(program, ranks, tmp_path / f"native-{ranks}", None)
        under_unisono = files_of(program, ranks, tmp_path / f"unisono-{ranks}", WAYS[way])
        assert max(map(len, natively.values())) > 1 << 15
        assert under_unisono.keys() == natively.keys()
        assert [name for name, data in natively.items() if data != under_unisono[name]] == []
    record_property("seen", f"{len(natively)} files the same with 1, 3 and 4 ranks")
