# SPDX-License-Identifier: Apache-2.0
"""The records from which the runtime makes `Entry` objects; what repeats is stored once."""

from __future__ import annotations

from typing import Any

from .facts import Facts


class Interner:
    """Gives each distinct value a small number, in order of first use."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def __call__(self, value: Any) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    def values(self) -> list[Any]:
        return list(self.numbers)


def operand_record(entry: dict[str, Any], op: dict[str, Any]) -> tuple[Any, ...]:
    """One operand spec as nested tuples: (role, def, type, tied, class, branch, payload)."""
    if "const" in op:
        payload: tuple[Any, ...] = ("const", tuple(op["const"]))
    elif "fi8" in op:
        payload = ("byte", 32 if entry["enc_bytes"] == 12 else 0)
    elif "imm" in op:
        payload = ("imm", tuple(tuple(r) for r in op["imm"]), op.get("c0", 0))
    elif "cls" in op:
        payload = ("code", tuple(tuple(r) for r in op["bits"]), op["cls"], op["w"])
    else:
        raise ValueError(f"operand without a source: {op}")
    return (
        op["role"],
        op["dir"] == "def",
        op.get("ty", ""),
        op.get("tied", -1),
        op.get("rc", ""),
        bool(op.get("branch")),
        payload,
    )


def entry_records(facts: Facts) -> dict[str, Any]:
    """The records that `postproc.isa.tables.Tables` turns into `Entry` objects."""
    text, spec, layout, template = Interner(), Interner(), Interner(), Interner()
    flags, extra = Interner(), Interner()
    records = []
    for entry in facts.entries:
        variants = [
            (role, tuple(v[0]), tuple(v[1]))
            for role, v in sorted(entry.get("wvar", {}).items())
            if role != "#size"
        ]
        records.append(
            (
                text(entry["mn"]),
                text(entry["llvm"]),
                text(entry["fmt"]),
                layout(tuple(spec(operand_record(entry, op)) for op in entry["ops"])),
                template(tuple(entry.get("template", ()))),
                flags(tuple(tuple(entry.get(k, ())) for k in ("fl", "ts", "idef", "iuse"))),
                extra(
                    (
                        tuple(tuple(r) for r in entry.get("ign", ())),
                        int(entry.get("canon", "0"), 16).to_bytes(16, "little").rstrip(b"\0"),
                        tuple(variants),
                    )
                ),
            )
        )
    return {
        "strings": text.values(),
        "classes": [(c["n"], c["runs"]) for c in facts.classes],
        "specs": spec.values(),
        "layouts": layout.values(),
        "templates": template.values(),
        "flags": flags.values(),
        "extras": extra.values(),
        "entries": records,
    }


def length_variants(facts: Facts) -> list[Any]:
    """(entry, bits, byte sizes) of entries whose size some bits of the encoding select."""
    found = []
    for number, entry in enumerate(facts.entries):
        variant = entry.get("wvar", {}).get("#size")
        if variant is not None:
            found.append((number, variant[0], [size or 0 for size in variant[1]]))
    return found
