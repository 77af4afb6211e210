# SPDX-License-Identifier: Apache-2.0
"""The code-object model: one AMDGPU ELF image, read defensively and never written."""

from __future__ import annotations

from postproc.codeobject.places import TextPosition, TextRange

__all__ = ["TextPosition", "TextRange"]
