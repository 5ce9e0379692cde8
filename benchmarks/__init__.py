"""Benchmarks.

Most results are ratios within one run, because machines are noisy. `./dev bench` runs all and prints the table.
"""

import sys
from pathlib import Path

# Servers, listeners and receivers come from the tests.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
