"""What goes wrong: a small tree. Each says in one line what happened, to what, and what to do."""

from typing import Optional

__all__ = ["DeviceError", "Error", "FileError", "MissingFileError", "OptionError", "SchedulerError", "TraceError", "TraceWarning"]


class Error(Exception):
    """The root of the tree.

    Attributes
    ----------
    file : str or None
        The file it is about, where one is.
    place : str or None
        Where in it: ``line 7``, ``byte 4096`` or ``row 12``.
    """

    file: Optional[str] = None
    place: Optional[str] = None


class TraceError(Error, ValueError):
    """A file is no trace, or a damaged one, or says too little to answer."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """There is no file of that name."""


class DeviceError(Error, LookupError):
    """A trace has no device of that name; the text names those that it has."""


class OptionError(Error, ValueError):
    """An option makes no sense, or has no effect."""


class SchedulerError(Error, ConnectionError):
    """No scheduler of Dask answers at that address."""


class TraceWarning(UserWarning):
    """Something to be known of a trace that was read: records left out, units in doubt."""
