#!/usr/bin/python3
"""Checks what a preload library shows to, and wants from, the programs that it gets loaded into.

It is loaded into every process of a job, also into ones that know nothing of MPI, so it may export
MPI-IO entry points only (each under its MPI_ and its PMPI_ name), and may need the C library only.
Anything else could take the place of a program's own symbols or stop a program from starting.
Privileged programs get it loaded too, so it asks for variables by secure_getenv only.
"""

import argparse
import pathlib
import re
import subprocess
import sys

# MPI_Error_string for the texts of errors of Unisono's own; the others wait for, or free, nonblocking calls, end
# them with the program, or are occasions to carry those calls' messages.
ENTRY_POINT = re.compile(r"P?MPI_(File_\w+|Register_datarep(_c)?|Error_string"
                         r"|(Wait|Test)(all|any|some)?|Request_(free|get_status(_all|_any|_some)?)|Finalize"
                         r"|(Ssend|Send|Recv|Isend|Irecv)(_c)?|Iprobe|Probe)")
# What may make datatypes that Open MPI packs wrongly.
STRIDE_ENTRY_POINT = re.compile(r"P?MPI_Type_(vector|hvector|create_hvector|create_resized)")
ENGINE_SYMBOL = re.compile(r"unisono_\w+")
HARMLESS = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux-[\w-]+)\.so\.\d+")


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols_of(library: pathlib.Path, *nm_options: str) -> list[str]:
    """Dynamic symbols without their versions."""
    lines = output_of("nm", "-D", *nm_options, str(library)).splitlines()
    return [line.split()[-1].split("@")[0] for line in lines if line.strip()]


def needed_by(library: pathlib.Path) -> list[str]:
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "-d", str(library)))


def other_name(symbol: str) -> str:
    return symbol[1:] if symbol.startswith("P") else "P" + symbol


def is_entry_point(library: pathlib.Path, symbol: str) -> bool:
    of_open_mpi = "openmpi" in library.name and STRIDE_ENTRY_POINT.fullmatch(symbol)
    return bool(ENTRY_POINT.fullmatch(symbol) or of_open_mpi)


def complaints_about_needs(library: pathlib.Path) -> list[str]:
    return [f"{library.name} needs {name}" for name in needed_by(library)
            if not HARMLESS.fullmatch(name)]


def complaints_about_environment(library: pathlib.Path) -> list[str]:
    return [f"{library.name} wants {symbol}, which obeys whoever starts a privileged program"
            for symbol in symbols_of(library, "--undefined-only")
            if symbol in ("getenv", "environ", "__environ")]


def complaints_about_shim(library: pathlib.Path) -> list[str]:
    exported = symbols_of(library, "--defined-only")
    complaints = [f"{library.name} exports {symbol}, which is no MPI-IO entry point"
                  for symbol in exported if not is_entry_point(library, symbol)]
    complaints += [f"{library.name} exports {symbol} but not {other_name(symbol)}"
                   for symbol in exported
                   if is_entry_point(library, symbol) and other_name(symbol) not in exported]
    complaints += [f"{library.name} wants {symbol}, which programs without MPI do not have"
                   for symbol in symbols_of(library, "--undefined-only")
                   if re.match(r"P?MPI_|ompi_", symbol)]
    if "MPI_File_write_all" not in exported:
        complaints.append(f"{library.name} does not export MPI_File_write_all")
    return complaints


def complaints_about_large_counts(library: pathlib.Path, mpi: pathlib.Path) -> list[str]:
    """MPI-4's variants of the entry points are to be there exactly if the MPI library has them."""
    exported, offered = set(symbols_of(library, "--defined-only")), set(symbols_of(mpi))
    complaints = []
    for large in sorted(symbol + "_c" for symbol in exported if not symbol.endswith("_c")):
        if large in offered and large not in exported:
            complaints.append(f"{library.name} does not export {large}, which {mpi.name} has")
        if large in exported and large not in offered:
            complaints.append(f"{library.name} exports {large}, which {mpi.name} does not have")
    return complaints


def complaints_about_engine(library: pathlib.Path) -> list[str]:
    return [f"{library.name} exports {symbol}" for symbol in symbols_of(library, "--defined-only")
            if not ENGINE_SYMBOL.fullmatch(symbol)]


def complaints_about(shim: pathlib.Path, engine: pathlib.Path, mpi: pathlib.Path) -> list[str]:
    missing = [f"{library} is missing: build it first" for library in (shim, engine, mpi)
               if not library.exists()]
    if missing:
        return missing
    return (complaints_about_shim(shim) + complaints_about_needs(shim) +
            complaints_about_large_counts(shim, mpi) + complaints_about_environment(shim) +
            complaints_about_engine(engine) + complaints_about_needs(engine) +
            complaints_about_environment(engine))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shim", type=pathlib.Path, required=True)
    parser.add_argument("--engine", type=pathlib.Path, required=True)
    parser.add_argument("--mpi", type=pathlib.Path, required=True, help="the MPI library itself")
    options = parser.parse_args()
    complaints = complaints_about(options.shim, options.engine, options.mpi)
    for complaint in complaints:
        print(complaint)
    if not complaints:
        print(f"{options.shim.name}: {len(symbols_of(options.shim, '--defined-only'))} entry points")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
