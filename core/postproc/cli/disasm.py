# SPDX-License-Identifier: Apache-2.0
"""`postproc disasm`: the code of a file, for people or as JSON lines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

from postproc.cli import options

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject, Section, TextPosition
    from postproc.isa import Instruction
    from postproc.passes import ObjectView

SUMMARY = "Disassemble code objects, in LLVM syntax."

_TEXT_WIDTH = 59
"""Characters between the tab and the comment with address and encoding, as llvm-objdump has it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `disasm`."""
    parser.add_argument("inputs", nargs="+", type=options.path, metavar="IN")
    parser.add_argument(
        "--json",
        action="store_true",
        help="one object a line: offset, address, size, bytes, mnemonic, text, defs, uses, symbol",
    )
    parser.add_argument("--symbol", metavar="NAME", help="only the code of this function or kernel")
    parser.add_argument(
        "--text-for",
        choices=("llvm", "object"),
        default="llvm",
        help="print masks as llvm-objdump does, which assumes 32 lanes from gfx10 on, or for the"
        " wavefront size of the kernels; defs and uses are always those of the kernels"
        " (default: llvm)",
    )
    options.add_log_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print every executable section of every code object."""
    from postproc.cli.reading import views

    options.log_settings(arguments)
    write = _write_json if arguments.json else _write_text
    for path in arguments.inputs:
        for view in views(path):
            printed = _as_llvm(view) if arguments.text_for == "llvm" else view
            write(view, printed, arguments.symbol, sys.stdout)
    return 0


def _as_llvm(view: ObjectView) -> ObjectView:
    """The same object with the wavefront size that llvm-objdump assumes."""
    from postproc import isa
    from postproc.passes import ObjectView

    usual = isa.load(view.code_object.target.processor)
    return view if usual is view.isa else ObjectView(view.code_object, usual)


def _instructions(
    view: ObjectView, section: Section, only: str | None
) -> Iterator[tuple[int, str]]:
    """Numbers of instructions with the name of the function around them."""
    from postproc.codeobject import TextPosition

    decoded = view.decoded(section)
    for index in range(len(decoded.offset)):
        position = TextPosition(section.index, int(decoded.offset[index]))
        symbol = view.symbol_at(position)
        if only is None or symbol == only:
            yield index, symbol


def _write_json(view: ObjectView, printed: ObjectView, only: str | None, out: TextIO) -> None:
    import msgspec

    encode = msgspec.json.Encoder().encode
    for section in view.code_object.executable_sections:
        decoded, texts = view.decoded(section), printed.decoded(section)
        for index, symbol in _instructions(view, section, only):
            line = encode(_json_object(decoded[index], texts[index], section, symbol)).decode()
            out.write(line + "\n")


def _json_object(
    instruction: Instruction, printed: Instruction, section: Section, symbol: str
) -> dict[str, Any]:
    return {
        "offset": instruction.offset,
        "address": section.address + instruction.offset,
        "size": instruction.size,
        "bytes": bytes(instruction.data).hex(),
        "mnemonic": printed.mnemonic,
        "text": printed.text,
        "defs": sorted(instruction.listed_defs, key=_register_order),
        "uses": sorted(instruction.listed_uses, key=_register_order),
        "symbol": symbol,
    }


def _register_order(name: str) -> tuple[str, int]:
    """`v2` before `v10`."""
    stem = name.rstrip("0123456789")
    return (stem, int(name[len(stem) :] or -1))


def _write_text(view: ObjectView, printed: ObjectView, only: str | None, out: TextIO) -> None:
    code_object = view.code_object
    out.write(f"\n{code_object.name}:\tfile format elf64-amdgpu\n")
    for section in code_object.executable_sections:
        names = _labels(code_object, section)
        out.write(f"\nDisassembly of section {section.name}:\n")
        decoded = printed.decoded(section)
        for index, _ in _instructions(view, section, only):
            instruction = decoded[index]
            for name in names.get(instruction.offset, ()):
                out.write(f"\n{section.address + instruction.offset:016x} <{name}>:\n")
            out.write(_line(view, instruction, section))


def _labels(code_object: CodeObject, section: Section) -> dict[int, list[str]]:
    """Names by offset; a section that begins without one begins with its own."""
    labels: dict[int, list[str]] = {}
    for function in code_object.functions:
        if function.section_index == section.index:
            labels.setdefault(function.offset, []).append(function.name)
    labels.setdefault(0, [section.name])
    return labels


def _line(view: ObjectView, instruction: Instruction, section: Section) -> str:
    data = bytes(instruction.data)
    words = " ".join(
        f"{int.from_bytes(data[i : i + 4], 'little'):08X}" for i in range(0, len(data), 4)
    )
    comment = f"// {section.address + instruction.offset:012X}: {words}"
    target = _target(view, instruction, section)
    return f"\t{instruction.text.ljust(_TEXT_WIDTH)}{comment}{target}\n"


def _target(view: ObjectView, instruction: Instruction, section: Section) -> str:
    """` <function+0x40>` behind a direct branch."""
    from postproc.codeobject import TextPosition

    offset = instruction.branch_offset
    if offset is None or offset < 0:
        return ""
    target: TextPosition = TextPosition(section.index, offset)
    function = view.function_at(target)
    if function is None:
        return f" <{section.name}+0x{offset:x}>"
    distance = offset - function.offset
    return f" <{function.name}+0x{distance:x}>" if distance else f" <{function.name}>"
