# SPDX-License-Identifier: Apache-2.0
"""Harvests the names behind numbers by printing every number through LLVM.

`render` writes `core/postproc/isa/printing/names.py` from the harvests of all targets; targets
with the same names share a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from postproc.isa.model import Entry, ImmediateField

Names = dict[int, str]
TextFunction = Callable[[Sequence[bytes]], list[str]]

HEADER = '''# SPDX-License-Identifier: Apache-2.0
"""Names behind numbers, per processor: what LLVM {version} prints for every value.

Written by `tools/isagen`; not to be edited.
"""

from __future__ import annotations

from postproc.isa.printing.context import TargetFacts

__all__ = ["buffer_formats", "export_targets", "hardware_registers", "messages"]

'''

LOOKUP = """
def _of(
    tables: tuple[tuple[frozenset[str], dict[int, str]], ...], target: TargetFacts
) -> dict[int, str]:
    for processors, names in tables:
        if target.processor in processors:
            return names
    return {}
"""

KINDS: dict[str, tuple[str, str]] = {
    "hardware_registers": (
        "HARDWARE_REGISTERS",
        "Hardware register number -> name in `hwreg(...)`.",
    ),
    "messages": ("MESSAGES", "Immediate -> what stands in `sendmsg(...)`."),
    "buffer_formats": (
        "BUFFER_FORMATS",
        "Format number -> what stands in `format:[...]`; empty: the default.",
    ),
    "export_targets": ("EXPORT_TARGETS", "Export target number -> name."),
}


def harvest(entries: Sequence[Entry], text: TextFunction) -> dict[str, Names]:
    """All names of one target, by kind."""
    probe = _Probe(entries, text)
    return {
        "hardware_registers": _hardware_registers(probe),
        "messages": _messages(probe),
        "buffer_formats": _buffer_formats(probe),
        "export_targets": _export_targets(probe),
    }


def _hardware_registers(probe: _Probe) -> Names:
    whole = 31 << 11  # all 32 bits
    shown = probe.ask("s_getreg_b32", "simm16", [number | whole for number in range(64)])
    return {
        code & 63: name[1]
        for code, line in shown
        if (name := re.search(r"hwreg\((HW_\w+)\)", line)) is not None
    }


def _messages(probe: _Probe) -> Names:
    """From GFX11 on a message is a byte; before, bit 7 is not part of it."""
    byte = probe.has("s_sendmsg_rtn_b32")
    numbers = range(256) if byte else [n for n in range(0x400) if not n & 0x80]
    shown = probe.ask("s_sendmsg", "simm16", numbers)
    shown += probe.ask("s_sendmsg_rtn_b32", "src0", numbers)
    found: Names = {}
    for code, line in shown:
        if (name := re.search(r"sendmsg\((MSG.*)\)", line)) is not None:
            found.setdefault(code, name[1])
    return found


def _buffer_formats(probe: _Probe) -> Names:
    found: Names = {}
    for code, line in probe.ask(r"tbuffer_load_(d16_)?format_x", "format", range(128)):
        name = re.search(r"format:\[(.*?)\]", line)
        if name is not None:
            found[code] = name[1]
        elif "format:" not in line:
            found[code] = ""
    return found


def _export_targets(probe: _Probe) -> Names:
    return {
        code: name[1]
        for code, line in probe.ask("exp|export", "tgt", range(64))
        if (name := re.match(r"\s*\w+ (\w+) ", line)) is not None and "invalid" not in name[1]
    }


class _Probe:
    def __init__(self, entries: Sequence[Entry], text: TextFunction) -> None:
        self._entries = entries
        self._text = text

    def _find(self, mnemonic: str, role: str | None) -> Entry | None:
        for entry in self._entries:
            if re.fullmatch(mnemonic, entry.mnemonic) and (
                role is None
                or any(
                    s.role == role and isinstance(s.source, ImmediateField) for s in entry.operands
                )
            ):
                return entry
        return None

    def has(self, mnemonic: str) -> bool:
        return self._find(mnemonic, None) is not None

    def ask(self, mnemonic: str, role: str, numbers: Sequence[int]) -> list[tuple[int, str]]:
        """(number, text) of the instruction with that value in `role`; [] where there is none."""
        entry = self._find(mnemonic, role)
        if entry is None:
            return []
        source = next(s.source for s in entry.operands if s.role == role)
        assert isinstance(source, ImmediateField)
        encodings = []
        for number in numbers:
            value = entry.patterns[0][1]
            for run in source.runs:
                shift = run.weight.bit_length() - 1
                value |= (number >> shift & (1 << run.length) - 1) << run.low
            encodings.append(value.to_bytes(28, "little"))
        return list(zip(numbers, self._text(encodings), strict=True))


def render(harvests: dict[str, dict[str, Names]], version: str) -> str:
    """The module's source; `harvests` is by processor, then by kind."""
    out = [HEADER.format(version=version)]
    for kind, (constant, document) in KINDS.items():
        groups: dict[tuple[tuple[int, str], ...], list[str]] = {}
        for processor in sorted(harvests):
            names = tuple(sorted(harvests[processor][kind].items()))
            if names:
                groups.setdefault(names, []).append(processor)
        out.append(f"_{constant}: tuple[tuple[frozenset[str], dict[int, str]], ...] = (\n")
        for table, processors in groups.items():
            listed = ", ".join(f'"{p}"' for p in processors)
            out.append(
                "    (\n        frozenset(\n            {" + listed + "},\n        ),\n        {\n"
            )
            out += [f'            {number}: "{name}",\n' for number, name in table]
            out.append("        },\n    ),\n")
        out.append(f')\n"""{document}"""\n\n')
    out.append(LOOKUP)
    for kind, (constant, _) in KINDS.items():
        out.append(
            f"\n\ndef {kind}(target: TargetFacts) -> dict[int, str]:\n"
            f"    return _of(_{constant}, target)\n"
        )
    return "".join(out)
