"""`domogate estate …`: makes, checks, imports and exports the file that describes everything a gateway serves."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import click
import msgspec

from domogate.app.estate_files import import_file
from domogate.cli._command import FAILED, Mistake, WrongUsage, changing, command, group, plain_command, reading
from domogate.cli._estate_input import open_input
from domogate.cli._files import Force, check_free, open_output, write_file
from domogate.cli._options import argument, flag
from domogate.cli._output import AsJson, note, print_json, progress_bar
from domogate.cli._questions import ask_email, ask_name, ask_number, ask_word, parse_email, parse_name
from domogate.cli._scaffold import MOST_FLOORS, MOST_ROOMS, PlantFlags, count_parts, print_new_plant
from domogate.domain.estate import EstatePlant
from domogate.domain.plants import PlantType
from domogate.drivers import DRIVERS, check_options
from domogate.estate import (
    EstateFile,
    EstateMistakes,
    PlantSpool,
    print_in_parts,
    read_estate,
    scan_estate,
    schema_text,
)
from domogate.ports import ImportSummary
from domogate.services.audit import AuditAction
from domogate.services.people import COMMAND_LINE
from domogate.settings import Settings

commands = group("estate")

File = Annotated[Path, argument("FILE", "The estate file. - means standard input.")]
OutputFile = Annotated[Path | None, argument("FILE", "File to write. - means standard output, which is the default.")]


@command(commands, "new", flags=())
async def new_estate(settings: Settings, plant: PlantFlags, file: OutputFile = None, force: Force = False) -> None:
    """Write the estate file of a new plant, with floors, rooms and ids. The command asks for missing values. With `--modules`,
    each room gets simulated modules, for trying.

    Example, with 36 rooms: `domogate estate new estate.yaml --name 'Hotel Aurora' --type hotel --owner anna@example.com
    --floors 3 --rooms 12`
    """
    file = None if file == Path("-") else file
    check_free(file, force)
    if plant.driver not in (None, *DRIVERS):
        raise WrongUsage(f"there is no driver {plant.driver!r}; there are {', '.join(DRIVERS)}.")
    _check(plant)
    plant = _ask_for_missing(plant)
    text = print_new_plant(plant)
    try:
        read_estate(text, "the new file", drivers=check_options(settings.drivers))
    except EstateMistakes as found:
        raise WrongUsage(f"these values do not make a correct file:\n{found}") from None
    _write(file, text)
    note(count_parts(plant))


@command(commands, "check", flags=())
async def check_estate(settings: Settings, file: File, as_json: AsJson = False) -> None:
    """List all mistakes of an estate file, each with its line and the allowed values. The command needs no store."""
    try:
        _scan(file, settings, lambda _: None)
    except EstateMistakes as found:
        if as_json:
            print_json({"good": False, "mistakes": found.mistakes})
        else:
            note(str(found))
        raise click.exceptions.Exit(FAILED) from None
    if as_json:
        print_json({"good": True, "mistakes": []})
    else:
        note(f"{file}: no mistakes.")


@command(commands, "import")
async def import_estate(
    settings: Settings,
    file: File,
    prune: Annotated[
        bool, flag("--prune", "Also remove the records that are not in the file. Applications and keys of developers stay.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import an estate file. If the file has mistakes, nothing is imported. Present states and passwords are kept."""
    with PlantSpool() as plants:
        try:
            read = _scan(file, settings, plants.add)
        except EstateMistakes as found:
            raise Mistake(f"nothing was imported, because the file has mistakes:\n{found}") from None
        async with changing(settings, create=True) as tools:
            with progress_bar("Importing", plants.modules) as advance:
                summary = await import_file(tools.store, tools.hasher, read, plants, prune=prune, progress=advance)
            tools.people.note(AuditAction.ESTATE_IMPORTED, COMMAND_LINE, "estate", prune="yes" if prune else "no")
            if as_json:
                print_json(summary)
            else:
                note(_told(summary))


@command(commands, "export")
async def export_estate(settings: Settings, file: OutputFile = None, force: Force = False) -> None:
    """Write the content of the store as an estate file. Passwords and keys are written as hashes."""
    file = None if file == Path("-") else file
    check_free(file, force)
    with PlantSpool() as plants:
        async with reading(settings) as tools:
            people = await tools.store.export_in_parts(plants.add)
        with open_output(file) as output:
            output.writelines(text.encode() for text in print_in_parts(people, plants))
    if file is not None:
        note(f"Wrote {file}.")


@plain_command(commands, "schema")
def print_schema() -> None:
    """Print the JSON Schema of the estate file, for editors."""
    click.echo(schema_text(), nl=False)


def _check(plant: PlantFlags) -> None:
    """Check the flags for the name, the owner and the modules. Raises WrongUsage if one of them has a wrong value.

    click has already checked the numbers and the type of the plant. `new_estate` has already checked the driver.
    """
    for name, parse in (("name", parse_name), ("owner", parse_email)):
        given = getattr(plant, name)
        try:
            if given is not None:
                parse(given)
        except ValueError as wrong:
            raise WrongUsage(f"--{name}: {wrong}.") from None
    try:
        plant.list_modules()
    except ValueError as wrong:
        raise WrongUsage(f"{wrong}.") from None


def _ask_for_missing(plant: PlantFlags) -> PlantFlags:
    questions: dict[str, Callable[[], object]] = {
        "name": lambda: ask_name("Name of the plant"),
        "type": lambda: ask_word("Type", PlantType),
        "owner": lambda: ask_email("E-mail address of the owner"),
        "floors": lambda: ask_number("Number of floors", MOST_FLOORS),
        "rooms": lambda: ask_number("Number of rooms on each floor", MOST_ROOMS),
    }
    missing = [name for name in questions if getattr(plant, name) is None]
    if missing and not sys.stdin.isatty():
        raise WrongUsage(f"describe the plant: {', '.join(f'--{name}' for name in missing)}.")
    return msgspec.structs.replace(plant, **{name: questions[name]() for name in missing})


def _write(file: Path | None, text: str) -> None:
    if file is None:
        click.echo(text, nl=False)
    else:
        write_file(file, text)
        note(f"Wrote {file}.")


def _scan(file: Path, settings: Settings, take: Callable[[EstatePlant], None]) -> EstateFile:
    """Pass the plants of the file to `take`, and return the file without plants.

    Raises EstateMistakes if the file has mistakes. `take` gets plants before the whole file is checked. So do not use the
    plants if this function raises an error.
    """
    source = "standard input" if str(file) == "-" else str(file)
    with open_input(file) as open_text:
        return scan_estate(open_text, source, take, drivers=check_options(settings.drivers))


def _told(summary: ImportSummary) -> str:
    parts = [
        f"{word}: {', '.join(_count(count, noun) for noun, count in counts.items() if count)}"
        for word, counts in (("Added", summary.added), ("Updated", summary.updated), ("Removed", summary.removed))
        if any(counts.values())
    ]
    return "\n".join(parts) or "Nothing to change: the store already has everything in the file."


def _count(count: int, plural: str) -> str:
    return f"{count} {plural.removesuffix('s') if count == 1 else plural}"
