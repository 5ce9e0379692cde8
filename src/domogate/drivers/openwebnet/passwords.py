"""Proofs that a client or an OpenWebNet gateway knows the password.

Old OpenWebNet gateways use the method OPEN (the password is a number), newer ones use HMAC with SHA-1 or SHA-256.

With HMAC, nonces and digests are sent as decimal digits, two for each hexadecimal digit: `f` is 15, `a` is 10, `1` is 01. A
proof is computed from the hexadecimal texts, not from the bytes (OpenWebNet, HMAC authentication). It is a plain hash over the
joined texts, although the protocol calls it HMAC.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from enum import IntEnum

_BITS = 0xFFFFFFFF
_CLIENT = "736F70653E"
_GATEWAY = "636F70653E"


class Algorithm(IntEnum):
    """The hash algorithm with which both sides prove that they know the password.

    The OpenWebNet gateway sends the number N of the algorithm in the frame `*98*N##`.
    """

    SHA1 = 1
    SHA256 = 2

    def _hex(self, text: str) -> str:
        if self is Algorithm.SHA1:
            return hashlib.sha1(text.encode()).hexdigest()  # noqa: S324 - older gateways support no better hash
        return hashlib.sha256(text.encode()).hexdigest()

    def make_nonce(self) -> str:
        return to_digits(secrets.token_hex(len(self._hex("")) // 2))

    def prove_as_client(self, gateway_nonce: str, client_nonce: str, password: str) -> str:
        """Return the proof that this client knows the password, for the OpenWebNet gateway.

        Raises ValueError for an invalid nonce.
        """
        parts = (from_digits(gateway_nonce), from_digits(client_nonce), _CLIENT, _GATEWAY, self._hex(password))
        return to_digits(self._hex("".join(parts)))

    def prove_as_gateway(self, gateway_nonce: str, client_nonce: str, password: str) -> str:
        """Return the proof that an OpenWebNet gateway sends if it knows the password.

        Raises ValueError for an invalid nonce.
        """
        return to_digits(self._hex(from_digits(gateway_nonce) + from_digits(client_nonce) + self._hex(password)))


def is_same(one: str, other: str) -> bool:
    """Whether the two texts are equal. The comparison takes the same time for all texts of one length."""
    return hmac.compare_digest(one.encode(), other.encode())


def to_digits(hexadecimal: str) -> str:
    return "".join(f"{int(digit, 16):02d}" for digit in hexadecimal)


def from_digits(digits: str) -> str:
    """Return the hexadecimal text of a nonce or digest, which was sent as decimal digits.

    Each pair of decimal digits, from 00 to 15, stands for one hexadecimal digit. Raises ValueError if `digits` has another
    form.
    """
    values = [int(digits[at : at + 2]) for at in range(0, len(digits), 2)]
    if len(digits) % 2 or any(value > 15 for value in values):
        raise ValueError("not a text of hexadecimal digits, each written as two decimal digits")
    return "".join(f"{value:x}" for value in values)


def _rotate_left(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & _BITS


def _swap_by_seven(value: int) -> int:
    low, second, third, high = (value >> shift & 0xFF for shift in (0, 8, 16, 24))
    return low << 24 | high << 16 | second << 8 | third


def _swap_by_eight(value: int) -> int:
    return (value & 0xFFFF) << 16 | value >> 24 | (value & 0x00FF0000) >> 8


# How each digit of the nonce changes the 32 bits of the password; 0 changes nothing.
_STEPS: dict[str, Callable[[int], int]] = {
    "1": lambda value: _rotate_left(value, 25),
    "2": lambda value: _rotate_left(value, 28),
    "3": lambda value: _rotate_left(value, 29),
    "4": lambda value: _rotate_left(value, 1),
    "5": lambda value: _rotate_left(value, 5),
    "6": lambda value: _rotate_left(value, 12),
    "7": _swap_by_seven,
    "8": _swap_by_eight,
    "9": lambda value: ~value & _BITS,
}


def answer_open(password: str, nonce: str) -> str:
    """Return the answer to the nonce of an OpenWebNet gateway that uses the method OPEN.

    Raises ValueError if the password is not a number.
    """
    if not (password.isascii() and password.isdigit()):
        raise ValueError("this gateway needs a password that is a number (method OPEN)")
    value = int(password) & _BITS
    if not nonce.strip("0"):
        return "0"
    for digit in nonce:
        if (step := _STEPS.get(digit)) is not None:
            value = step(value)
    return str(value)
