# SPDX-License-Identifier: Apache-2.0
"""The pipeline: open, recover, prepare, arbitrate, place, commit, verify, write, report.

`transform` works on one code object, `files` on one input file, `batch` on many at once.
"""

from __future__ import annotations

from postproc.pipeline.batch import run_batch
from postproc.pipeline.files import FileResult, Job, process_file
from postproc.pipeline.session import RunSettings, Session
from postproc.pipeline.transform import Transformation, transform

__all__ = [
    "FileResult",
    "Job",
    "RunSettings",
    "Session",
    "Transformation",
    "process_file",
    "run_batch",
    "transform",
]
