# SPDX-License-Identifier: Apache-2.0
"""From LLVM to the facts of one target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from .assemble import TEXTS, entry_facts
from .canonical import canonical_bits
from .classes import ClassTable
from .consensus import repair_fields
from .dataflow import flow_of
from .facts import EntryFacts, TargetFacts
from .fields import explore
from .seeds import find_studies
from .study import Study
from .target import Target
from .targets import generation_of
from .variants import explore_variants, share_image_immediates

Progress = Callable[[str], None]


def generate(target: Target, progress: Progress, only: str = "") -> TargetFacts:
    """Explores the target.  `only`: a regular expression for LLVM's opcode names, for trials."""
    studies = find_studies(target, only)
    progress(f"{len(studies)} entries")
    classes = ClassTable()
    for study in studies:
        explore(target, study, classes)
    progress(f"{len(classes.classes)} classes of operand codes")
    repaired = repair_fields(target, studies, classes)
    progress(f"{repaired} fields repaired by consensus")
    share_image_immediates(target, studies)
    for study in studies:
        explore_variants(target, study)
    entries = list(_entries(target, studies, classes, progress))
    progress(f"{target.llvm.decodes / 1e6:.1f} million decodes")
    return TargetFacts(
        target.name,
        target.processor,
        target.llvm.features,
        target.wavefront_size,
        target.llvm.version,
        classes.classes,
        entries,
    )


def _entries(
    target: Target, studies: Sequence[Study], classes: ClassTable, progress: Progress
) -> Iterator[EntryFacts]:
    generation = generation_of(target.processor)
    texts = target.llvm.text(np.concatenate([study.seeds[:TEXTS] for study in studies]))
    start = 0
    for study in studies:
        end = start + len(study.seeds[:TEXTS])
        entry = entry_facts(target, study, classes, texts[start:end])
        start = end
        canonical = canonical_bits(target, study)
        if canonical is None:
            progress(f"{entry.llvm}: what LLVM writes into ignored bits is unknown; 0 assumed")
        yield replace(entry, canonical=canonical or 0, flow=flow_of(entry, generation))
