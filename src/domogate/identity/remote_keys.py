"""The public keys of an external issuer: found by discovery, cached, and fetched again with a limited frequency.

A cached key is returned at once. If the key is old, the key set is fetched again in the background. A caller that needs an
unknown key waits for a fetch. But unknown keys cause at most one fetch in 30 seconds. While the issuer cannot be reached, the
cached keys are used for up to one day.
"""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from domogate.common.log import get_logger
from domogate.identity.fetching import FetchFailed, JsonSource
from domogate.identity.profiles import ALGORITHMS, IssuerProfile, find_problem_of_url, is_loopback
from domogate.ports import Clock

_log = get_logger(__name__)

PublicKey = ECKey | RSAKey | OKPKey

REFETCH_PAUSE = 30.0
COLD_PAUSE = 5.0
"""In seconds: the shortest time between two attempts to fetch keys while no key is cached."""
MAX_STALE = 86_400.0
_MAX_KEYS = 100
_RSA_BITS = range(2048, 8193)
_KINDS: Mapping[str, type[ECKey] | type[RSAKey] | type[OKPKey]] = {"EC": ECKey, "RSA": RSAKey, "OKP": OKPKey}
_PUBLIC = frozenset(("kty", "crv", "x", "y", "n", "e"))


class KeysUnavailable(Exception):
    """The issuer could not be reached, and none of its keys is cached. Its tokens are refused until its keys are fetched."""


class RemoteKeys:
    """The public keys of one external issuer."""

    def __init__(self, profile: IssuerProfile, http: JsonSource, clock: Clock) -> None:
        self._profile = profile
        self._http = http
        self._now = clock.now
        self._keys: Mapping[tuple[str | None, str], PublicKey] = {}
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, kid: str | None, algorithm: str) -> PublicKey | None:
        """Return the key with this id and algorithm, or None if the issuer has no such key.

        If the token names no key, `kid` is None. In this case, return the only key for this algorithm. Return None if there is
        not exactly one such key. Raises KeysUnavailable if no key is cached and the keys cannot be fetched.
        """
        if not self._has_keys():
            await self._fetch_unless_recent(COLD_PAUSE)
            if not self._has_keys():
                raise KeysUnavailable
        key = self._choose(kid, algorithm)
        if key is None:
            await self._fetch_unless_recent(REFETCH_PAUSE)
            return self._choose(kid, algorithm)
        if self._age(self._fetched_at) >= self._profile.keys_max_age:
            self._start_fetch_unless_recent(REFETCH_PAUSE)
        return key

    async def fetch_again(self) -> None:
        """Fetch the keys again, but not if they were fetched recently.

        The verifier calls this method if a token has no key id, and its signature does not match the issuer's only key.
        """
        await self._fetch_unless_recent(REFETCH_PAUSE)

    async def stop(self) -> None:
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.gather(self._fetching, return_exceptions=True)
            self._fetching = None

    def _age(self, moment: float) -> float:
        return abs(self._now() - moment)  # If the clock was set back, the keys must not count as newer than they are.

    def _has_keys(self) -> bool:
        return bool(self._keys) and self._age(self._fetched_at) < MAX_STALE

    def _choose(self, kid: str | None, algorithm: str) -> PublicKey | None:
        if kid is not None:
            return self._keys.get((kid, algorithm))
        fitting = {id(key): key for (_, its), key in self._keys.items() if its == algorithm}
        return next(iter(fitting.values())) if len(fitting) == 1 else None

    async def _fetch_unless_recent(self, pause: float) -> None:
        self._start_fetch_unless_recent(pause)
        if self._fetching is not None:
            await asyncio.shield(self._fetching)  # other callers wait for the same task

    def _start_fetch_unless_recent(self, pause: float) -> None:
        if self._fetching is None and self._age(self._tried_at) >= pause:
            self._tried_at = self._now()
            self._fetching = asyncio.create_task(self._fetch(), name=f"keys of {self._profile.url}")

    async def _fetch(self) -> None:
        try:
            self._keys = read_keys(await self._http.get_json(await self._discover()), self._profile.algorithms)
            self._fetched_at = self._now()
        except FetchFailed as failure:
            _log.warning(
                "the keys of an external issuer were not fetched",
                issuer=self._profile.url,
                reason=str(failure),
                cached=len(self._keys),
            )
        except Exception as error:
            _log.error(
                "the keys of an external issuer were not fetched",
                issuer=self._profile.url,
                cached=len(self._keys),
                exc_info=error,
            )
        finally:
            self._fetching = None

    async def _discover(self) -> str:
        """Return the URL of the keys. Raises FetchFailed if it cannot be found, or must not be used.

        The fetched metadata and the settings must name the same issuer (OpenID Connect Discovery §4.3).
        """
        metadata = await self._http.get_json(self._profile.metadata)
        if not isinstance(metadata, dict) or metadata.get("issuer") != self._profile.url:
            raise FetchFailed(f"{self._profile.metadata} is not the metadata of the issuer {self._profile.url}")
        keys_url = metadata.get("jwks_uri")
        if not isinstance(keys_url, str):
            raise FetchFailed("its metadata has no jwks_uri")
        if problem := find_problem_of_url(keys_url):
            raise FetchFailed(f"its jwks_uri {keys_url} cannot be used: {problem}")
        if not self._profile.metadata.startswith("http:") and is_loopback(urlsplit(keys_url).hostname or ""):
            raise FetchFailed(
                f"its jwks_uri {keys_url} is on this machine; this is allowed only if the metadata has an http URL"
            )
        return keys_url


def read_keys(document: Any, algorithms: tuple[str, ...]) -> dict[tuple[str | None, str], PublicKey]:
    """Return the keys by kid and algorithm. Raises FetchFailed if the document is not a key set, or has no usable key.

    Keys that the gateway cannot use are ignored, because a set may contain keys for other uses (RFC 7517 §5).
    """
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
        raise FetchFailed("its key set contains no usable key")
    return keys


def _fits(jwk: Mapping[str, Any], algorithm: str) -> bool:
    kty, curve = ALGORITHMS[algorithm]
    return jwk.get("kty") == kty and (curve is None or jwk.get("crv") == curve) and jwk.get("alg", algorithm) == algorithm


def _import(jwk: Any) -> PublicKey | None:
    if not isinstance(jwk, dict) or jwk.get("use", "sig") != "sig":
        return None
    if "d" in jwk or "k" in jwk:  # a private key that was published is not secret any more
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
