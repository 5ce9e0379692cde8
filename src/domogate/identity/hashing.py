"""Hashes of passwords: slow and salted."""

import asyncio
import contextlib
import ctypes
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import argon2

from domogate.domain.passwords import normalise_password

_NICENESS = 19
_PAUSE = 0.75
"""The pause between two checks of passwords, as a share of the time that the first check took.

In the pause the processor can do other work, even during many logins.
"""
_LONGEST_PAUSE = 0.5
"""The longest pause between two checks of passwords, in seconds.

The pause depends on the measured time of the first check. If the machine is suspended during this check, the measured time
is very long. Without the limit, the pause would be too long.
"""
_M_MMAP_THRESHOLD = -3  # malloc.h


def _be_nice() -> None:
    # Only Linux has a niceness per thread. On other systems this would slow down the whole process.
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            # A thread inherits the policy of the gateway. With a real-time policy, it would ignore its niceness.
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def _give_memory_back() -> None:
    """Tell glibc to return large blocks of memory to the operating system as soon as Argon2 frees them.

    Otherwise glibc would keep such a block for each hashing thread.
    """
    with contextlib.suppress(OSError, AttributeError):  # another libc
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 4 * 1024 * 1024)


class PasswordHasher:
    """Runs Argon2id in threads of low priority (Decision 0032).

    By default, there are at most two threads. If the processor has several cores, there are fewer threads than cores. So logins
    do not slow down other requests. Each hash uses 19 MiB and two passes, as OWASP recommends for parallelism 1. A small home
    server does not have memory for larger hashes.
    """

    def __init__(self, *, memory_kib: int = 19_456, passes: int = 2, threads: int | None = None) -> None:
        _give_memory_back()
        self._argon2 = argon2.PasswordHasher(time_cost=passes, memory_cost=memory_kib, parallelism=1)
        threads = threads or max(1, min(2, (os.cpu_count() or 1) - 1))
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="passwords", initializer=_be_nice)
        self._dummy_hash: str | None = None
        self._pause_until = 0.0

    async def hash_password(self, password: str) -> str:
        """Return the hash of the password. Raises ValueError if it cannot be encoded in UTF-8, or if it is too long."""
        normal = normalise_password(password)
        if normal is None:
            raise ValueError("the password is too long")
        return await self._run(normal)

    async def verify_password(self, password: str, password_hash: str | None) -> bool:
        if self._dummy_hash is None:
            self._dummy_hash = await self._run("nobody has this password")
        loop = asyncio.get_running_loop()
        matches = await loop.run_in_executor(self._threads, self._matches, password, password_hash or self._dummy_hash)
        return matches and password_hash is not None

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def _run(self, password: str) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._argon2.hash, password)

    def _matches(self, password: str, password_hash: str) -> bool:
        normal = normalise_password(password)
        if normal is None:
            return False
        begun = self._pause()
        try:
            return self._argon2.verify(password_hash, normal)
        except (argon2.exceptions.VerifyMismatchError, UnicodeEncodeError):
            return False
        finally:
            ended = time.monotonic()
            self._pause_until = ended + min(_PAUSE * (ended - begun), _LONGEST_PAUSE)

    def _pause(self) -> float:
        """Pause before a check, if the last check was a short time ago.

        A single login is not delayed. Returns the time at the end of the pause, or the present time if there was no pause.
        """
        now = time.monotonic()
        if self._pause_until > now:
            time.sleep(self._pause_until - now)
            return time.monotonic()
        return now
