"""`domogate doctor`: checks the machine, the database and the connections of a gateway."""

import gc

import click
import msgspec

from domogate.app.doctor import Finding, examine
from domogate.cli._command import FAILED, command, top_level
from domogate.cli._output import AsJson, print_json
from domogate.settings import Settings
from domogate.settings.declared import list_flags

commands = top_level()

_COLORS = {"ok": "green", "note": "blue", "warning": "yellow", "problem": "red"}


@command(commands, "doctor", flags=list_flags())
async def doctor(settings: Settings, as_json: AsJson = False) -> None:
    """Check settings, disk, database, clock, certificate and connections, and say what to do.

    Run it with the settings of the gateway (--config FILE), as the same user. The gateway may be running. Nothing is changed.
    The exit code is 1 if there is a problem, and 0 if there are only warnings.
    """
    gc.enable()
    found: list[Finding] = []
    async for finding in examine(settings):
        found.append(finding)
        if not as_json:
            _print(finding)
    problems = [one for one in found if one.outcome == "problem"]
    if as_json:
        print_json([msgspec.structs.asdict(one) for one in found])
    else:
        warnings = sum(one.outcome == "warning" for one in found)
        notes = sum(one.outcome == "note" for one in found)
        outcomes = [_count(len(problems), "problem"), _count(warnings, "warning"), *[_count(notes, "note")] * (notes > 0)]
        click.echo(f"{len(found)} checks: {', '.join(outcomes)}.")
    if problems:
        raise click.exceptions.Exit(FAILED)


def _print(finding: Finding) -> None:
    word = click.style(f"{finding.outcome:8}", fg=_COLORS[finding.outcome])
    click.echo(f"{word} {finding.check}: {finding.says}")
    for line in finding.advice.splitlines():
        click.echo(f"{'':8}   {line}")


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
