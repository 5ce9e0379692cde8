"""Keeps the plants of an estate file in a temporary file until the whole file was checked."""

import tempfile
from collections.abc import Iterator
from typing import Self

import msgspec

from domogate.domain.estate import EstatePlant

_LENGTH = 8
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(EstatePlant).decode


class PlantSpool:
    """A list of plants in a temporary file. The file has no name, so the system removes it after a crash."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="domogate-")  # noqa: SIM115 - closed by __exit__
        self.modules = 0

    def add(self, plant: EstatePlant) -> None:
        self.modules += sum(1 for _ in plant.topology.every_module())
        data = _encode(plant)
        self._file.write(len(data).to_bytes(_LENGTH, "big"))
        self._file.write(data)

    def __iter__(self) -> Iterator[EstatePlant]:
        self._file.seek(0)
        while length := self._file.read(_LENGTH):
            yield _decode(self._file.read(int.from_bytes(length, "big")))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
