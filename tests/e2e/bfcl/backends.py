"""The Python back ends that `bfcl-eval` carries, as tools: honest effects, and an overlay for untrue annotations."""

import copy
import importlib
import inspect
from collections.abc import Callable
from typing import Any

from harness.contract.tool import IdempotencyRule
from harness.core.call import Effect, Idempotency
from harness.registry.from_function import from_function
from harness.registry.registry import Registry
from harness.registry.settings import Settings

MODULES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}
CLOCKED = {"_random", "_last_modified"}
"""Attributes that differ between two runs of the same lines: a generator object, and the clock."""

STATELESS = {"MathAPI"}

READS = {
    "cat", "diff", "du", "find", "grep", "ls", "pwd", "sort", "tail", "wc",
    "get_message_stats", "get_user_id", "list_users", "message_get_login_status", "search_messages",
    "view_messages_sent", "get_tweet", "get_tweet_comments", "get_user_stats", "get_user_tweets",
    "list_all_following", "posting_get_login_status", "search_tweets", "get_ticket", "get_user_tickets",
    "ticket_get_login_status", "filter_stocks_by_price", "get_account_info", "get_available_stocks",
    "get_current_time", "get_order_details", "get_order_history", "get_stock_info", "get_symbol_by_name",
    "get_transaction_history", "get_watchlist", "notify_price_change", "trading_get_login_status",
    "compute_exchange_rate", "get_all_credit_cards", "get_booking_history", "get_budget_fiscal_year",
    "get_credit_card_balance", "get_flight_cost", "get_nearest_airport_by_city", "list_all_airports",
    "retrieve_invoice", "travel_get_login_status", "verify_traveler_information", "check_tire_pressure",
    "displayCarStatus", "display_log", "estimate_distance", "estimate_drive_feasibility_by_mileage",
    "find_nearest_tire_shop", "gallon_to_liter", "get_current_speed", "get_outside_temperature_from_google",
    "get_outside_temperature_from_weather_com", "get_zipcode_based_on_city", "liter_to_gallon",
}  # fmt: skip
DESTRUCTIVE = {"rm", "rmdir", "delete_message", "cancel_booking"}

OVERLAY: dict[str, tuple[dict[str, Any], str]] = {
    "send_message": (
        {"result": dict[str, str | bool | dict[str, int]]},
        "annotated as text and truth values, but the message id that it gives back is a mapping of a whole number",
    ),
    "view_messages_sent": (
        {"result": dict[str, dict[str, list[Any]] | str]},
        "annotated as lists of text, but a scenario's own messages are lists and mappings inside the list",
    ),
    "compute_exchange_rate": (
        {"result": dict[str, float]},
        "annotated as a number, but it gives a mapping that holds one",
    ),
    "close_ticket": (
        {"arguments": {"ticket_id": int | str}},
        "annotated as a whole number, but it is called with text, and answers that there is no such ticket",
    ),
}
"""The four whose own annotation is untrue: what is true, and how it is known."""


def instances(scenario: dict[str, Any]) -> dict[str, Any]:
    """Fresh back ends of a scenario, loaded with its state."""
    found = {}
    for name in scenario["involved_classes"]:
        module = importlib.import_module(f"bfcl_eval.eval_checker.multi_turn_eval.func_source_code.{MODULES[name]}")
        instance = getattr(module, name)()
        if name not in STATELESS:
            instance._load_scenario(copy.deepcopy(scenario["initial_config"].get(name, {})), long_context=False)
        found[name] = instance
    return found


def methods(backends: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """The public methods by name."""
    return {
        name: method
        for instance in backends.values()
        for name, method in inspect.getmembers(instance, inspect.ismethod)
        if not name.startswith("_")
    }


def effect_of(name: str) -> Effect:
    """What a method changes; MathAPI's change nothing."""
    if name in READS:
        return Effect.READ
    return Effect.DESTRUCTIVE if name in DESTRUCTIVE else Effect.WRITE


def registry(backends: dict[str, Any]) -> Registry:
    """The methods as tools."""
    tools = Registry()
    pure = {name for name, _ in inspect.getmembers(backends.get("MathAPI"), inspect.ismethod)}
    for name, method in methods(backends).items():
        effect = Effect.READ if name in pure else effect_of(name)
        settings = Settings(
            effect=effect,
            idempotency=IdempotencyRule(Idempotency.NONE),
            name=name,
            preview=f"{name} of the scenario's back end" if effect is Effect.DESTRUCTIVE else "",
            **(OVERLAY[name][0] if name in OVERLAY else {}),
        )
        tools.add(from_function(method, settings))
    return tools


def state(backends: dict[str, Any]) -> dict[str, Any]:
    """The state of every back end, for comparison by value."""
    return {name: _value(instance, set()) for name, instance in backends.items()}


def _value(thing: Any, open_: set[int]) -> Any:
    if isinstance(thing, dict):
        return {key: _value(each, open_) for key, each in thing.items()}
    if isinstance(thing, list | tuple):
        return [_value(each, open_) for each in thing]
    if hasattr(thing, "__dict__") and not callable(thing):
        if id(thing) in open_:
            return "…"
        inside = open_ | {id(thing)}
        return {name: _value(each, inside) for name, each in vars(thing).items() if name not in CLOCKED}
    return repr(thing) if thing.__class__.__module__ not in ("builtins", "datetime") else thing
