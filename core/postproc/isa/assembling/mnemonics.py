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
    """Entries by mnemonic, without their suffixes; `aliases` are other names of mnemonics.

    Entries called `fake16` are left out: they only decode what LLVM never encodes, 16-bit
    instructions with op_sel bits of sources that they do not have.
    """

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
            made = [entry for entry in made if "_fake16_" not in entry.llvm_name]
            made.sort(key=_preference)
            found = self._ordered[base] = tuple(made)
        return found


def _preference(entry: Entry) -> tuple[int, bool, bool, int]:
    """Lower is tried earlier: LLVM prefers short forms and short encodings.

    GFX9 has scalar memory encodings with a second place for the offset register (`alt`), and a few
    encodings of GFX8 (`vi`) still decode on later targets.
    """
    name = entry.llvm_name
    return _FORMS.index(form_of(entry)), "_alt_" in name, name.endswith("_vi"), entry.base_size


def form_of(entry: Entry) -> str:
    """The suffix that an entry's encoding stands for, whether LLVM prints it or not."""
    form = entry.format
    if form.endswith(("_DPP", "_DPP8")):
        return "_e64_dpp" if form.startswith("VOP3") else "_dpp"
    if form.endswith("_SDWA"):
        return "_sdwa"
    return "_e64" if form.startswith("VOP3") else "_e32"
