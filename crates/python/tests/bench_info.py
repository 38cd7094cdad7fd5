"""How long `info` takes from Python and from the command: medians of 5 in one run, in turn. Printed; decides nothing.

Usage: bench_info.py TRACE. Environment: SCRUBJAY, the command; build both with the same profile (python.sh does).
"""

import os
import resource
import statistics
import subprocess
import sys
import time

import scrubjay


def cpu(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def took(call, who):
    """Seconds by the clock, and of the processors."""
    begun, used = time.perf_counter(), cpu(who)
    call()
    return time.perf_counter() - begun, cpu(who) - used


def main(path):
    command = [os.environ["SCRUBJAY"], "trace", "info", "--json", path]
    trace = scrubjay.open(path)
    rounds = [
        (
            took(lambda: subprocess.run(command, check=True, capture_output=True), resource.RUSAGE_CHILDREN),
            took(trace.info, resource.RUSAGE_SELF),
        )
        for _ in range(5)
    ]
    for what, at in (("clock", 0), ("processor", 1)):
        theirs, ours = (statistics.median(one[side][at] for one in rounds) for side in (0, 1))
        print(f"{what}: command {theirs:.3f} s, Python {ours:.3f} s: {ours / theirs - 1:+.1%}")


if __name__ == "__main__":
    main(sys.argv[1])
