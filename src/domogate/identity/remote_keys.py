"""The public keys of an external issuer: found by discovery, kept, and fetched again no more often than is good for both.

A known key is answered at once, and when it has been kept for long the set is fetched anew behind it. A key that is not known
is waited for, but only one fetch in half a minute is made for such, whatever is sent. While the issuer cannot be reached the
keys that are there are used on, for a day.
"""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import structlog
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from domogate.identity.fetching import FetchFailed, JsonSource
from domogate.identity.profiles import ALGORITHMS, IssuerProfile, find_problem_of_url, is_loopback
from domogate.ports import Clock

_log = structlog.get_logger(__name__)

PublicKey = ECKey | RSAKey | OKPKey

REFETCH_PAUSE = 30.0
COLD_PAUSE = 5.0
"""Between attempts while there are no keys at all."""
MAX_STALE = 86_400.0
_MAX_KEYS = 100
_RSA_BITS = range(2048, 8193)
_KINDS: Mapping[str, type[ECKey] | type[RSAKey] | type[OKPKey]] = {"EC": ECKey, "RSA": RSAKey, "OKP": OKPKey}
_PUBLIC = frozenset(("kty", "crv", "x", "y", "n", "e"))


class KeysUnavailable(Exception):
    """The issuer could not be reached, and no key of it is kept."""


class RemoteKeys:
    """The keys of one issuer."""

    def __init__(self, profile: IssuerProfile, http: JsonSource, clock: Clock) -> None:
        self._profile = profile
        self._http = http
        self._now = clock.now
        self._keys: Mapping[tuple[str | None, str], PublicKey] = {}
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, kid: str | None, algorithm: str) -> PublicKey | None:
        """The key with that id, or the only one there is if the token names none. Raises KeysUnavailable."""
        if not self._has_keys():
            await self._fetch_unless_lately(COLD_PAUSE)
            if not self._has_keys():
                raise KeysUnavailable
        key = self._choose(kid, algorithm)
        if key is None:
            await self._fetch_unless_lately(REFETCH_PAUSE)
            return self._choose(kid, algorithm)
        if self._age(self._fetched_at) >= self._profile.keys_max_age:
            self._begin_fetching_unless_lately(REFETCH_PAUSE)
        return key

    async def fetch_again(self) -> None:
        """Unless that was done lately: for a signature without key id that does not fit the only key."""
        await self._fetch_unless_lately(REFETCH_PAUSE)

    async def stop(self) -> None:
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.gather(self._fetching, return_exceptions=True)
            self._fetching = None

    def _age(self, moment: float) -> float:
        return abs(self._now() - moment)  # a clock that was set back must not make anything last for ever

    def _has_keys(self) -> bool:
        return bool(self._keys) and self._age(self._fetched_at) < MAX_STALE

    def _choose(self, kid: str | None, algorithm: str) -> PublicKey | None:
        if kid is not None:
            return self._keys.get((kid, algorithm))
        fitting = {id(key): key for (_, its), key in self._keys.items() if its == algorithm}
        return next(iter(fitting.values())) if len(fitting) == 1 else None

    async def _fetch_unless_lately(self, pause: float) -> None:
        self._begin_fetching_unless_lately(pause)
        if self._fetching is not None:
            await asyncio.shield(self._fetching)  # others wait for the same one

    def _begin_fetching_unless_lately(self, pause: float) -> None:
        if self._fetching is None and self._age(self._tried_at) >= pause:
            self._tried_at = self._now()
            self._fetching = asyncio.create_task(self._fetch(), name=f"keys of {self._profile.url}")

    async def _fetch(self) -> None:
        try:
            self._keys = _read_keys(await self._http.get_json(await self._discover()), self._profile.algorithms)
            self._fetched_at = self._now()
        except FetchFailed as failure:
            _log.warning("keys of an issuer not fetched", issuer=self._profile.url, reason=str(failure), kept=len(self._keys))
        except Exception as error:
            _log.error("keys of an issuer not fetched", issuer=self._profile.url, kept=len(self._keys), exc_info=error)
        finally:
            self._fetching = None

    async def _discover(self) -> str:
        """Where its keys are (OpenID Connect Discovery §4.3: the issuer must be the very one that was asked for)."""
        metadata = await self._http.get_json(self._profile.metadata)
        if not isinstance(metadata, dict) or metadata.get("issuer") != self._profile.url:
            raise FetchFailed(f"{self._profile.metadata} is not the metadata of the issuer {self._profile.url}")
        keys_url = metadata.get("jwks_uri")
        if not isinstance(keys_url, str):
            raise FetchFailed("its metadata names no jwks_uri")
        if problem := find_problem_of_url(keys_url):
            raise FetchFailed(f"its jwks_uri {keys_url} cannot be used: {problem}")
        if not self._profile.metadata.startswith("http:") and is_loopback(urlsplit(keys_url).hostname or ""):
            raise FetchFailed(f"its jwks_uri {keys_url} leads to this machine, but the issuer is elsewhere")
        return keys_url


def _read_keys(document: Any, algorithms: tuple[str, ...]) -> dict[tuple[str | None, str], PublicKey]:
    """By kid and algorithm. What cannot be used is passed over: a set may hold keys for others (RFC 7517 §5)."""
    jwks = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(jwks, list):
        raise FetchFailed("its key set is not a JSON Web Key Set")
    keys: dict[tuple[str | None, str], PublicKey] = {}
    for place, jwk in enumerate(jwks[:_MAX_KEYS]):
        key = _import(jwk)
        if key is None:
            continue
        kid = jwk.get("kid")
        for algorithm in algorithms:
            if _fits(jwk, algorithm):
                keys.setdefault((kid if isinstance(kid, str) else f"\0{place}", algorithm), key)
    if not keys:
        raise FetchFailed("its key set holds no key that can be used")
    return keys


def _fits(jwk: Mapping[str, Any], algorithm: str) -> bool:
    kty, curve = ALGORITHMS[algorithm]
    return jwk.get("kty") == kty and (curve is None or jwk.get("crv") == curve) and jwk.get("alg", algorithm) == algorithm


def _import(jwk: Any) -> PublicKey | None:
    if not isinstance(jwk, dict) or jwk.get("use", "sig") != "sig":
        return None
    if "d" in jwk or "k" in jwk:  # published, so known to everybody
        return None
    operations = jwk.get("key_ops", ["verify"])
    kind = _KINDS.get(jwk["kty"]) if isinstance(jwk.get("kty"), str) else None
    if kind is None or not isinstance(operations, list) or "verify" not in operations:
        return None
    try:
        key = kind.import_key({name: value for name, value in jwk.items() if name in _PUBLIC})
    except (JoseError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return None if isinstance(key, RSAKey) and key.raw_value.key_size not in _RSA_BITS else key
