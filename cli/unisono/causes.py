"""What a job's I/O spent its time on, why, and what to change. Knows no terminal.

Every second is claimed by one cause at most, so what the causes cost never adds up to more than was
spent: the rules below are asked in turn, file by file, and each takes what it explains.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .job import UNEVEN, Job, Place
from .report import DIRECTIONS, Record, counted, short_bytes, human_seconds, own_bytes, was_used

_WORTH_SHARE = 0.05  # of the time of I/O: what costs less is not said
_MiB = 1 << 20
_SMALL_CALL_BYTES = 64 << 10
_SMALL_PIECE_BYTES = 4 << 10
_MANY_CALLS = 10  # of a rank: fewer are not worth combining
_MANY_PIECES = 1000
_FEW_SHARE = 0.1  # of the calls
_SLICE_S = 0.02  # ranks that share a core come that late to a call by the scheduler alone
_LATE_SHARE = 0.25  # of what the others wait: a rank that waits less is the one that they wait for


@dataclass
class Cause:
    seconds: float
    brief: str  # "... s of it" goes before it
    evidence: str
    change: str


@dataclass
class _Claim:
    """What one rule has found in some files, on its way to a cause."""

    job: Job
    direction: str
    about: str
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    records: list[Record] = field(default_factory=list)

    @property
    def written(self) -> str:
        return "written" if self.direction == "write" else "read"

    @property
    def call(self) -> str:
        return f"MPI_File_{self.direction}"

    def rate(self, phase: str) -> str:
        """Of its bytes, by the ranks that were longest in a phase: few of them may do it all. Empty where threads did a
        part, whose phases are not known."""
        directions = [(record, record[self.direction]) for record in self.records]
        if any(direction["beside_seconds"]["longest"] > 0 for _, direction in directions):
            return ""
        seconds = self.job.elapsed_s((record, direction["seconds"][phase]["longest"]) for record, direction in directions)
        return f"{short_bytes(self.counts['bytes'] / seconds)}/s" if seconds > 0 else ""


_Budget = dict[Place, float]
_Told = Callable[[_Claim], tuple[str, str, str]]  # brief, evidence, change


class _File:
    """One direction of one file, and the seconds that nobody has claimed yet."""

    def __init__(self, job: Job, record: Record, name: str, budget: _Budget):
        self.job, self.record, self.name, self.budget = job, record, name, budget
        self.direction = record[name]

    def take(self, *phases: str, at_most: float = float("inf")) -> float:
        taken = 0.0
        for phase in phases:
            part = min(self.budget[self.name, phase], at_most - taken)
            self.budget[self.name, phase] -= part
            taken += part
        return taken

    @property
    def partial(self) -> bool:
        """The report is of some of its ranks: who came last is not known."""
        return self.record["ranks"] < self.record["opened_by"]

    @property
    def collective(self) -> int:
        return self.direction["calls"]["collective"]

    @property
    def independent(self) -> int:
        return self.direction["calls"]["independent"]

    @property
    def rank_calls(self) -> int:
        return self.collective * self.record["ranks"] + self.independent

    @property
    def bytes_per_call(self) -> float:
        """Of a rank."""
        return own_bytes(self.direction) / self.rank_calls if self.rank_calls else 0.0

    @property
    def has_small_calls(self) -> bool:
        """Collective ones, beside which others do not count, such as those for the metadata of HDF5."""
        few = self.independent <= _FEW_SHARE * self.rank_calls
        return self.collective >= _MANY_CALLS and few and self.bytes_per_call < _SMALL_CALL_BYTES

    @property
    def arrival_s(self) -> float:
        """That a rank waited for others to come to a call, on average."""
        spent = self.direction["seconds"]["arrival"]["mean"]
        return spent / self.collective if self.collective else 0.0

    @property
    def late_by_scheduler(self) -> bool:
        """Ranks come to calls no later than it may take to get a core, where these are scarce."""
        waited = self.direction["seconds"]["arrival"]["mean"] <= self.job.core_wait_s
        return (self.job.crowded or (self.job.cores_are_others and waited)) and self.arrival_s <= _SLICE_S


# ---- rules: each takes what it explains; what they return is (what it is about, seconds, counts) -----

_Found = Iterator[tuple[str, float, dict[str, float]]]


def _native(file: _File) -> _Found:
    calls = file.direction["calls"]
    reasons = Counter(calls["native"]) + Counter(calls["native_independent"])
    use = file.direction["strategies"].get("native", {"calls": 0, "why": []})
    if use["calls"] and use["why"]:
        reasons[f"strategy native: {use['why'][0]}"] += use["calls"]
    if reasons:
        most, calls = reasons.most_common(1)[0]
        yield most, file.take("native"), {"calls": reasons.total(), "for_this": calls}


def _late(file: _File) -> _Found:
    late = file.direction["latest"]
    if not late or late["seconds"] > _LATE_SHARE * file.direction["seconds"]["arrival"]["mean"]:
        return
    if not file.late_by_scheduler:
        where = "" if file.record["ranks"] == file.job.ranks else f" of the {file.record['ranks']:,} with the file"
        yield f"rank {late['rank']}{where}", file.take("arrival"), {"own_s": late["seconds"]}


def _crowded(file: _File) -> _Found:
    if file.job.crowded:
        yield "", file.take("arrival", "waiting"), {}


def _cores_of_others(file: _File) -> _Found:
    if file.late_by_scheduler:
        yield "", file.take("arrival"), {}


def _small_calls(file: _File) -> _Found:
    if file.has_small_calls:
        seconds = file.take("arrival", "waiting", "exchange", "other")
        yield "", seconds, {"calls": file.collective, "rank_calls": file.rank_calls,
                            "meetings": file.direction["meetings"],
                            "bytes": own_bytes(file.direction)}  # fmt: skip


def _small_accesses(file: _File) -> _Found:
    """Of the same calls: what all ranks ask for in one is little for the file system, too. Asked when nobody else wants
    this time: what they would change helps more."""
    if file.has_small_calls and file.bytes_per_call * file.record["ranks"] < _MiB:
        yield "", file.take("file"), {}


def _uneven(file: _File) -> _Found:
    if file.direction["latest"] or file.partial:
        yield "not known for whom" if file.partial else "", file.take("arrival"), {}


def _small_independent(file: _File) -> _Found:
    many = file.independent >= _MANY_CALLS * file.record["ranks"]
    if many and file.bytes_per_call < _SMALL_CALL_BYTES:
        spent = file.job.mean_of(file.record, file.direction["independent_seconds"])
        about = "shared" if file.record["file"] in file.job.shared_files else "own"
        yield about, file.take("file", "copying", "other", at_most=spent), {
            "calls": file.independent,
            "rank_calls": file.rank_calls,
            "bytes": own_bytes(file.direction)}  # fmt: skip


_ATOMIC = "atomic mode"
_SET_ATOMIC = "atomic mode (MPI_File_set_atomicity)"


def _atomic(file: _File) -> _Found:
    use = file.direction["strategies"].get("independent", {"calls": 0, "why": []})
    if _ATOMIC in use["why"]:
        yield "", file.take("file", "waiting"), {"calls": use["calls"]}


def _turns(file: _File) -> _Found:
    gate, seconds = file.record["gate"], {name: file.record[name]["seconds"]["file"]["mean"] for name in DIRECTIONS}
    # A gate does not know directions: what it says counts once, where it is likelier to be.
    if gate["waits"] and file.name == max(DIRECTIONS, key=seconds.__getitem__):
        spent = file.job.mean_of(file.record, gate["seconds"])
        yield "", file.take("file", at_most=spent), {"waits": gate["waits"], "accesses": gate["accesses"]}


def _moved_too_much(file: _File) -> _Found:
    moved, own = file.direction["bytes"]["moved"], own_bytes(file.direction)
    if own and moved > 1.5 * own:
        in_vain = file.budget[file.name, "file"] * (1 - own / moved)
        yield "", file.take("file", at_most=in_vain), {"moved": moved, "bytes": own}


def _copying(file: _File) -> _Found:
    pieces = file.direction["pieces"]
    if pieces and own_bytes(file.direction) / pieces < _SMALL_PIECE_BYTES:
        yield "", file.take("copying"), {"pieces": pieces, "bytes": own_bytes(file.direction)}


def _waiting(file: _File) -> _Found:
    aggregators = file.record["aggregators"]
    few = 0 < aggregators < file.record["ranks"]
    yield counted(aggregators, "aggregator") if few else "", file.take("waiting"), {}


def _exchange(file: _File) -> _Found:
    if sent := file.direction["bytes"]["sent"]:
        yield "", file.take("exchange"), {"bytes": sent}


def _last_setting(settings: list[str], *names: str) -> str:
    """The one that counts; empty: there is none."""
    return next((words for words in reversed(settings) if words.partition("=")[0] in names), "")


def _few_aggregators(file: _File) -> _Found:
    nodes, aggregators = file.record["nodes"], file.record["aggregators"]
    if 0 < aggregators < nodes:
        yield f"{aggregators} {nodes}", file.take("exchange"), {"bytes": file.direction["bytes"]["sent"]}


def _striping(file: _File) -> _Found:
    for note in file.record["notes"]:
        if note.startswith("striping hurts: "):
            yield note, file.take("file"), {"files": 1}


def _holes(file: _File) -> _Found:
    """Small pieces that aggregators write to servers one by one, as they write no holes."""
    pieces, moved = file.direction["extents"], file.direction["bytes"]["moved"]
    staged = "two_phase" in file.direction["strategies"] and "mapped" not in file.record["backend"]
    if file.name == "write" and staged and pieces >= _MANY_PIECES and moved / pieces < _SMALL_PIECE_BYTES:
        setting = _last_setting(file.record["settings"], "ds_write", "romio_ds_write")
        yield setting, file.take("file", "waiting"), {"pieces": pieces, "bytes": moved}


def _buffers(file: _File) -> _Found:
    """What of it is not due to small pieces."""
    yield "", file.take("copying"), {"bytes": own_bytes(file.direction)}


def _questions(file: _File) -> _Found:
    yield "", file.take("other"), {}


def _storage(file: _File) -> _Found:
    yield file.record["backend"], file.take("file"), {"bytes": file.direction["bytes"]["moved"]}


# ---- how each is told --------------------------------------------------------------------------------


_LESS_ATOMIC = "MPI_File_set_atomicity(file, 0), where no ranks' data meet"
_FOR_NATIVE = {
    "nonblocking collective call": "{call}_at_all instead of the nonblocking MPI_File_i{direction}_at_all",
    "shared file pointer": "{call}_at_all, each rank at an offset of its own",
    _ATOMIC: _LESS_ATOMIC,
    "data representation": 'the representation "native", "internal" or "external32" in MPI_File_set_view',
}


def _tell_native(claim: _Claim) -> tuple[str, str, str]:
    change = _FOR_NATIVE.get(claim.about, "").format(call=claim.call, direction=claim.direction)
    asked_for = [words for words in claim.job.distinct("settings") if "strategy=native" in words.lower()]
    if claim.about == "strategy native: asked for" and asked_for:
        change = f"take back {asked_for[-1]}"
    calls, for_this = int(claim.counts["calls"]), int(claim.counts["for_this"])
    most = "" if for_this == calls else f"; for {for_this:,} of them that is why"
    return ("in calls of the MPI library",
            f"The MPI library did {counted(calls, 'call')} by itself: {claim.about}{most}.", change)  # fmt: skip


def _tell_late(claim: _Claim) -> tuple[str, str, str]:
    own = human_seconds(claim.counts["own_s"])
    return (f"waiting for {claim.about}",
            f"{claim.about[0].upper()}{claim.about[1:]} comes late to collective calls; it waited {own} itself.",
            "give it less to do before these calls, or look at its core and node")  # fmt: skip


def _sharing(job: Job) -> str:
    return f"{counted(job.ranks_per_node, 'rank')} share {counted(job.cores, 'core')}"


def _tell_crowded(claim: _Claim) -> tuple[str, str, str]:
    job, shared = claim.job, _sharing(claim.job)
    on = "" if job.nodes == 1 else " on a node"
    more = f"mpiexec -n {job.cores * job.nodes}, or more {'nodes' if job.nodes > 1 else 'cores'}"
    return (f"because {shared}", f"{shared}{on}: each waits while others run.", more)


def _tell_cores_of_others(claim: _Claim) -> tuple[str, str, str]:
    return ("waiting for ranks that have no core",
            "Ranks come late to collective calls while other processes or threads have their cores.",
            "leave each rank a core")  # fmt: skip


def _tell_small_calls(claim: _Claim) -> tuple[str, str, str]:
    size = short_bytes(claim.counts["bytes"] / claim.counts["rank_calls"])
    calls = counted(int(claim.counts["calls"]), "collective call")
    meetings = int(claim.counts["meetings"])
    met = "all ranks agree on each" if meetings >= claim.counts["calls"] else f"the ranks met {meetings:,} times"
    crowd = f", and {_sharing(claim.job)}" if claim.job.crowded else ""
    needed = _MiB * claim.counts["rank_calls"] / max(1, claim.counts["bytes"])
    together = f"{min(math.ceil(needed), int(claim.counts['calls'])):,} calls"
    how = f"gather the data of {together} for" if claim.direction == "write" else f"read the data of {together} with"
    return ("in small collective calls", f"{calls} of {size} per rank: {met}{crowd}.",
            f"{how} one {claim.call}_all")  # fmt: skip


def _tell_uneven(claim: _Claim) -> tuple[str, str, str]:
    if claim.about:
        return ("waiting for other ranks",
                "Rank 0 waited for others to come to collective calls; for whom is not known.", "")  # fmt: skip
    return ("waiting for ranks that come late",
            "Ranks come to collective calls at different times, now one last, now another.",
            "give them equal work before these calls")  # fmt: skip


def _tell_small_independent(claim: _Claim) -> tuple[str, str, str]:
    count = int(claim.counts["calls"])
    size = short_bytes(claim.counts["bytes"] / claim.counts["rank_calls"])
    calls = "independent writes" if claim.direction == "write" else "independent reads"
    if claim.about == "own":
        change = f"gather {short_bytes(_MiB)} or more in memory for each {claim.call}"
    else:
        change = f"MPI_File_set_view for all pieces, then one {claim.call}_all"
    if any(_SET_ATOMIC in record["settings"] for record in claim.records):
        change = f"{_LESS_ATOMIC}; {change}"
    return (f"in small {calls}", f"{count:,} {calls} of {size}, over all ranks.", change)


def _tell_atomic(claim: _Claim) -> tuple[str, str, str]:
    calls = counted(int(claim.counts["calls"]), "collective call")
    return ("in atomic mode", f"{calls} in atomic mode: each rank for itself, under a lock on its range.", _LESS_ATOMIC)


def _tell_turns(claim: _Claim) -> tuple[str, str, str]:
    accesses = counted(int(claim.counts["accesses"]), "access", "accesses")
    return ("waiting for the program's turn",
            f"{int(claim.counts['waits']):,} of {accesses} waited for the program's turn at the servers.",
            "run it while no other program uses these servers")  # fmt: skip


def _tell_moved(claim: _Claim) -> tuple[str, str, str]:
    ratio = claim.counts["moved"] / claim.counts["bytes"]
    return ("for bytes that nobody asked for", f"{ratio:.2f} bytes were {claim.written} for each that was asked for.",
            "let the pieces that ranks ask for lie side by side in the file")  # fmt: skip


def _tell_copying(claim: _Claim) -> tuple[str, str, str]:
    size = short_bytes(claim.counts["bytes"] / claim.counts["pieces"])
    pieces = counted(int(claim.counts["pieces"]), "piece")
    return ("copying small pieces", f"{pieces} of {size} are copied one by one.",
            "larger pieces: let what a rank has lie together in the file")  # fmt: skip


def _tell_few_aggregators(claim: _Claim) -> tuple[str, str, str]:
    aggregators, nodes = map(int, claim.about.split())
    sent = short_bytes(claim.counts["bytes"])
    return ("sending data between nodes", f"{sent} went through {counted(aggregators, 'aggregator')} on {nodes:,} nodes.",
            _for_more_aggregators(claim, nodes))  # fmt: skip


_LIKE_SERVERS = {"disk_first", "resonant"}  # as many aggregators as data servers, whatever cb_config_list says
_MORE_BY_HINT = {"resonant"}  # for each server cb_nodes / servers
_LIKE_STRIPES = {"two_phase", "lacio"}  # without hints one for each node, unless a call touches fewer stripes


def _is_by(strategies: set[str], claim: _Claim) -> bool:
    return any(strategies.intersection(record[name]["strategies"]) for record in claim.records for name in DIRECTIONS)


def _for_more_aggregators(claim: _Claim, nodes: int) -> str:
    settings, changes = claim.job.distinct("settings"), []
    listed, count = _last_setting(settings, "cb_config_list"), _last_setting(settings, "cb_nodes")
    by_servers, by_hint = _is_by(_LIKE_SERVERS, claim), _is_by(_MORE_BY_HINT, claim)
    if listed and not by_servers and not listed.startswith("cb_config_list=*"):  # which leaves no node out
        changes.append(f"cb_config_list=*:1 instead of {listed}")
    if count and (by_hint or not by_servers) and int(count.partition("=")[2].split()[0]) < nodes:
        changes.append(f"cb_nodes={nodes} instead of {count}")
    if changes:
        return ", and ".join(changes)
    if by_hint and not count:
        return f"UNISONO_HINTS='*:cb_nodes={nodes}'"
    return "larger calls: these touch fewer stripes than there are nodes" if _is_by(_LIKE_STRIPES, claim) else ""


def _tell_waiting(claim: _Claim) -> tuple[str, str, str]:
    if not claim.about:
        return ("waiting for other ranks in calls",
                "Ranks wait for each other in collective calls, of which each does a part for all.", "")  # fmt: skip
    access = "accesses" if claim.about.startswith("1 ") else "access"
    setting = _last_setting(claim.job.distinct("settings"), "cb_config_list", "cb_nodes")
    return (f"waiting for {claim.about}", f"Ranks wait for {claim.about}, which {access} the file for them.",
            f"try it without {setting}" if setting and not _is_by(_LIKE_SERVERS, claim) else "")  # fmt: skip


def _tell_exchange(claim: _Claim) -> tuple[str, str, str]:
    sent, rate = short_bytes(claim.counts["bytes"]), claim.rate("exchange")
    return ("sending data between nodes", f"{sent} in messages between nodes{rate and f', {rate}'}.", "")


def _tell_striping(claim: _Claim) -> tuple[str, str, str]:
    evidence, _, change = claim.about.removeprefix("striping hurts: ").partition("; ")
    files = counted(int(claim.counts["files"]), "file")
    return ("on badly striped files", f"{files}: {evidence}.", change)


def _tell_holes(claim: _Claim) -> tuple[str, str, str]:
    pieces, size = int(claim.counts["pieces"]), short_bytes(claim.counts["bytes"] / claim.counts["pieces"])
    change = f"ds_write=enable instead of {claim.about}" if claim.about else "UNISONO_HINTS='*:ds_write=enable'"
    change += ", for holes of up to 4 KiB, if it is on servers, not on NFS, and nobody else writes into them"
    is_set = claim.about.lower().partition("=")[2].startswith(("enable", "true", "yes", "on", "1"))
    return ("in the file system, for small pieces with holes", f"{pieces:,} pieces of {size} were written one by one.",
            "" if is_set else change)  # fmt: skip


def _tell_buffers(claim: _Claim) -> tuple[str, str, str]:
    return ("copying data", f"{short_bytes(claim.counts['bytes'])} were copied to or from collective buffers.", "")


def _tell_questions(_claim: _Claim) -> tuple[str, str, str]:
    return ("looking at what is asked for", "Views and datatypes are looked at, and data in external32 are converted.", "")


def _tell_storage(claim: _Claim) -> tuple[str, str, str]:
    amount, rate = short_bytes(claim.counts["bytes"]), claim.rate("file")
    if claim.direction == "write" and any("view_based" in record["write"]["strategies"] for record in claim.records):
        rate = ""  # a sync or close may have written most of it
    return ("in the file system",
            f"The file system: {amount} {claim.written}{rate and f' ({rate})'}, through {claim.about}.", "")  # fmt: skip


# In the order in which they are asked.
_RULES: list[tuple[Callable[[_File], _Found], _Told]] = [
    (_native, _tell_native),
    (_late, _tell_late),
    (_small_calls, _tell_small_calls),
    (_crowded, _tell_crowded),
    (_cores_of_others, _tell_cores_of_others),
    (_uneven, _tell_uneven),
    (_small_independent, _tell_small_independent),
    (_turns, _tell_turns),
    (_atomic, _tell_atomic),
    (_moved_too_much, _tell_moved),
    (_copying, _tell_copying),
    (_few_aggregators, _tell_few_aggregators),
    (_exchange, _tell_exchange),
    (_waiting, _tell_waiting),
    (_striping, _tell_striping),
    (_holes, _tell_holes),
    (_small_accesses, _tell_small_calls),
    (_buffers, _tell_buffers),
    (_questions, _tell_questions),
    (_storage, _tell_storage),
]

# Told once of reads and writes together.
_WHATEVER_DIRECTION = (_tell_late, _tell_crowded, _tell_cores_of_others, _tell_uneven, _tell_waiting, _tell_turns,
                       _tell_few_aggregators, _tell_striping)  # fmt: skip


def _claims(job: Job) -> Iterator[tuple[_Told, _Claim]]:
    claims: dict[tuple[_Told, str, str], _Claim] = {}
    for record in job.records:
        budget = job.seconds_of(record)
        for name in DIRECTIONS:
            if not was_used(record[name]):
                continue
            file = _File(job, record, name, budget)
            for rule, told in _RULES:
                direction = "" if told in _WHATEVER_DIRECTION else name
                for about, seconds, counts in rule(file):
                    claim = claims.setdefault((told, direction, about), _Claim(job, direction, about))
                    claim.seconds += seconds
                    claim.counts.update(counts)
                    claim.records.append(record)
    for (told, _, _), claim in claims.items():
        yield told, claim


def _longer_s(job: Job, name: str) -> float:
    """Than the mean, the rank that spent most in calls of a direction."""
    spent = [record[name]["seconds"]["whole"] for record in job.records]
    return sum(seconds["longest"] - seconds["mean"] for seconds in spent)


def _of_other_calls(job: Job) -> Iterator[Cause]:
    files = len(job.records)
    opening, syncing, closing, others = (job.seconds["", phase] for phase in ("open", "sync", "close", "other"))
    of_its_ranks = sum(record["seconds"]["open"]["mean"] for record in job.records)
    each = f", {human_seconds(of_its_ranks / files)} each" if files > 1 else ""
    several = len(job.distinct("file")) > 1
    less = "keep files open between steps, or put several into one" if several else "keep it open between steps"
    opens_of_a_rank = sum(record["opened_by"] for record in job.records) / job.ranks
    yield Cause(opening, "opening files", f"{counted(files, 'call')} of MPI_File_open{each}.",
                less if opens_of_a_rank > 2 else "")  # fmt: skip
    syncs = counted(sum(record["syncs"] for record in job.records), "time")
    again = any(record["syncs"] > max(record["nodes"], 1) for record in job.records)  # each node syncs for its ranks
    yield Cause(syncing, "in MPI_File_sync", f"MPI_File_sync: data were made durable {syncs}, over all ranks.",
                "MPI_File_sync once, after the last write that must survive a crash" if again else "")  # fmt: skip
    durable = [words for words in job.distinct("settings") if "sync_at_close" in words.lower()]
    written = any(was_used(record["write"]) for record in job.records)
    # Who spent no longer than the others kept nobody waiting, however much he had.
    alone = [name for name in DIRECTIONS if job.total(name, "calls/independent") and _longer_s(job, name) >= closing / 2]
    busiest = max(map(job.busiest, alone), default=1.0)
    share = f"give ranks equal parts: the others wait for the one with {busiest:.1f} times the mean" if busiest >= UNEVEN else ""
    yield Cause(closing, "closing files", f"{counted(files, 'call')} of MPI_File_close: all ranks meet"
                f"{', and what is still in memory is written' if written else ''}.",
                f"take back {durable[-1]}" if durable else share)  # fmt: skip
    yield Cause(others, "setting views and the like", "MPI_File_set_view, MPI_File_get_size and the like: all ranks agree"
                " on most of them.", "")  # fmt: skip


def causes(job: Job) -> list[Cause]:
    """What cost the most first; only what is worth a sentence."""
    found = list(_of_other_calls(job))
    found += [Cause(claim.seconds, *told(claim)) for told, claim in _claims(job)]
    worth = [cause for cause in found if cause.seconds >= _WORTH_SHARE * job.io_s > 0]
    return sorted(worth, key=lambda cause: -cause.seconds)
