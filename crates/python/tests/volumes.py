"""A fleet of volumes that are made up, each after one of 106 real ones.

`cloudphysics.csv` has the figures of these (CloudPhysics traces, Waldspurger et al., FAST 2015), and nothing of their requests. Volume
`number` is after row `number % 106`: its reads, sequential requests and sizes come as often as that row's, and the distances
between its arrivals have that row's percentiles and mean. One distance is drawn apart from the next: how they follow one another
is not among the figures.
"""

import bisect
import csv
import math
import pathlib
import random

MSR_EPOCH = 128_166_372_000_000_000
#: The percentiles of the distances between arrivals that are known, as shares.
SHARES = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
#: The shortest distance, in microseconds: the figures have whole ones, and zeros.
SHORTEST = 0.5


def known():
    """The figures of the real volumes, a dictionary each."""
    with open(pathlib.Path(__file__).with_name("cloudphysics.csv"), newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [{name: text if name == "volume" else float(text) for name, text in row.items()} for row in rows]


class Gaps:
    """The law of the distances between arrivals (us): in between two percentiles the logarithm is spread evenly, and so it is from the
    99th on, to an end by which the mean is right."""

    def __init__(self, row):
        points = [max(SHORTEST, row[f"gap_us_p{round(share * 100)}"]) for share in SHARES]
        self.shares, self.points = [0.0, *SHARES, 1.0], [SHORTEST, *points]
        pieces = zip(self.points, self.points[1:], self.shares, self.shares[1:])
        body = sum((to - at) * _mean(low, high) for low, high, at, to in pieces)
        wanted = (row["gap_us_mean"] - body) / (1 - SHARES[-1])
        low, high = points[-1], 1e13
        while high / low > 1.000001:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if _mean(points[-1], middle) < wanted else (low, middle)
        self.points.append(high)

    def at(self, share):
        """The distance that so great a share of all are shorter than."""
        piece = min(bisect.bisect_right(self.shares, share), len(self.shares) - 1)
        (at, to), (low, high) = self.shares[piece - 1 : piece + 1], self.points[piece - 1 : piece + 1]
        return low * (high / low) ** ((share - at) / (to - at))


def _mean(low, high):
    """Of what is between these, its logarithm spread evenly."""
    return (high - low) / math.log(high / low) if high > low else low


def lines(number, requests):
    """Lines of an MSR trace of volume `number`."""
    figures = KNOWN[number % len(KNOWN)]
    draw, gaps = random.Random(number), Gaps(figures)
    sizes = {kind: [int(figures[f"{kind.lower()}_bytes_p{p}"]) for p in (10, 50, 90)] for kind in ("Read", "Write")}
    blocks = int(figures["working_set_bytes"]) // 4096
    at, end = 0.0, 0
    for _ in range(requests):
        at += gaps.at(draw.random())
        kind = "Read" if draw.random() < figures["read_share"] else "Write"
        size = draw.choices(sizes[kind], weights=(3, 4, 3))[0]
        offset = end if draw.random() < figures["sequential_share"] else 4096 * draw.randrange(blocks)
        end = offset + size
        yield f"{MSR_EPOCH + int(at * 10)},w{number:04},0,{kind},{offset},{size},0\n"


def make(folder, count, requests):
    """Writes volumes, and gives their paths."""
    paths = []
    for number in range(count):
        path = pathlib.Path(folder) / f"w{number:04}.csv"
        path.write_text("".join(lines(number, requests)))
        paths.append(path)
    return paths


KNOWN = known()
