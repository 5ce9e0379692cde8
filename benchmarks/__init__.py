"""Benchmarks.

Most results are ratios within one run, because machines are noisy. `./dev bench` runs all and prints the table.
"""
