"""``python -m scrubjay.fleet``: the fleet from a shell."""

import argparse
import sys
from typing import List, Optional

from .. import _core
from .._errors import Error, OptionError

__all__ = ["main"]

_EXAMPLES = """\
Examples:
  python -m scrubjay.fleet 'volumes/*.csv.gz' --out results.parquet
  python -m scrubjay.fleet 'volumes/*.csv.gz' --slowdown 0.5ms --scheduler tcp://head:8786

A run that was ended goes on where it was with the same command. Exit codes: 0 all files have an answer, 1 it could not be done,
2 the command makes no sense, 3 done, and some files have none (their rows say why), 130 stopped."""


def main(arguments: Optional[List[str]] = None) -> int:
    """Does what the arguments say, and gives the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m scrubjay.fleet",
        description="Tune to every device of many traces, on the workers of Dask.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("paths", nargs="+", metavar="TRACE", help="trace files, or patterns such as 'volumes/*.csv.gz'")
    add("--out", default="results.parquet", metavar="FOLDER", help="where the results go [default: %(default)s]")
    add("--scheduler", metavar="ADDRESS", help="scheduler of Dask [default: processes on this machine]")
    add("--workers", type=int, metavar="N", help="worker processes on this machine [default: one for each core]")
    add("--memory-limit", default="2GiB", metavar="SIZE", help="of each of these [default: %(default)s]")
    add("--parts", type=int, metavar="N", help="cut each file into so many parts [default: one for each GiB]")
    add("--disorder", type=int, metavar="N", help="records lie so far from their places at most [default: as far as is allowed]")
    add("--slowdown", default=_core.SLOWDOWN, metavar="TIME", help="mean latency that the scrub may add [default: %(default)s]")
    add("--max-slowdown", default=_core.MAX_SLOWDOWN, metavar="TIME", help="to any one request [default: %(default)s]")
    add("--goal", default=_core.GOAL, metavar="FORM", help="when the mean must be kept [default: %(default)s]")
    add("--sizes", default=_core.SIZES, metavar="A..B", help="request sizes to try [default: %(default)s]")
    add("--min-requests", type=int, default=_core.MIN_REQUESTS, metavar="N", help="of a device [default: %(default)s]")
    add("--service", default="auto", choices=["auto", "recorded", "model"], help="source of service times [default: %(default)s]")
    add("--disk", default=_core.DISK, metavar="MODEL", help="disk model [default: %(default)s]")
    add("--format", metavar="NAME", help="format [default: detected]")
    add("--device", action="append", metavar="NAME", help="only this device; may be repeated")
    add("--time-unit", metavar="UNIT", help="unit of times, where a format has several")
    add("--block", metavar="SIZE", help="unit of offsets and sizes, likewise")
    given = vars(parser.parse_args(arguments))
    paths, client = given.pop("paths"), given.pop("scheduler")
    from .run import tune

    try:
        table = tune(paths, client=client, **given)
    except KeyboardInterrupt:
        print("scrubjay.fleet: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    except Error as error:
        print(f"scrubjay.fleet: {error}", file=sys.stderr)
        return 2 if isinstance(error, OptionError) else 1
    except OSError as error:
        print(f"scrubjay.fleet: {error}; the same command goes on from here", file=sys.stderr)
        return 1
    without = table.num_rows - sum(error is None for error in table["error"].to_pylist())
    print(f"{table.num_rows} rows, {without} without an answer: {given['out']}")
    return 3 if without else 0
