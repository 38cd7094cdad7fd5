"""A fleet of 1,000 made-up volumes: equal to one process row by row, on one worker, on two, and with kills; figures are printed.

Usage: fleet_long.py [volumes [COUNT [REQUESTS]] | huge [REQUESTS [PARTS]]]. huge: one trace in parts against one process.
"""

import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import scrubjay
from scrubjay import fleet
from scrubjay._fleet import results

import cluster
import volumes

#: So often each number of workers is timed, in turn.
ROUNDS = 3

#: What the generator's model mid-read makes.
REQUESTS_AN_HOUR = 65_962


def timed(what, call):
    begun = time.monotonic()
    result = call()
    took = time.monotonic() - begun
    print(f"{what}: {took:.1f} s", flush=True)
    return result, took


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def used():
    """What it took of a processor so far (s). To ask for it is to import what a task needs: that belongs to the start of a worker."""
    import scrubjay._fleet.task  # noqa: F401

    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def on_workers(count, paths, out, memory_limit="2GiB", **options):
    """Tunes on so many processes; gives the rows, the time, and the most memory that any of them had (bytes)."""
    from distributed import Client, LocalCluster

    with LocalCluster(
        n_workers=count, threads_per_worker=1, memory_limit=memory_limit, dashboard_address=":0"
    ) as cluster, Client(cluster) as client:
        theirs, ours = sum(client.run(used).values()), used()
        table, took = timed(
            f"{count} workers", lambda: fleet.tune(paths, client=client, out=out, say=lambda _: None, **options)
        )
        memory = max(client.run(peak).values()) * 1024
        theirs, ours = sum(client.run(used).values()) - theirs, used() - ours
    print(f"of a processor: workers {theirs:.1f} s, client and scheduler {ours:.1f} s", flush=True)
    return table.to_pylist(), took, memory


def by_volumes(folder, count, requests):
    paths = volumes.make(folder, count, requests)
    print(f"{count} volumes of {requests} requests, {sum(path.stat().st_size for path in paths) / 1e6:.0f} MB", flush=True)

    def serially():
        for path in paths:
            document = scrubjay.open(path).tune(threads=1)
            yield results.flat(document, str(path), path.stem + "_0")

    serial, alone = timed("one process, no Dask", lambda: list(serially()))
    times, memory = {1: [], 2: []}, {1: 0, 2: 0}
    for turn in range(ROUNDS):
        for workers in times:
            rows, took, peak_bytes = on_workers(workers, paths, f"{folder}/{workers}-{turn}")
            assert rows == serial, "the rows differ"
            times[workers].append(took)
            memory[workers] = max(memory[workers], peak_bytes)
    one, two = (statistics.median(times[workers]) for workers in (1, 2))
    print(f"medians of {ROUNDS}: one worker {one:.1f} s, two {two:.1f} s: {one / two:.2f} times as fast; one process {alone:.1f} s", flush=True)
    print(f"at most {memory[1] / 1e6:.0f} MB in one worker, {memory[2] / 1e6:.0f} MB in each of two", flush=True)
    with_kills(folder, paths, serial)


def with_kills(folder, paths, serial):
    """A worker, the client and the scheduler are killed on the way; what had its row by then is not done again."""
    out = pathlib.Path(folder) / "killed"
    fleet_of = cluster.Cluster(folder)

    def until(share, run):
        """Waits for that share of the rows; gives those that there are, and when each was written."""
        while len(list(out.glob("*.parquet"))) < share * len(paths):
            assert run.poll() is None, f"it was over before {share:.0%} were done"
            time.sleep(0.02)
        return {path: path.stat().st_mtime_ns for path in out.glob("*.parquet")}

    with fleet_of:
        fleet_of.start(workers=2)
        run = fleet_of.run(f"{folder}/*.csv", out)
        before = until(1 / 6, run)
        fleet_of.kill_a_worker()
        print(f"a worker is killed: {len(before)} rows", flush=True)
        before.update(until(1 / 3, run))
        run.kill()
        run.wait()
        print(f"the client is killed: {len(before)} rows", flush=True)
        run = fleet_of.run(f"{folder}/*.csv", out)
        before.update(until(2 / 3, run))
        fleet_of.kill_the_scheduler()
        print(f"the scheduler is killed: {len(before)} rows", flush=True)
        assert run.wait(timeout=120) == 1, run.returncode
        fleet_of.start(workers=2)
        run = fleet_of.run(f"{folder}/*.csv", out)
        assert run.wait(timeout=1200) in (0, 3), run.returncode
    assert fleet.read(str(out)).to_pylist() == serial, "the rows differ after kills"
    assert all(path.stat().st_mtime_ns == written for path, written in before.items()), "something was done twice"
    print(f"the same {len(serial)} rows, each once; the {len(before)} of before were not written again", flush=True)


def huge(folder, requests, parts):
    path = pathlib.Path(os.environ.get("SCRUBJAY_HUGE") or pathlib.Path(folder) / "huge.csv")
    program = os.environ["SCRUBJAY"]
    model = ["--model", "mid-read", "--hours", str(requests / REQUESTS_AN_HOUR), "--seed", "7"]
    if not path.exists():
        timed("generated", lambda: subprocess.run([program, "trace", "generate", *model, str(path)], check=True, capture_output=True))
    print(f"{path.stat().st_size / 1e9:.1f} GB", flush=True)
    sizes = "1MiB..1MiB"
    joined, _, memory = on_workers(2, path, f"{folder}/parts", sizes=sizes, parts=parts, memory_limit="10GiB")
    print(f"at most {memory / 1e6:.0f} MB in one of the workers", flush=True)
    alone, _ = timed("one process", lambda: scrubjay.open(path).tune(sizes=sizes, threads=1))
    print(f"one process: at most {peak() * 1024 / 1e6:.0f} MB", flush=True)
    assert joined == [results.flat(alone, str(path), joined[0]["device"])], (joined, alone)
    print(f"{alone['requests']} requests in {parts} parts: the same to the last bit", flush=True)


def main(arguments):
    what, numbers = (arguments or ["volumes"])[0], [int(text) for text in arguments[1:]]
    with tempfile.TemporaryDirectory(prefix="scrubjay-fleet-") as folder:
        if what == "huge":
            huge(folder, *(numbers + [100_000_000, 64][len(numbers) :]))
        else:
            by_volumes(folder, *(numbers + [1000, 4000][len(numbers) :]))


if __name__ == "__main__":
    main(sys.argv[1:])
