"""Starts the demo of an installed package, and asks it for a page and for an answer of the API."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from release.building import CannotPackage

_START_DEADLINE = 240.0
_ANSWER_DEADLINE = 60.0
_PLANTS = "/homeauto/v1.0/plants"


def try_demo(environment: Path, folder: Path) -> None:
    """Run `domogate demo` of a Python environment. Raises CannotPackage if a page or an answer is missing.

    `folder` is empty. The process runs in this folder, so it cannot use files of the checkout.
    """
    ready_file, log = folder / "ready.json", folder / "log"
    command = [
        f"{environment}/bin/domogate",
        "demo",
        "--port",
        "0",
        "--data",
        f"{folder}/data",
        "--ready-file",
        f"{ready_file}",
    ]
    with log.open("wb") as output:
        demo = subprocess.Popen(command, cwd=folder, env={"PATH": "/usr/bin:/bin"}, stdout=output, stderr=output)
        try:
            ready = _wait_for(ready_file, demo)
            _look_at(ready)
        except (CannotPackage, OSError) as error:
            raise CannotPackage(f"the demo of the installed package does not work: {error}\n{log.read_text()}") from error
        finally:
            demo.terminate()
            demo.wait(_ANSWER_DEADLINE)


def _wait_for(ready_file: Path, demo: "subprocess.Popen[bytes]") -> dict[str, Any]:
    deadline = time.monotonic() + _START_DEADLINE
    while not ready_file.exists():
        if demo.poll() is not None:
            raise CannotPackage(f"it ended with code {demo.returncode}.")
        if time.monotonic() > deadline:
            raise CannotPackage(f"it is not ready after {_START_DEADLINE:g} seconds.")
        time.sleep(0.05)
    ready: dict[str, Any] = json.loads(ready_file.read_text())
    return ready


def _look_at(ready: dict[str, Any]) -> None:
    base = ready["base_url"]
    page = _fetch(f"{base}/", {"Accept": "text/html"}).decode()
    script = page.partition('src="/assets/')[2].partition('"')[0]
    if not script or not _fetch(f"{base}/assets/{script}", {}):
        raise CannotPackage("/ shows no page; the package has no built pages.")
    if b"<h1" not in _fetch(f"{base}/docs/", {"Accept": "text/html"}):
        raise CannotPackage("/docs/ shows no page; the package has no built documentation.")
    person = ready["users"][0]
    headers = {"Ocp-Apim-Subscription-Key": ready["subscription_key"], "Authorization": f"Bearer {person['id_token']}"}
    if not json.loads(_fetch(base + _PLANTS, headers))["plants"]:
        raise CannotPackage(f"{_PLANTS} lists no plants.")


def _fetch(url: str, headers: dict[str, str]) -> bytes:
    with urlopen(Request(url, headers=headers), timeout=_ANSWER_DEADLINE) as answer:
        body: bytes = answer.read()
        return body
