#!/usr/bin/env python3
"""`scrubjay bench disk` beside fio: the same device, turn by turn, medians of some rounds. A measurement, not a test: it prints
how far they are apart, and fails only where an engine fails.

    bench-fio.py [--rounds 5] [--slices 5] [--seconds 1] [--depths 1,8,32] [--defaults] [--pinned] [--fio OPTION]... DEVICE_OR_FILE...

Both read all of the target past the page cache, 4 KiB at a time, in an order without repeats, by io_uring with one thread, and take
a request's time from before it is given to the kernel to when its end is seen. A round's figure is the mean of its slices, which go
A B, B A, A B ..., so that a machine that drifts harms both alike.

On a fast device the figure is also that of who asks. So fio does what Scrubjay does unless `--defaults` is given: its memory is
registered (`--fixedbufs`), and it takes all ends there are and sends as many requests anew in one call (`--iodepth_batch...`).
`--pinned`: who asks stays on the last processor, and the kernel's workers (those of a loop device) are kept off it; else a request
takes one of two times, depending on where they happen to meet. It is undone at the end.
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile

# The kernel's workers that are bound to no processor may run on these (a mask).
WORKERS = "/sys/devices/virtual/workqueue/cpumask"
SCRUBJAY = os.environ.get("SCRUBJAY", "target/release/scrubjay")


def ours(target, depth, seconds, state):
    """IOPS and mean latency in ms, as Scrubjay has them."""
    command = [SCRUBJAY, "bench", "disk", target, "--depth", str(depth), "--seconds", str(seconds), "--json", "--no-progress"]
    ran = subprocess.run(command + ["--state", state], capture_output=True, text=True)
    if ran.returncode not in (0, 3):
        sys.exit(f"{command}: {ran.returncode}: {ran.stderr}")
    first = json.loads(ran.stdout)["random"][0]
    return first["iops"], first["mean_seconds"] * 1e3


def as_ours(depth):
    """What makes fio's client do what ours does."""
    return ["--fixedbufs", f"--iodepth_batch_submit={depth}", "--iodepth_batch_complete_min=1", f"--iodepth_batch_complete_max={depth}"]


def fios(target, depth, seconds, more):
    """The same, as fio has them."""
    command = ["fio", "--name=compare", f"--filename={target}", "--readonly", "--direct=1", "--rw=randread", "--bs=4k"]
    command += ["--ioengine=io_uring", f"--iodepth={depth}", "--time_based", f"--runtime={round(seconds * 1000)}ms", "--ramp_time=0.3"]
    command += ["--random_generator=lfsr", "--randrepeat=0", "--output-format=json", "--thread", "--allow_file_create=0"]
    ran = subprocess.run(command + more, capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"{command}: {ran.returncode}: {ran.stderr}")
    read = json.loads(ran.stdout[ran.stdout.index("{"):])["jobs"][0]["read"]
    return read["iops"], read["lat_ns"]["mean"] / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slices", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1, help="of a slice")
    parser.add_argument("--defaults", action="store_true", help="fio's client as it is by default")
    parser.add_argument("--pinned", action="store_true", help="who asks and the kernel's workers on processors of their own")
    parser.add_argument("--depths", default="1,8,32")
    parser.add_argument("--fio", action="append", default=[], metavar="OPTION", help="an option more for fio")
    parser.add_argument("targets", nargs="+")
    args = parser.parse_args()
    with pinned() if args.pinned else contextlib.nullcontext():
        compare(args)


@contextlib.contextmanager
def pinned():
    """Who asks on the last processor, the kernel's unbound workers on the others."""
    last = max(os.sched_getaffinity(0))
    with open(WORKERS) as file:
        before = file.read().strip()
    workers = int(before.replace(",", ""), 16) & ~(1 << last)
    try:
        with open(WORKERS, "w") as file:
            file.write(f"{workers:x}")
        os.sched_setaffinity(0, {last})
        yield
    finally:
        with open(WORKERS, "w") as file:
            file.write(before)


def compare(args):
    """Prints the table."""
    client = "as by default" if args.defaults else "as ours"
    print(f"medians of {args.rounds} rounds of {args.slices} x {args.seconds:g} s, spread (greatest - least) / median in brackets;", end=" ")
    print(f"fio's client {client}{', pinned' if args.pinned else ''}; load average {os.getloadavg()[0]:.1f}")
    print(f"{'target':<16}{'depth':>6}{'IOPS ours':>20}{'IOPS fio':>20}{'apart':>8}{'mean ours':>20}{'mean fio':>20}{'apart':>8}")
    with tempfile.TemporaryDirectory() as state:
        for target in args.targets:
            for depth in map(int, args.depths.split(",")):
                more = ([] if args.defaults else as_ours(depth)) + args.fio
                engines = (lambda: ours(target, depth, args.seconds, state), lambda: fios(target, depth, args.seconds, more))
                rounds = [one_round(engines, args.slices) for _ in range(args.rounds)]
                cells = []
                for which in (0, 1):
                    values = [[pair[engine][which] for pair in rounds] for engine in (0, 1)]
                    medians = [statistics.median(value) for value in values]
                    for value, median in zip(values, medians):
                        cells.append(f"{median:,.4g} [{(max(value) - min(value)) / median:.0%}]")
                    cells.append(f"{medians[0] / medians[1] - 1:+.1%}")
                widths = (20, 20, 8, 20, 20, 8)
                row = "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths))
                print(f"{os.path.basename(target):<16}{depth:>6}{row}", flush=True)
    print(f"load average at the end {os.getloadavg()[0]:.1f}")


def one_round(engines, slices):
    """Each engine's means over the slices: IOPS, latency."""
    results = ([], [])
    for turn in range(slices):
        # Who goes first changes, so that a drift harms both alike.
        for engine in (0, 1) if turn % 2 == 0 else (1, 0):
            results[engine].append(engines[engine]())
    return [[statistics.mean(values) for values in zip(*result)] for result in results]


main()
