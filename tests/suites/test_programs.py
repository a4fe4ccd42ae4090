"""Programs from Debian that use MPI-IO, natively and under Unisono: they write the same bytes (`make test-suites`)."""

import itertools
import pathlib
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from test_suites import BUILD, WAYS, Job  # isort: skip
from harness import own_calls  # which test_suites.py makes known, as it does
from installed import run

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

PYTHON_WITH_PETSC = """
set -- "$1" /usr/lib/petscdir/*/*-real/lib/python3/dist-packages
PYTHONPATH=$2 exec /usr/bin/python3 "$1"
"""

# Silicon: wave functions, those of more bands, screening and excitons from these, and a start from the first ones.
ABINIT = """pseudos "silicon.psp"
iomode 1
gwpara 2
ndtset 5
tolvrs1 1e-6 nband1 6
getwfk2 1 getden2 1 iscf2 -2 tolwfr2 1e-6 nband2 10 nbdbuf2 2 istwfk2 *1
getwfk3 2 optdriver3 3 nband3 8 ecuteps3 2
getwfk4 2 getscr4 3 optdriver4 99 nband4 8 bs_loband4 2 bs_algorithm4 2 bs_haydock_niter4 4 bs_coulomb_term4 11
bs_calctype4 1 bs_exchange_term4 1 ecuteps4 2 ecutwfn4 6 bs_freq_mesh4 0 6 0.1 eV inclvkb4 2 mbpt_sciss4 0.8 eV
getwfk5 1 tolvrs5 1e-6 nband5 6
ngkpt 2 2 2 nshiftk 1 shiftk 0 0 0
nstep 30 ecut 6 diemac 12
acell 3*10.18 rprim 0 0.5 0.5 0.5 0 0.5 0.5 0.5 0
ntypat 1 znucl 14 natom 2 typat 1 1 xred 3*0 3*0.25
"""
SILICON = """Goedecker, Teter, Hutter, Phys. Rev. B 54, 1703 (1996)
14 4 960531 zatom zion pspdat
2 1 1 0 2001 0 pspcod pspxc lmax lloc mmax r2well
0.44 -6.9136286 0 0 0 rloc c1 c2 c3 c4
0.4243338 3.2081318 2.5888808 rs h1s h2s
0.4853587 2.6562230 rp h1p
"""

# A flow through a box, in at one side and out at the other.
CODE_SATURNE = """<?xml version="1.0"?>
<_GUI version="2.0" solver_version="6.0">
<analysis_control><time_parameters>
<iterations>3</iterations><time_step_ref>0.01</time_step_ref>
</time_parameters></analysis_control>
<boundary_conditions>
<boundary label="in" name="1" nature="inlet">x &lt; 0.01</boundary>
<boundary label="out" name="2" nature="outlet">x > 7.99</boundary>
<boundary label="wall" name="3" nature="wall">x > 0.01 and x &lt; 7.99</boundary>
<inlet label="in"><velocity_pressure choice="norm" direction="normal"><norm>1</norm></velocity_pressure></inlet>
<outlet label="out"/>
<wall label="wall"><velocity_pressure choice="off"/></wall>
</boundary_conditions>
<solution_domain><volumic_conditions>
<zone label="all_cells" id="1" initialization="on">all[]</zone>
</volumic_conditions></solution_domain>
<physical_properties><fluid_properties>
<property name="density" choice="constant"><initial_value>1</initial_value></property>
<property name="molecular_viscosity" choice="constant"><initial_value>0.01</initial_value></property>
</fluid_properties></physical_properties>
<thermophysical_models><thermal_scalar model="off"/><turbulence model="off"/></thermophysical_models>
</_GUI>
"""
SATURNE = pathlib.Path("/usr/lib/code_saturne")


def cube_of_hexahedra(side: int) -> str:
    """In Gmsh's format: its corners, then the eight of each cell (type 5)."""
    number = {corner: n for n, corner in enumerate(itertools.product(range(side + 1), repeat=3), 1)}
    corners = [f"{n} {x} {y} {z}" for (x, y, z), n in number.items()]
    around = [(0, 0), (1, 0), (1, 1), (0, 1)]
    cells = [[number[x + right, y + back, z + up] for up in (0, 1) for right, back in around]
             for x, y, z in itertools.product(range(side), repeat=3)]  # fmt: skip
    elements = [f"{n} 5 2 1 1 {' '.join(map(str, cell))}" for n, cell in enumerate(cells, 1)]
    return "\n".join(["$MeshFormat", "2.2 0 8", "$EndMeshFormat",
                      "$Nodes", str(len(corners)), *corners, "$EndNodes",
                      "$Elements", str(len(elements)), *elements, "$EndElements", ""])  # fmt: skip


def prepare_saturne(files: pathlib.Path) -> None:
    (files / "cube.msh").write_text(cube_of_hexahedra(8))
    run([SATURNE / "cs_preprocess", "--out", "mesh_input", "cube.msh"], cwd=files)
    (files / "restart").symlink_to("checkpoint")  # so that the second run goes on where the first ended


@dataclass
class Program:
    script: str
    command: list
    script_name: str = "script"
    prepare: Callable[[pathlib.Path], object] = lambda files: None  # the folder that it is started in
    runs: int = 1  # in that folder
    with_times: tuple[str, ...] = ()  # how the names of files end that are never the same


PROGRAMS = {
    "LAMMPS": Program(LAMMPS, ["lmp", "-log", "none", "-in", "script"]),
    "PETSc": Program(PETSC, ["sh", "-c", PYTHON_WITH_PETSC, "sh", "script"]),
    "ABINIT": Program(ABINIT, ["abinit", "silicon.abi"], "silicon.abi",
                      lambda files: (files / "silicon.psp").write_text(SILICON), with_times=(".abo",)),
    "code_saturne": Program(CODE_SATURNE, [SATURNE / "cs_solver", "--mpi"], "setup.xml", prepare_saturne, runs=2,
                            with_times=(".log", "timer_stats.csv")),
}  # fmt: skip


def files_of(program: Program, ranks: int, folder: pathlib.Path, way: dict | None) -> dict[str, bytes]:
    """What it has written. `way`: settings of Unisono; None: without it."""
    files = folder / "files"
    files.mkdir(parents=True)
    (files / program.script_name).write_text(program.script)
    program.prepare(files)
    for _ in range(program.runs):
        job = Job(BUILD, "openmpi", ranks, program.command, folder)
        job.folder = files
        job.environment = {"UNISONO_REPORT": "none", "OMP_NUM_THREADS": "1"} | (way or {})
        job.run([] if way is None else [job.engine()]).require_success()
        job.require(not job.lines_from_unisono(), "Unisono has something to say")
    if job.environment["UNISONO_REPORT"] == "json" and ranks > 1:  # one rank alone may use no MPI-IO
        job.require(own_calls(job.reports()) > 0, "not done by Unisono")
    written = [path for path in files.rglob("*") if path.is_file() and not path.name.endswith(program.with_times)]
    return {str(path.relative_to(files)): path.read_bytes() for path in written}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_writes_the_same_bytes(program, way, tmp_path, record_property):
    for ranks in (1, 3, 4):
        natively = files_of(PROGRAMS[program], ranks, tmp_path / f"native-{ranks}", None)
        under_unisono = files_of(PROGRAMS[program], ranks, tmp_path / f"unisono-{ranks}", WAYS[way])
        assert max(map(len, natively.values())) > 1 << 15
        assert under_unisono.keys() == natively.keys()
        assert [name for name, data in natively.items() if data != under_unisono[name]] == []
    record_property("seen", f"{len(natively)} files the same with 1, 3 and 4 ranks")
