# SPDX-License-Identifier: Apache-2.0
"""LLVM's MC layer for one processor, through the shim `native/isaprobe.cpp`."""

from __future__ import annotations

import ctypes
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .build import Native

MAX_OPERANDS = 40
WINDOW = 28
"""Bytes of one question: the longest encoding (16), an 8-byte literal, and slack."""

ROLE_COUNT = 138
"""Size of LLVM 22's `AMDGPU::OpName`."""


@dataclass(frozen=True)
class RegisterDescription:
    """LLVM's id, name and hardware encoding of a register."""

    id: int
    name: str
    encoding: int


@dataclass(frozen=True)
class RegisterClass:
    """A register class: its members by register id, and their width in bits."""

    id: int
    name: str
    bits: int
    members: frozenset[int]


@dataclass(frozen=True)
class OperandDescription:
    """`MCOperandInfo`: register class id (-1: none), flag bits, operand type, tied def or -1."""

    register_class: int
    flags: int
    type: int
    tied: int
    early_clobber: int


@dataclass(frozen=True)
class InstructionDescription:
    """`MCInstrDesc`.  `roles` maps an operand's index to its number in `AMDGPU::OpName`."""

    id: int
    name: str
    defs: int
    flags: int
    ts_flags: int
    implicit_defs: tuple[str, ...]
    implicit_uses: tuple[str, ...]
    operands: tuple[OperandDescription, ...]
    roles: dict[int, int]


@dataclass(frozen=True)
class Description:
    """All that LLVM knows without decoding anything; `instructions` by opcode."""

    registers: tuple[RegisterDescription, ...]
    classes: tuple[RegisterClass, ...]
    instructions: dict[int, InstructionDescription]


@dataclass(frozen=True)
class Decodes:
    """Answers to one batch, by window.

    opcode uint16, size uint8 (bytes), status uint8 (see `accepted`), operand_count uint8;
    kind uint8 and value int64 [n, MAX_OPERANDS], both empty unless operands were asked for.  A
    value is a register id (kind 1), an immediate (2) or the value of a literal expression (3).
    """

    opcode: np.ndarray
    size: np.ndarray
    status: np.ndarray
    operand_count: np.ndarray
    kind: np.ndarray
    value: np.ndarray

    @property
    def accepted(self) -> np.ndarray:
        """Success or soft failure (which `llvm-objdump` prints, too)."""
        taken: np.ndarray = (self.status == 3) | (self.status == 1)
        return taken

    @property
    def crashed(self) -> np.ndarray:
        """LLVM died; `llvm-objdump` would, too."""
        died: np.ndarray = self.status == 9
        return died


@dataclass
class Llvm:
    """One processor with features.  `decodes` counts the windows asked for so far."""

    native: Native
    processor: str
    features: str = ""
    decodes: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._library = ctypes.CDLL(str(self.native.probe))
        pointer, integer, long = ctypes.c_void_p, ctypes.c_int, ctypes.c_long
        self._declare("isaprobe_version", ctypes.c_char_p)
        self._declare("isaprobe_open", pointer, ctypes.c_char_p, ctypes.c_char_p)
        self._declare(
            "isaprobe_decode", None, pointer, pointer, long, integer, integer, *[pointer] * 6
        )
        self._declare("isaprobe_print", long, pointer, pointer, long, integer, pointer, long)
        self._declare("isaprobe_reencode", None, pointer, pointer, long, integer, pointer, pointer)
        self._declare("isaprobe_describe", integer, pointer, ctypes.c_char_p, ctypes.c_uint)
        self._target = self._library.isaprobe_open(self.processor.encode(), self.features.encode())
        if not self._target:
            raise ValueError(f"LLVM does not know the processor {self.processor}")

    def _declare(self, name: str, result: Any, *arguments: Any) -> None:
        function = getattr(self._library, name)
        function.restype = result
        function.argtypes = list(arguments)

    @property
    def version(self) -> str:
        return str(self._library.isaprobe_version().decode())

    def decode(self, windows: np.ndarray, operands: bool = True) -> Decodes:
        """`windows`: uint8 [n, bytes]."""
        windows = np.ascontiguousarray(windows, np.uint8)
        count, stride = windows.shape
        self.decodes += count
        rows = count if operands else 0
        answer = Decodes(
            np.zeros(count, np.uint16),
            np.zeros(count, np.uint8),
            np.zeros(count, np.uint8),
            np.zeros(count, np.uint8),
            np.zeros((rows, MAX_OPERANDS), np.uint8),
            np.zeros((rows, MAX_OPERANDS), np.int64),
        )
        self._library.isaprobe_decode(
            self._target,
            windows.ctypes.data,
            count,
            stride,
            MAX_OPERANDS,
            answer.opcode.ctypes.data,
            answer.size.ctypes.data,
            answer.status.ctypes.data,
            answer.operand_count.ctypes.data,
            answer.kind.ctypes.data if operands else None,
            answer.value.ctypes.data if operands else None,
        )
        return answer

    def text(self, windows: np.ndarray) -> list[str]:
        """LLVM's text of each window, tabs turned to spaces; "" where it does not decode and "?"
        where the printer dies."""
        windows = np.ascontiguousarray(windows, np.uint8)
        count, stride = windows.shape
        capacity = 512 * count + 4096
        out = ctypes.create_string_buffer(capacity)
        length = self._library.isaprobe_print(
            self._target, windows.ctypes.data, count, stride, out, capacity
        )
        if length < 0:
            raise ValueError(f"texts need {-length} bytes, there are {capacity}")
        return [
            line.replace("\t", " ").strip()
            for line in out.raw[:length].decode().split("\n")[:count]
        ]

    def reencode(self, windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What LLVM's encoder makes of its decoder's result: sizes in bytes (0: it could not) and
        bytes [n, stride]."""
        windows = np.ascontiguousarray(windows, np.uint8)
        count, stride = windows.shape
        sizes = np.zeros(count, np.uint8)
        out = np.zeros((count, stride), np.uint8)
        self._library.isaprobe_reencode(
            self._target, windows.ctypes.data, count, stride, sizes.ctypes.data, out.ctypes.data
        )
        return sizes, out

    def describe(self) -> Description:
        """Registers, register classes and instruction descriptions."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "description.jsonl"
            if self._library.isaprobe_describe(self._target, str(path).encode(), ROLE_COUNT):
                raise OSError(f"cannot write {path}")
            with path.open(encoding="utf-8") as lines:
                return _read_description([json.loads(line) for line in lines])


def _read_description(items: Sequence[dict[str, Any]]) -> Description:
    def of_kind(kind: str) -> list[dict[str, Any]]:
        return [item for item in items if item["t"] == kind]

    return Description(
        tuple(RegisterDescription(r["id"], r["name"], r["encoding"]) for r in of_kind("register")),
        tuple(
            RegisterClass(c["id"], c["name"], c["bits"], frozenset(c["members"]))
            for c in of_kind("class")
        ),
        {
            i["id"]: InstructionDescription(
                i["id"],
                i["name"],
                i["defs"],
                i["flags"],
                i["ts_flags"],
                tuple(i["implicit_defs"]),
                tuple(i["implicit_uses"]),
                tuple(OperandDescription(*o) for o in i["operands"]),
                {index: role for role, index in i["roles"]},
            )
            for i in of_kind("instruction")
        },
    )
