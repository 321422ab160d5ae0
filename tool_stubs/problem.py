"""The one error of this package: a schema from which no stub can be made, with its place and reason."""

__all__ = ["StubRefused"]


class StubRefused(ValueError):
    """A tool's schema cannot be used; `tool`, `path` (JSON pointer) and `reason` say where and why."""

    def __init__(self, tool: str, path: str, reason: str) -> None:
        super().__init__(f"tool `{tool}`, {path or 'its schema'}: {reason}")
        self.tool = tool
        self.path = path
        self.reason = reason
