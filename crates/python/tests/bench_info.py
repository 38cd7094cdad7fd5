"""How long `info` takes from Python and from the command: medians of 5 in one run, in turn. Printed; decides nothing.

Usage: bench_info.py TRACE. Environment: SCRUBJAY, the command; build both with the same profile (PROFILE=release python.sh).
"""

import os
import statistics
import subprocess
import sys
import time

import scrubjay


def took(call):
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def main(path):
    command = [os.environ["SCRUBJAY"], "trace", "info", "--json", path]
    trace = scrubjay.open(path)
    pairs = [
        (took(lambda: subprocess.run(command, check=True, capture_output=True)), took(trace.info)) for _ in range(5)
    ]
    theirs, ours = (statistics.median(times) for times in zip(*pairs))
    print(f"command {theirs:.3f} s, Python {ours:.3f} s: {ours / theirs - 1:+.1%}")


if __name__ == "__main__":
    main(sys.argv[1])
