"""The data of a cluster in its database: which gateway holds each plant, and which gateway wrote each change.

A trigger of the database notes the writer and the holder of each change in the same transaction.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg

from domogate.domain.ids import Id
from domogate.domain.shards import shard_of
from support.cluster_clients import value_of
from support.cluster_history import StoredChange

_ENDS = ("confirmed", "failed", "expired", "unknown")
_INSTALL = """
    CREATE SCHEMA witness;
    CREATE TABLE witness.plants (plant_id text PRIMARY KEY, shard integer NOT NULL);
    CREATE TABLE witness.changes (cursor bigint PRIMARY KEY, writer text, holder text, epoch bigint);
    CREATE FUNCTION witness.note_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO witness.changes
        SELECT NEW.cursor, current_setting('application_name'), leases.name, shards.epoch
        FROM witness.plants JOIN public.shards USING (shard) LEFT JOIN public.leases ON leases.id = shards.holder
        WHERE plant_id = NEW.plant_id;
        RETURN NULL;
    END $$;
    CREATE TRIGGER witness AFTER INSERT ON public.changes FOR EACH ROW EXECUTE FUNCTION witness.note_change();
"""
_HOLDERS = """
    SELECT plant_id, name FROM witness.plants JOIN shards USING (shard)
    LEFT JOIN leases ON leases.id = shards.holder AND lease_until > extract(epoch FROM clock_timestamp())
"""
_CHANGES = """
    SELECT cursor, event, writer, holder, epoch, at FROM changes JOIN witness.changes USING (cursor) ORDER BY cursor
"""


class ClusterWitness:
    """Asks the database directly, not through a gateway or a proxy."""

    def __init__(self, socket: Path, ports: Mapping[int, int]) -> None:
        """`ports`: the number of each gateway by its port. A port is the end of the name of a member."""
        self._address = f"host={socket.parent} user=postgres dbname=postgres"
        self._ports = ports

    def install(self, plants: Sequence[str]) -> None:
        with psycopg.connect(self._address) as connection:
            connection.execute(_INSTALL)
            for plant in plants:
                connection.execute("INSERT INTO witness.plants VALUES (%s, %s)", (plant, shard_of(Id(plant))))

    def find_holders(self) -> dict[str, int | None]:
        """The gateway with a living lease that holds each plant; None if there is none."""
        return {plant: None if name is None else self._number_of(name) for plant, name in self._ask(_HOLDERS)}

    def count_moves(self) -> int:
        """A number that grows when a plant gets another holder."""
        return int(self._ask("SELECT sum(epoch) FROM witness.plants JOIN shards USING (shard)")[0][0])

    def count_open_orders(self) -> int:
        return int(self._ask("SELECT count(*) FROM orders WHERE state <> ALL(%s)", list(_ENDS))[0][0])

    def read_orders(self) -> dict[str, str]:
        return dict(self._ask("SELECT id, state FROM orders"))

    def read_changes(self) -> list[StoredChange]:
        """The states of modules. The first report of a module at a new holder is a change too."""
        found = []
        for cursor, text, writer, holder, epoch, at in self._ask(_CHANGES):
            event = json.loads(text)
            if event["was"] == "state":
                by = "nobody" if holder is None else f"gateway-{self._number_of(holder)}"
                value = value_of(event.get("state"))
                found.append(StoredChange(cursor, event["module_id"], value, writer, by, epoch, at))
        return found

    def _number_of(self, name: str) -> int:
        return self._ports[int(name.rpartition(":")[2])]

    def _ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._address) as connection:
            return connection.execute(statement, values).fetchall()
