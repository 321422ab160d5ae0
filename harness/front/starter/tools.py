"""Tools of this host: every function with @tool is one."""

from typing import TypedDict

from harness import tool

STOCK = {"apples": 12, "pears": 0, "plums": 40}

__all__ = ["Item", "list_stock"]


class Item(TypedDict):
    """One kind of fruit; `count` in pieces."""

    name: str
    count: int


@tool(effect="read")
def list_stock() -> list[Item]:
    """List what is in stock."""
    return [Item(name=name, count=count) for name, count in STOCK.items()]
