"""The words of actions: each is written by some part of the gateway, and the page and the console list them all."""

import re

from domogate.domain import audit
from domogate.services.audit import AuditAction
from support.named_code import ROOT


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_every_action_is_written() -> None:
    files = [file for file in (ROOT / "src" / "domogate").rglob("*.py") if file.name != "actions.py"]
    code = "\n".join(file.read_text(encoding="utf-8") for file in files)
    used = set(re.findall(r"\bAuditAction\.([A-Z_]+)", code))
    written_by_the_store = {AuditAction(audit.REMOVED).name}
    assert {action.name for action in AuditAction} == used | written_by_the_store


def test_the_page_lists_every_action() -> None:
    table = re.search(r"\| group \| actions \|\n\|[-|]+\|\n((?:\|.*\n)+)", read("docs/audit.md"))
    assert table is not None
    listed = [word for row in table[1].splitlines() for word in re.findall(r"`([^`]+)`", row.split("|")[2])]
    assert listed == [str(action) for action in AuditAction]


def test_the_console_offers_every_action() -> None:
    found = re.search(r"AUDIT_ACTIONS = \[(.*?)\]", read("web/src/console/model.ts"), re.DOTALL)
    assert found is not None
    assert re.findall(r'"([^"]+)"', found[1]) == [str(action) for action in AuditAction]
