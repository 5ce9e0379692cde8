"""Benchmarks: ratios within one run, for machines are noisy. `./dev bench` runs them all and prints the table."""
