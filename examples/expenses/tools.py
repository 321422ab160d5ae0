"""Tools of the expense example: 20 employees, thousands of expense lines, a travel limit for each level."""

import random
from functools import cache
from typing import TypedDict

from harness import tool

CATEGORIES = ("flight", "hotel", "meal", "taxi", "conference", "software")
LIMITS = {"junior": 9_000.0, "senior": 11_000.0, "lead": 13_000.0}


class Employee(TypedDict):
    """One member of the team."""

    id: str
    name: str
    level: str


class Expense(TypedDict):
    """One line of an expense report; `amount` in USD."""

    id: str
    employee: str
    date: str
    category: str
    amount: float
    status: str
    merchant: str
    note: str


@cache
def team() -> list[Employee]:
    """The 20 employees."""
    levels = list(LIMITS)
    return [Employee(id=f"E{i:02}", name=f"Employee {i:02}", level=levels[i % 3]) for i in range(20)]


@cache
def lines(employee: str) -> list[Expense]:
    """The expense lines of one employee: 150 to 250, the same on every run."""
    chance = random.Random(f"expenses of {employee}")
    return [
        Expense(
            id=f"{employee}-{i:04}",
            employee=employee,
            date=f"2026-{chance.randint(7, 9):02}-{chance.randint(1, 28):02}",
            category=chance.choice(CATEGORIES),
            amount=round(chance.uniform(5, 120), 2),
            status=chance.choice(["approved", "approved", "approved", "rejected"]),
            merchant=f"Merchant {chance.randint(1, 400)}",
            note=f"receipt {chance.getrandbits(32):08x}, entered by the traveller",
        )
        for i in range(chance.randint(150, 250))
    ]


@tool(effect="read")
def get_team() -> list[Employee]:
    """List the employees of the team."""
    return team()


@tool(effect="read", scope=("quarter",))
def get_expenses(employee: str, quarter: str) -> list[Expense]:
    """List every expense line of one employee in a quarter, approved or not.

    Args:
        employee: Id of the employee.
        quarter: For example `2026Q3`.
    """
    return lines(employee) if quarter == "2026Q3" else []


@tool(effect="read")
def get_limit(level: str) -> float:
    """The quarterly limit of a level, in USD."""
    return LIMITS[level]
