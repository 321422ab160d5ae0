"""An assembler for seccomp: from tests on system call numbers and arguments to a classic BPF program. Pure.

The program is a binary search over the numbers; every leaf returns, so nothing ever falls through.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["EAGAIN", "ENOSYS", "EPERM", "Action", "Allow", "Deny", "When", "assemble", "simulate"]

EPERM = 1
EAGAIN = 11
ENOSYS = 38

_LOAD, _AND, _RETURN, _JUMP = 0x20, 0x54, 0x06, 0x05
_JEQ, _JGE = 0x15, 0x35
_NR, _ARCH, _ARGS = 0, 4, 16
"""Offsets in `struct seccomp_data`."""

_RET_ALLOW, _RET_KILL_PROCESS, _RET_ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOW = 0xFFFFFFFF
_FAIL = 256
"""Stands for "to the refusal of this leaf" until the leaf is laid out; no real jump is this long."""

MAX_INSTRUCTIONS = 4096
"""BPF_MAXINSNS: the kernel takes no longer program."""

_Instruction = tuple[int, int, int, int]
"""Operation, steps to skip where true, where false, operand."""


@dataclass(frozen=True, slots=True)
class When:
    """True where the argument, masked, is one of the values; what the mask leaves of the high half must be zero."""

    argument: int
    """0 to 5."""
    values: tuple[int, ...]
    """Each below 2^32."""
    mask: int = 0xFFFFFFFF_FFFFFFFF


@dataclass(frozen=True, slots=True)
class Allow:
    """Let the call through where every test holds; without tests, always."""

    tests: tuple[When, ...] = ()
    otherwise: int = EPERM
    """Error number where a test does not hold."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Answer the call with an error number."""

    errno: int = EPERM


Action = Allow | Deny
REFUSED = Deny()


def assemble(arch: int, actions: Mapping[int, Action], default: Action = REFUSED) -> bytes:
    """The program as an array of `struct sock_filter`, little endian.

    `arch` is the AUDIT_ARCH number: calls of any other architecture kill the process. Numbers that `actions` does not
    name, those of the x32 interface among them, get `default`. Raises ValueError where the kernel would not take it.
    """
    code: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_JEQ, 1, 0, arch),
        (_RETURN, 0, 0, _RET_KILL_PROCESS),
        (_LOAD, 0, 0, _NR),
        *_search(_intervals(actions, default)),
    ]
    if len(code) > MAX_INSTRUCTIONS:
        raise ValueError(f"a filter of {len(code)} instructions is longer than the kernel takes")
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in code)


def _intervals(actions: Mapping[int, Action], default: Action) -> list[tuple[int, Action]]:
    """(first number, action), rising, neighbours with equal actions joined; the first starts at 0."""
    out: list[tuple[int, Action]] = [(0, default)]
    for number in sorted(actions):
        for start, action in ((number, actions[number]), (number + 1, default)):
            if out[-1][0] == start:
                out.pop()
            if not out or out[-1][1] != action:
                out.append((start, action))
    return out


def _search(intervals: Sequence[tuple[int, Action]]) -> list[_Instruction]:
    if len(intervals) == 1:
        return _leaf(intervals[0][1])
    middle = len(intervals) // 2
    left, right = _search(intervals[:middle]), _search(intervals[middle:])
    pivot = intervals[middle][0]
    if len(left) < _FAIL:
        return [(_JGE, len(left), 0, pivot), *left, *right]
    return [(_JGE, 0, 1, pivot), (_JUMP, 0, 0, len(left)), *left, *right]


def _leaf(action: Action) -> list[_Instruction]:
    if isinstance(action, Deny):
        return [(_RETURN, 0, 0, _RET_ERRNO | action.errno)]
    if not action.tests:
        return [(_RETURN, 0, 0, _RET_ALLOW)]
    code = [instruction for test in action.tests for instruction in _condition(test)]
    code += [(_RETURN, 0, 0, _RET_ALLOW), (_RETURN, 0, 0, _RET_ERRNO | action.otherwise)]
    last = len(code) - 1
    return [
        (op, yes, last - position - 1 if no == _FAIL else no, operand)
        for position, (op, yes, no, operand) in enumerate(code)
    ]


def _condition(test: When) -> list[_Instruction]:
    if not test.values or any(not 0 <= value <= _LOW for value in test.values):
        raise ValueError("a test needs values, each below 2^32")
    code: list[_Instruction] = []
    base = _ARGS + 8 * test.argument
    for offset, mask, values in ((4, test.mask >> 32, (0,)), (0, test.mask & _LOW, test.values)):
        if not mask:
            continue
        code.append((_LOAD, 0, 0, base + offset))
        if mask != _LOW:
            code.append((_AND, 0, 0, mask))
        for rest in range(len(values) - 1, -1, -1):
            code.append((_JEQ, rest, 0 if rest else _FAIL, values[len(values) - 1 - rest]))
    return code


def simulate(program: bytes, arch: int, number: int, arguments: Sequence[int] = ()) -> int:
    """What the kernel would return for one call: the machine that tests and reviewers run a program on."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, arch, 0, *padded)
    accumulator = position = 0
    while True:
        op, yes, no, operand = struct.unpack_from("<HBBI", program, position * 8)
        position += 1
        if op == _LOAD:
            (accumulator,) = struct.unpack_from("<I", data, operand)
        elif op == _AND:
            accumulator &= operand
        elif op == _JUMP:
            position += operand
        elif op == _RETURN:
            return int(operand)
        else:
            held = accumulator == operand if op == _JEQ else accumulator >= operand
            position += yes if held else no
