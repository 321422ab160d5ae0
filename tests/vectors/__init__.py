"""Vectors that both ends of the wire are held to."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def vectors(name: str) -> Any:
    """The content of `NAME.json`."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
