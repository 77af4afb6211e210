# SPDX-License-Identifier: Apache-2.0
"""Kernels before and after: the same ones, and descriptor and metadata in agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postproc.errors import VerificationError

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject, Kernel

__all__ = ["check_resources"]

_SAME_VALUE = {
    "group_segment_fixed_size": "group_segment_fixed_size",
    "private_segment_fixed_size": "private_segment_fixed_size",
    "kernarg_size": "kernarg_segment_size",
}
"""Descriptor field -> metadata key (without the dot) of the same number (AMDGPUUsage, "Code Object
V3 Kernel Metadata Map" and "Kernel Descriptor").  The loader reads the one, the HIP runtime the
other."""


def check_resources(original: CodeObject, produced: CodeObject) -> None:
    """Raise VerificationError if a kernel is gone or new, or its two descriptions part."""
    before = {kernel.name: kernel for kernel in original.kernels}
    after = {kernel.name: kernel for kernel in produced.kernels}
    if before.keys() != after.keys():
        name = min(before.keys() ^ after.keys())
        raise VerificationError("the set of kernels changed", file=original.name, kernel=name)
    for name, kernel in after.items():
        lost = _disagreements(kernel) - _disagreements(before[name])
        if lost:
            field = min(lost)
            raise VerificationError(
                "descriptor and metadata disagree",
                file=original.name,
                kernel=name,
                why=f"{field} and .{_SAME_VALUE[field]} differ",
            )


def _disagreements(kernel: Kernel) -> set[str]:
    if kernel.metadata is None:
        return set()
    return {
        field
        for field, key in _SAME_VALUE.items()
        if getattr(kernel.metadata, key) not in (None, getattr(kernel.descriptor, field))
    }
