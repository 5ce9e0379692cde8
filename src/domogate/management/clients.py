"""Clients: the applications that people can let in."""

import msgspec

from domogate.domain.people import Client
from domogate.management.operation import Call, Desk, Listing, Operation, Page, page_of
from domogate.management.wire import ClientChange, CreatedClient, NewClient, ShownClient, ShownSecret, show_client


async def list_clients(desk: Desk, call: Call) -> Listing[ShownClient]:
    clients, after = page_of(await desk.store.list_clients(), call.query, lambda client: client.id)
    return Listing([show_client(client) for client in clients], after)


async def create_client(desk: Desk, call: Call) -> CreatedClient:
    told = msgspec.structs.asdict(call.body)
    confidential = told.pop("confidential")
    client, secret = await desk.people.clients.add(Client(**told), confidential=confidential, by=call.by)
    return CreatedClient(show_client(client), secret)


async def get_client(desk: Desk, call: Call) -> ShownClient:
    return show_client(await desk.people.clients.get(call.path["clientId"]))


async def change_client(desk: Desk, call: Call) -> ShownClient:
    told = {name: value for name, value in msgspec.structs.asdict(call.body).items() if value is not msgspec.UNSET}
    changed = await desk.people.clients.change(
        call.path["clientId"], lambda client: msgspec.structs.replace(client, **told), by=call.by
    )
    return show_client(changed)


async def rotate_secret(desk: Desk, call: Call) -> ShownSecret:
    return ShownSecret(await desk.people.clients.rotate_secret(call.path["clientId"], by=call.by))


async def delete_client(desk: Desk, call: Call) -> None:
    await desk.people.clients.delete(call.path["clientId"], by=call.by)


OPERATIONS = (
    Operation(
        id="listClients", tag="clients", summary="The registered applications, by id",
        method="GET", path="/clients", handler=list_clients, query=Page, answer=Listing[ShownClient],
    ),
    Operation(
        id="createClient", tag="clients", summary="Register an application; its secret is shown this one time",
        method="POST", path="/clients", handler=create_client,
        body=NewClient, status=201, answer=CreatedClient, errors=frozenset({409, 422}),
    ),
    Operation(
        id="getClient", tag="clients", summary="One application",
        method="GET", path="/clients/{clientId}", handler=get_client, answer=ShownClient, errors=frozenset({404}),
    ),
    Operation(
        id="changeClient", tag="clients", summary="Change what an application may ask for; what is left out stays",
        method="PATCH", path="/clients/{clientId}", handler=change_client,
        body=ClientChange, answer=ShownClient, errors=frozenset({404, 422}),
    ),
    Operation(
        id="rotateClientSecret", tag="clients", summary="A new secret, shown this one time; the former is refused from now on",
        method="POST", path="/clients/{clientId}/secret", handler=rotate_secret,
        status=201, answer=ShownSecret, errors=frozenset({404, 409}),
    ),
    Operation(
        id="deleteClient", tag="clients", summary="Delete an application with everything that people granted to it",
        method="DELETE", path="/clients/{clientId}", handler=delete_client, status=204, errors=frozenset({404}),
    ),
)  # fmt: skip
