"""What an MPI launcher has to be told to start its ranks on a pocket cluster's nodes. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from . import launchers, preload
from .launchers import HYDRA, OPEN_MPI, Family, Segment
from .places import Failure

# Options that say which nodes there are; then the user decides. Others only say how many ranks
# each one gets.
_NAMES_HOSTS = frozenset(
    """f host hosts hostlist hostfile machinefile machine machines machinelist H rf rankfile
    default-hostfile""".split()
)
_PLACES_RANKS = frozenset("ppn N map-by bynode byslot npernode pernode npersocket ppr".split())
_COUNTS_RANKS = frozenset("n np c".split())


@dataclass(frozen=True)
class Site:
    """A cluster, as launchers see it."""

    hosts: list[str]
    interface: str  # of this name on this machine and on every node
    network: str
    remote_shell: str  # a program: HOST COMMAND...
    rank_wrapper: str  # a program: COMMAND..., of one rank


def launch_command(site: Site, family: Family, launcher: str, words: list[str]) -> list[str]:
    """`launcher` with `words`, its ranks on the nodes: one block of them on each, unless told."""
    segments = [launchers.parse_segment(part, family) for part in launchers.split_segments(words)]
    if not any(segment.program or segment.programs_file for segment in segments):
        return [launcher, *words]  # for instance `mpiexec --version`
    if any(segment.programs_file is not None for segment in segments):
        raise Failure("on a pocket cluster the programs must be on the command line, not in a file")
    options = {word for segment in segments for word in segment.options if word.startswith("-")}
    names = {option.lstrip("-").partition("=")[0] for option in options}
    command = [*_site_variables(site, family), launcher, *_site_options(site, family)]
    if not names & _NAMES_HOSTS:
        ranks = sum(_ranks_of(segment) for segment in segments)
        share = 0 if names & _PLACES_RANKS else -(-ranks // len(site.hosts))
        hosts = [f"{host}:{share}" if share else host for host in site.hosts]
        command += ["-hosts" if family is HYDRA else "--host", ",".join(hosts)]
    for number, segment in enumerate(segments):
        command += [":"] * (number > 0) + segment.options + _wrapped(site, segment)
    return command


def _ranks_of(segment: Segment) -> int:
    for option, value in zip(segment.options, segment.options[1:]):
        if option.lstrip("-") in _COUNTS_RANKS and value.isdigit():
            return int(value)
    for option in segment.options:
        name, _, value = option.lstrip("-").partition("=")
        if name in _COUNTS_RANKS and value.isdigit():
            return int(value)
    return 1


def _wrapped(site: Site, segment: Segment) -> list[str]:
    """Behind env and its like: what they preload must not replace what the wrapper does."""
    at = launchers.skip_wrappers(segment.program, launchers.TRANSPARENT)
    before, program = segment.program[:at], segment.program[at:]
    located = preload.located(program[0], segment.folders)
    return [*before, site.rank_wrapper, located, *program[1:]]


def _site_options(site: Site, family: Family) -> list[str]:
    if family is HYDRA:
        return [
            "-launcher", "rsh", "-launcher-exec", site.remote_shell, "-iface", site.interface,
            "-genv", "UCX_TLS", "tcp,self", "-genv", "UCX_NET_DEVICES", site.interface,
        ]  # fmt: skip
    if family is OPEN_MPI:
        return ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
    raise Failure("a pocket cluster knows the launchers of MPICH and Open MPI only")


def _site_variables(site: Site, family: Family) -> list[str]:
    """Open MPI 4 takes its own, and 5 those of its launcher, PRRTE; neither minds the other's."""
    if family is not OPEN_MPI:
        return []
    settings = {
        "OMPI_MCA_plm": "rsh",
        "OMPI_MCA_plm_rsh_agent": site.remote_shell,
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
        "OMPI_MCA_oob_tcp_if_include": site.network,
        "PRTE_MCA_plm": "ssh",
        "PRTE_MCA_plm_ssh_agent": site.remote_shell,
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
        "PRTE_MCA_prte_if_include": site.interface,
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "self,vader,tcp",
        "OMPI_MCA_btl_tcp_if_include": site.network,
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    return ["env", *(f"{name}={value}" for name, value in settings.items())]
