"""Numbers that options take."""

from __future__ import annotations

import math
from typing import Any

import click


class Within(click.FloatRange):
    """click lets nan pass, which is in no range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{number} is not in the range {self._describe_range()}.", param, ctx)
        return number


SECONDS = Within(0, 1e9, min_open=True)
