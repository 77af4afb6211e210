# SPDX-License-Identifier: Apache-2.0
"""Which entries a mnemonic may mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import final

from postproc.isa.model import Entry

__all__ = ["Candidates"]

SUFFIXES = ("_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa")
"""What a VALU mnemonic may bear to force a form, longest first."""

_FORMS = ("_e32", "_e64", "_sdwa", "_dpp", "_e64_dpp")
"""Forms in the order in which LLVM tries them."""


def split_suffix(mnemonic: str) -> tuple[str, str]:
    """`("v_add_f32", "_e64_dpp")` of `v_add_f32_e64_dpp`; the suffix may be empty."""
    if mnemonic.startswith("v_"):
        for suffix in SUFFIXES:
            if mnemonic.endswith(suffix):
                return mnemonic[: -len(suffix)], suffix
    return mnemonic, ""


@final
class Candidates:
    """Entries by mnemonic, without their suffixes; `aliases` are other names of mnemonics."""

    def __init__(
        self, mnemonics: Sequence[str], entries: Sequence[Entry], aliases: Mapping[str, str]
    ) -> None:
        self._aliases = aliases
        self._entries = entries
        self._numbers: dict[str, list[int]] = {}
        for number, mnemonic in enumerate(mnemonics):
            self._numbers.setdefault(split_suffix(mnemonic)[0], []).append(number)
        self._ordered: dict[str, tuple[Entry, ...]] = {}

    def of(self, mnemonic: str) -> Iterator[Entry]:
        """Candidates in order of preference."""
        base, suffix = split_suffix(mnemonic)
        for entry in self._of_base(base):
            if not suffix or form_of(entry) == suffix:
                yield entry

    def _of_base(self, base: str) -> tuple[Entry, ...]:
        base = base if base in self._numbers else self._aliases.get(base, base)
        found = self._ordered.get(base)
        if found is None:
            made = [self._entries[number] for number in self._numbers.get(base, ())]
            made = [entry for entry in made if not _is_shadowed(entry)]
            made.sort(key=_preference)
            found = self._ordered[base] = tuple(made)
        return found


def _is_shadowed(entry: Entry) -> bool:
    """Entries that LLVM decodes only where op_sel bits of absent sources are set."""
    return "_fake16_" in entry.llvm_name


def _preference(entry: Entry) -> tuple[int, bool, int]:
    """Lower is tried earlier: LLVM prefers short forms and short encodings.

    GFX9 has scalar memory encodings with a second place for the offset register (`alt`).
    """
    return _FORMS.index(form_of(entry)), "_alt_" in entry.llvm_name, entry.base_size


def form_of(entry: Entry) -> str:
    """The suffix that an entry's encoding stands for, whether LLVM prints it or not."""
    form = entry.format
    if form.endswith(("_DPP", "_DPP8")):
        return "_e64_dpp" if form.startswith("VOP3") else "_dpp"
    if form.endswith("_SDWA"):
        return "_sdwa"
    return "_e64" if form.startswith("VOP3") else "_e32"
