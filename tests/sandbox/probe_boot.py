"""A runner for probes: confines itself as the real one does, then executes the text that it is sent and answers JSON.

Frames are 4 bytes of length and UTF-8 text. The text finds `found`, a dict that is the answer.
"""

import json
import socket
import sys

sys.path.insert(0, "/opt/box")

from sandbox_image.boot import confined


def main() -> None:
    serve(confined(json.loads(sys.argv[1])))


def serve(channel: socket.socket) -> None:
    """Say one byte, then answer until the host hangs up."""
    channel.sendall(b"h")
    while True:
        head = channel.recv(4, socket.MSG_WAITALL)
        if len(head) < 4:
            return
        text = channel.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL).decode()
        found: dict[str, object] = {}
        try:
            exec(compile(text, "<probe>", "exec"), {"found": found, "channel": channel})
        except BaseException as error:  # noqa: BLE001 - whatever the probe raises is its answer
            found["error"] = f"{type(error).__name__}: {error}"
        answer = json.dumps(found, default=str).encode()
        channel.sendall(len(answer).to_bytes(4, "big") + answer)


if __name__ == "__main__":
    main()
