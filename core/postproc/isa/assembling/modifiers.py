# SPDX-License-Identifier: Apache-2.0
"""Modifiers made of bits: op_sel and its like, output modifiers."""

from __future__ import annotations

from postproc.isa.assembling.matching import Matcher
from postproc.isa.assembling.symbols import Parser, bit_list, write_number
from postproc.isa.assembling.values import Mismatch
from postproc.isa.printing import sources, trailing


def packed(name: str, bit: int) -> Parser:
    def parse(matcher: Matcher, role: str) -> None:
        item = matcher.modifier(name)
        packed = "PACKED" in matcher.entry.ts_flags
        if item is None:
            # a half of a register sets the same bits, so nothing is written without need
            if bit == sources.OP_SEL_HI and packed:
                for place in range(3):
                    if matcher.has(f"src{place}_modifiers"):
                        matcher.add(f"src{place}_modifiers", bit, bit, matcher.end)
            return
        values = bit_list(matcher, item)
        count = _sources_of(matcher)
        for place, value in enumerate(values[:count]):
            if matcher.has(f"src{place}_modifiers"):
                matcher.add(f"src{place}_modifiers", bit, bit * value, item.column)
            elif value:
                raise Mismatch("that source has no such modifier", item.column)
        if len(values) == count + 1 and bit == sources.OP_SEL:
            half = sources.DST_OP_SEL
            matcher.add("src0_modifiers", half, half * values[count], item.column)
        elif len(values) > count:
            raise Mismatch("too many values", item.column)

    return parse


def _sources_of(matcher: Matcher) -> int:
    if {"WMMA", "SWMMAC"} & matcher.entry.ts_flags:
        return 3
    return max((k for k in range(3) if matcher.has(f"src{k}")), default=-1) + 1


def op_sel_of_two(first: tuple[str, int], second: tuple[str, int]) -> Parser:
    def parse(matcher: Matcher, role: str) -> None:
        item = matcher.modifier("op_sel")
        if item is None:
            return
        values = bit_list(matcher, item)
        for (source, bit), value in zip((first, second), values, strict=False):
            matcher.add(source, bit, bit * value, item.column)

    return parse


def negations(matcher: Matcher, role: str) -> None:
    item = matcher.modifier("neg")
    if item is None:
        write_number(matcher, role, role, 0)
        return
    bits = bit_list(matcher, item)
    matcher.write(role, sum(bit << place for place, bit in enumerate(bits)), item.column)


def output_modifier(matcher: Matcher, role: str) -> None:
    for code, text in enumerate(trailing.OUTPUT_MODIFIERS):
        name, _, operand = text.partition(":")
        item = matcher.peek_modifier(name) if name else None
        if item is not None and matcher.integer(item) == int(operand):
            matcher.modifier(name)
            matcher.write(role, code, item.column)
            return
    matcher.write(role, 0, matcher.end)
