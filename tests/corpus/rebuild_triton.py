# SPDX-License-Identifier: Apache-2.0
"""Rebuilds the code objects of this folder that Triton makes; see README.md.

    pip install triton==3.9.0
    python tests/corpus/rebuild_triton.py

No GPU is needed: kernels are compiled for a target that is given.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).resolve().parent
SOURCES = CORPUS / "sources"
HALF = {"x": "*fp16", "y": "*fp16", "out": "*fp16", "n": "i32"}
SINGLE = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
SIZES = {"m": "i32", "n": "i32", "k": "i32"}


def gemm_types(operand: str, result: str) -> dict[str, str]:
    """The signature of a matrix product."""
    return {"a": f"*{operand}", "b": f"*{operand}", "c": f"*{result}", **SIZES}


def tile(m: int, n: int, k: int) -> dict[str, Any]:
    """The constants of a matrix product."""
    return {"BM": m, "BN": n, "BK": k}


SCALED_TYPES = {
    "a": "*fp8e5",
    "a_scale": "*u8",
    "b": "*fp8e4nv",
    "b_scale": "*u8",
    "c": "*fp32",
    **SIZES,
}
SCALED = {**tile(64, 64, 128), "A_FORMAT": "e5m2", "B_FORMAT": "e4m3"}

# (file, kernel, signature, constants)
GFX1250 = (
    ("triton_add", "add", HALF, {"BLOCK": 1024}),
    ("triton_transpose", "transpose", {**HALF, "m": "i32"}, {"BLOCK": 64}),
    ("triton_gemm_f16", "gemm", gemm_types("fp16", "fp16"), tile(64, 64, 64)),
    ("triton_gemm_fp8", "gemm", gemm_types("fp8e4nv", "fp16"), tile(64, 64, 128)),
    (
        "triton_gemm_descriptors",
        "gemm_descriptors",
        gemm_types("fp16", "fp16"),
        tile(128, 128, 64),
    ),
    ("triton_gemm_scaled", "gemm_scaled", SCALED_TYPES, SCALED),
    ("triton_calls", "calls", SINGLE, {"BLOCK": 1024}),
)
STRICT = (GFX1250[0], GFX1250[2])
OTHER = (GFX1250[0], GFX1250[2])
TARGETS = {
    "gfx1250": GFX1250,
    "gfx1250-strict": STRICT,
    "gfx90a": OTHER,
    "gfx942": OTHER,
    "gfx950": OTHER,
    "gfx1100": OTHER,
    "gfx1201": OTHER,
}


def forget_paths() -> None:
    """Triton writes the path of a kernel's source into debug information: leave the name only."""
    import triton
    import triton_kernels

    for value in vars(triton_kernels).values():
        if isinstance(value, triton.JITFunction):
            value.file_name = Path(value.file_name).name


def compile_kernel(
    target: str, kernel: str, signature: dict[str, str], constants: dict[str, Any]
) -> bytes:
    """The code object of one kernel; arguments are in the order of the kernel's parameters."""
    import triton
    import triton_kernels
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    function = getattr(triton_kernels, kernel)
    types = {name: signature.get(name, "constexpr") for name in function.arg_names}
    aligned = {
        (index,): [["tt.divisibility", 16]]
        for index, name in enumerate(function.arg_names)
        if types[name] != "constexpr"
    }
    source = ASTSource(function, types, constants, aligned)
    wavefront_size = 64 if target.startswith("gfx9") else 32
    compiled = triton.compile(source, target=GPUTarget("hip", target, wavefront_size))
    return bytes(compiled.asm["hsaco"])


def main() -> int:
    """Write every object."""
    sys.path.insert(0, str(SOURCES))
    forget_paths()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        for target, items in TARGETS.items():
            for name, kernel, signature, constants in items:
                data = compile_kernel(target, kernel, signature, constants)
                path = CORPUS / target / f"{name}.hsaco"
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(data)
                print(f"{target}/{name}.hsaco: {len(data)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
