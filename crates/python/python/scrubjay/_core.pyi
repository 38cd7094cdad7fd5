"""The compiled half of the package: see the modules beside it for what is meant to be used."""

from os import PathLike
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

VERSION: str
DISK: str
SLOWDOWN: str
MAX_SLOWDOWN: str
GOAL: str
SIZES: str
MIN_REQUESTS: int
POLICIES: List[Tuple[str, str, List[Tuple[str, str]]]]
FORMATS: List[Tuple[str, str, bool]]

_Progress = Optional[Callable[[int, int, int], Any]]

class TraceHandle:
    def __new__(
        cls,
        sources: Sequence[Tuple[str, Optional[Callable[[], Any]]]],
        format: Optional[str],
        devices: Sequence[str],
        time_unit: Optional[str],
        block: Optional[str],
    ) -> "TraceHandle": ...
    def info(self, service: str, disk: str, progress: _Progress) -> Tuple[str, List[str]]: ...
    def idle(self, service: str, disk: str, progress: _Progress) -> Tuple[Dict[str, Any], List[str]]: ...
    def figures(self, service: str, disk: str, progress: _Progress) -> Tuple[List[Tuple[str, str, str, str]], List[str]]: ...
    def tune(
        self,
        slowdown: str,
        max_slowdown: str,
        goal: str,
        sizes: str,
        min_requests: int,
        service: str,
        disk: str,
        threads: int,
        progress: _Progress,
    ) -> Tuple[List[str], List[str], List[str]]: ...
    def simulate(
        self, policy: str, parameters: Sequence[Tuple[str, str]], service: str, disk: str, threads: int, progress: _Progress
    ) -> Tuple[List[str], List[str]]: ...
    def write(self, path: "str | PathLike[str]", to: Optional[str], force: bool, progress: _Progress) -> Tuple[int, int, List[str]]: ...
    def part(
        self,
        bytes: Optional[Tuple[int, int]],
        times: Tuple[int, Optional[int]],
        service: str,
        disk: str,
        progress: _Progress,
    ) -> List["DevicePart"]: ...
    def cuts(self, parts: int, disorder: Optional[int]) -> List[Tuple[Tuple[int, int], Tuple[int, Optional[int]]]]: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...

DevicePart = Tuple[str, int, bytes, bytes, bytes, bytes, str]
"""A device's name, when its first request of the part arrived (ns), and a column each of its busy periods: idle before (ns,
uint64), length (ns, uint64), work that a later start would move (ns, uint64), requests (uint32); and where
their service times are from, ``recorded`` or ``model``."""

def tune_parts(
    name: str,
    parts: Iterable[DevicePart],
    slowdown: str,
    max_slowdown: str,
    goal: str,
    sizes: str,
    min_requests: int,
    disk: str,
    threads: int,
    progress: _Progress,
) -> Optional[str]: ...
def fleet_page(rows: str, facts: Sequence[Tuple[str, str]]) -> List[Tuple[str, str]]: ...
