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
    found: dict[str, Names] = {kind: {} for kind in KINDS}
    probe = _Probe(entries, text)
    for number, shown in probe.ask(r"s_getreg_b32", "simm16", [n | 31 << 11 for n in range(64)]):
        if (name := re.search(r"hwreg\((HW_\w+)\)", shown)) is not None:
            found["hardware_registers"][number & 63] = name[1]
    for mnemonic, role in (("s_sendmsg", "simm16"), ("s_sendmsg_rtn_b32", "src0")):
        for number, shown in probe.ask(mnemonic, role, range(0x380)):
            if (
                name := re.search(r"sendmsg\((MSG.*)\)", shown)
            ) is not None and not number & 0x80 * (
                mnemonic == "s_sendmsg" and not probe.has("s_sendmsg_rtn_b32")
            ):
                found["messages"].setdefault(number, name[1])
    if probe.has("s_sendmsg_rtn_b32"):
        found["messages"] = {n: name for n, name in found["messages"].items() if n < 256}
    for number, shown in probe.ask(
        r"tbuffer_load_format_x|tbuffer_load_d16_format_x", "format", range(128)
    ):
        name = re.search(r"format:\[(.*?)\]", shown)
        if name is not None:
            found["buffer_formats"][number] = name[1]
        elif "format:" not in shown:
            found["buffer_formats"][number] = ""
    for number, shown in probe.ask("exp|export", "tgt", range(64)):
        name = re.match(r"\s*\w+ (\w+) ", shown)
        if name is not None and "invalid" not in name[1]:
            found["export_targets"][number] = name[1]
    return found


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
    out.append(
        "\ndef _of(\n    tables: tuple[tuple[frozenset[str], dict[int, str]], ...], target: TargetFacts\n"
        ") -> dict[int, str]:\n"
        "    for processors, names in tables:\n"
        "        if target.processor in processors:\n"
        "            return names\n"
        "    return {}\n"
    )
    for kind, (constant, _) in KINDS.items():
        out.append(
            f"\n\ndef {kind}(target: TargetFacts) -> dict[int, str]:\n    return _of(_{constant}, target)\n"
        )
    return "".join(out)
