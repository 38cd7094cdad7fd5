"""What a worker does: reads a file or a part of one, tunes to a device, writes rows. Nothing in it knows of Dask."""

import json
import os
import warnings
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any, Dict, List, Optional, Tuple

from .. import _core, open as open_trace
from .._errors import Error, TraceWarning
from . import results

__all__ = ["Options", "Volume", "cut", "read_part", "tune_device", "tune_file", "tune_files"]


@dataclass(frozen=True)
class Options:
    """What is the same for all files: how they are opened, and what is tuned for; names and defaults of ``Trace.tune``."""

    slowdown: str = _core.SLOWDOWN
    max_slowdown: str = _core.MAX_SLOWDOWN
    goal: str = _core.GOAL
    sizes: str = _core.SIZES
    min_requests: int = _core.MIN_REQUESTS
    service: str = "auto"
    disk: str = _core.DISK
    format: Optional[str] = None
    device: Tuple[str, ...] = field(default=())
    time_unit: Optional[str] = None
    block: Optional[str] = None


@dataclass(frozen=True)
class Volume:
    """A file of the fleet, as it was when the run began; ``key`` names what is written of it."""

    path: str
    size: int
    changed: int
    key: str

    @classmethod
    def of(cls, path: str, options: Options) -> "Volume":
        try:
            status = os.stat(path)
            size, changed = status.st_size, status.st_mtime_ns
        except OSError:  # the task says what is wrong with it
            size, changed = -1, -1
        what = json.dumps([path, size, changed, asdict(options), _core.VERSION], sort_keys=True)
        return cls(path, size, changed, sha256(what.encode()).hexdigest()[:24])


def tune_files(volumes: List[Volume], options: Options, out: str) -> List[Dict[str, Any]]:
    """Small files, one after the other."""
    return [tune_file(volume, options, out, 1, None) for volume in volumes]


def tune_file(volume: Volume, options: Options, out: str, parts: int, disorder: Optional[int]) -> Dict[str, Any]:
    """Reads and tunes a whole file, and writes its rows. Several devices, or several parts, are left to tasks of their own: then
    it says which."""
    if results.has_row(out, volume.key):  # the task was begun before, by a worker that was killed
        return {"rows": 1}
    try:
        cuts = cut(volume, options, parts, disorder) if parts > 1 else []
        if len(cuts) > 1:
            return {"cuts": cuts}
        names = results.kept_devices(out, volume.key, 0)
        if names is not None:
            return {"devices": names}
        found = _handle(volume, options).part(None, (0, None), options.service, options.disk, None)
        if len(found) > 1:
            return {"devices": results.keep(out, volume.key, 0, found)}
        return _written(volume, options, out, found, [device[0] for device in found], 0)
    except Error as error:
        results.write(out, volume.key, 0, 1, [failed(volume, options, str(error))])
        return {"rows": 1}


def cut(volume: Volume, options: Options, parts: int, disorder: Optional[int]) -> List[Any]:
    """Where the file can be cut."""
    return _handle(volume, options).cuts(parts, disorder)


def read_part(
    volume: Volume, options: Options, out: str, number: int, span: Optional[Tuple[int, int]], times: Tuple[int, Optional[int]]
) -> List[str]:
    """Reads a part, keeps the busy periods of each of its devices in a file, and gives the devices' names."""
    kept = results.kept_devices(out, volume.key, number)
    if kept is not None:
        return kept
    devices = _handle(volume, options).part(span, times, options.service, options.disk, None)
    return results.keep(out, volume.key, number, devices)


def tune_device(volume: Volume, options: Options, out: str, device: int, devices: List[str], parts: int) -> Dict[str, Any]:
    """Joins the parts of one device, tunes to it, and writes its row."""
    try:
        kept = results.kept(out, volume.key, parts, devices[device]) if devices else []
        return _written(volume, options, out, kept, devices, device)
    except Error as error:
        results.write(out, volume.key, device, len(devices), [failed(volume, options, str(error), devices[device])])
        return {"rows": 1}


def _written(volume, options, out, kept, devices, device):
    if not devices:
        results.write(out, volume.key, 0, 1, [failed(volume, options, "the traces have no requests")])
        return {"rows": 1}
    name = volume.path if len(devices) == 1 else f"{volume.path}:{devices[device]}"
    text = _core.tune_parts(
        name, kept, options.slowdown, options.max_slowdown, options.goal, options.sizes, options.min_requests, options.disk, 1, None
    )
    if text is None:
        reason = f"fewer than {options.min_requests} requests: too few to tune to"
        row = failed(volume, options, reason, devices[device])
    else:
        row = results.flat(json.loads(text), volume.path, devices[device])
    results.write(out, volume.key, device, len(devices), [row])
    return {"rows": 1}


def failed(volume: Volume, options: Options, reason: str, device: Optional[str] = None) -> Dict[str, Any]:
    """The row of what has no answer."""
    name = volume.path if device is None else f"{volume.path}:{device}"
    return {**results.EMPTY, "file": volume.path, "device": device, "trace": name, "error": reason}


def _handle(volume: Volume, options: Options) -> "_core.TraceHandle":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TraceWarning)
        trace = open_trace(volume.path, options.format, options.device, options.time_unit, options.block)
    return trace._handle
