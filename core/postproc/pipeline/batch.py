# SPDX-License-Identifier: Apache-2.0
"""Many inputs, on one or several processes.  Results come in the order of the inputs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from postproc import log
from postproc.pipeline.files import FileResult, Job, lost_file, process_file
from postproc.pipeline.session import RunSettings, Session

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["run_batch"]

_MOST_PER_PROCESSOR = 4
"""Workers; the work is computing, so that more of them only cost memory."""

_worker_session: Session | None = None


def run_batch(
    jobs: Sequence[Job],
    settings: RunSettings,
    session: Session,
    workers: int,
    progress: Callable[[FileResult], None] = lambda result: None,
) -> list[FileResult]:
    """Process all jobs; `progress` is told of each result, in order.

    The outputs do not depend on `workers`: every file is a transaction of its own.
    """
    results = []
    workers = min(workers, len(jobs), _MOST_PER_PROCESSOR * (os.cpu_count() or 1))
    with _results(jobs, settings, session, workers) as stream:
        for result in stream:
            progress(result)
            results.append(result)
    return results


@contextmanager
def _results(
    jobs: Sequence[Job], settings: RunSettings, session: Session, workers: int
) -> Iterator[Iterator[FileResult]]:
    if workers <= 1:
        yield (process_file(job, session) for job in jobs)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(settings,),
    )
    try:
        yield _finished(jobs, [pool.submit(_work, job) for job in jobs])
    finally:
        pool.shutdown(cancel_futures=True)


def _finished(jobs: Sequence[Job], futures: Sequence[Future[FileResult]]) -> Iterator[FileResult]:
    """Results as they were asked for; those that a dying process took along are failures."""
    for job, future in zip(jobs, futures, strict=True):
        try:
            yield future.result()
        except BrokenExecutor as error:
            yield lost_file(job, error)


def _start_worker(settings: RunSettings) -> None:
    global _worker_session
    import threading

    threading.Thread(target=_end_with_parent, daemon=True).start()
    log.configure(settings.log)
    _worker_session = Session.open(settings)


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for jobs for ever."""
    import multiprocessing
    from multiprocessing.connection import wait

    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _work(job: Job) -> FileResult:
    assert _worker_session is not None
    return process_file(job, _worker_session)
