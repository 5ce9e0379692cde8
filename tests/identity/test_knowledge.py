"""A gateway of a cluster that has not read the changes of the others for too long verifies no token."""

import asyncio

import pytest

from domogate.domain.faults import Internal
from domogate.identity.knowledge import KnowledgeBound
from support.identity import new_identity, new_verifier


async def test_no_token_is_verified_while_the_knowledge_is_too_old() -> None:
    identity = await new_identity()
    age = 0.0
    identity.keyring.knowledge = KnowledgeBound(lambda: age, 2.0, patience=0.1)
    verifier = new_verifier(identity.store, identity.keyring)
    known, new = await identity.mint(), await identity.mint()
    await verifier.verify(known)
    age = 2.1
    assert verifier.find_verified(known) is None
    for token in (known, new):
        with pytest.raises(Internal, match="latest changes"):
            await verifier.verify(token)
    age = 2.0
    assert verifier.find_verified(known) is not None
    assert (await verifier.verify(new)).user_id == identity.anna.id


async def test_no_key_for_a_ticket_is_found_while_the_knowledge_is_too_old() -> None:
    identity = await new_identity()
    kid = (await identity.keyring.find_current()).kid
    identity.keyring.knowledge = KnowledgeBound(lambda: 3.0, 2.0, patience=0.1)
    with pytest.raises(Internal, match="latest changes"):
        await identity.keyring.find_key(kid)


async def test_a_request_waits_for_the_latest_changes() -> None:
    identity = await new_identity()
    age = 2.1
    identity.keyring.knowledge = KnowledgeBound(lambda: age, 2.0, patience=60)
    verifier = new_verifier(identity.store, identity.keyring)
    waiting = asyncio.create_task(verifier.verify(await identity.mint()))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    age = 0.0
    assert (await waiting).user_id == identity.anna.id


def test_the_bound_is_kept_up_to_its_last_second() -> None:
    assert KnowledgeBound(lambda: 2.0, 2.0).is_kept
    assert not KnowledgeBound(lambda: 2.01, 2.0).is_kept
