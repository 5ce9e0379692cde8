"""The Python examples in the README of the client run, in their order, on a real gateway."""

import json
import re
import threading
import webbrowser
from pathlib import Path
from typing import Any

import httpx
import pytest

from domogate.app import Tools
from domogate.domain.people import Client as RegisteredClient
from support.gateway import Gateway
from support.markdown import links
from support.named_code import ROOT
from support.relying_party import PersonBrowser, Secrets
from support.store_access import run_with_tools

README = ROOT / "clients" / "python" / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)


def test_every_relative_link_leads_to_a_file() -> None:
    targets = [link.target.partition("#")[0] for link in links(README.read_text())]
    assert targets
    assert [target for target in targets if not (README.parent / target).exists()] == []


@pytest.mark.slow
def test_the_examples_run(
    demo: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def register(tools: Tools) -> None:
        await tools.store.save_client(
            RegisteredClient(
                "my-app", "My app", None, ("http://127.0.0.1/callback",), scopes=("topology.read", "light.read", "home.use")
            )
        )

    run_with_tools(demo, register)
    (tmp_path / "ready.json").write_text(json.dumps(demo.ready))
    monkeypatch.chdir(tmp_path)
    person = PersonBrowser(demo, "anna@example.com", Secrets())
    monkeypatch.setattr(webbrowser, "open", lambda url: threading.Thread(target=visit, args=(person, url)).start())
    names: dict[str, Any] = {"__name__": "readme"}
    for block in BLOCKS:
        exec(compile(block, README.name, "exec"), names)
    names["client"].close()
    names["fake"].close()
    person.close()
    assert names["receive"]("whsec_AAAA", {}, b"") == 400
    shown = capsys.readouterr().out
    assert "House" in shown
    assert "2003" in shown, "the code of NoSuchModule"
    assert "confirmed" in shown
    assert "was switched" in shown


def visit(person: PersonBrowser, url: str) -> None:
    httpx.get(person.grant_access(url), trust_env=False)
