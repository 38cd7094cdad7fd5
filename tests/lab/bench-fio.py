#!/usr/bin/env python3
"""`scrubjay bench disk` beside fio: the same device, turn by turn, medians of some rounds. A measurement, not a test: it prints
how far they are apart, and fails only where an engine fails.

    bench-fio.py [--rounds 5] [--seconds 3] [--depths 1,8,32] [--fio OPTION]... DEVICE_OR_FILE...

Both read all of the target past the page cache, 4 KiB at a time, each place once (fio: a map of what was read), by io_uring with one
thread, and take a request's time from before it is given to the kernel to when its end is seen. Rounds go A B, B A, A B ...
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

SCRUBJAY = os.environ.get("SCRUBJAY", "target/release/scrubjay")


def ours(target, depth, seconds, state):
    """IOPS and mean latency in ms, as Scrubjay has them."""
    command = [SCRUBJAY, "bench", "disk", target, "--depth", str(depth), "--seconds", str(seconds), "--json", "--no-progress"]
    ran = subprocess.run(command + ["--state", state], capture_output=True, text=True)
    if ran.returncode not in (0, 3):
        sys.exit(f"{command}: {ran.returncode}: {ran.stderr}")
    first = json.loads(ran.stdout)["random"][0]
    return first["iops"], first["mean_seconds"] * 1e3


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
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--depths", default="1,8,32")
    parser.add_argument("--fio", action="append", default=[], metavar="OPTION", help="an option more for fio")
    parser.add_argument("targets", nargs="+")
    args = parser.parse_args()
    print(f"medians of {args.rounds} rounds, spread (greatest - least) / median in brackets; load average {os.getloadavg()[0]:.1f}")
    print(f"{'target':<16}{'depth':>6}{'IOPS ours':>20}{'IOPS fio':>20}{'apart':>8}{'mean ours':>20}{'mean fio':>20}{'apart':>8}")
    with tempfile.TemporaryDirectory() as state:
        for target in args.targets:
            for depth in map(int, args.depths.split(",")):
                rounds = []
                for turn in range(args.rounds):
                    # Who goes first changes, so that a drift harms both alike.
                    pair = [lambda: ours(target, depth, args.seconds, state), lambda: fios(target, depth, args.seconds, args.fio)]
                    order = pair if turn % 2 == 0 else pair[::-1]
                    results = [engine() for engine in order]
                    rounds.append(results if turn % 2 == 0 else results[::-1])
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


main()
