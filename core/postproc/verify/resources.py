# SPDX-License-Identifier: Apache-2.0
"""Kernels before and after: the same ones, and descriptor and metadata in agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from postproc.errors import VerificationError

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject, Kernel

__all__ = ["check_resources"]

_SAME_VALUE = {
    "group_segment_fixed_size": ".group_segment_fixed_size",
    "private_segment_fixed_size": ".private_segment_fixed_size",
    "kernarg_size": ".kernarg_segment_size",
}
"""Descriptor field -> metadata key of the same number (AMDGPUUsage, "Code Object V3 Kernel
Metadata Map" and "Kernel Descriptor").  The loader reads the one, the HIP runtime the other."""


def check_resources(original: CodeObject, produced: CodeObject) -> None:
    """Raise VerificationError if a kernel is gone or new, or its two descriptions part."""
    before = {kernel.name: kernel for kernel in original.kernels}
    after = {kernel.name: kernel for kernel in produced.kernels}
    if before.keys() != after.keys():
        name = min(before.keys() ^ after.keys())
        raise VerificationError("the set of kernels changed", file=original.name, kernel=name)
    old_tables, new_tables = _tables(original), _tables(produced)
    for name, kernel in after.items():
        lost = _disagreements(kernel, new_tables.get(name, {}))
        lost -= _disagreements(before[name], old_tables.get(name, {}))
        if lost:
            field = min(lost)
            raise VerificationError(
                "descriptor and metadata disagree",
                file=original.name,
                kernel=name,
                why=f"{field} and {_SAME_VALUE[field]} differ",
            )


def _disagreements(kernel: Kernel, table: dict[str, Any]) -> set[str]:
    return {
        field
        for field, key in _SAME_VALUE.items()
        if key in table and getattr(kernel.descriptor, field) != table[key]
    }


def _tables(code_object: CodeObject) -> dict[str, dict[str, Any]]:
    kernels = (code_object.metadata or {}).get("amdhsa.kernels", [])
    return {table[".name"]: table for table in kernels if ".name" in table}
