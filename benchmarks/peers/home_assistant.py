"""Serves the states of Home Assistant over its REST API. It runs with the Python of the environment of Home Assistant.

Only the parts that the API needs are started. The pages, the database and the discovery of devices would only cost time.
"""

import asyncio
import json
import os
import socket
import sys
from datetime import timedelta
from pathlib import Path

from homeassistant import auth, bootstrap, config_entries, loader
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component


async def serve(folder: Path, ready: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home = HomeAssistant(str(folder))
    loader.async_setup(home)
    home.config.skip_pip = True
    home.config_entries = config_entries.ConfigEntries(home, {})
    await bootstrap.async_load_base_functionality(home)
    home.auth = await auth.auth_manager_from_config(home, [], [])
    own = {"server_host": ["127.0.0.1"], "server_port": port}
    for part, config in (("http", {"http": own}), ("api", {})):
        if not await async_setup_component(home, part, config):
            raise RuntimeError(f"Home Assistant could not start its part {part}")
    user = await home.auth.async_create_system_user("bench", group_ids=["system-admin"])
    refresh = await home.auth.async_create_refresh_token(user, access_token_expiration=timedelta(days=1))
    for number in range(80):
        home.states.async_set(f"light.number_{number}", "on", {"brightness": 60, "friendly_name": f"Light {number}"})
    await home.async_start()
    told = {"port": port, "pid": os.getpid(), "access_token": home.auth.async_create_access_token(refresh)}
    draft = ready.with_suffix(".draft")
    draft.write_text(json.dumps(told))
    draft.rename(ready)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), Path(sys.argv[2])))
