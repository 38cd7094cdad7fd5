"""From Python comes what the command prints, field by field."""

import zipfile

import numpy as np
import pytest
import scrubjay

KEYS = ["two devices", "one volume", "generated"]
TIMED = ("read_seconds", "tune_seconds")


def untimed(documents):
    documents = documents if isinstance(documents, list) else [documents]
    return [{name: value for name, value in document.items() if name not in TIMED} for document in documents]


@pytest.mark.parametrize("key", KEYS)
def test_info_is_the_commands(traces, command, key):
    [printed] = command("trace", "info", "--json", traces[key])
    assert scrubjay.open(traces[key]).info() == printed


@pytest.mark.parametrize("key", KEYS)
def test_tune_is_the_commands(traces, command, key):
    options = {"slowdown": "2ms", "sizes": "64KiB..512KiB"}
    printed = command("tune", "--json", traces[key], "--slowdown", "2ms", "--sizes", "64KiB..512KiB")
    tuned = scrubjay.open(traces[key]).tune(**options)
    assert untimed(tuned) == untimed(printed)
    assert set(TIMED) <= set(printed[0]) and set(printed[0]) == set((tuned if isinstance(tuned, list) else [tuned])[0])


def test_the_defaults_are_the_commands(traces, command):
    printed = command("tune", "--json", traces["one volume"])
    assert untimed(scrubjay.open(traces["one volume"]).tune()) == untimed(printed)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "policy, parameters",
    [
        ("budget", {"slowdown": "0.5ms"}),
        ("waiting", {"wait": "20ms", "request": "256KiB"}),
        ("oracle", {"share": 0.05}),
        ("ar", {"percentile": 80}),
    ],
)
def test_simulate_is_the_commands(traces, command, key, policy, parameters):
    arguments = [text for name, value in parameters.items() for text in (f"--{name.replace('_', '-')}", value)]
    printed = command("simulate", "scrub", "--json", traces[key], "--policy", policy, *arguments)
    assert untimed(scrubjay.open(traces[key]).simulate(policy, **parameters)) == printed


def test_every_policy_and_every_parameter_is_known(traces):
    trace = scrubjay.open(traces["one volume"])
    for name, (about, parameters) in scrubjay.policies().items():
        assert about and all(help for help in parameters.values())
        assert trace.simulate(name)["policy"] == name


def test_devices_are_chosen_as_the_command_does(traces, command):
    path = traces["two devices"]
    [printed] = command("trace", "info", "--json", path, "--device", "usr_1")
    assert scrubjay.open(path, device="usr_1").info() == printed
    printed = command("tune", "--json", path, "--device", "usr_1", "--sizes", "1MiB..1MiB", "--service", "recorded")
    tuned = scrubjay.open(path, device=["usr_1"]).tune(sizes="1MiB..1MiB", service="recorded")
    assert isinstance(tuned, dict) and untimed(tuned) == untimed(printed)


def test_a_file_object_and_a_url_are_the_same_trace(traces, tmp_path):
    path = traces["two devices"]
    known = scrubjay.open(path).info()
    del known["sha256"]  # of files that are named by their paths
    with open(path, "rb") as file:
        trace = scrubjay.open(file)
        for _ in range(2):
            assert {**trace.info(), "files": known["files"]} == known
    pytest.importorskip("fsspec")
    assert {**scrubjay.open(f"file://{path}").info(), "files": known["files"]} == known
    with zipfile.ZipFile(tmp_path / "traces.zip", "w") as archive:
        archive.write(path, "inside.csv")
    inside = scrubjay.open(f"zip://inside.csv::file://{tmp_path / 'traces.zip'}")
    assert {**inside.info(), "files": known["files"]} == known


def test_idle_is_arrays_that_agree_with_info(traces):
    trace = scrubjay.open(traces["two devices"])
    idle, info = trace.idle(), trace.info()
    assert idle.count == info["idle"]["count"] and isinstance(idle.count, int)
    assert idle.idle_seconds / idle.count == pytest.approx(info["idle"]["mean_seconds"])
    assert idle.threshold.dtype == np.float64 and idle.threshold[0] == 0.0 and (np.diff(idle.threshold) > 0).all()
    assert idle.survival[0] == 1.0 and (np.diff(idle.survival) <= 0).all() and idle.longer[0] == idle.count
    assert idle.residual_mean[0] == pytest.approx(info["idle"]["mean_seconds"])
    assert len(idle.threshold) == len(idle.residual_p1) == len(idle.usable) and len(idle.hazard_rate) == len(idle.hazard_from)
    assert idle.hazard_ended.sum() == idle.count and (idle.hazard_rate > 0).all()


def test_figures_are_pictures(traces):
    figures = scrubjay.open(traces["two devices"]).figures()
    assert figures.names[0] == "idle-survival" and len(figures) == 10
    assert all(figure._repr_svg_().startswith("<svg") and figure.caption for figure in figures)
    assert figures["idle-hazard"].title == "Hazard rate" and figures._repr_html_().count("<svg") == 10


def test_progress_is_told_and_may_end_it(traces):
    told = []
    trace = scrubjay.open(traces["two devices"])
    trace.tune(sizes="64KiB..256KiB", progress=lambda *counts: told.append(counts))
    assert told[-1][0] == 20_000 and told[-1][1] == told[-1][2] > 0

    class Enough(Exception):
        pass

    def enough(*_):
        raise Enough

    with pytest.raises(Enough):
        trace.tune(progress=enough)
