"""`domogate secret-key …`: the key that encrypts the secrets in the database."""

import click

from domogate.cli._command import changing, command, group, reading
from domogate.cli._output import AsJson, note, print_json
from domogate.services.audit import AuditAction
from domogate.services.people import COMMAND_LINE
from domogate.settings import Settings

commands = group("secret-key")


@command(commands, "show-id")
async def show_id(settings: Settings, as_json: AsJson = False) -> None:
    """Print the id of the key that encrypts secrets in the database. The id is not secret.

    These secrets are encrypted: signing keys, second factors, webhook secrets and passwords of brokers.
    """
    async with reading(settings) as tools:
        key_id = await tools.store.find_secret_key_id()
    if as_json:
        print_json({"key_id": key_id})
    else:
        click.echo(key_id)


@command(commands, "rotate")
async def rotate(settings: Settings, as_json: AsJson = False) -> None:
    """Encrypt all secrets again, with a new key. Gateways may be running.

    The key file then has the new key on a line above the old key. This command cannot change a key that is given as a variable
    or as a systemd credential. In this case, first put a new key in front of the old key in this variable or credential, and
    restart the gateways.
    """
    async with changing(settings) as tools:
        rotation = await tools.store.rotate_secret_key()
        tools.people.note(AuditAction.SECRET_KEY_ROTATED, COMMAND_LINE, f"secret key:{rotation.current}")
    if as_json:
        print_json({"key_id": rotation.current, "former_key_id": rotation.former, "secrets": rotation.secrets})
        return
    note(f"{rotation.secrets} secrets are encrypted under the new key {rotation.current}. Keep a copy of it in a safe place.")
    note(f"Keep the old key {rotation.former} as long as you keep older backups: they need it.")
