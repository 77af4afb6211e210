# SPDX-License-Identifier: Apache-2.0
"""Builds what the generator needs from an installed `llvm-22-dev`: the shim and LLVM's tables.

Everything lands in `build/isagen/native`; nothing is built twice unless its source is newer.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

LLVM_MAJOR = 22

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "build" / "isagen"
SOURCE = Path(__file__).resolve().parent / "native" / "isaprobe.cpp"

COMPONENTS = (
    "amdgpudisassembler",
    "amdgpudesc",
    "amdgpuinfo",
    "amdgpuutils",
    "mcdisassembler",
    "mc",
)


class BuildError(Exception):
    """`llvm-22-dev` or a C++ compiler is missing, or the shim does not compile."""


@dataclass(frozen=True)
class Native:
    """`probe`: the shared library; `disassembler`: LLVM's object file that holds the decoder
    tables; `headers`: LLVM's include folder."""

    probe: Path
    disassembler: Path
    headers: Path


def missing_tools() -> list[str]:
    """What must be installed before `build` can work; empty if all is there."""
    tools = (f"llvm-config-{LLVM_MAJOR}", f"llvm-ar-{LLVM_MAJOR}", "g++")
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if not missing and not (_library_folder() / "libLLVMAMDGPUDisassembler.a").exists():
        missing.append(f"llvm-{LLVM_MAJOR}-dev")
    return missing


def build() -> Native:
    """Builds on demand.  Raises BuildError."""
    if missing := missing_tools():
        raise BuildError(
            f"missing: {', '.join(missing)} (on Debian: apt install llvm-{LLVM_MAJOR}-dev g++)"
        )
    folder = OUTPUT / "native"
    folder.mkdir(parents=True, exist_ok=True)
    native = Native(
        folder / "libisaprobe.so",
        folder / "AMDGPUDisassembler.cpp.o",
        Path(_config("--includedir")[0]),
    )
    archive = _library_folder() / "libLLVMAMDGPUDisassembler.a"
    if _older(native.probe, SOURCE, archive):
        _compile(native.probe)
    if _older(native.disassembler, archive):
        _run([f"llvm-ar-{LLVM_MAJOR}", "x", str(archive), native.disassembler.name], folder)
        native.disassembler.touch()
    return native


def _compile(target: Path) -> None:
    # Linked statically, so that LLVM's unexported symbols are reachable; unused sections are
    # dropped, which leaves about 17 MB.
    fresh = target.with_suffix(".new")
    _run(
        [
            *("g++", "-O2", "-g0", "-shared", "-fPIC", "-w"),
            *_config("--cxxflags"),
            *("-fno-rtti", str(SOURCE), "-o", str(fresh)),
            f"-L{_library_folder()}",
            "-Wl,--start-group",
            *_config("--libs", "--link-static", *COMPONENTS),
            *("-Wl,--end-group", "-Wl,--gc-sections", "-Wl,-Bsymbolic"),
            *("-l:libz.so.1", "-l:libzstd.so.1", "-lpthread", "-ldl"),
        ],
        target.parent,
    )
    fresh.replace(target)


def _older(product: Path, *sources: Path) -> bool:
    return not product.exists() or any(
        product.stat().st_mtime < source.stat().st_mtime for source in sources
    )


def _library_folder() -> Path:
    return Path(_config("--libdir")[0])


def _config(*arguments: str) -> list[str]:
    return _run([f"llvm-config-{LLVM_MAJOR}", *arguments], None).split()


def _run(command: list[str], folder: Path | None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{command[0]} failed:\n{done.stderr.strip()}")
    return done.stdout
