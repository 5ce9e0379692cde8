"""Runs the command line with `python -m domogate.cli`."""

from domogate.cli import main

main()
