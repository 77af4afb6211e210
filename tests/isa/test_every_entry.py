# SPDX-License-Identifier: Apache-2.0
"""Every entry of every target: random encodings go to text and back, as in LLVM.

For each encoding that LLVM decodes to the same bytes:

1. our text is llvm-objdump's;
2. where llvm-mc assembles that text, our assembler gives llvm-mc's bytes.
"""

from __future__ import annotations

import importlib.util
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from postproc.errors import AssemblyError
from postproc.isa import Isa, load
from postproc.isa.processors import TABLES
from postproc.isa.tables import Tables
from postproc.testing import find_tool

TOOLS = Path(__file__).resolve().parents[2] / "tools"
FEATURES = "+real-true16"

UNASSEMBLED = re.compile(
    r"TFE modifier|dmask|image data size|image address size|different VGPR banks"
    r"|not supported|constant bus|not available on this GPU|op_sel|partially overlap"
    r"|invalid operand|scope and th|aligned|must be null|unsigned offset|not a valid operand"
    r"|must be a VGPR|out of bounds|one unique literal"
    r"|inline constants are not allowed|invalid matrix|only \d+-bit values are legal"
)
"""Why llvm-mc refuses text that llvm-objdump prints: rules that the decoder does not apply."""

DISAGREEMENTS = (
    # a sign in front of a constant: LLVM folds it into a literal or not by its own lights
    re.compile(r"v_dual_.*(neg\(|\|-?\d)"),
    # LLVM forgets to write the literal
    re.compile(r"v_(fma_mix|cndmask_b16).*_dpp .*0x"),
    # two operands of different sizes share one literal
    re.compile(r"s_(lshr|lshl|ashr)_[bi]64 .*0x\w+, 0x"),
    # one address more or less than the dimension asks for
    re.compile(r"image_\w+ .*\[(\w+, ){4,}"),
)
"""Where our bytes may differ from llvm-mc's; what they say is the same."""


@dataclass(frozen=True)
class Case:
    """An encoding of an entry, and our text of it."""

    entry: int
    data: bytes
    text: str


@pytest.fixture(scope="session")
def sampling() -> ModuleType:
    """`tools/isagen/sampling.py`, which is no part of the package."""
    for name in ("isagen", "isagen.sampling"):
        path = TOOLS / "isagen" / ("__init__.py" if name == "isagen" else "sampling.py")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules["isagen.sampling"]


def cases(isa: Isa, sampling: Any, entries: Sequence[int], count: int) -> list[Case]:
    """Up to `count` encodings of each entry that our decoder takes for it."""
    tables: Tables = isa._tables
    found = []
    for number in entries:
        entry = isa.entry(number)
        rng = random.Random(f"{entry.llvm_name}/{number}")
        kept = 0
        for attempt in range(4 * count):
            if kept == count:
                break
            value = sampling.encoding(
                entry, tables.operand_class, isa.print_context, rng, attempt, True
            )
            if attempt >= count and not kept:  # an earlier entry takes them all
                value |= sampling.noise(entry, rng)
            first = isa.decode(value.to_bytes(32, "little"))[0]
            if first.opcode != number:
                continue
            try:
                found.append(Case(number, first.data, first.text))
            except ValueError:  # a field holds a code that the entry rejects
                continue
            kept += 1
    return found


def llvm_texts(folder: Path, isa: Isa, found: Sequence[Case]) -> list[tuple[str, bytes]]:
    """llvm-objdump's text and bytes of the instruction at the start of each case."""
    lines = []
    for number, case in enumerate(found):
        words = [case.data[at : at + 4] for at in range(0, len(case.data), 4)]
        values = ", ".join(f"0x{int.from_bytes(word, 'little'):08x}" for word in words)
        lines.append(f"case{number}:\n.long {values}")
    source, produced = folder / "cases.s", folder / "cases.o"
    source.write_text("\n".join(lines) + "\n")
    _run("llvm-mc", *_target(isa), "-filetype=obj", source, "-o", produced)
    listing = _run("llvm-objdump", "-d", f"--mattr={_features(isa)}", produced)
    texts: dict[int, tuple[str, bytes]] = {}
    current = -1
    for line in listing.splitlines():
        if (label := re.match(r"[0-9a-f]+ <case(\d+)>:", line)) is not None:
            current = int(label[1])
        elif (shown := re.match(r"\t(\S.*?)\s*// [0-9A-F]+:((?: [0-9A-F]{8})+)", line)) is not None:
            data = b"".join(int(word, 16).to_bytes(4, "little") for word in shown[2].split())
            texts.setdefault(current, (" ".join(shown[1].split(None, 1)), data))
    return [texts.get(number, ("", b"")) for number in range(len(found))]


def llvm_bytes(isa: Isa, texts: Sequence[str]) -> list[bytes | str]:
    """What llvm-mc makes of each text, or its error."""
    path = find_tool("llvm-mc")
    assert path is not None
    source = "".join(f".set case{n}, 0\n{text}\n" for n, text in enumerate(texts))
    done = subprocess.run(
        [path, *_target(isa), "-show-encoding"],
        input=source,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    found: dict[int, bytes | str] = {}
    current = -1
    for line in done.stdout.splitlines():
        if (mark := re.search(r"\.set case(\d+)", line)) is not None:
            current = int(mark[1])
        elif (shown := re.search(r"encoding: \[([^\]]*)\]", line)) is not None:
            found[current] = bytes(int(byte, 16) for byte in shown[1].split(","))
    for at, message in re.findall(r"<stdin>:(\d+):\d+: error: (.*)", done.stderr):
        found[(int(at) - 2) // 2] = str(message)
    return [found.get(number, "nothing") for number in range(len(texts))]


def _features(isa: Isa) -> str:
    wide = isa.wavefront_size == 64 and not isa.processor.startswith("gfx9")
    return FEATURES + (",+wavefrontsize64" if wide else "")


def _target(isa: Isa) -> tuple[str, ...]:
    return ("-triple=amdgcn-amd-amdhsa", f"-mcpu={isa.processor}", f"-mattr={_features(isa)}")


def _run(tool: str, *arguments: object) -> str:
    path = find_tool(tool)
    assert path is not None, tool
    command = [path, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def _is_branch_to_symbol(text: str) -> bool:
    return re.search(r" case\d+$", text) is not None


def check_printing(found: Sequence[Case], shown: Sequence[tuple[str, bytes]]) -> list[Case]:
    """The cases that LLVM decodes to the same bytes; its text of them must be ours."""
    wrong = []
    same = []
    for case, (text, data) in zip(found, shown, strict=True):
        if data != case.data:
            continue
        if _is_branch_to_symbol(text):
            continue
        same.append(case)
        if text != case.text:
            wrong.append(f"{case.data.hex()}: LLVM {text!r}, we {case.text!r}")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:20])
    assert len(same) > 0.97 * len(found)
    return same


def check_assembling(isa: Isa, found: Sequence[Case]) -> tuple[Counter[int], Counter[int]]:
    """Cases of each entry that llvm-mc takes, and those where our bytes are its own; everything
    else must be known."""
    taken: Counter[int] = Counter()
    agreed: Counter[int] = Counter()
    wrong = []
    for case, theirs in zip(found, llvm_bytes(isa, [case.text for case in found]), strict=True):
        if isinstance(theirs, str):
            if not UNASSEMBLED.search(theirs):
                wrong.append(f"{case.text}: LLVM says {theirs}")
            continue
        taken[case.entry] += 1
        try:
            ours = isa.assemble(case.text)
        except AssemblyError as error:
            ours = str(error).encode()
        if ours == theirs:
            agreed[case.entry] += 1
        elif not any(pattern.match(case.text) for pattern in DISAGREEMENTS):
            wrong.append(f"{case.text}: LLVM {theirs.hex()}, we {ours!r}")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:20])
    return taken, agreed


def check(folder: Path, isa: Isa, sampling: ModuleType, entries: Sequence[int], count: int) -> None:
    found = cases(isa, sampling, entries, count)
    assert len({case.entry for case in found}) > 0.99 * len(entries)
    same = check_printing(found, llvm_texts(folder, isa, found))
    taken, agreed = check_assembling(isa, same)
    enough = min(3, count)
    judged = [entry for entry, number in taken.items() if number >= enough]
    often = sum(agreed[entry] >= enough for entry in judged)
    assert often > 0.97 * len(judged), f"{often} of {len(judged)} entries agree three times"
    # llvm-mc refuses much of what llvm-objdump prints of images and dual instructions
    assert len(judged) > 0.85 * len(entries), f"llvm-mc takes {len(judged)} of {len(entries)}"


WIDE = tuple(name for name in TABLES if not name.startswith(("gfx9", "gfx1250")))


def _isas() -> list[Any]:
    default = [pytest.param(name, None, id=name) for name in TABLES]
    return default + [pytest.param(name, 64, id=f"{name}-wave64") for name in WIDE]


@pytest.mark.needs_llvm
@pytest.mark.parametrize(("processor", "wavefront_size"), _isas())
def test_some_entries(
    processor: str, wavefront_size: int | None, sampling: ModuleType, tmp_path: Path
) -> None:
    isa = load(processor, wavefront_size)
    step = 23 if wavefront_size is None else 61
    check(tmp_path, isa, sampling, range(3, isa.entries, step), 5)


@pytest.mark.slow
@pytest.mark.needs_llvm
@pytest.mark.parametrize(("processor", "wavefront_size"), _isas())
def test_all_entries(
    processor: str, wavefront_size: int | None, sampling: ModuleType, tmp_path: Path
) -> None:
    isa = load(processor, wavefront_size)
    check(tmp_path, isa, sampling, range(isa.entries), 8)


SCALAR_NOTATIONS = (
    "s_waitcnt",
    "s_waitcnt_depctr",
    "s_wait_alu",
    "s_delay_alu",
    "s_sendmsg",
    "s_getreg_b32",
    "s_version",
)


@pytest.mark.slow
@pytest.mark.needs_llvm
@pytest.mark.parametrize("processor", TABLES)
def test_all_values_of_scalar_notations(
    processor: str, tmp_path: Path, isa_entry: Callable[[Isa, str], int]
) -> None:
    """Every 16-bit immediate of `s_waitcnt`, `hwreg(...)` and so on."""
    isa = load(processor)
    for mnemonic in SCALAR_NOTATIONS:
        if mnemonic in isa.mnemonics:
            number = isa_entry(isa, mnemonic)
            base = isa.entry(number).patterns[0][1]
            codes = [(base | value).to_bytes(4, "little") for value in range(0, 1 << 16, 5)]
            found = [Case(number, code, isa.decode(code)[0].text) for code in codes]
            check_printing(found, llvm_texts(tmp_path, isa, found))


@pytest.fixture(scope="session")
def isa_entry() -> Callable[[Isa, str], int]:
    """`isa_entry(isa, mnemonic)`: the first entry of that name."""
    return lambda isa, mnemonic: list(isa.mnemonics).index(mnemonic)
