"""Simulates the gateway of a MyHome bus with three lamps, with the addresses 11, 12 and 13. It needs no package.

Usage: python3 myhome_bus.py [PORT]
"""

import asyncio
import sys

ACK, NACK = "*#*1##", "*#*0##"
lamps = {"11": "0", "12": "0", "13": "0"}
listeners: set[asyncio.StreamWriter] = set()


async def read(reader: asyncio.StreamReader) -> str:
    return (await reader.readuntil(b"##")).decode()


def answer(frame: str) -> str:
    """Return the answer to a frame of WHO 1 (lights), and tell all listeners about a change."""
    parts = frame.removesuffix("##").split("*")[1:]
    if parts[0] == "1" and parts[2] in lamps and parts[1] in ("0", "1"):  # *1*WHAT*WHERE##
        lamps[parts[2]] = parts[1]
        print(f"lamp {parts[2]}: {'on' if parts[1] == '1' else 'off'}", flush=True)
        for writer in listeners:
            writer.write(frame.encode())
        return ACK
    if parts[0] == "#1" and parts[1] in lamps:  # *#1*WHERE##
        return f"*1*{lamps[parts[1]]}*{parts[1]}##{ACK}"
    return NACK


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(ACK.encode())
    try:
        wants_events = await read(reader) == "*99*1##"
        writer.write(ACK.encode())
        if wants_events:
            listeners.add(writer)
        while True:
            frame = await read(reader)
            writer.write(answer(frame).encode())
    except (asyncio.IncompleteReadError, ConnectionError):
        listeners.discard(writer)
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 20000)
    print("The simulated bus has 3 lamps. Press Ctrl-C to stop.", flush=True)
    await server.serve_forever()


asyncio.run(main())
