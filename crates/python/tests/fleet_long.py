"""A fleet of 1,000 made-up volumes: equal to one process row by row, on one worker and on two, and with kills; figures are printed.

Usage: fleet_long.py [volumes [COUNT [REQUESTS]] | huge [REQUESTS [PARTS]]]. huge: one trace in parts against one process.
"""

import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

import scrubjay
from scrubjay import fleet
from scrubjay._fleet import results

import volumes

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


def on_workers(count, paths, out, memory_limit="2GiB", **options):
    """Tunes on so many processes; gives the rows, the time, and the most memory that any of them had (bytes)."""
    from distributed import Client, LocalCluster

    with LocalCluster(
        n_workers=count, threads_per_worker=1, memory_limit=memory_limit, dashboard_address=":0"
    ) as cluster, Client(cluster) as client:
        table, took = timed(
            f"{count} workers", lambda: fleet.tune(paths, client=client, out=out, say=lambda _: None, **options)
        )
        memory = max(client.run(peak).values()) * 1024
    print(f"{count} workers: at most {memory / 1e6:.0f} MB in one of them", flush=True)
    return table.to_pylist(), took, memory


def by_volumes(folder, count, requests):
    paths = volumes.make(folder, count, requests)
    print(f"{count} volumes of {requests} requests, {sum(path.stat().st_size for path in paths) / 1e6:.0f} MB", flush=True)

    def serially():
        for path in paths:
            document = scrubjay.open(path).tune(threads=1)
            yield results.flat(document, str(path), path.stem + "_0")

    serial, alone = timed("one process, no Dask", lambda: list(serially()))
    two, took_two, _ = on_workers(2, paths, f"{folder}/two")
    one, took_one, _ = on_workers(1, paths, f"{folder}/one")
    assert two == serial and one == serial, "the rows differ"
    print(f"two workers are {took_one / took_two:.2f} times as fast as one, {alone / took_two:.2f} times as one process", flush=True)
    killed = f"{folder}/killed"
    command = [sys.executable, "-m", "scrubjay.fleet", f"{folder}/*.csv", "--out", killed, "--workers", "2"]
    kills = 0
    while True:
        run = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        had = len(list(pathlib.Path(killed).glob("*.parquet"))) if os.path.isdir(killed) else 0
        while run.poll() is None and len(list(pathlib.Path(killed).glob("*.parquet"))) < had + count // 6:
            time.sleep(0.05)
        if run.poll() is not None:
            break
        # In turn a worker, which the nanny replaces, and all: client, scheduler and workers.
        children = [int(line) for line in os.popen(f"pgrep -s {run.pid} -f spawn_main").read().split() if int(line) != run.pid]
        if kills % 2 == 0 and children:
            os.kill(children[-1], signal.SIGKILL)
        else:
            os.killpg(run.pid, signal.SIGKILL)
        kills += 1
        if kills % 2 == 0:
            run.wait()
        else:
            while run.poll() is None and len(list(pathlib.Path(killed).glob("*.parquet"))) < had + count // 3:
                time.sleep(0.05)
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
    assert run.returncode == 0, run.returncode
    assert fleet.read(killed).to_pylist() == serial, "the rows differ after kills"
    print(f"after {kills} kills: the same {count} rows, each once", flush=True)


def huge(folder, requests, parts):
    path = pathlib.Path(os.environ.get("SCRUBJAY_HUGE") or pathlib.Path(folder) / "huge.csv")
    program = os.environ["SCRUBJAY"]
    model = ["--model", "mid-read", "--hours", str(requests / REQUESTS_AN_HOUR), "--seed", "7"]
    if not path.exists():
        timed("generated", lambda: subprocess.run([program, "trace", "generate", *model, str(path)], check=True, capture_output=True))
    print(f"{path.stat().st_size / 1e9:.1f} GB", flush=True)
    sizes = "1MiB..1MiB"
    joined, _, _ = on_workers(2, path, f"{folder}/parts", sizes=sizes, parts=parts, memory_limit="10GiB")
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
            by_volumes(folder, *(numbers + [1000, 2000][len(numbers) :]))


if __name__ == "__main__":
    main(sys.argv[1:])
