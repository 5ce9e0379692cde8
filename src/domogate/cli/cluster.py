"""`domogate cluster …`: the gateways that share the database."""

from typing import Any

from domogate.app import read_shard_map
from domogate.cli._command import Mistake, command, group
from domogate.cli._output import AsJson, iso, note, print_records
from domogate.domain.shards import SHARDS
from domogate.settings import Settings

commands = group("cluster")


@command(commands, "show")
async def show(settings: Settings, as_json: AsJson = False) -> None:
    """List the gateways of the cluster: their leases, the shards that they hold, and whether they get messages from NATS.

    The command reads the database, so it needs no connection to NATS, and shows the same on every machine.
    """
    found = await read_shard_map(settings)
    if found is None:
        raise Mistake("only gateways on a PostgreSQL database are a cluster: give its URL with --database or --database-file.")
    shown: list[dict[str, Any]] = [
        {
            "name": live.member.name,
            "url": live.member.url,
            "version": live.member.version,
            "started_at": iso(live.member.started_at),
            "lease_left": round(live.lease_left, 1),
            "shards": live.shards,
            "state": "leaving" if live.is_leaving else live.link.value,
        }
        for live in found.members
    ]
    print_records(as_json, shown, ("name", "url", "version", "started_at", "lease_left", "shards", "state"))
    free = SHARDS - sum(live.shards for live in found.members)
    if free:
        note(f"{free} of {SHARDS} shards have no gateway: their plants are not driven.")
