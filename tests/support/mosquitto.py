"""A real mosquitto on a free port, and an independent client (paho) that simulates devices."""

import base64
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from support.ports import free_port

PATIENCE = 60.0


def find_mosquitto() -> str:
    """Debian installs it in a folder that is only in the path of administrators."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
    found = shutil.which("mosquitto", path=path)
    assert found is not None, "these tests need mosquitto (on Debian and Ubuntu: apt install mosquitto)"
    return found


def hashed(password: str) -> str:
    """As mosquitto_passwd writes it (SHA-512 with a salt)."""
    salt = os.urandom(12)
    digest = hashlib.sha512(password.encode() + salt).digest()
    return f"$6${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


class Mosquitto:
    """A broker that can be stopped and started again on the same port; it keeps nothing on disk."""

    def __init__(self, folder: Path, *lines: str, users: dict[str, str] | None = None, tls: bool = False) -> None:
        self.port = free_port()
        self.url = f"{'mqtts' if tls else 'mqtt'}://127.0.0.1:{self.port}"
        self._config = folder / "mosquitto.conf"
        self._log = folder / "mosquitto.log"
        config = [f"listener {self.port} 127.0.0.1", "max_queued_messages 0", "set_tcp_nodelay true", *lines]
        if users is None:
            config.append("allow_anonymous true")
        else:
            (folder / "passwords").write_text("".join(f"{name}:{hashed(word)}\n" for name, word in users.items()))
            config += ["allow_anonymous false", f"password_file {folder / 'passwords'}"]
        if os.geteuid() == 0:
            config.append("user root")  # otherwise it cannot read the folder of the test
        self._config.write_text("\n".join(config) + "\n")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen([find_mosquitto(), "-c", str(self._config)], stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                assert self._process.poll() is None, f"mosquitto ended:\n{self._log.read_text()}"
                assert time.monotonic() < deadline, "mosquitto did not start"
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(PATIENCE)
            self._process = None


@contextmanager
def mosquitto(folder: Path, *lines: str, users: dict[str, str] | None = None, tls: bool = False) -> Iterator[Mosquitto]:
    broker = Mosquitto(folder, *lines, users=users, tls=tls)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


class DeviceClient:
    """An independent MQTT client with its own thread, for simulated devices."""

    def __init__(self, port: int, *, will: tuple[str, str] | None = None, login: tuple[str, str] | None = None) -> None:
        self._client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
        self._client.connect_timeout = PATIENCE
        self._client.on_message = self._take
        self._client.on_connect = lambda *_: self._is_connected()
        self._client.on_subscribe = lambda client, userdata, number, *_: self._is_granted(number)
        self._client.reconnect_delay_set(0.1, 1)  # type: ignore[arg-type]  # fractions of a second work too
        self._topics: list[str] = []
        self._connected = threading.Event()
        self._granted: set[int] = set()
        self._grants = threading.Condition()
        self.received: list[tuple[str, bytes, int | None]] = []
        """Topic, payload, and the message expiry interval it came with."""
        self.answer: Callable[[str, bytes], None] = lambda topic, payload: None
        if login is not None:
            self._client.username_pw_set(*login)
        if will is not None:
            self._client.will_set(will[0], will[1], qos=1, retain=True)
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        # Subscribe each topic once: a second SUBACK for a topic would be taken for the one of another topic.
        assert self._connected.wait(PATIENCE), "the broker does not answer"

    def _is_connected(self) -> None:
        for topic in self._topics:
            self._client.subscribe(topic, qos=1)
        self._connected.set()

    def _is_granted(self, number: int) -> None:
        with self._grants:
            self._granted.add(number)
            self._grants.notify_all()

    def _take(self, client: Any, userdata: Any, message: Any) -> None:
        expiry = getattr(message.properties, "MessageExpiryInterval", None)
        self.received.append((message.topic, message.payload, expiry))
        self.answer(message.topic, message.payload)

    def listen(self, *topics: str) -> None:
        for topic in topics:
            self._topics.append(topic)
            _, number = self._client.subscribe(topic, qos=1)
            with self._grants:
                assert self._grants.wait_for(partial(self._has_grant, number), PATIENCE)

    def _has_grant(self, number: int | None) -> bool:
        return number in self._granted

    def publish(self, topic: str, payload: str | bytes, *, retain: bool = False, wait: bool = True) -> None:
        sent = self._client.publish(topic, payload, qos=1 if wait else 0, retain=retain)
        if wait and threading.current_thread() is threading.main_thread():
            sent.wait_for_publish(PATIENCE)
            assert sent.is_published(), f"the broker did not take {topic}"

    def go_offline(self) -> None:
        """Disconnect without DISCONNECT, as after a power cut. The broker sends the last will."""
        self._client.loop_stop()
        sock = self._client.socket()
        assert sock is not None
        sock.close()

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def flood(port: int, messages: list[tuple[str, bytes]], rate: int) -> None:
    """Publish all of them with QoS 0 at this rate, from a plain socket: it needs little CPU time."""
    with socket.create_connection(("127.0.0.1", port)) as out:
        out.sendall(b"\x10\x11\x00\x04MQTT\x04\x02\x00\x3c\x00\x05flood")
        assert out.recv(4)[3:] == b"\x00"
        packets = [_publication(topic.encode(), payload) for topic, payload in messages]
        begun, step = time.monotonic(), max(1, rate // 100)
        for start in range(0, len(packets), step):
            out.sendall(b"".join(packets[start : start + step]))
            ahead = begun + (start + step) / rate - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)
        out.sendall(b"\xe0\x00")


def _publication(topic: bytes, payload: bytes) -> bytes:
    body = len(topic).to_bytes(2, "big") + topic + payload
    size, head = len(body), bytearray(b"\x30")
    while True:
        size, digit = divmod(size, 128)
        head.append(digit | (0x80 if size else 0))
        if not size:
            return bytes(head) + body
