"""Scrubjay: idle-time scrubbing of disks inside a latency budget, from Python.

>>> import scrubjay
>>> trace = scrubjay.open("proj_0.csv.gz")        # nothing is read yet
>>> trace.info()["requests"]                      # as `scrubjay trace info --json`
>>> trace.tune(slowdown="1ms")["wait_seconds"]    # as `scrubjay tune --json`

Names, defaults and fields are those of the command line. Times are texts such as ``1ms``, sizes such as ``64KiB``; numbers that
come back have their unit in their name (``_seconds``, ``_bytes``, ``_ns``).
"""

from ._core import VERSION as __version__
from ._errors import (
    DeviceError,
    Error,
    FileError,
    MissingFileError,
    OptionError,
    SchedulerError,
    TraceError,
    TraceWarning,
)
from ._figures import Figure, Figures
from ._trace import IdleStudy, Trace, formats, open, policies

__all__ = [
    "DeviceError",
    "Error",
    "Figure",
    "Figures",
    "FileError",
    "IdleStudy",
    "MissingFileError",
    "OptionError",
    "SchedulerError",
    "Trace",
    "TraceError",
    "TraceWarning",
    "__version__",
    "formats",
    "open",
    "policies",
]
