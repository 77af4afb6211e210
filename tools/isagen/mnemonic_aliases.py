# SPDX-License-Identifier: Apache-2.0
"""Finds mnemonics that LLVM's assembler takes for others, and writes them as data.

GFX11 and GFX12 renamed many instructions and kept the old names as aliases (`s_add_u32` for
`s_add_co_u32`).  Candidates are the names that the same LLVM opcode has on other targets, the
opcode's own name, and what llvm-mc takes of other targets' text.  A candidate is an alias if
llvm-mc makes the same bytes of both names.

    python -m tools.isagen.mnemonic_aliases      from the top of the repository
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from postproc.isa import Isa, load
from postproc.isa.assembling.mnemonics import split_suffix
from postproc.isa.processors import TABLES
from postproc.testing import find_tool

from .sampling import encoding

MODULE = Path(__file__).resolve().parents[2] / "core/postproc/isa/assembling/aliases.py"

HEADER = '''# SPDX-License-Identifier: Apache-2.0
"""Other names of mnemonics, per processor, as LLVM {version} takes them.

Written by `tools/isagen/mnemonic_aliases.py`; not to be edited.
"""

from __future__ import annotations

__all__ = ["aliases_of"]

_ALIASES: tuple[tuple[frozenset[str], dict[str, str]], ...] = (
'''

FOOTER = ''')


def aliases_of(processor: str) -> dict[str, str]:
    """Alias -> mnemonic, both without `_e32` and the like."""
    found: dict[str, str] = {}
    for processors, names in _ALIASES:
        if processor in processors:
            found |= names
    return found
'''

_TARGET = re.compile(
    r"(_(gfx\w+|vi|si|ci|SI|VI|acd|vcd))+$|_(t16|fake16|e32|e64|dpp8?|sdwa|e96|w32|w64)(?=_|$)"
)


def stem(llvm_name: str) -> str:
    """LLVM's opcode name without target and form."""
    while (shorter := _TARGET.sub("", llvm_name)) != llvm_name:
        llvm_name = shorter
    return llvm_name


def names_by_stem() -> dict[str, set[str]]:
    """Every name that an opcode has on any target."""
    found: dict[str, set[str]] = {}
    for processor in TABLES:
        isa = load(processor)
        for number in range(isa.entries):
            entry = isa.entry(number)
            if " :: " not in entry.mnemonic:
                found.setdefault(stem(entry.llvm_name), set()).add(split_suffix(entry.mnemonic)[0])
    return found


def candidates(isa: Isa, names: dict[str, set[str]]) -> Iterator[tuple[str, str, str]]:
    """(alias, mnemonic, text of an instruction of that mnemonic)."""
    own = {split_suffix(mnemonic)[0] for mnemonic in isa.mnemonics}
    done = set()
    for number in range(isa.entries):
        entry = isa.entry(number)
        base = split_suffix(entry.mnemonic)[0]
        if " :: " in entry.mnemonic:
            continue
        for alias in sorted(names[stem(entry.llvm_name)] | {stem(entry.llvm_name).lower()}):
            if alias in own or (alias, base, entry.format) in done:
                continue
            text = _sample(isa, number)
            if text is not None:
                done.add((alias, base, entry.format))
                yield alias, base, text


def _sample(isa: Isa, number: int) -> str | None:
    return next(_samples(isa, number), None)


def _samples(isa: Isa, number: int) -> Iterator[str]:
    entry = isa.entry(number)
    rng = random.Random(entry.llvm_name)
    classes = isa._tables.operand_class
    for attempt in range(8):
        value = encoding(entry, classes, isa.print_context, rng, attempt, True)
        found = isa.decode(value.to_bytes(32, "little"))[0]
        if found.opcode == number:
            yield found.text


def foreign_texts() -> dict[str, set[str]]:
    """Some texts of each mnemonic, of the first target that has it."""
    found: dict[str, set[str]] = {}
    for processor in TABLES:
        isa = load(processor)
        mine: dict[str, set[str]] = {}
        for number in range(isa.entries):
            base = split_suffix(isa.entry(number).mnemonic)[0]
            if " :: " not in base and base not in found and len(mine.get(base, ())) < 16:
                mine.setdefault(base, set()).update(list(_samples(isa, number))[:4])
        found |= mine
    return found


def accepted_foreigners(isa: Isa, texts: dict[str, set[str]]) -> Iterator[tuple[str, str, str]]:
    """(alias, mnemonic, text of the mnemonic) for names of other targets that llvm-mc takes."""
    own = {split_suffix(mnemonic)[0] for mnemonic in isa.mnemonics}
    asked = [(name, text) for name in sorted(set(texts) - own) for text in sorted(texts[name])]
    for (name, text), made in zip(asked, _assembled(isa, [t for _, t in asked]), strict=True):
        if not made or re.search(r"\b[A-Z]\b", made):  # a relocation
            continue
        read = isa.decode(bytes(int(byte, 16) for byte in made.split(",")))[0]
        if not read.is_unknown:
            base = split_suffix(read.mnemonic)[0]
            yield name, base, text.replace(name, base, 1)


def confirmed(isa: Isa, names: dict[str, set[str]], foreign: dict[str, set[str]]) -> dict[str, str]:
    """Aliases of one target."""
    pairs = [*candidates(isa, names), *accepted_foreigners(isa, foreign)]
    originals = _assembled(isa, [text for _, _, text in pairs])
    renamed = _assembled(isa, [text.replace(base, alias, 1) for alias, base, text in pairs])
    found: dict[str, str] = {}
    for (alias, base, _), original, other in zip(pairs, originals, renamed, strict=True):
        if original and original == other:
            found.setdefault(alias, base)
    return found


def _assembled(isa: Isa, texts: Sequence[str]) -> list[str]:
    path = find_tool("llvm-mc")
    if path is None:
        raise FileNotFoundError("llvm-mc")
    source = "".join(f".set case{n}, 0\n{text}\n" for n, text in enumerate(texts))
    command = [path, "-triple=amdgcn-amd-amdhsa", f"-mcpu={isa.processor}"]
    done = subprocess.run(
        [*command, "-mattr=+real-true16", "-show-encoding"],
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )
    found = [""] * len(texts)
    current = -1
    for line in done.stdout.splitlines():
        if (mark := re.search(r"\.set case(\d+)", line)) is not None:
            current = int(mark[1])
        elif (shown := re.search(r"encoding: \[([^\]]*)\]", line)) is not None:
            found[current] = shown[1]
    return found


def render(found: dict[str, dict[str, str]], version: str) -> str:
    """The module's source: pairs that the same processors share stand together."""
    by_pair: dict[tuple[str, str], list[str]] = {}
    for processor, names in sorted(found.items()):
        for pair in names.items():
            by_pair.setdefault(pair, []).append(processor)
    groups: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for pair, sharing in sorted(by_pair.items()):
        groups.setdefault(tuple(sharing), []).append(pair)
    out = [HEADER.format(version=version)]
    for processors, pairs in sorted(groups.items()):
        listed = ", ".join(f'"{name}"' for name in processors)
        out.append("    (\n        frozenset({" + listed + "}),\n        {\n")
        out += [f'            "{alias}": "{name}",\n' for alias, name in pairs]
        out.append("        },\n    ),\n")
    return "".join([*out, FOOTER])


def main() -> None:
    names = names_by_stem()
    foreign = foreign_texts()
    found = {processor: confirmed(load(processor), names, foreign) for processor in TABLES}
    MODULE.write_text(render(found, load(TABLES[0]).llvm_version))
    for processor, aliases in found.items():
        print(f"{processor}: {len(aliases)} aliases")


if __name__ == "__main__":
    main()
