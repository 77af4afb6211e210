# SPDX-License-Identifier: Apache-2.0
"""How fast text becomes arrays, as a ratio to llvm-objdump and to a pure-Python decoder.

    python benchmarks/decode.py [--megabytes 4] [--target gfx1250 ...] [--objects FOLDER ...]

The text of every object of a target, repeated to the wanted size, is linked into one code object.
All measurements are of one process on that object, in this run: the best of several, in CPU time,
because the machines that run this are shared.  llvm-objdump prints while it decodes, which is how
other tools get at instructions; `decode` gives offsets, sizes and entries as arrays.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from postproc.codeobject import CodeObject
from postproc.errors import PostprocError
from postproc.isa import load

HERE = Path(__file__).resolve().parent
OBJECTS = (HERE.parent / "tests" / "corpus", HERE.parent.parent / "shared" / "corpus" / "open")
TARGETS = ("gfx942", "gfx1100", "gfx1250")


def texts(folders: list[Path], target: str) -> Iterator[bytes]:
    """The executable sections of every code object for `target` below `folders`."""
    for path in sorted(p for folder in folders for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        if data[:4] != b"\x7fELF":
            continue
        try:
            found = CodeObject.parse(data, path.name)
        except PostprocError:
            continue
        if found.target.processor == target:
            for section in found.executable_sections:
                yield bytes(found.code(section))


def linked(target: str, text: bytes, folder: Path) -> Path:
    """One code object whose `.text` is `text`."""
    (folder / "text.bin").write_bytes(text)
    source = (
        f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"\n.text\n.globl f\n.type f,@function\nf:\n'
    )
    (folder / "text.s").write_text(source + f'.incbin "{folder / "text.bin"}"\n')
    relocatable, linked_object = folder / "text.o", folder / "text.co"
    triple = ["-triple=amdgcn-amd-amdhsa", f"-mcpu={target}"]
    assemble = ["llvm-mc-22", *triple, "-filetype=obj", str(folder / "text.s"), "-o"]
    subprocess.run([*assemble, str(relocatable)], check=True)
    subprocess.run(["ld.lld-22", "-shared", str(relocatable), "-o", str(linked_object)], check=True)
    return linked_object


def cpu(action: Callable[[], object], repeat: int) -> float:
    """Least CPU seconds of this process for one call."""
    seconds = []
    for _ in range(repeat):
        start = time.process_time()
        action()
        seconds.append(time.process_time() - start)
    return min(seconds)


def child_cpu(command: list[str], repeat: int) -> float:
    """Least CPU seconds (user and system) of a child process."""
    seconds = []
    for _ in range(repeat):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        seconds.append(used)
    return min(seconds)


def tinygrad_rate(target: str, text: bytes, seconds: float) -> float | None:
    """Instructions a second of tinygrad's decoder, or None where it is not there."""
    families = {"gfx942": "cdna", "gfx950": "cdna", "gfx1100": "rdna3", "gfx1201": "rdna4"}
    try:
        from tinygrad.renderer.amd import decode_inst
    except ImportError:
        return None
    family = families.get(target)
    if family is None:
        return None
    count = at = 0
    start = time.process_time()
    while at < len(text) and time.process_time() - start < seconds:
        try:
            at += decode_inst(text[at : at + 24], family).size()
        except (ValueError, AssertionError, KeyError, TypeError, RuntimeError):
            at += 4
        count += 1
    return count / (time.process_time() - start)


def measure(target: str, folders: list[Path], size: int, repeat: int) -> dict[str, object] | None:
    base = b"".join(texts(folders, target))
    if not base:
        return None
    text = base * -(-size // len(base))
    isa = load(target)
    with tempfile.TemporaryDirectory() as name:
        path = linked(target, text, Path(name))
        start = CodeObject.parse(path.read_bytes(), path.name)
        code = bytes(start.code(start.executable_sections[0]))
        isa.decode(code[:4096])
        ours = cpu(lambda: isa.decode(code), repeat)
        command = ["llvm-objdump-22", "-d", "--mattr=+real-true16", str(path)]
        theirs = child_cpu(command, max(1, repeat // 2))
    count = len(isa.decode(code))
    python = tinygrad_rate(target, text, 2.0)
    result: dict[str, object] = {
        "target": target,
        "text_bytes": len(code),
        "instructions": count,
        "decode_per_second": round(count / ours),
        "objdump_per_second": round(count / theirs),
        "ratio_to_objdump": round(theirs / ours, 1),
    }
    if python is not None:
        result["tinygrad_per_second"] = round(python)
        result["ratio_to_tinygrad"] = round(count / ours / python)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=4)
    parser.add_argument("--repeat", type=int, default=6)
    parser.add_argument("--target", nargs="+", default=list(TARGETS))
    parser.add_argument(
        "--objects", nargs="+", type=Path, default=[p for p in OBJECTS if p.exists()]
    )
    options = parser.parse_args()
    ratios = []
    for target in options.target:
        found = measure(target, options.objects, int(options.megabytes * 1e6), options.repeat)
        if found is None:
            print(f"no objects for {target}", file=sys.stderr)
            continue
        ratios.append(found["ratio_to_objdump"])
        print(json.dumps(found))
    if ratios:
        print(f"median ratio to llvm-objdump: {statistics.median(ratios)}", file=sys.stderr)
    return 0 if ratios else 1


if __name__ == "__main__":
    sys.exit(main())
