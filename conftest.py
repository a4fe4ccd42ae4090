"""For all tests: readline, which pytest loads, puts these into the environment of what tests start, and not into
Python's own."""

import os

for name in ("COLUMNS", "LINES"):
    if name not in os.environ:
        os.unsetenv(name)
