"""A fleet: equal to the serial result, whoever is killed; a trace in parts: equal to the trace."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
import scrubjay

pytest.importorskip("distributed")
pq = pytest.importorskip("pyarrow.parquet")

from scrubjay import fleet  # noqa: E402
from scrubjay._fleet import results, task  # noqa: E402

import cluster  # noqa: E402
import volumes  # noqa: E402

SIZES = "64KiB..256KiB"
VOLUMES = 40


def serial(paths, **options):
    """Rows as one process has them, by the package's own tune."""
    rows = []
    for path in paths:
        tuned = scrubjay.open(path).tune(sizes=SIZES, **options)
        for document in tuned if isinstance(tuned, list) else [tuned]:
            file = str(path)
            device = document["trace"][len(file) + 1 :] or scrubjay.open(path).info()["devices"][0]["name"]
            rows.append(results.flat(document, file, device))
    return sorted(rows, key=lambda row: (row["file"], row["device"]))


@pytest.fixture(scope="module")
def fleet_of(tmp_path_factory):
    return volumes.make(tmp_path_factory.mktemp("volumes"), VOLUMES, 1500)


@pytest.fixture(scope="module")
def dask():
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="1GiB", dashboard_address=":0") as cluster, Client(cluster) as client:
        yield client


def test_a_fleet_is_its_volumes_and_a_second_run_does_nothing(fleet_of, dask, tmp_path):
    said = []
    table = fleet.tune(fleet_of, client=dask, out=tmp_path / "out", sizes=SIZES, say=said.append)
    assert table.to_pylist() == serial(fleet_of)
    assert said[0].startswith("dashboard: http") and said[-1].endswith("_page/index.html")
    page = (tmp_path / "out/_page/index.html").read_text()
    assert "w0000.csv" in page and "<svg" in page and f"{VOLUMES} devices tuned" in page
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.parquet")}
    said.clear()
    again = fleet.tune(fleet_of, client="tcp://nobody:1", out=tmp_path / "out", sizes=SIZES, say=said.append)
    assert again.equals(table) and said[0] == f"{VOLUMES} files were done before"
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.parquet")}
    assert not list((tmp_path / "out/_work").glob("*"))


def test_a_file_that_cannot_be_read_is_a_row(fleet_of, dask, tmp_path, msr):
    bad = tmp_path / "bad.csv"
    bad.write_text("nothing of a trace\n" * 9)
    paths = [fleet_of[0], bad, tmp_path / "nowhere.csv", msr("few.csv", count=20), msr("two.csv", count=3000)]
    rows = fleet.tune(paths, client=dask, out=tmp_path / "out", sizes=SIZES, say=lambda _: None).to_pylist()
    reasons = {(pathlib.Path(row["file"]).name, row["device"]): row["error"] for row in rows}
    assert "not a trace" in reasons["bad.csv", None] and "No such file" in reasons["nowhere.csv", None]
    assert all("too few" in why for (name, _), why in reasons.items() if name == "few.csv")
    assert reasons["two.csv", "usr_0"] is reasons["two.csv", "usr_1"] is None
    assert [row for row in rows if row["file"].endswith("two.csv")] == serial([tmp_path / "two.csv"])


@pytest.mark.parametrize("service", ["model", "recorded"])
@pytest.mark.parametrize("parts", [2, 7])
def test_a_trace_in_parts_is_the_trace(dask, tmp_path, msr, service, parts):
    # The disk is busy most of the time: what comes before a cut reaches far beyond it.
    path = msr("busy.csv", seed=5, count=30_000, pause=0.004)
    volume = task.Volume.of(str(path), task.Options())
    cuts = task.cut(volume, task.Options(), parts, 100)
    assert len(cuts) == parts and cuts[0][0][0] == 0 and cuts[-1][0][1] == path.stat().st_size
    assert all(span[1] - span[0] < path.stat().st_size * 0.8 for span, _ in cuts)
    table = fleet.tune(
        path, client=dask, out=tmp_path / "out", sizes=SIZES, service=service, parts=parts, disorder=100, say=lambda _: None
    )
    assert table.to_pylist() == serial([path], service=service)


def test_what_cannot_be_cut_is_read_whole(dask, tmp_path, traces):
    table = fleet.tune(traces["generated"], client=dask, out=tmp_path / "out", sizes=SIZES, parts=5, say=lambda _: None)
    assert table.to_pylist() == serial([traces["generated"]])


def test_bad_options_are_refused_at_once(fleet_of, tmp_path):
    for options in ({"slowdown": "soon"}, {"sizes": "x"}, {"format": "mrs"}, {"service": "guess"}, {"goal": "none"}, {"disk": "x"}):
        with pytest.raises(scrubjay.OptionError):
            fleet.tune(fleet_of, out=tmp_path / "out", **options)
    for options in ({"workers": 0}, {"parts": -1}, {"disorder": -1}, {"min_requests": -1}):
        with pytest.raises(scrubjay.OptionError, match="is below"):
            fleet.tune(fleet_of, out=tmp_path / "out", **options)
    with pytest.raises(scrubjay.OptionError, match="URL"):
        fleet.tune("s3://traces/x.csv", out=tmp_path / "out")
    with pytest.raises(scrubjay.MissingFileError):
        fleet.read(str(tmp_path / "out"))
    with pytest.raises(scrubjay.OptionError, match="no file is like"):
        fleet.tune(str(tmp_path / "*.csv"), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(scrubjay.OptionError, match="memory_limit"):
        fleet.tune(fleet_of, out=tmp_path / "other", memory_limit="1MiB")
    with pytest.raises(scrubjay.FileError, match="no folder"):
        fleet.tune(fleet_of, out="/proc/scrubjay")


def test_a_script_without_a_guard_is_told_in_one_line(fleet_of, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"from scrubjay import fleet\nfleet.tune({str(fleet_of[0])!r}, out={str(tmp_path / 'out')!r}, workers=1)\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "__main__" in done.stderr.splitlines()[-1], done.stderr


def test_an_unreachable_scheduler_is_one_line(fleet_of, tmp_path):
    with pytest.raises(scrubjay.SchedulerError) as caught:
        fleet.tune(fleet_of, client="tcp://127.0.0.1:1", out=tmp_path / "out")
    assert "\n" not in str(caught.value) and "tcp://127.0.0.1:1" in str(caught.value)


def start(paths, out, *more):
    command = [sys.executable, "-m", "scrubjay.fleet", *map(str, paths), "--out", str(out), "--sizes", SIZES, *more]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)


def until_some_are_done(out, at_least):
    begun = time.monotonic()
    while time.monotonic() - begun < 120:
        if out.exists() and len(list(out.glob("*.parquet"))) >= at_least:
            return
        time.sleep(0.02)
    raise AssertionError("nothing is done")


@pytest.mark.long
def test_the_client_is_killed_and_another_goes_on(fleet_of, tmp_path):
    out = tmp_path / "out"
    first = start(fleet_of, out, "--workers", "2")
    until_some_are_done(out, 2)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    before = {path: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert len(before) < VOLUMES, "it was over before it was killed"
    second = start(fleet_of, out, "--workers", "2")
    stdout, stderr = second.communicate(timeout=300)
    assert second.returncode == 0 and f"{VOLUMES} rows, 0 without" in stdout, stderr
    assert fleet.read(str(out)).to_pylist() == serial(fleet_of)
    # What was done before was not done again.
    assert all(path.stat().st_mtime_ns == time_before for path, time_before in before.items())


@pytest.mark.long
def test_a_worker_and_the_scheduler_are_killed(fleet_of, tmp_path):
    out = tmp_path / "out"
    with cluster.Cluster(tmp_path) as started:
        started.start(workers=2)
        run = started.run(fleet_of, out, "--sizes", SIZES)
        until_some_are_done(out, 2)
        started.kill_a_worker()
        until_some_are_done(out, 5)
        started.kill_the_scheduler()
        assert len(list(out.glob("*.parquet"))) < VOLUMES, "it was over before the scheduler was killed"
        _, stderr = run.communicate(timeout=120)
        assert run.returncode == 1 and "goes on from here" in stderr.splitlines()[-1], stderr
        started.start(workers=1)
        again = started.run(fleet_of, out, "--sizes", SIZES)
        _, stderr = again.communicate(timeout=300)
        assert again.returncode == 0, stderr
    assert fleet.read(str(out)).to_pylist() == serial(fleet_of)


@pytest.mark.long
def test_a_file_that_kills_its_workers_is_a_row_and_its_neighbours_have_theirs(fleet_of, tmp_path):
    import dask.config
    from distributed import Client, LocalCluster, WorkerPlugin

    paths = [tmp_path / path.name for path in fleet_of]
    for path, original in zip(paths, fleet_of):
        path.symlink_to(original)

    class Killer(WorkerPlugin):
        def setup(self, worker):
            from scrubjay._fleet import task

            reads = task._handle
            task._handle = lambda volume, options: os._exit(1) if volume.path.endswith("w0003.csv") else reads(volume, options)

    few = dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with few, LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers, Client(workers) as client:
        client.register_plugin(Killer())
        rows = fleet.tune(paths, client=client, out=tmp_path / "out", sizes=SIZES, say=lambda _: None).to_pylist()
    killer = [row for row in rows if row["error"]]
    assert [pathlib.Path(row["file"]).name for row in killer] == ["w0003.csv"] and "died" in killer[0]["error"], killer
    assert [row for row in rows if not row["error"]] == [row for row in serial(paths) if not row["file"].endswith("w0003.csv")]
