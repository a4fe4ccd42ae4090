"""Fetches the sources of Debian packages and compiles the parallel tests that lie in them."""

import itertools
import pathlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "install"))
from installed import run  # noqa: E402

APT_LISTS = pathlib.Path("/etc/apt")


def lists_of_sources() -> dict[str, str]:
    """The system's package lists of its Debian release, by file ending, as lists of sources."""
    release = run(["sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME"]).strip()
    stanzas = itertools.chain.from_iterable(
        path.read_text().split("\n\n") for path in APT_LISTS.glob("sources.list.d/*.sources"))
    lines = itertools.chain.from_iterable(
        path.read_text().splitlines() for path in APT_LISTS.glob("**/*.list"))
    return {
        "sources": "\n\n".join(re.sub(r"^Types:.*$", "Types: deb-src", stanza, flags=re.MULTILINE)
                               for stanza in stanzas if re.search(rf"^Suites:.*\b{release}\b", stanza, re.MULTILINE)),
        "list": "\n".join(re.sub(r"^deb\b", "deb-src", line)
                          for line in lines if re.match(rf"deb\s.*\b{release}\s+main\b", line)),
    }  # fmt: skip


def fetch(package: str, folder: pathlib.Path) -> pathlib.Path:
    """Puts the sources of the system's version of a package below `folder`, unless they are there."""
    complete = folder / package / "complete"
    if not complete.exists():
        for part in ("parts", "lists/partial", package):
            (folder / part).mkdir(parents=True, exist_ok=True)
        for ending, text in lists_of_sources().items():
            (folder / "parts" / f"debian.{ending}").write_text(text + "\n")
        apt = ["apt-get", "-q", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::State::lists={folder}/lists",
               "-o", f"Dir::Etc::sourceparts={folder}/parts", "-o", f"Dir::Cache={folder}", "-o", "APT::Sandbox::User=root"]
        run([*apt, "update"])
        run([*apt, "source", package], cwd=folder / package)
        complete.touch()
    return next(path for path in (folder / package).iterdir() if path.is_dir())


def compiled(mpi: str, sources: list[pathlib.Path], program: pathlib.Path, options: list,
             compiler: str = "mpicc") -> pathlib.Path:
    """`program`, made of `sources` unless it is there."""
    program.parent.mkdir(parents=True, exist_ok=True)
    if not program.exists():
        run([f"{compiler}.{mpi}", "-O1", "-w", *sources, "-o", program, *options])
    return program


@dataclass
class Program:
    path: pathlib.Path
    ranks: tuple[int, ...] = (2, 4)  # each in a run of its own
    words: tuple[str, ...] = ("file",)  # after its name; it is started in an empty folder
    says: str = ""  # where it has passed, besides ending with 0


HDF5_TESTS = {
    "testphdf5": ["testphdf5", "t_dset", "t_file", "t_file_image", "t_mdset", "t_ph5basic", "t_coll_chunk",
                  "t_span_tree", "t_chunk_alloc", "t_filter_read", "t_prop", "t_coll_md_read"],
    **{name: [name] for name in ("t_mpi", "t_bigio", "t_shapesame", "t_pread", "t_filters_parallel")},
}  # fmt: skip


def hdf5_tests(mpi: str, folder: pathlib.Path) -> Iterator[Program]:
    """Of the library that Debian has compiled: those that need no other program before them."""
    source = fetch("hdf5", folder)
    (source / "test/H5srcdir_str.h").write_text('#define config_srcdir ""\n')
    options = [f"-I/usr/include/hdf5/{mpi}", *(f"-I{source / part}" for part in ("src", "test", "testpar")),
               f"-L/usr/lib/x86_64-linux-gnu/hdf5/{mpi}", "-lhdf5", "-lm", "-lz"]
    common = [source / "test/h5test.c", source / "test/testframe.c"]
    for name, parts in HDF5_TESTS.items():
        sources = [source / "testpar" / f"{part}.c" for part in parts]
        yield Program(compiled(mpi, sources + common, folder / "programs" / f"{name}.{mpi}", options))


def pnetcdf_tests(mpi: str, folder: pathlib.Path) -> Iterator[Program]:
    """Of the library that Debian has compiled (for Open MPI only)."""
    source = fetch("pnetcdf", folder)
    common = source / "test/common"
    (common / "config.h").write_text("#define SIZEOF_LONG 8\n#define HAVE_DECL_MPI_ERR_BUFFER 1\n")
    types = {"schar": "signed char", "uchar": "unsigned char", "longlong": "long long",
             "ulonglong": "unsigned long long"}  # fmt: skip
    options = [f"-I{common}", "-D_GNU_SOURCE", *(f"-D{name}={type}" for name, type in types.items()),
               "-lpnetcdf", "-lm", "-lpthread"]
    for kind, ending in itertools.product(("testcases", "nonblocking"), ("c", "m4")):
        for path in sorted((source / "test" / kind).glob(f"*.{ending}")):
            program = folder / "programs" / f"{path.stem}.{mpi}"
            if ending == "m4":
                text = run(["m4", "-DPNETCDF", f"-I{source / 'm4'}", path])
                path = program.with_suffix(".c")
                path.write_text(text)
            yield Program(compiled(mpi, [path, common / "testutils.c"], program, options))


MPITESTCONF = """
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_STDARG_H 1
#define HAVE_UNISTD_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_LONG_LONG 1
#define THREAD_PACKAGE_NONE 0
#define THREAD_PACKAGE_POSIX 1
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
#define MTEST_THREAD_RETURN_TYPE void*
#define HAVE_IOSTREAM 1
#define HAVE_NAMESPACE_STD 1
#define HAVE_NAMESPACES 1
"""
# MPI's old C++ interface, mpif.h, mpi, mpi_f08: how sources end, and the compiler.
LANGUAGES_OF_MPICH = {"cxx": ("cxx", "mpicxx"), "f77": ("f", "mpif90"), "f90": ("f90", "mpif90"),
                      "f08": ("f90", "mpif90")}  # fmt: skip


def mpich_tests(mpi: str, folder: pathlib.Path) -> Iterator[Program]:
    """Those of MPI-IO, in C, but for those that need 6.5 GB of memory. Each says how many ranks it wants."""
    source = fetch("mpich", folder) / "test/mpi"
    (source / "include/mpitestconf.h").write_text(MPITESTCONF)
    common = [source / "util" / f"{name}.c" for name in ("mtest", "mtest_common", "mtest_single")]
    for line in (source / "io/testlist.in").read_text().splitlines():
        name, ranks, *more = line.split()
        path = source / "io" / f"{name}.c"
        if path.exists() and not any(word.startswith("mem=") for word in more):
            program = folder / "programs" / f"{name}.{mpi}"
            options = [f"-I{source / 'include'}", "-lpthread"]
            words = tuple(word.removeprefix("arg=") for word in more if word.startswith("arg="))
            yield Program(compiled(mpi, [path, *common], program, options), (int(ranks),), words, "No Errors")


def mpich_tests_in_other_languages(mpi: str, folder: pathlib.Path) -> Iterator[Program]:
    """The same in C++ and Fortran, but for those that are partly in C."""
    source = fetch("mpich", folder) / "test/mpi"
    (source / "include/mpitestconf.h").write_text(MPITESTCONF)
    for header, variable in (("ioaint", "aint"), ("iodisp", "disp"), ("iooffset", "offset")):
        (source / f"include/{header}.h").write_text(f"        integer*8 {variable}\n")
    headers = f"-I{source / 'include'}"
    common = compiled(mpi, [source / "util/mtest_common.c"], folder / f"programs/mtest_common.{mpi}.o", ["-c", headers])
    for language, (ending, compiler) in LANGUAGES_OF_MPICH.items():
        modules = folder / f"programs/{language}.{mpi}"
        modules.mkdir(parents=True, exist_ok=True)
        fortran = [f"-J{modules}", "-std=legacy", "-fallow-argument-mismatch"]
        options = [headers, *([common] if language == "cxx" else fortran)]
        (listed,) = (source / language / "io").glob("testlist*")
        for line in listed.read_text().splitlines():
            name, ranks, *_ = line.split()
            path = source / language / "io" / f"{name}.{ending}"
            if path.exists() and "c2f" not in name:
                sources = [source / f"util/mtest_{language}.{ending}", path]
                program = compiled(mpi, sources, modules / name, options, compiler)
                yield Program(program, (int(ranks),), (), "No Errors")
