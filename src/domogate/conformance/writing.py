"""The rules about operations that change something (Spec 3). They are checked only if the caller of the tool allows changes."""

import json

from domogate.conformance.exchange import Exchange
from domogate.conformance.operations import E1, E5, E16, E20, Operation
from domogate.conformance.rules import Rule
from domogate.conformance.session import Session
from domogate.conformance.subjects import Ids, Subjects, is_id, objects_in, without_dashes

PLUG_SET = Rule("3.E1", "E1 with status on or off: the next state of every plug of the ambient is on or off; 200 returned.")
SCENE_RUN = Rule("3.E5", "E5 with status run: scene execution starts; 200 returned.")
ECHO = Rule("4.E20", "E20: 200: success.")
CONTENT_TYPE = Rule("4.content-type", "Content-Type is optional on POST with body.")


def plan_changes(subjects: Subjects, families: tuple[str, ...]) -> list[str]:
    """Return sentences that say what the checks of the writing operations would change."""
    changes = []
    if E1.family in families and subjects.ambients:
        ids = subjects.ambients[0]
        end = "If E16 shows before the check that all of them are on, it switches them on again. Otherwise they stay off."
        changes.append(
            f"E1 switches all plugs of the ambient {ids['ambient']} of the plant {ids['plant']} on, then off. "
            f"{end if E16.family in families else 'They stay off.'}"
        )
        changes.append("Requests that must be refused name the same ambient: a gateway with faults may execute them.")
    if E5.family in families and subjects.modules["scene"]:
        ids = subjects.modules["scene"][0]
        changes.append(f"E5 runs the scene {ids['module']} of the plant {ids['plant']} twice. This cannot be undone.")
    if E20.family in families:
        changes.append("E20 sends some requests to the echo backend.")
    return changes


def check_writing(session: Session, subjects: Subjects, families: tuple[str, ...]) -> None:
    """Switch plugs, run a scene, and call E20 (echo). Check that the contract holds for each of these requests."""
    if E1.family in families:
        if subjects.ambients:
            _check_plugs(session, subjects, reads=E16.family in families)
        else:
            session.skip(PLUG_SET, E1, subjects.missing_for(E1))
    if E5.family in families:
        if scenes := subjects.modules["scene"]:
            if _expect(session, SCENE_RUN, E5, session.ask(E5, scenes[0])):
                _expect(session, CONTENT_TYPE, E5, session.ask(E5, scenes[0], content_type=None))
        else:
            session.skip(SCENE_RUN, E5, subjects.missing_for(E5))
    if E20.family in families and _expect(session, ECHO, E20, session.ask(E20)):
        _expect(session, CONTENT_TYPE, E20, session.ask(E20, content_type=None))


def _check_plugs(session: Session, subjects: Subjects, *, reads: bool) -> None:
    ids = subjects.ambients[0]
    own = subjects.plugs[ids["ambient"]]
    before = _plugs(session, ids, own) if reads else {}
    was_on = bool(before) and all(before.values())
    statuses = ("on", "off", *(["on"] if was_on else []))
    for status in statuses:
        exchange = session.ask(E1, ids, body=json.dumps({"status": status}).encode())
        if _expect(session, PLUG_SET, E1, exchange) and before:
            wrong = [plug for plug, is_on in _plugs(session, ids, own).items() if is_on != (status == "on")]
            session.check(PLUG_SET, E1, exchange, not wrong, f"after {status}, E16 shows another status of {', '.join(wrong)}")
    last = json.dumps({"status": statuses[-1]}).encode()
    _expect(session, CONTENT_TYPE, E1, session.ask(E1, ids, body=last, content_type=None))


def _plugs(session: Session, ids: Ids, own: set[str]) -> dict[str, bool]:
    """Ask E16 for the plugs of the plant. Return for each plug of the ambient whether it is on.

    `own` has the ids of the plugs of the ambient. A plug that E16 does not list is left out.
    """
    items = objects_in(session.read(session.ask(E16, {"plant": _with_dashes(ids["plant"])})), "plugs")
    return {
        plug: all(item["status"])
        for item in items
        if is_id(item.get("id")) and _is_status(item.get("status"))
        if (plug := without_dashes(item["id"]).lower()) in own
    }


def _is_status(value: object) -> bool:
    """Whether the value is a status of a plug (Spec 2.14). Another rule reports wrong values."""
    return isinstance(value, list) and bool(value) and all(isinstance(one, bool) for one in value)


def _with_dashes(identity: str) -> str:
    return "-".join((identity[:8], identity[8:12], identity[12:16], identity[16:20], identity[20:]))


def _expect(session: Session, rule: Rule, operation: Operation, exchange: Exchange) -> bool:
    return session.check(rule, operation, exchange, exchange.status == 200, f"the status is {exchange.status}")
