"""`domogate audit …`: list, verify and export the audit log."""

import re
from pathlib import Path
from typing import Annotated

import click

from domogate.app import Tools
from domogate.cli._command import FAILED, command, group, reading
from domogate.cli._files import Force, check_free, open_output
from domogate.cli._names import find_user
from domogate.cli._options import argument, option
from domogate.cli._output import AsJson, iso, note, note_more, print_json, print_list
from domogate.cli._words import optional_duration
from domogate.services.audit import NEWEST
from domogate.settings import Settings

commands = group("audit")

_ID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){4}[0-9a-f]{8}")
"""An id with dashes, or a pseudonym."""

After = Annotated[int, option("NUMBER", "Only records after this number. Default: 0.", min=0)]


@command(commands, "list")
async def list_records(
    settings: Settings,
    action: Annotated[str | None, option("WORDS", "Only this action, for example 'login'. Default: all.")] = None,
    user: Annotated[str | None, option("EMAIL", "Only records by or about this user. Default: all.")] = None,
    last: Annotated[
        str | None, option("DURATION", "Only records of this last period, such as 7d, 12h, 30m or 45s. Default: all.")
    ] = None,
    after: After = 0,
    before: Annotated[
        int, option("NUMBER", "Only records before this number. Default: no limit.", min=1, max=NEWEST, show_default=False)
    ] = NEWEST,
    limit: Annotated[int, option("N", "Greatest number of records, 1 to 100000.", min=1, max=100_000)] = 100,
    as_json: AsJson = False,
) -> None:
    """List audit records, the newest first.

    The table shows names and e-mail addresses. --json shows the stored records, with ids and pseudonyms instead.
    """
    seconds = optional_duration(last)
    async with reading(settings) as tools:
        user_id = None if user is None else (await find_user(tools, user)).id
        since = None if seconds is None else tools.clock.now() - seconds
        found = await tools.audit.list(after=after, limit=limit, action=action, user_id=user_id, since=since, before=before)
        names = {} if as_json else await _find_names(tools)

    def spell(text: str) -> str:
        return _ID.sub(lambda match: names.get(match[0], match[0]), text)

    rows = (
        (str(one.number), iso(one.entry.at), one.entry.action, spell(one.entry.who), spell(one.entry.what), one.entry.result,
         one.entry.address, ", ".join(f"{name}: {spell(text)}" for name, text in one.entry.detail.items()) or None)
        for one in found
    )  # fmt: skip
    print_list(as_json, found, ("number", "at", "action", "who", "what", "result", "address", "detail"), rows)
    if not as_json:
        note_more(found, limit, f"--before {found[-1].number}" if found else "")


async def _find_names(tools: Tools) -> dict[str, str]:
    """Return the names of plants, rooms, modules and keys by their ids, and the e-mail addresses of users by pseudonym."""
    estate = await tools.store.export_estate()
    emails = {user.id: user.email for user in await tools.store.list_users()}
    pseudonyms = await tools.store.list_pseudonyms()
    return {
        **{one.plant.id: one.plant.name for one in estate.plants},
        **{room.id: room.name for one in estate.plants for room in one.topology.every_ambient()},
        **{module.id: module.name for one in estate.plants for module in one.topology.every_module()},
        **{key.id: key.name for key in await tools.store.list_subscriptions()},
        **{pseudonym: emails[user_id] for pseudonym, user_id in pseudonyms.items() if user_id in emails},
    }


@command(commands, "verify")
async def verify(
    settings: Settings,
    last_hash: Annotated[
        str | None,
        option(
            "HASH", "Hash that an earlier check printed. The command then also checks that no records are missing at the end."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the chain of hashes again and print the last hash.

    Fails at the first place where a record was changed or is missing. Records that were removed because of audit_kept_days are
    not missing. Records that are missing at the end are found only with --last-hash.
    """
    async with reading(settings) as tools:
        result = await tools.audit.verify(last_hash=last_hash)
    if as_json:
        print_json(result)
    elif result.broken is None:
        click.echo(result.last_hash)
        before = f" {result.removed} older records were removed by audit_kept_days." if result.removed else ""
        note(f"All {result.records} records are unchanged.{before} Keep this hash for the next check (--last-hash).")
    if result.broken is not None:
        note(f"domogate: record {result.broken.number}: {result.broken.problem}")
        raise click.exceptions.Exit(FAILED)


@command(commands, "export")
async def export(
    settings: Settings,
    file: Annotated[Path | None, argument("FILE", "File to write. Default: standard output.")] = None,
    after: After = 0,
    force: Force = False,
) -> None:
    """Write the log as JSON lines. docs/audit.md says how to check the hashes without Domogate."""
    check_free(file, force)
    written = 0
    async with reading(settings) as tools:
        with open_output(file) as output:
            async for line in tools.audit.export(after):
                output.write(line)
                written += 1
    if file is not None:
        note(f"Wrote {written} records to {file}.")
