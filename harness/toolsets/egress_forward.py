"""Inside a source's box: 127.0.0.1:PORT leads to the host's proxy at a Unix socket; then it becomes the source.

Standard library only, and nothing of ours: the box's own Python runs it with `-I -S`, as `SOCKET PORT COMMAND…`.
"""

import asyncio
import os
import socket
import sys

__all__ = ["main"]

CHUNK = 1 << 16


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.close()


async def _serve(listening: socket.socket, proxy: str) -> None:
    async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up_reader, up_writer = await asyncio.open_unix_connection(proxy)
        except OSError:
            writer.close()
            return
        try:
            await asyncio.gather(_pipe(reader, up_writer), _pipe(up_reader, writer))
        finally:
            up_writer.close()
            writer.close()

    async with await asyncio.start_server(met, sock=listening) as server:
        await server.serve_forever()


def main(proxy: str, port: int, command: list[str]) -> None:
    """Start the forwarder, then become `command`; exits with a word where that cannot be executed."""
    listening = socket.create_server(("127.0.0.1", port))  # before the source starts: it is there when asked
    child = os.fork()
    if child == 0:
        if os.fork():
            os._exit(0)  # the forwarder is no child of the source, which would wait for it
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)  # its pipes are the source's alone, and end with it
        asyncio.run(_serve(listening, proxy))
        os._exit(0)
    os.waitpid(child, 0)
    listening.close()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
