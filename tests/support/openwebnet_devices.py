"""Gives frames to a device, and reads the frames that it makes from commands and reads."""

from domogate.domain.commands import Command
from domogate.domain.states import State
from domogate.drivers.openwebnet.addresses import find_key
from domogate.drivers.openwebnet.device import Device
from domogate.drivers.openwebnet.frames import DimensionReading, Normal, from_frame

NOW = 1_763_208_000.0


def receive(device: Device, *written: str, at: float = NOW) -> State | None:
    for text in written:
        frame = from_frame(text)
        assert isinstance(frame, Normal | DimensionReading), text
        assert (frame.who, find_key(frame.who, frame.where)) in device.keys, text
        device.receive(frame, at)
    return device.state


def command_frames(device: Device, command: Command) -> list[str]:
    return [request.to_frame() for request in device.plan(command).requests]


def read_frames(device: Device) -> list[str]:
    return [question.to_frame() for question in device.read_requests]
