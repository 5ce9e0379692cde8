"""A gateway for tests: starts it, and controls it through its test API."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from domogate.testing.estate import Estate, Module, Plant
from domogate.testing.http import Answer, HttpClient, Refused
from domogate.testing.process import GatewayProcess

if TYPE_CHECKING:
    from domogate_client import AsyncClient, Client

_API = "/manage/v1/testing"


class Tokens(NamedTuple):
    """Tokens of a user. Home control and our own APIs take the access token, the other families take the id token."""

    access_token: str
    id_token: str
    scopes: tuple[str, ...]


class Fault:
    """An injected fault. As a context manager, it is deleted at the end of the block."""

    def __init__(self, gateway: "Gateway", record: Mapping[str, Any]) -> None:
        self._gateway = gateway
        self.id: str = record["id"]
        self.kind: str = record["fault"]

    def delete(self) -> None:
        self._gateway.control("DELETE", f"/faults/{self.id}")

    def __enter__(self) -> "Fault":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.delete()
        except Refused as refused:
            if refused.status != 404:  # 404: `reset` or `load` has already deleted the fault.
                raise


class Gateway:
    """A running gateway for tests. `Gateway.start()` starts one; `Gateway(ready)` uses one that runs already."""

    def __init__(self, ready: Mapping[str, Any]) -> None:
        """`ready` is the content of the ready file of `domogate demo --testing`."""
        self.ready = ready
        self.base_url: str = ready["base_url"]
        self.auth_url: str = ready["auth_url"]
        self.subscription_key: str = ready["subscription_key"]
        self._http = HttpClient(self.base_url)
        self._management = {"Authorization": f"Bearer {ready['management_token']}"}

    @classmethod
    @contextmanager
    def start(cls, estate: Estate | None = None, *, seconds: float = 60.0) -> Iterator["Gateway"]:
        """Start a gateway as a process, and stop it at the end of the block. If `estate` is None, it has the demo estate.

        Raises GatewayFailed if it is not ready after this number of seconds.
        """
        with cls.start_on(GatewayProcess(), estate, seconds=seconds) as gateway:
            yield gateway

    @classmethod
    @contextmanager
    def start_on(cls, process: GatewayProcess, estate: Estate | None = None, *, seconds: float = 60.0) -> Iterator["Gateway"]:
        """Let `process` serve the estate, and stop the process at the end of the block.

        If `estate` is None, the demo estate is served. Raises GatewayFailed if the gateway is not ready after
        this number of seconds.
        """
        gateway = cls(process.serve(estate, seconds))
        try:
            yield gateway
        finally:
            gateway.close()
            process.stop()

    def close(self) -> None:
        """Close the connection to the gateway. The gateway keeps running."""
        self._http.close()

    def control(self, method: str, path: str, body: object = None) -> Any:
        """Call the test API. Returns the JSON of the answer, or None without a body. Raises Refused for an error status."""
        answer = self._http.send(method, _API + path, self._management, body)
        if answer.status >= 400:
            raise Refused(f"{method} {path} got {answer.status}: {answer.json().get('detail')}", answer.status)
        return answer.json() if answer.body else None

    # --- state --------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Return to the estate of the last `load`, or of the start if there was no `load`.

        Everything that happened since then is forgotten, also faults and traffic. The clock shows the real time again.
        """
        self.control("POST", "/reset")

    def load(self, estate: Estate) -> None:
        """Replace the estate. A reset returns to this estate."""
        self.control("POST", "/estate", {"estate": estate.record})

    def advance(self, seconds: float) -> None:
        """Move the time of the gateway forward: tokens expire, timers fire, simulated devices continue."""
        self.control("POST", "/time", {"seconds": seconds})

    def now(self) -> str:
        """Return the time of the gateway in ISO 8601."""
        now: str = self.control("GET", "/time")["now"]
        return now

    # --- people -------------------------------------------------------------------------------------------------------

    def tokens(
        self,
        user: str,
        *,
        scopes: Collection[str] | None = None,
        plants: Collection[Plant | str] | None = None,
        client: str | None = None,
        seconds: float | None = None,
    ) -> Tokens:
        """Return new tokens of the user: by default with all scopes of the client, for all plants, with the usual lifetime."""
        body = {
            "user": user,
            "scopes": None if scopes is None else list(scopes),
            "plants": None if plants is None else [_id_of(plant) for plant in plants],
            "client": client,
            "seconds": seconds,
        }
        issued = self.control("POST", "/tokens", body)
        return Tokens(issued["accessToken"], issued["idToken"], tuple(issued["scopes"]))

    def headers(self, user: str, *, kind: str = "id", **of_tokens: Any) -> dict[str, str]:
        """Return the headers of a request of the user: the subscription key, and a new token of this kind (id or access).

        `of_tokens` are arguments of the method `tokens`.
        """
        tokens = self.tokens(user, **of_tokens)
        token = tokens.id_token if kind == "id" else tokens.access_token
        return {"Ocp-Apim-Subscription-Key": self.subscription_key, "Authorization": f"Bearer {token}"}

    def client(self, user: str, *, scopes: Collection[str] | None = None, **settings: Any) -> "Client":
        """Return a client of the package domogate-client with new tokens of the user.

        Its methods block until the answer has come. Use the client in a `with` statement.

        `settings` are the settings of the client, for example `deadline=5`. Raises ImportError if the package is not installed.
        """
        made: Client = self._make_client("Client", user, scopes, settings)
        return made

    def async_client(self, user: str, *, scopes: Collection[str] | None = None, **settings: Any) -> "AsyncClient":
        """Return a client whose methods are coroutines. Use it in an `async with` statement."""
        made: AsyncClient = self._make_client("AsyncClient", user, scopes, settings)
        return made

    def _make_client(self, kind: str, user: str, scopes: Collection[str] | None, settings: Mapping[str, Any]) -> Any:
        try:
            package = import_module("domogate_client")  # The kit works without this package.
        except ModuleNotFoundError:
            raise ImportError("install the package domogate-client: Gateway.client and Gateway.async_client need it") from None
        access_token, id_token, _ = self.tokens(user, scopes=scopes)
        tokens = package.Tokens(access_token=access_token, id_token=id_token)
        return getattr(package, kind)(self.base_url, self.subscription_key, tokens=tokens, **settings)

    def request(self, method: str, path: str, *, headers: Mapping[str, str], body: object = None) -> Answer:
        """Send a request to the gateway, with `body` as JSON."""
        return self._http.send(method, path, dict(headers), body)

    # --- faults -------------------------------------------------------------------------------------------------------

    def fault(
        self,
        kind: str | int,
        *,
        operation: str | None = None,
        plant: Plant | str | None = None,
        module: Module | str | None = None,
        user: str | None = None,
        key: str | None = None,
        times: int | None = None,
        ms: int | None = None,
    ) -> Fault:
        """Add a fault. It applies to the requests that match all given arguments, until `delete`, `reset` or `load`.

        With `times`, at most this number of requests gets the fault. If `module` is a Module, `plant` is not needed.
        """
        if plant is None and isinstance(module, Module):
            plant = module.plant
        body = {
            "fault": str(kind),
            "operation": operation,
            "plantId": _optional_id(plant),
            "moduleId": _optional_id(module),
            "user": user,
            "key": key,
            "times": times,
            "ms": ms,
        }
        return Fault(self, self.control("POST", "/faults", body))

    def faults(self) -> Sequence[Mapping[str, Any]]:
        """Return the faults, with the number of requests that got them (None for faults of devices)."""
        return _items(self.control("GET", "/faults"))

    def clear_faults(self) -> None:
        self.control("DELETE", "/faults")

    # --- what happened ------------------------------------------------------------------------------------------------

    def commands(self, *, plant: Plant | str | None = None, module: Module | str | None = None) -> Sequence[Mapping[str, Any]]:
        """Return the newest commands that the gateway sent or tried to send to modules. The oldest is first."""
        wanted = {"plantId": _optional_id(plant), "moduleId": _optional_id(module)}
        return _items(self.control("GET", _with_query("/commands", wanted)))

    def traffic(self, *, operation: str | None = None) -> Sequence[Mapping[str, Any]]:
        """Return the newest requests and their answers, without secrets. The oldest is first."""
        return _items(self.control("GET", _with_query("/traffic", {"operation": operation})))


def _id_of(thing: Plant | Module | str) -> str:
    return thing if isinstance(thing, str) else thing.id


def _optional_id(thing: Plant | Module | str | None) -> str | None:
    return None if thing is None else _id_of(thing)


def _with_query(path: str, wanted: Mapping[str, str | None]) -> str:
    given = {name: value for name, value in wanted.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _items(listing: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    items: Sequence[Mapping[str, Any]] = listing["items"]
    return items
