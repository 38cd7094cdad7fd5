"""A fleet of volumes that are made up, by parameters like those of real ones.

In the ranges that CloudPhysics' 106 volumes have (Waldspurger et al., FAST'15), by a few round figures that are not fitted to them: the mean time between requests
goes from a thousandth of a second to seconds, its logarithm about normal; half of the volumes read less than they write; sizes
are powers of two about 4 to 64 KiB; bursts: the median of the gaps is a hundredth of their mean. Here are only these figures.
"""

import math
import pathlib
import random

MSR_EPOCH = 128_166_372_000_000_000
#: Of the logarithms of the mean gap in seconds: mean and standard deviation.
GAP = (math.log(0.12), 0.9)
#: Of the share of reads.
READS = (0.45, 0.25)


def lines(number, requests):
    """Lines of an MSR trace of volume `number`."""
    draw = random.Random(number)
    gap = math.exp(draw.gauss(*GAP))
    reads = min(1.0, max(0.0, draw.gauss(*READS)))
    size = 1 << draw.randint(12, 16)
    # A lognormal law with that mean, whose median is a hundredth of it.
    sigma = math.sqrt(2 * math.log(draw.uniform(30, 300)))
    mu = math.log(gap) - sigma * sigma / 2
    at, offset = 0.0, 0
    for _ in range(requests):
        at += draw.lognormvariate(mu, sigma)
        offset = offset + size if draw.random() < 0.4 else size * draw.randrange(1 << 20)
        kind = "Read" if draw.random() < reads else "Write"
        yield f"{MSR_EPOCH + int(at * 1e7)},w{number:04},0,{kind},{offset},{size},0\n"


def make(folder, count, requests):
    """Writes volumes, and gives their paths."""
    paths = []
    for number in range(count):
        path = pathlib.Path(folder) / f"w{number:04}.csv"
        path.write_text("".join(lines(number, requests)))
        paths.append(path)
    return paths
