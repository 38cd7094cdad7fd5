"""The client: hands tasks to Dask's scheduler, a bounded number at a time, until every file has its rows."""

import glob
import json
import math
import multiprocessing
import os
import sys
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Union

from .. import _core
from .._errors import FileError, OptionError, SchedulerError
from .._trace import at_least
from . import results, task

__all__ = ["tune"]

#: So many tasks for each thread of a worker are with the scheduler at a time.
_AHEAD = 4
#: A file of more bytes than that is cut, unless it is said how.
_PART_BYTES = 1 << 30
#: What keeps a script's workers, which import it, from running it.
_GUARD = 'if __name__ == "__main__":'
#: What a worker needs for itself: Python, Dask and pyarrow. With less, it would be ended and begun again for ever.
_MEMORY_MIN = 256 << 20
#: So many small files at most are one task, and so many bytes of them: what Dask spends on a task is shared by them.
_TOGETHER = 16
_TOGETHER_BYTES = 8 << 20
#: A task whose worker dies so often ends as a row with that reason.
_DEATHS = 3


def tune(
    paths: Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]],
    slowdown: str = _core.SLOWDOWN,
    client: Any = None,
    out: Union[str, "os.PathLike[str]"] = "results.parquet",
    *,
    max_slowdown: str = _core.MAX_SLOWDOWN,
    goal: str = _core.GOAL,
    sizes: str = _core.SIZES,
    min_requests: int = _core.MIN_REQUESTS,
    service: str = "auto",
    disk: str = _core.DISK,
    format: Optional[str] = None,
    device: Union[str, Sequence[str], None] = None,
    time_unit: Optional[str] = None,
    block: Union[str, int, None] = None,
    parts: Optional[int] = None,
    disorder: Optional[int] = None,
    workers: Optional[int] = None,
    memory_limit: Union[str, int] = "2GiB",
    page: bool = True,
    say: Callable[[str], Any] = lambda line: print(line, file=sys.stderr),
):
    """Tunes to every device of every file, and gives the results as a ``pyarrow.Table``, a row for each.

    Parameters
    ----------
    paths : path, pattern, or a list of them
        Trace files, at the same place for all workers.
    client : distributed.Client or str, optional
        Whose workers do it: a client, or the address of a scheduler. Without, processes on this machine.
    out : path
        A folder, a Parquet data set, which all workers reach. What is in it is not done again.
    parts : int, optional
        Into how many parts a file is cut, if its format can be cut; without, one for each GiB.
    disorder : int, optional
        How many records a record of such a file lies from its place in time at most. Without, what any trace is allowed.
    workers : int, optional
        Worker processes, without a client; one for each core unless given.
    memory_limit : str or int
        Of each of these workers: one that needs more is ended, and its file becomes a row that says so.
    page : bool
        Draw ``out/_page/index.html`` at the end.
    say : function
        Takes a line: the dashboard's address, and how far it is.

    The other parameters are those of :func:`scrubjay.open` and :meth:`scrubjay.Trace.tune`. A file that cannot be read ends nothing:
    it is a row with its reason in ``error``.

    Raises
    ------
    OptionError
        An option makes no sense, or no file is named.
    SchedulerError
        No scheduler answers.
    """
    devices = (device,) if isinstance(device, str) else tuple(device or ())
    options = task.Options(
        str(slowdown), str(max_slowdown), goal, sizes, min_requests, service, disk, format, devices, time_unit,
        None if block is None else str(block),
    )
    _check(options)
    for option, value, least in (("min_requests", min_requests, 0), ("parts", parts, 1), ("disorder", disorder, 0), ("workers", workers, 1)):
        if value is not None:
            at_least(option, value, least)
    files = _files(paths)
    out = os.path.abspath(os.fspath(out))
    if os.path.exists(out) and not os.path.isdir(out):
        raise OptionError(f"out: {out} is a file, not a folder")
    try:
        os.makedirs(out, exist_ok=True)
    except OSError as why:
        raise FileError(f"out: no folder can be made at {out}: {why.strerror}") from None
    volumes = [task.Volume.of(path, options) for path in files]
    todo = _Todo(volumes, options, out, parts, disorder)
    if todo.is_empty():
        say(f"{len(volumes)} files were done before")
    else:
        with _client(client, workers, memory_limit) as dask:
            say(f"dashboard: {dask.dashboard_link}")
            todo.run(dask, say)
    table = results.read(out, {volume.key for volume in volumes})
    if page:
        say(f"page: {_page(table, out, options)}")
    return table


class _Todo:
    """The files that are not done, and what of them is under way."""

    def __init__(self, volumes, options, out, parts, disorder):
        self.options, self.out, self.parts, self.disorder = options, out, parts, disorder
        self.finished = results.done(out)
        self.waiting = [volume for volume in volumes if not self._is_done(volume.key)]
        self.count, self.total = len(volumes) - len(self.waiting), len(volumes)
        self.waiting.reverse()
        self.ready: List[Any] = []  # tasks of files that are under way
        self.parts_read: Dict[str, Any] = {}
        self.devices_left: Dict[str, int] = {}
        self.over: set = set()
        self.suspects: List[Any] = []  # files that were with a worker when it died, too often: one of them kills, or several do
        self.accused: set = set()

    def is_empty(self) -> bool:
        return not self.waiting

    def run(self, dask, say) -> None:
        from distributed import as_completed

        running = as_completed()
        under_way: Dict[Any, Any] = {}
        told, room = 0, _Room(dask)
        while True:
            while len(under_way) < room.tasks():
                following = self._next(room.tasks(), not under_way)
                if following is None:
                    break
                kind, volumes, call, arguments = following
                future = dask.submit(call, volumes, *arguments, pure=False)
                under_way[future] = (kind, volumes, arguments)
                running.add(future)
            if not under_way:
                return
            future = _completed(running)
            kind, volumes, arguments = under_way.pop(future)
            if kind == "files":
                self._together(volumes, arguments, None if future.status == "error" else future.result())
            elif volumes.key in self.over:  # of a file that already has its row: another part of it failed
                pass
            elif future.status == "error":
                self._failed(kind, volumes, arguments, future.exception())
            else:
                self._succeeded(kind, volumes, arguments, future.result())
            future.release()
            if self.count * 20 // self.total > told:
                told = self.count * 20 // self.total
                say(f"{self.count} of {self.total} files")

    def _next(self, tasks, is_alone):
        """A task, where so many are under way at a time. `is_alone`: none is now."""
        while self.ready:
            following = self.ready.pop()
            if following[1].key not in self.over:
                return following
        if not self.waiting:
            return self._alone(*self.suspects.pop()) if self.suspects and is_alone else None
        volume = self.waiting.pop()
        parts = self.parts or max(1, -(-volume.size // _PART_BYTES))
        if parts > 1:
            return self._alone(volume, parts)
        # The fewer are left, the fewer go together: all workers are to be at work until the end.
        together, size = [volume], volume.size
        most = min(_TOGETHER, len(self.waiting) // tasks)
        while len(together) < most and size + self.waiting[-1].size <= _TOGETHER_BYTES:
            together.append(self.waiting.pop())
            size += together[-1].size
        return self._alone(volume, 1) if len(together) == 1 else ("files", together, task.tune_files, (self.options, self.out))

    def _alone(self, volume, parts):
        return "file", volume, task.tune_file, (self.options, self.out, parts, self.disorder)

    def _together(self, volumes, arguments, answers) -> None:
        """What became of files that were one task. If nothing, it is found out which of them it was."""
        if answers is None:
            self.ready.extend(self._alone(volume, 1) for volume in reversed(volumes))
        else:
            for volume, answer in zip(volumes, answers):
                self._succeeded("file", volume, arguments, answer)

    def _succeeded(self, kind, volume, arguments, answer) -> None:
        if kind == "file" and "cuts" in answer:
            cuts = answer["cuts"]
            self.parts_read[volume.key] = [None] * len(cuts)
            for number, (span, times) in reversed(list(enumerate(cuts))):
                self.ready.append(("part", volume, task.read_part, (self.options, self.out, number, span, times)))
        elif kind == "file" and "devices" in answer:
            self._devices(volume, answer["devices"], 1)
        elif kind == "part":
            parts = self.parts_read[volume.key]
            parts[arguments[2]] = answer
            if all(part is not None for part in parts):
                names = list(dict.fromkeys(name for part in parts for name in part))
                self._devices(volume, names, len(parts))
        elif kind == "device":
            self.devices_left[volume.key] -= 1
            if self.devices_left[volume.key] == 0:
                self._finish(volume)
        else:
            self._finish(volume)

    def _devices(self, volume, names, parts) -> None:
        ended = self.finished.get(volume.key, (0, set()))[1]
        left = [number for number in range(max(1, len(names))) if number not in ended]
        self.devices_left[volume.key] = len(left)
        for number in reversed(left):
            self.ready.append(("device", volume, task.tune_device, (self.options, self.out, number, names, parts)))

    def _failed(self, kind, volume, arguments, error) -> None:
        """A worker died too often of it, or something is wrong with it that a task cannot tell: a row says so."""
        reason = " ".join(str(error).split()) or type(error).__name__
        if kind == "file" and type(error).__name__ == "KilledWorker" and volume.key not in self.accused:
            # Dask counts the deaths of a worker for whatever it had in hand: whose fault it is, is seen with nothing beside it.
            self.accused.add(volume.key)
            self.suspects.append((volume, arguments[2]))
        elif kind == "device" and arguments[3]:
            number, names = arguments[2], arguments[3]
            row = task.failed(volume, self.options, reason, names[number])
            results.write(self.out, volume.key, number, len(names), [row])
            self._succeeded(kind, volume, arguments, None)
        else:
            results.write(self.out, volume.key, 0, 1, [task.failed(volume, self.options, reason)])
            self._finish(volume)

    def _finish(self, volume) -> None:
        self.over.add(volume.key)
        self.parts_read.pop(volume.key, None)
        self.devices_left.pop(volume.key, None)
        results.sweep(self.out, volume.key)
        self.count += 1

    def _is_done(self, key: str) -> bool:
        devices, ended = self.finished.get(key, (1, set()))
        return len(ended) == devices


class _Room:
    """How many tasks the scheduler is given at a time: it is asked for its workers every few seconds."""

    def __init__(self, dask):
        self.dask, self.asked, self.known = dask, -math.inf, 0

    def tasks(self) -> int:
        if time.monotonic() - self.asked > 5:
            self.known = _AHEAD * max(1, sum(self.dask.nthreads().values()))
            self.asked = time.monotonic()
        return self.known


def _completed(running):
    """The next future that has ended; an error if the scheduler is gone."""
    while True:
        try:
            future = next(running)
        except StopIteration:
            raise SchedulerError("the scheduler is gone: run it again, and it goes on from here") from None
        if future.status == "cancelled":
            raise SchedulerError("the scheduler is gone, or forgot its tasks: run it again, and it goes on from here")
        if future.status in ("finished", "error"):
            return future
        running.add(future)  # its answer was lost with a worker, and another one does it once more


@contextmanager
def _client(client, workers, memory_limit):
    try:
        import distributed
    except ImportError:
        raise OptionError("the fleet needs Dask: pip install 'scrubjay[dask]'") from None
    import dask.config

    from .sigint import IgnoresInterrupt

    if client is not None and not isinstance(client, str):
        yield client
        return
    memory_limit = _memory(memory_limit)
    with dask.config.set({"distributed.scheduler.allowed-failures": _DEATHS}):
        if isinstance(client, str):
            try:
                own = distributed.Client(client, timeout="5s")
            except (OSError, ValueError) as error:
                why = "no answer" if isinstance(error, OSError) else str(error)
                raise SchedulerError(f"{client}: no scheduler of Dask: {why}") from None
            with own:
                yield own
            return
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            sys.exit(1)  # a worker, beginning, runs the script that made it: whoever began the worker says so
        try:
            cluster = distributed.LocalCluster(
                n_workers=workers or os.cpu_count() or 1, threads_per_worker=1, processes=True, memory_limit=memory_limit
            )
        except RuntimeError:
            raise SchedulerError(f"the workers do not start; a script must call this below: {_GUARD}") from None
        with cluster, distributed.Client(cluster) as own:
            own.register_plugin(IgnoresInterrupt())
            yield own


def _memory(limit):
    """The limit in bytes; `auto`, a share of the machine's, or none (0) as they are."""
    from dask.utils import parse_bytes

    if limit in ("auto", None) or isinstance(limit, float):
        return limit
    try:
        size = parse_bytes(limit)
    except ValueError:
        raise OptionError(f"memory_limit: `{limit}` is no size: write 2GiB or 512MiB") from None
    if 0 < size < _MEMORY_MIN:
        raise OptionError(f"memory_limit: {limit} is too little: a worker needs {_MEMORY_MIN >> 20}MiB for itself")
    return size


def _check(options) -> None:
    """Whatever is wrong with the options is wrong with all files: it is said at once."""
    from .. import open as open_trace

    open_trace("-", options.format, options.device, options.time_unit, options.block)
    if options.service not in ("auto", "recorded", "model"):
        raise OptionError(f"service: `{options.service}` is not one of auto, recorded, model")
    _core.tune_parts(
        "", [], options.slowdown, options.max_slowdown, options.goal, options.sizes, 1, options.disk, 1, None
    )


def _files(paths) -> List[str]:
    """The files, each once, in the order in which they are named."""
    named = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    files: Dict[str, None] = {}
    for one in map(os.fspath, named):
        if "://" in one:
            raise OptionError(f"paths: {one} is a URL: workers read files by their paths")
        found = sorted(glob.glob(one)) if glob.has_magic(one) and not os.path.exists(one) else [one]
        if not found:
            raise OptionError(f"paths: no file is like {one}")
        files.update(dict.fromkeys(map(os.path.abspath, found)))
    if not files:
        raise OptionError("paths: no file is named")
    return list(files)


def _page(table, out, options) -> str:
    folder = os.path.join(out, "_page")
    os.makedirs(folder, exist_ok=True)
    facts = [("version", _core.VERSION), ("goal", f"{options.slowdown} in the mean, {options.max_slowdown} at most")]
    for name, text in _core.fleet_page(json.dumps(table.to_pylist()), facts):
        beside = os.path.join(folder, f".{name}.tmp")
        with open(beside, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(beside, os.path.join(folder, name))
    return os.path.join(folder, "index.html")
