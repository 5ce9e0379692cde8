"""Starts Home Assistant with few parts. It runs with the Python of the environment of Home Assistant.

The pages, the database and the discovery of devices are not started, because they would only cost time.
"""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from homeassistant import auth, bootstrap, config_entries, loader
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component


async def serve(folder: Path, ready: Path, port: int, parts: Sequence[str]) -> None:
    """Serve until a signal ends the process. `ready` gets the access token of an administrator."""
    home = HomeAssistant(str(folder))
    loader.async_setup(home)
    home.config.skip_pip = True
    home.config_entries = config_entries.ConfigEntries(home, {})
    await bootstrap.async_load_base_functionality(home)
    home.auth = await auth.auth_manager_from_config(home, [], [])
    own = {"server_host": ["127.0.0.1"], "server_port": port}
    for part in ("http", *parts):
        if not await async_setup_component(home, part, {"http": own}):
            raise RuntimeError(f"Home Assistant could not start its part {part}")
    user = await home.auth.async_create_system_user("administrator", group_ids=["system-admin"])
    refresh = await home.auth.async_create_refresh_token(user, access_token_expiration=timedelta(days=1))
    await home.async_start()
    told = {"port": port, "pid": os.getpid(), "access_token": home.auth.async_create_access_token(refresh)}
    draft = ready.with_suffix(".draft")
    draft.write_text(json.dumps(told))
    draft.rename(ready)
    stopped = asyncio.Event()
    home.loop.add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()
    await home.async_stop()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    asyncio.run(serve(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
