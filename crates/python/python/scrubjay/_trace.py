"""Traces: opened lazily, asked again and again."""

import io
import json
import os
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core
from ._errors import FileError, MissingFileError, OptionError, TraceWarning
from ._figures import Figure, Figures

__all__ = ["IdleStudy", "Trace", "formats", "open", "policies"]

Source = Union[str, "os.PathLike[str]", Any]
Progress = Callable[[int, int, int], Any]


def open(
    path: Union[Source, Sequence[Source]],
    format: Optional[str] = None,
    device: Union[str, Sequence[str], None] = None,
    time_unit: Optional[str] = None,
    block: Union[str, int, None] = None,
) -> "Trace":
    """A trace, of which nothing is read yet.

    Parameters
    ----------
    path : path, file object, URL, or a list of these
        A file, compressed or not; a list of files is one trace. An object with ``read``, opened for bytes; if it cannot be
        sought in, it can be asked once. A URL such as ``s3://bucket/key`` is opened by fsspec (``pip install scrubjay[url]``,
        and what fsspec names for that kind of URL: ``s3fs``, ``gcsfs``).
    format : str, optional
        Its format; told by its beginning unless given (:func:`formats`).
    device : str or list of str, optional
        Only these devices.
    time_unit : str, optional
        The unit of its times, for formats that have several: ``us``, ``100ns``.
    block : str or int, optional
        The unit of its offsets and sizes, likewise: ``4KiB``, ``1``.

    Raises
    ------
    OptionError
        No such format or unit. What is wrong with the file is said when it is read.
    """
    sources = [_source(one) for one in ([path] if _is_one(path) else path)]
    if any(opener for _, opener in sources):  # then Python opens all of them
        sources = [(name, opener or _of_path(name)) for name, opener in sources]
    name = ", ".join(name for name, _ in sources)
    devices = [device] if isinstance(device, str) else list(device or [])
    block = None if block is None else str(block)
    return Trace(_core.TraceHandle(sources, format, devices, time_unit, block), name)


def _is_one(path: Any) -> bool:
    if hasattr(path, "read") or isinstance(path, (str, bytes, os.PathLike)):
        return True
    if isinstance(path, Iterable):
        return False
    raise TypeError(f"path: a path, a file object, a URL, or a list of these, not {type(path).__name__}")


def _source(one: Any) -> Tuple[str, Optional[Callable[[], Any]]]:
    """What it is called, and what opens it; a path is opened without Python."""
    if hasattr(one, "read"):
        return str(getattr(one, "name", None) or "file object"), _rewound(one)
    name = os.fsdecode(one)
    return name, _of_url(name) if "://" in name else None


def _rewound(file: Any) -> Callable[[], Any]:
    """What gives the file object from where it stood when it was handed over."""
    if getattr(file, "closed", False):
        raise FileError("path: the file object is closed")
    can_seek = bool(getattr(file, "seekable", lambda: False)())
    start = file.tell() if can_seek else None
    used = False

    def give() -> Any:
        nonlocal used
        if getattr(file, "closed", False):
            raise FileError("the file object was closed: keep it open, or give the path")
        if can_seek:
            if start != 0:
                raise OptionError("path: the file object stands inside its file: rewind it, or give the path")
            file.seek(start)
        elif used:
            raise FileError("the file object can be read once, and was: open the path, or a seekable object")
        used = True
        return file

    return give


def _of_path(path: str) -> Callable[[], Any]:
    def give() -> Any:
        try:
            return io.open(path, "rb")
        except OSError as why:
            error = (MissingFileError if isinstance(why, FileNotFoundError) else FileError)(f"{path}: {why.strerror}")
        error.file = path
        raise error

    return give


class _OpenedUrl:
    """A file that fsspec has opened, and what it lies in: an archive is closed when nobody refers to it any more."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self._file = opened.open()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _of_url(url: str) -> Callable[[], Any]:
    def give() -> Any:
        try:
            import fsspec
        except ImportError:
            raise OptionError(f"{url}: URLs need fsspec: pip install 'scrubjay[url]'") from None
        try:
            return _OpenedUrl(fsspec.open(url, "rb"))
        except FileNotFoundError:
            error: FileError = MissingFileError(f"{url}: no such file")
        except Exception as why:  # each of fsspec's back ends has exceptions of its own
            error = FileError(f"{url}: {str(why) or type(why).__name__}".splitlines()[0])
        error.file = url
        raise error

    return give


@dataclass(frozen=True)
class IdleStudy:
    """The idle intervals of a trace: how long they last, and what having waited says of the rest.

    All arrays are one-dimensional, of float64 and read-only; NaN where too few intervals are left to tell. Of ``T`` ascending
    thresholds: ``threshold`` (s), ``longer`` (count), ``survival`` (0..1: the share of the intervals that are longer),
    ``residual_mean`` (s: how much longer those last in the mean), ``residual_p1`` (s: 99 of 100 of them last so much longer),
    ``usable`` (0..1: of all idle time, what is left to who waits that long). Of ``B`` bins: ``hazard_from``, ``hazard_to`` (s),
    ``hazard_ended`` (count), ``hazard_rate`` (1/s: the chance to end within the next second). Of ``L`` points: the Lorenz curve
    ``lorenz_intervals``, ``lorenz_time`` (0..1). ``autocorrelation``: of the intervals' logarithms at lags 1, 2, ...
    """

    count: int
    idle_seconds: float
    span_seconds: float
    threshold: np.ndarray = field(repr=False)
    longer: np.ndarray = field(repr=False)
    survival: np.ndarray = field(repr=False)
    residual_mean: np.ndarray = field(repr=False)
    residual_p1: np.ndarray = field(repr=False)
    usable: np.ndarray = field(repr=False)
    hazard_from: np.ndarray = field(repr=False)
    hazard_to: np.ndarray = field(repr=False)
    hazard_ended: np.ndarray = field(repr=False)
    hazard_rate: np.ndarray = field(repr=False)
    lorenz_intervals: np.ndarray = field(repr=False)
    lorenz_time: np.ndarray = field(repr=False)
    autocorrelation: np.ndarray = field(repr=False)


class Trace:
    """A trace (:func:`open`). Each question reads it anew; between two of them nothing is open.

    Whatever takes Arrow's PyCapsule interface takes a trace: ``pyarrow.table(trace)``, ``polars.DataFrame(trace)``,
    ``pandas.DataFrame.from_arrow(trace)``, ``duckdb.from_arrow(pyarrow.RecordBatchReader.from_stream(trace))``. The columns are
    those of Scrubjay's Parquet files: ``arrival_ns`` (int64: since 1970, or since the trace began, as the metadata
    ``scrubjay.clock`` says), ``device``, ``kind`` (``read``, ``write``, ``discard``, ``flush``), ``offset``, ``length`` (int64,
    bytes), ``response_ns`` (int64, null where it is not known).

    Every question takes ``progress``, a function of three counts: records read, pieces of the search that are done, and pieces
    that it has so far. Ctrl-C ends it.
    """

    def __init__(self, handle: "_core.TraceHandle", name: str):
        self._handle = handle
        self.name = name

    def __repr__(self) -> str:
        return f"<scrubjay.Trace {self.name}>"

    def info(self, service: str = "auto", disk: str = _core.DISK, progress: Optional[Progress] = None) -> Dict[str, Any]:
        """The trace in figures: the object that ``scrubjay trace info --json`` prints.

        Parameters
        ----------
        service : {'auto', 'recorded', 'model'}
            When requests are taken to be completed: as recorded if the trace begins with response times, as recorded, or by a
            model of the disk.
        disk : str
            The model: a name, or the time for positioning and the time per MiB, such as ``8ms,5.5ms``.
        """
        text, notes = self._handle.info(service, disk, progress)
        return json.loads(_warned(text, notes))

    def idle(self, service: str = "auto", disk: str = _core.DISK, progress: Optional[Progress] = None) -> IdleStudy:
        """The study of the idle intervals (survival, hazard, residual life) as NumPy arrays; see :class:`IdleStudy`."""
        columns, notes = self._handle.idle(service, disk, progress)
        _warned(None, notes)
        arrays = {name: _array(value) if isinstance(value, bytes) else value for name, value in columns.items()}
        return IdleStudy(**arrays)

    def tune(
        self,
        slowdown: str = _core.SLOWDOWN,
        max_slowdown: str = _core.MAX_SLOWDOWN,
        goal: str = _core.GOAL,
        sizes: str = _core.SIZES,
        min_requests: int = _core.MIN_REQUESTS,
        service: str = "auto",
        disk: str = _core.DISK,
        threads: int = 0,
        progress: Optional[Progress] = None,
    ) -> Union[Dict[str, Any], List[Dict[str, Any]]]:
        """The wait and the request size that read most inside the goal: what ``scrubjay tune --json`` prints.

        Parameters
        ----------
        slowdown, max_slowdown : str
            What the scrub may add to a request of others: in the mean, and to any one.
        goal : {'average', 'strict'}
            When the mean must be kept, as the command's ``--goal`` names it.
        sizes : str
            Request sizes to try, ``A..B`` in steps of 64 KiB.
        min_requests : int
            Devices with fewer are left out.
        threads : int
            0: one for each core.

        Returns
        -------
        dict, or a list of dicts
            One for each device, the busiest first; the dict itself where there is but one. ``wait_seconds`` is None, and
            ``error`` says why, where no wait keeps the goal.
        """
        at_least("min_requests", min_requests, 0)
        at_least("threads", threads, 0)
        texts, left_out, notes = self._handle.tune(
            str(slowdown), str(max_slowdown), goal, sizes, min_requests, service, disk, threads, progress
        )
        if left_out:
            notes = [*notes, f"devices left out for having fewer than {min_requests} requests: {', '.join(left_out[:3])}"
                     + (f" and {len(left_out) - 3} more" if len(left_out) > 3 else "")]
        return _one_or_all(_warned(texts, notes))

    def simulate(
        self,
        policy: str = "budget",
        service: str = "auto",
        disk: str = _core.DISK,
        threads: int = 0,
        progress: Optional[Progress] = None,
        **parameters: Any,
    ) -> Union[Dict[str, Any], List[Dict[str, Any]]]:
        """A scrub played against the trace: what ``scrubjay simulate scrub --json`` prints.

        Parameters
        ----------
        policy : str
            One of :func:`policies`, which also names the parameters of each: ``wait="205ms"``, ``request="64KiB"``,
            ``slowdown="0.5ms"``.

        Returns
        -------
        dict, or a list of dicts
            One for each device, the busiest first; the dict itself where there is but one.
        """
        at_least("threads", threads, 0)
        given = [(name, str(value)) for name, value in parameters.items()]
        texts, notes = self._handle.simulate(policy, given, service, disk, threads, progress)
        return _one_or_all(_warned(texts, notes))

    def figures(self, service: str = "auto", disk: str = _core.DISK, progress: Optional[Progress] = None) -> Figures:
        """The figures of the idle intervals, as ``scrubjay trace info --plot`` draws them: SVG, shown by notebooks."""
        drawn, notes = self._handle.figures(service, disk, progress)
        return Figures(Figure(*one) for one in _warned(drawn, notes))

    def write(
        self,
        path: Union[str, "os.PathLike[str]"],
        format: Optional[str] = None,
        force: bool = False,
        progress: Optional[Progress] = None,
    ) -> int:
        """Writes the trace as ``scrubjay trace convert`` does, and gives the number of records written.

        The format is that of the ending (``.parquet``, ``.csv``, ``.iolog``, ``.blkparse``) unless given; ``.gz`` and ``.zst``
        compress. The file appears when it is complete; one that is there is replaced only with ``force``. What the format cannot
        hold is warned of.
        """
        records, _, lost = self._handle.write(os.fspath(path), format, force, progress)
        return _warned(records, lost)

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        return self._handle.__arrow_c_stream__(requested_schema)


def formats() -> List[Tuple[str, str, bool]]:
    """Every trace format: its name, what it is, and whether it can be written."""
    return list(_core.FORMATS)


def policies() -> Dict[str, Tuple[str, Dict[str, str]]]:
    """Every policy that can be simulated: what it does, and its parameters, each with a line of help."""
    return {name: (about, dict(parameters)) for name, about, parameters in _core.POLICIES}


def at_least(option: str, value: int, least: int) -> None:
    """Refuses a number below the least that makes sense."""
    if not isinstance(value, int):
        raise TypeError(f"{option}: a whole number, not {value!r}")
    if value < least:
        raise OptionError(f"{option}: {value} is below {least}")


def _array(data: bytes) -> np.ndarray:
    return np.frombuffer(data, dtype="<f8")


def _warned(result: Any, notes: Sequence[str]) -> Any:
    for note in notes:
        warnings.warn(note, TraceWarning, stacklevel=3)
    return result


def _one_or_all(texts: Sequence[str]) -> Any:
    documents = [json.loads(text) for text in texts]
    return documents[0] if len(documents) == 1 else documents
