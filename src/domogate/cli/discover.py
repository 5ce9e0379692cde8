"""`domogate discover …`: devices that a broker announces, as lines for an estate file."""

import re
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec
import yaml

from domogate.app import find_missing_file, open_tools
from domogate.cli._command import Mistake, WrongUsage, command, group
from domogate.cli._estate_input import open_input
from domogate.cli._files import Force, check_free, write_file
from domogate.cli._options import option
from domogate.cli._output import AsJson, note, print_json
from domogate.cli._placing import place_modules
from domogate.domain.discovery import FoundModule, SkippedDevice
from domogate.drivers import check_options, mqtt
from domogate.drivers.mqtt import MqttBroker
from domogate.drivers.mqtt.broker_connection import explain_error
from domogate.drivers.mqtt.discovery import FAILURES, choose_broker, collect_announcements, find_modules
from domogate.estate import EstateMistakes, read_estate
from domogate.services.plants.placing import parse_pattern
from domogate.settings import Settings

commands = group("discover")


@command(commands, "mqtt")
async def discover_mqtt(
    settings: Settings,
    broker: Annotated[str | None, option("NAME", "Name of a broker in the settings. Default: the only broker.")] = None,
    url: Annotated[str | None, option("URL", "Another broker: mqtt://host:1883, or mqtts://host:8883 for TLS.")] = None,
    username: Annotated[str | None, option("NAME", "With --url: user at the broker.")] = None,
    password_file: Annotated[str | None, option("FILE", "With --url: file that holds the password.")] = None,
    ca_file: Annotated[str | None, option("FILE", "With --url: certificate authority of the broker (PEM).")] = None,
    base: Annotated[
        str | None,
        option(
            "TOPIC", "Base topic of Zigbee2MQTT. Needed only if it contains a slash; other base topics are found without it."
        ),
    ] = None,
    seconds: Annotated[float, option("SECONDS", "How long to listen, 0.1 to 3600.", min=0.1, max=3600)] = 3.0,
    estate: Annotated[
        Path | None, option("FILE", "With --into: the estate file whose rooms get the modules. Its other lines stay.")
    ] = None,
    into: Annotated[
        str | None,
        option("PATTERN", "Put modules into rooms by the names of their devices: '{room}_*' puts 101_lamp into Room 101."),
    ] = None,
    out: Annotated[Path | None, option("FILE", "With --into: file to write. Default: standard output.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Print the devices that are announced on a broker, as modules for the estate file.

    Zigbee2MQTT, Tasmota, and programs that announce devices for Home Assistant are understood.

    With --estate and --into it writes the whole estate file. The pattern --into finds the room of each new module.

    Example: `domogate discover mqtt --url mqtt://127.0.0.1 --estate estate.yaml --into '{room}_*' --out estate.yaml --force`
    """
    target = _find_target(settings, estate, into, as_json)
    if target is None and out is not None:
        raise WrongUsage("--out is for --into PATTERN.")
    check_free(out, force)
    known = mqtt.DRIVER.settings_in(settings.drivers).brokers
    if url is None and not known:
        known = await _list_stored_brokers(settings)
    chosen = _from_flags(url, username, password_file, ca_file) if url is not None else _from_settings(known, broker)
    if url is not None and broker is not None:
        raise WrongUsage("use --broker for a broker in the settings, or --url for another one, not both.")
    if not as_json:
        note(f"Listening to {chosen.url} for {seconds:g} seconds …")
    try:
        messages = await collect_announcements(chosen, seconds, base)
    except FAILURES as error:
        raise Mistake(f"the broker {chosen.url} cannot be used: {explain_error(error)}.") from None
    found, passed = find_modules(messages, chosen.name if len(known) > 1 and url is None else None)
    if target is not None:
        _write_placed(settings, target, found, passed, out)
    elif as_json:
        print_json({"modules": [_line(one) for one in found], "passed_over": passed})
    else:
        click.echo(_yaml(found, passed), nl=False)
        note(f"{len(found)} modules found, {len(passed)} devices skipped.")


class _Target(msgspec.Struct, frozen=True):
    """A correct estate file, and the pattern that finds the room in the name of a device."""

    file: Path
    text: str
    pattern: re.Pattern[str]


def _find_target(settings: Settings, estate: Path | None, into: str | None, as_json: bool) -> _Target | None:
    if estate is None and into is None:
        return None
    if estate is None or into is None or as_json:
        raise WrongUsage("use --estate FILE and --into PATTERN together, without --json.")
    try:
        pattern = parse_pattern(into)
    except ValueError as wrong:
        raise WrongUsage(f"{wrong}.") from None
    with open_input(estate) as open_text, open_text() as file:
        text = file.read()
    try:
        read_estate(text, str(estate), drivers=check_options(settings.drivers))
    except EstateMistakes as mistakes:
        raise Mistake(f"the estate file has mistakes:\n{mistakes}") from None
    return _Target(estate, text, pattern)


def _write_placed(
    settings: Settings, target: _Target, found: list[FoundModule], passed: list[SkippedDevice], out: Path | None
) -> None:
    placed = place_modules(target.text, target.pattern, found, _entry)
    try:
        read_estate(placed.text, "the new file", drivers=check_options(settings.drivers))
    except EstateMistakes as mistakes:
        raise Mistake(f"nothing was written, because the new file would have mistakes:\n{mistakes}") from None
    if out is None:
        click.echo(placed.text, nl=False)
    else:
        write_file(out, placed.text)
    for one, why in placed.left:
        note(f"Without a room: {_in_a_comment(one.name)}: {_in_a_comment(why)}.")
    for skipped in passed:
        note(f"Skipped: {_in_a_comment(skipped.name)}: {_in_a_comment(skipped.why)}")
    for old, new in placed.renamed:
        note(
            f"Renamed: {_in_a_comment(old)} is now {_in_a_comment(new)}. Change the name in the options of this module in\n"
            f"{target.file}. If the device is in another room now, also move the module."
        )
    added = "1 module" if placed.added == 1 else f"{placed.added} modules"
    note(f"{added} added, {placed.known} already in {target.file}, {len(placed.left)} without a room.")
    if placed.left:
        note(
            "What to do: add a room with that name to the file, or rename the device, and run this command again. Or run\n"
            "`domogate discover mqtt` without --into, and copy the lines of the device to the `modules` of the plant."
        )


def _from_flags(url: str, username: str | None, password_file: str | None, ca_file: str | None) -> MqttBroker:
    try:
        return MqttBroker(url=url, username=username, password_file=password_file, ca_file=ca_file)
    except ValueError as wrong:
        raise WrongUsage(f"{wrong}.") from None


async def _list_stored_brokers(settings: Settings) -> tuple[MqttBroker, ...]:
    """Return the broker that an operator has set in the console. The result is empty if no broker is set there.

    Call this function only if the settings list no broker.
    """
    if find_missing_file(settings) is not None:
        return ()
    async with open_tools(settings, create=False) as tools:
        stored = [one for one in await tools.store.list_connections() if one.driver == mqtt.DRIVER.name]
    return tuple(MqttBroker(url=one.url, username=one.username, password=one.password) for one in stored)


def _from_settings(known: tuple[MqttBroker, ...], name: str | None) -> MqttBroker:
    try:
        return choose_broker(known, name)
    except ValueError as wrong:
        none = "use --url URL, --config FILE with mqtt_brokers in it, or --data DIR if the broker was set in the console"
        hint = "choose one with --broker" if known else none
        raise WrongUsage(f"{wrong}; {hint}.") from None


def _line(one: FoundModule) -> dict[str, Any]:
    return {"id": one.id, "name": one.name, "kind": one.kind.value, **one.hardware, "driver": "mqtt", "options": one.options}


def _yaml(found: list[FoundModule], passed: list[SkippedDevice]) -> str:
    """Return lines for the `modules` of a plant or an ambient. Skipped devices are comments with the reason."""
    lines = ["modules:\n" if found else "modules: []\n"]
    lines += [_entry(one, 2) for one in found]
    if passed:
        lines.append("# Skipped:\n")
        lines += [f"# - {_in_a_comment(one.name)}: {_in_a_comment(one.why)}\n" for one in passed]
    return "".join(lines)


def _entry(one: FoundModule, indent: int) -> str:
    """Return the lines of a module for the estate file, with `indent` spaces before each line."""
    about = [f"# {_in_a_comment(one.about)}"] if one.about else []
    entry = yaml.safe_dump([_line(one)], allow_unicode=True, sort_keys=False, width=120).splitlines()
    return "".join(f"{' ' * indent}{line}\n" for line in (*about, *entry))


def _in_a_comment(text: str) -> str:
    """Return the text on one line: each character that cannot be printed becomes a space."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
