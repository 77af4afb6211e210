# SPDX-License-Identifier: Apache-2.0
"""Rebuilds the code objects of this folder that clang makes; see README.md.

    python tests/corpus/rebuild.py            write the objects
    python tests/corpus/rebuild.py --check    only say which differ; exit status 1 if any does

Needs clang-22, ld.lld-22, llvm-mc-22, llvm-strip-22 and llvm-objcopy-22.  The objects do not depend
on where the repository lies.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

CORPUS = Path(__file__).resolve().parent
SOURCES = CORPUS / "sources"

HIP = (
    "clang++-22",
    "-x",
    "hip",
    "--cuda-device-only",
    "-nogpuinc",
    "-nogpulib",
    "--no-gpu-bundle-output",
    "-fdebug-compilation-dir=.",
    "-fno-ident",
    "-w",
)
OPENCL = (
    "clang-22",
    "-x",
    "cl",
    "-cl-std=CL2.0",
    "-target",
    "amdgcn-amd-amdhsa",
    "-nogpulib",
    "-w",
)
DEVICE = ("clang-22", "-target", "amdgcn-amd-amdhsa", "-nogpulib", "-c", "-O2", "-fno-ident", "-w")

SECTIONS_SCRIPT = """\
SECTIONS {
  .text.hot : { *(.text.same_a) *(.text.diff_a) }
  .text.cold : { *(.text.h*) }
  .text : { *(.text .text.*) }
}
INSERT AFTER .rodata;
"""
"""A linker script that keeps functions apart: several executable sections."""

Recipe = Callable[[Path, Path], None]
"""`recipe(output, scratch)` builds one object; `scratch` is an empty folder."""


def run(*command: str | Path) -> None:
    """Run a tool in the folder of the sources, so that no other path gets into the object."""
    subprocess.run([str(word) for word in command], cwd=SOURCES, check=True)


def hip(target: str, source: str, *options: str) -> Recipe:
    """HIP, compiled and linked by clang."""

    def build(output: Path, scratch: Path) -> None:
        arch = f"--offload-arch={target}"
        run(*HIP, f"-cuid={Path(source).stem}", arch, *options, source, "-o", output)

    return build


def opencl(target: str, source: str, *options: str) -> Recipe:
    """OpenCL C, compiled and linked by clang."""

    def build(output: Path, scratch: Path) -> None:
        run(*OPENCL, f"-mcpu={target}", "-fdebug-compilation-dir=.", *options, source, "-o", output)

    return build


def relocatable(target: str, source: str, *options: str) -> Recipe:
    """One HIP source as an object that is not linked."""

    def build(output: Path, scratch: Path) -> None:
        bitcode = scratch / f"{source}.bc"
        arch = (f"--offload-arch={target}", f"-cuid={Path(source).stem}")
        run(*HIP, "-fgpu-rdc", "-emit-llvm", "-c", "-O2", *arch, source, "-o", bitcode)
        run(*DEVICE, f"-mcpu={target}", *options, "-x", "ir", bitcode, "-o", output)

    return build


def linked(target: str, sources: str, *options: str, per_function: bool = False) -> Recipe:
    """Several HIP sources, linked by ld.lld."""

    def build(output: Path, scratch: Path) -> None:
        objects = []
        for source in sources.split():
            item = scratch / f"{source}.o"
            relocatable(target, source, *(["-ffunction-sections"] if per_function else []))(
                item, scratch
            )
            objects.append(item)
        script = scratch / "sections.ld"
        script.write_text(SECTIONS_SCRIPT)
        chosen = [str(script) if word == "SCRIPT" else word for word in options]
        run("ld.lld-22", "-shared", *chosen, *objects, "-o", output)

    return build


def assembled(target: str, source: str) -> Recipe:
    """Hand-written assembly."""

    def build(output: Path, scratch: Path) -> None:
        item = scratch / "assembled.o"
        triple = ("-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-filetype=obj")
        run("llvm-mc-22", *triple, source, "-o", item)
        run("ld.lld-22", "-shared", item, "-o", output)

    return build


def changed(recipe: Recipe, *command: str) -> Recipe:
    """Another object after `command INPUT -o OUTPUT`."""

    def build(output: Path, scratch: Path) -> None:
        original = scratch / "original.co"
        recipe(original, scratch)
        run(*command, original, "-o", output)

    return build


def without_section_headers(recipe: Recipe) -> Recipe:
    """Another object, its section headers removed."""

    def build(output: Path, scratch: Path) -> None:
        original = scratch / "original.co"
        recipe(original, scratch)
        run("llvm-objcopy-22", "--strip-sections", original, output)

    return build


GENERIC = ("gfx9-generic", "gfx9-4-generic", "gfx10-3-generic", "gfx11-generic", "gfx12-generic")
RDC = "rdc_a.hip rdc_b.hip rdc_c.hip"
DEBUG = ("-O2", "-g", "-gdwarf-5")

RECIPES: dict[str, Recipe] = {
    "gfx1250/async1250_O3.co": hip("gfx1250", "async1250.hip", "-O3"),
    "gfx1250/async1250_O0_g.co": hip("gfx1250", "async1250.hip", "-O0", "-g"),
    "gfx1250/cluster_O3.co": hip("gfx1250", "cluster.hip", "-O3"),
    "gfx1250/gfx1250_O3.co": hip("gfx1250", "gfx1250.hip", "-O3"),
    "gfx1250/gfx1250_O2_g.co": hip("gfx1250", "gfx1250.hip", *DEBUG),
    "gfx1250/calls_cov4.co": hip("gfx1250", "calls.hip", "-O3", "-mcode-object-version=4"),
    "gfx1250/calls_stripped.co": changed(
        hip("gfx1250", "calls.hip", "-O3"), "llvm-strip-22", "--strip-all"
    ),
    "gfx1250/branchy_no_sections.co": without_section_headers(hip("gfx1250", "branchy.hip", "-O3")),
    "gfx1250/indirect_O3.co": hip("gfx1250", "indirect.hip", "-O3"),
    "gfx1250/lds_Os.co": hip("gfx1250", "lds.hip", "-Os"),
    "gfx1250/ocl1_O2_g.co": opencl("gfx1250", "ocl1.cl", "-O2", "-g"),
    "gfx1250/edge1250.co": assembled("gfx1250", "edge1250.s"),
    "gfx1250/rdc_emit_relocs.co": linked("gfx1250", RDC, "--emit-relocs"),
    "gfx1250/rdc_sysv_hash.co": linked("gfx1250", RDC, "--hash-style=sysv", "--build-id=sha1"),
    "gfx1250/rdc_gnu_hash_no_sections.co": without_section_headers(
        linked("gfx1250", RDC, "--hash-style=gnu")
    ),
    "gfx1250/icf_all.co": linked("gfx1250", "icf.hip", "--icf=all", per_function=True),
    "gfx1250/multi_text_sections.co": linked(
        "gfx1250", "icf.hip", "-T", "SCRIPT", per_function=True
    ),
    "gfx1250/rel_indirect.o": relocatable("gfx1250", "indirect.hip"),
    "gfx1250/rel_function_sections.o": relocatable("gfx1250", "icf.hip", "-ffunction-sections"),
    "gfx90a/calls_O3.co": hip("gfx90a", "calls.hip", "-O3"),
    "gfx90a/calls_xnack_off.co": hip("gfx90a:xnack-", "calls.hip", "-O3"),
    "gfx90a/mfma_O3.co": hip("gfx90a", "mfma.hip", "-O3"),
    "gfx90a/rel_indirect.o": relocatable("gfx90a", "indirect.hip"),
    "gfx942/calls_O3.co": hip("gfx942", "calls.hip", "-O3"),
    "gfx942/atomics_sramecc_xnack_off.co": hip("gfx942:sramecc+:xnack-", "atomics.hip", "-O3"),
    "gfx942/spill_O2_g.co": hip("gfx942", "spill.hip", *DEBUG),
    "gfx950/mfma_O3.co": hip("gfx950", "mfma.hip", "-O3"),
    "gfx1030/calls_O3.co": hip("gfx1030", "calls.hip", "-O3"),
    "gfx1030/lds_wave64.co": hip("gfx1030", "lds.hip", "-O3", "-mwavefrontsize64"),
    "gfx1100/calls_O3.co": hip("gfx1100", "calls.hip", "-O3"),
    "gfx1100/branchy_wave64.co": hip("gfx1100", "branchy.hip", "-O3", "-mwavefrontsize64"),
    "gfx1201/calls_O3.co": hip("gfx1201", "calls.hip", "-O3"),
    "gfx1201/lds_cumode.co": hip("gfx1201", "lds.hip", "-O3", "-mcumode"),
    **{
        f"{target}/calls_O3.co": hip(target, "calls.hip", "-O3", "-mcode-object-version=6")
        for target in GENERIC
    },
}


def rebuild(names: Iterator[str]) -> Iterator[tuple[str, bytes]]:
    """Build objects one after the other: names and bytes."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            output = scratch / "output"
            RECIPES[name](output, scratch)
            yield name, output.read_bytes()


def main() -> int:
    """Write the objects, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    different = 0
    for name, data in rebuild(iter(RECIPES)):
        path = CORPUS / name
        if path.exists() and path.read_bytes() == data:
            continue
        different += 1
        print(f"{name}: {len(data)} bytes, {'differs' if arguments.check else 'written'}")
        if not arguments.check:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
    return 1 if arguments.check and different else 0


if __name__ == "__main__":
    sys.exit(main())
