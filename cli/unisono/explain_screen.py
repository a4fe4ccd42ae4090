"""An explanation in the terminal: who asks for which bytes of the file, who accesses them, and what that takes."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .explain import own_requests, was_done
from .report import Record, brief_bytes, counted, short_bytes

LABEL_WIDTH = 18  # with the blank behind it
_ROWS_MOST = 16
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def show(answer: Record, guesses: list[str], only: list[str], console: Console) -> None:
    _show_call(answer, guesses, console)
    picture = _Picture(answer, console)
    picture.draw_asked()
    chosen = answer["strategies"][0]
    console.print(f"\nThe rule chooses {chosen['done_by']}: {chosen['why']}.\n", highlight=False, markup=False)
    _show_table(answer, console)
    for strategy in answer["strategies"][1:]:
        if was_done(strategy) and (not only or strategy["asked"] in only):
            picture.draw_strategy(strategy)
    console.print(
        "\nCounted: Unisono's own code has done the call, with threads as ranks and no storage. Not known here:"
        "\ntime, what a file system makes of requests, and what the MPI library would do.",
        highlight=False,
    )


def _show_call(answer: Record, guesses: list[str], console: Console) -> None:
    call = answer["call"]
    lines = [f"One collective {call['direction']} by {counted(call['ranks'], 'rank')} on"
             f" {counted(call['nodes'], 'node')}: {short_bytes(call['bytes'])} in"
             f" {counted(call['pieces'], 'piece')}, file bytes {call['touched'][0]:,} to {call['touched'][1]:,}."]  # fmt: skip
    where = call["layout"] or ("a node's own file system" if call["local_storage"] else "layout not known")
    lines.append(f"Storage: {where}.")
    lines += [f"Estimated from a report: {guess}." for guess in guesses]
    for line in lines:
        console.print(line, highlight=False, markup=False)
    console.print()


def _show_table(answer: Record, console: Console) -> None:
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("\n\nstrategy", overflow="fold")
    for name in ("ranks\nat\nfile", "\n\nrounds", "\nmes-\nsages", "\nbytes\nin them", "bytes\nof own\nrank",
                 "of\nsame\nnode", "of\nother\nnode", "\nfile re-\nquests", "\nbytes\nthere"):  # fmt: skip
        table.add_column(name, justify="right", overflow="fold")
    chosen = answer["strategies"][0]["done_by"]
    strategies = answer["strategies"][1:]
    for strategy in filter(was_done, strategies):
        done = own_requests(strategy)
        table.add_row(
            escape(strategy["asked"]) + (" *" if strategy["asked"] == chosen else ""),
            f"{len(strategy['accesses']):,}", f"{strategy['rounds']:,}", f"{strategy['messages']:,}",
            *(brief_bytes(strategy[key]) for key in ("message_bytes", "own_bytes", "on_node_bytes",
                                                     "between_nodes_bytes")),
            f"{done['extents']:,}", brief_bytes(done["bytes"]),
        )  # fmt: skip
    console.print(table)
    console.print()
    for strategy in strategies:
        if not was_done(strategy):
            reason = strategy["refusal"] or "left to the MPI library, of which nothing is known here"
            console.print(f"{strategy['asked']}: {reason}", highlight=False, markup=False)
    console.print(
        "\n* the rule's. Bytes of own rank, same and other node: by who accesses the file for those who ask for them."
        "\nFile requests: contiguous parts of the file that are accessed at once.",
        highlight=False, markup=False,
    )  # fmt: skip


class _Picture:
    """Rows of one character for each column of the file."""

    def __init__(self, answer: Record, console: Console) -> None:
        self._answer, self._console = answer, console
        whole, part = ("█", "▒") if "utf" in (console.encoding or "").lower() else ("#", "+")
        self._marks = {0: " ", 1: part, 2: whole}
        self._asked = [sum(column) for column in zip(*answer["asked"])]

    def _line(self, label: str, cells: str) -> None:
        self._console.print(f"{label:<{LABEL_WIDTH}}|{cells}|", highlight=False, markup=False, no_wrap=True,
                            overflow="crop")  # fmt: skip

    def _rows(self, count: int, draw: Callable[[int], None]) -> None:
        for number in range(min(count, _ROWS_MOST)):
            draw(number)
        if count > _ROWS_MOST:
            self._console.print(f"... and {count - _ROWS_MOST:,} more", highlight=False)

    def _cells(self, columns: list[int], full: Callable[[int], int]) -> str:
        """Blank: nothing; full(i) bytes in column i: a whole one; else a part."""
        return "".join(self._marks[0 if not count else 2 if count >= full(i) else 1]
                       for i, count in enumerate(columns))  # fmt: skip

    def draw_asked(self) -> None:
        columns, call = self._answer["columns"], self._answer["call"]
        size, begin = columns["column_bytes"], columns["begin"]
        self._console.print(
            f"Who asks for what: {self._marks[2]} all of a column, {self._marks[1]} a part. A column is"
            f" {short_bytes(size)}; file bytes {begin:,} to {begin + size * columns['count']:,}.",
            highlight=False, markup=False,
        )  # fmt: skip
        if call["bytes"] // max(call["pieces"], 1) < size:
            self._console.print("A column is longer than a piece: --part BEGIN END draws less of the file.",
                                highlight=False)  # fmt: skip
        if self._answer["servers"]:
            self._line("on server", "".join("." if server is None else _DIGITS[server % len(_DIGITS)]
                                            for server in self._answer["servers"]))  # fmt: skip
        asked = self._answer["asked"]
        self._rows(len(asked), lambda rank: self._line(
            f"rank {rank} node {call['node_of'][rank]}", self._cells(asked[rank], lambda _column: size)))  # fmt: skip

    def draw_strategy(self, strategy: Record) -> None:
        owners = strategy["aggregators"]
        self._console.print(f"\n{strategy['asked']}: {_in_words(strategy)}", highlight=False, markup=False)
        self._rows(len(owners), lambda number: self._line(
            f"a{number} rank {owners[number]['rank']} node {owners[number]['node']}",
            self._cells(owners[number]["columns"], lambda column: self._asked[column])))  # fmt: skip


def _in_words(strategy: Record) -> str:
    if strategy["way"] == "direct":
        turns = f", {strategy['turns']}" if strategy["turns"] else ""
        return f"each rank accesses its own pieces{turns}."
    kept = ", in buffers that live across calls" if strategy["way"] == "cached" else ""
    return (f"{counted(len(strategy['aggregators']), 'aggregator')}{kept},"
            f" {counted(strategy['rounds'], 'round')}. Whose realm is where, as far as somebody asks for it:")  # fmt: skip
