"""Secrets of the host file, filled into text at the moment of use, and never into what is written down."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from harness.contract.host import SecretSource
from harness.core.files import read_start
from harness.toolsets.errors import SourceUnavailable

__all__ = ["Secrets"]

_REFERENCE = re.compile(r"\$\{secret:([A-Za-z0-9_.-]{1,100})\}")
MAX_SECRET_BYTES = 64 << 10
"""Of one secret's file: a key or a token, not a database."""


class Secrets:
    """The secrets of a host, read when they are asked for."""

    def __init__(self, sources: Mapping[str, SecretSource], folder: Path) -> None:
        self._sources = sources
        self._folder = folder

    def fill(self, text: str) -> str:
        """`text` with every `${secret:NAME}` in place. Raises SourceUnavailable where one cannot be had."""
        return _REFERENCE.sub(lambda found: self.get(found[1]), text)

    def known(self) -> tuple[str, ...]:
        """The values that can be read now, for taking them out of what is said."""
        values = []
        for name in self._sources:
            with suppress(SourceUnavailable):
                values.append(self.get(name))
        return tuple(values)

    def get(self, name: str) -> str:
        """The value of a secret. Raises SourceUnavailable."""
        source = self._sources.get(name)
        if source is None:
            raise SourceUnavailable(f"the host file has no secret `{name}`", hint=f"write `secrets: {{{name}: …}}`")
        if source.env:
            value = os.environ.get(source.env)
            if value is None:
                hint = f"set the environment variable `{source.env}`"
                raise SourceUnavailable(f"the secret `{name}` is not set", hint=hint)
            return value
        try:
            return read_start(self._folder / source.file, MAX_SECRET_BYTES).decode("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SourceUnavailable(f"the secret `{name}` cannot be read", hint=f"look at `{source.file}`") from error
