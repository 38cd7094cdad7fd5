"""What the tests run on: three traces made here, from seeds, and the command that they are compared with."""

import gzip
import json
import os
import pathlib
import random
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(os.environ.get("SCRUBJAY_ROOT") or pathlib.Path(__file__).resolve().parents[3])
#: 2007-02-22, in the units of MSR's traces: 100 ns since 1601.
MSR_EPOCH = 128_166_372_000_000_000


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes too long for `make test`; tests/lab/python.sh long runs it")


def msr_lines(seed, count, devices=("usr_0", "usr_1"), pause=0.02):
    """Lines of an MSR trace with response times: bursts, and pauses that are mostly short and sometimes long."""
    draw = random.Random(seed)
    at = 0.0
    for _ in range(count):
        at += draw.expovariate(1 / pause) if draw.random() < 0.3 else draw.expovariate(1 / 0.0005)
        if draw.random() < 0.003:
            at += draw.paretovariate(1.2)
        name, _, number = draw.choices(devices, weights=range(len(devices), 0, -1))[0].rpartition("_")
        kind, length = draw.choice(("Read", "Write")), 512 * draw.randint(1, 128)
        offset, response = 512 * draw.randrange(1 << 28), int(draw.expovariate(1 / 0.004) * 1e7)
        yield f"{MSR_EPOCH + int(at * 1e7)},{name},{number},{kind},{offset},{length},{response}\n"


def alibaba_lines(seed, count):
    """Lines of a trace of Alibaba's: one volume, no response times."""
    draw = random.Random(seed)
    at = 1_577_808_000_000_000
    for _ in range(count):
        at += int(draw.paretovariate(1.1) * 2000)
        yield f"419,{draw.choice('RW')},{4096 * draw.randrange(1 << 24)},{4096 * draw.randint(1, 32)},{at}\n"


@pytest.fixture(scope="session")
def command():
    """Runs the command, and gives what it prints."""
    places = [os.environ.get("SCRUBJAY"), ROOT / "target/release/scrubjay", ROOT / "target/smoke/scrubjay"]
    program = next((place for place in places if place and pathlib.Path(place).exists()), None)
    assert program, "no scrubjay to compare with: cargo build --release, or name it in SCRUBJAY"

    def run(*arguments):
        done = subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    run.program = str(program)
    return run


@pytest.fixture(scope="session")
def traces(tmp_path_factory, command):
    """Three traces: compressed with two devices and responses, plain with one volume, Parquet from the generator."""
    folder = tmp_path_factory.mktemp("traces")
    two = folder / "usr.csv.gz"
    with gzip.open(two, "wt") as file:
        file.writelines(msr_lines(1, 20_000))
    one = folder / "volume.csv"
    one.write_text("".join(alibaba_lines(2, 8_000)))
    made = folder / "made.parquet"
    subprocess.run(
        [command.program, "trace", "generate", "--model", "mid-read", "--hours", "0.5", "--seed", "3", made],
        check=True,
        capture_output=True,
    )
    return {"two devices": two, "one volume": one, "generated": made}


@pytest.fixture
def msr(tmp_path):
    """Writes an MSR trace."""

    def write(name, seed=1, count=2000, **options):
        path = tmp_path / name
        path.write_text("".join(msr_lines(seed, count, **options)))
        return path

    return write


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)
