"""What a run leaves on disk: a Parquet file for each device that is done, and, of files that are not, busy periods read so far.

``out`` is a folder, a Parquet data set. Each file in it appears at once and whole (written beside, renamed), under a name
that follows from the input: so a run that was killed goes on, and whatever is done twice is there once. What begins with ``_`` is
no data: ``_work`` (parts that were read), ``_page`` (the page).

Nothing is synced, which would cost more than the work on a small volume. What a loss of power leaves half written does not end as
Parquet does, and is done again.
"""

import os
import re
import shutil
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pyarrow as pa
import pyarrow.parquet as pq

from .._errors import MissingFileError

__all__ = ["EMPTY", "SCHEMA", "done", "flat", "has_row", "keep", "kept", "kept_devices", "read", "sweep", "write"]

_COST = [
    ("scrub_requests", pa.int64()),
    ("scrub_bytes", pa.int64()),
    ("scrub_bytes_per_second", pa.float64()),
    ("mean_slowdown_seconds", pa.float64()),
    ("max_slowdown_seconds", pa.float64()),
    ("collisions", pa.int64()),
    ("collision_rate", pa.float64()),
    ("idle_used_ratio", pa.float64()),
]
#: The columns: fields of ``scrubjay tune --json``, and which file and device they are of.
SCHEMA = pa.schema(
    [
        ("file", pa.string()),
        ("device", pa.string()),
        ("trace", pa.string()),
        ("requests", pa.int64()),
        ("span_seconds", pa.float64()),
        ("intervals", pa.int64()),
        ("idle_seconds", pa.float64()),
        ("service", pa.string()),
        ("goal_mean_seconds", pa.float64()),
        ("goal_max_seconds", pa.float64()),
        ("wait_seconds", pa.float64()),
        ("request_bytes", pa.int64()),
        *_COST,
        ("is_lucky", pa.bool_()),
        ("steady_wait_seconds", pa.float64()),
        ("steady_request_bytes", pa.int64()),
        ("disk_bytes_per_second", pa.float64()),
        ("idle_class_bytes_per_second", pa.float64()),
        ("idle_class_mean_slowdown_seconds", pa.float64()),
        ("error", pa.string()),
    ]
)
EMPTY: Dict[str, Any] = {name: None for name in SCHEMA.names}

_PART = pa.schema([("idle", pa.uint64()), ("busy", pa.uint64()), ("work", pa.uint64()), ("requests", pa.uint32())])
_NAME = re.compile(r"^([0-9a-f]{24})-(\d+)-of-(\d+)\.parquet$")


def flat(document: Dict[str, Any], file: str, device: Optional[str]) -> Dict[str, Any]:
    """A document of ``tune`` as a row."""
    row = {name: document.get(name) for name in SCHEMA.names}
    near = document.get("near") or {}
    steady = near.get("steady") or {}
    idle = document["idle_class"]
    row.update(
        file=file,
        device=device,
        is_lucky=near.get("is_lucky"),
        steady_wait_seconds=steady.get("wait_seconds"),
        steady_request_bytes=steady.get("request_bytes"),
        idle_class_bytes_per_second=idle["scrub_bytes_per_second"],
        idle_class_mean_slowdown_seconds=idle["mean_slowdown_seconds"],
    )
    return row


def write(out: str, key: str, device: int, devices: int, rows: List[Dict[str, Any]]) -> None:
    """Writes what is known of one device of a file, unless somebody has meanwhile, which is the same."""
    path = os.path.join(out, _row_name(key, device, devices))
    if _is_whole(path):
        return
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    # One row: whatever else Parquet has to offer makes it larger, and slower to write and to read.
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    _appear(path, table, **plain)


def has_row(out: str, key: str) -> bool:
    """Is a file done that has one device?"""
    return _is_whole(os.path.join(out, _row_name(key, 0, 1)))


def done(out: str) -> Dict[str, Tuple[int, set]]:
    """By key: how many devices the file has, and which of them are done."""
    found: Dict[str, Tuple[int, set]] = {}
    for name in os.listdir(out):
        match = _NAME.match(name)
        if match and _is_whole(os.path.join(out, name)):
            found.setdefault(match[1], (int(match[3]), set()))[1].add(int(match[2]))
    return found


def read(out: str, keys: Optional[set] = None) -> pa.Table:
    """All rows so far, by file and device.

    Parameters
    ----------
    out : str
        The folder that :func:`scrubjay.fleet.tune` was given.
    keys : set of str, optional
        Only the rows of these keys: a folder that was used for several goals, or whose traces have changed, has others, too.
    """
    if not os.path.isdir(out):
        raise MissingFileError(f"out: {out} is no folder")
    matches = filter(None, map(_NAME.match, os.listdir(out)))
    names = sorted(match[0] for match in matches if keys is None or match[1] in keys)
    names = [name for name in names if _is_whole(os.path.join(out, name))]
    tables = [_row(os.path.join(out, name)) for name in names]
    table = pa.concat_tables(tables) if tables else SCHEMA.empty_table()
    return table.sort_by([("file", "ascending"), ("device", "ascending")])


def keep(out: str, key: str, part: int, devices: List[Any]) -> List[str]:
    """Keeps the busy periods of each device of a part; gives the devices' names."""
    folder = _work(out, key)
    os.makedirs(folder, exist_ok=True)
    for number, (_, started, idle, busy, work, requests, service) in enumerate(devices):
        columns = [
            pa.Array.from_buffers(kind.type, len(data) // kind.type.byte_width, [None, pa.py_buffer(data)])
            for kind, data in zip(_PART, (idle, busy, work, requests))
        ]
        schema = _PART.with_metadata({"started": str(started), "service": service})
        _appear(os.path.join(folder, f"{part}-{number}.parquet"), pa.Table.from_arrays(columns, schema=schema))
    names = [device[0] for device in devices]
    # Last of all: a part without its names was not read to its end.
    _appear(os.path.join(folder, f"{part}-names.parquet"), pa.table({"device": pa.array(names, pa.string())}))
    return names


def kept_devices(out: str, key: str, part: int) -> Optional[List[str]]:
    """The devices of a part that was read before; None if it was not."""
    folder = _work(out, key)
    path = os.path.join(folder, f"{part}-names.parquet")
    if not _is_whole(path):
        return None
    names = pq.read_table(path)["device"].to_pylist()
    all_whole = all(_is_whole(os.path.join(folder, f"{part}-{number}.parquet")) for number in range(len(names)))
    return names if all_whole else None


def kept(out: str, key: str, parts: int, device: str) -> Iterator[Any]:
    """The busy periods of one device in all parts, in their order, one part at a time."""
    for part in range(parts):
        names = kept_devices(out, key, part) or []
        if device not in names:
            continue
        path = os.path.join(_work(out, key), f"{part}-{names.index(device)}.parquet")
        table = pq.read_table(path, memory_map=True).combine_chunks()
        metadata = table.schema.metadata
        columns = (_bytes(table[name]) for name in _PART.names)
        yield (device, int(metadata[b"started"]), *columns, metadata[b"service"].decode())


def sweep(out: str, key: str) -> None:
    """Forgets the parts of a file that is done."""
    shutil.rmtree(_work(out, key), ignore_errors=True)


def _row_name(key: str, device: int, devices: int) -> str:
    return f"{key}-{device}-of-{devices}.parquet"


def _row(path: str) -> pa.Table:
    with pq.ParquetFile(path) as file:
        table = file.read(use_threads=False)
    # Of another version: what it does not have is null.
    return table if table.schema.equals(SCHEMA) else pq.read_table(path, schema=SCHEMA)


def _bytes(column: pa.ChunkedArray) -> bytes:
    return b"".join(chunk.to_numpy(zero_copy_only=True).tobytes() for chunk in column.chunks)


def _is_whole(path: str) -> bool:
    """Does it end as Parquet does?"""
    try:
        with open(path, "rb") as file:
            file.seek(-4, os.SEEK_END)
            return file.read() == b"PAR1"
    except OSError:  # none, or a shorter one
        return False


def _work(out: str, key: str) -> str:
    return os.path.join(out, "_work", key)


def _appear(path: str, table: pa.Table, **how: Any) -> None:
    beside = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    try:
        with open(beside, "xb") as file:
            pq.write_table(table, file, **{"compression": "zstd", **how})
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise
