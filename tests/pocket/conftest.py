"""Fixtures of the tests here. Imports late: `pytest tests` finds this file without a build folder."""

import pytest


@pytest.fixture
def pocket(tmp_path):
    from mounts import Pocket

    made = Pocket(tmp_path)
    yield made
    made.down()
