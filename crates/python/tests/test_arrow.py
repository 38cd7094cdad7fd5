"""Records go to pyarrow, polars, pandas and DuckDB, and come back."""

import pytest
import scrubjay

pa = pytest.importorskip("pyarrow")
COLUMNS = ["arrival_ns", "device", "kind", "offset", "length", "response_ns"]


def plain(table):
    """Rows, whatever the columns' types are called."""
    return [tuple(row[name] for name in COLUMNS) for row in table.to_pylist()]


@pytest.fixture(scope="module")
def known(traces):
    return pa.table(scrubjay.open(traces["two devices"]))


def test_pyarrow_has_every_record(traces, known):
    info = scrubjay.open(traces["two devices"]).info()
    assert known.column_names == COLUMNS and known.num_rows == info["requests"]
    assert known.schema.metadata[b"scrubjay.clock"] == b"absolute"
    assert sum(kind == "read" for kind in known["kind"].to_pylist()) == info["reads"]["requests"]
    assert known["arrival_ns"][0].as_py() / 1e9 == pytest.approx(info["first_arrival_seconds"])
    assert set(known["device"].to_pylist()) == {device["name"] for device in info["devices"]}


def test_what_pyarrow_writes_is_a_trace_again(traces, known, tmp_path):
    import pyarrow.parquet as pq

    path = tmp_path / "again.parquet"
    pq.write_table(known, path, compression="zstd")
    again, differing = scrubjay.open(path), {"files": 0, "format": 0, "sha256": 0}
    assert plain(pa.table(again)) == plain(known)
    assert {**again.info(), **differing} == {**scrubjay.open(traces["two devices"]).info(), **differing}


def test_polars_takes_a_trace(traces, known):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(scrubjay.open(traces["two devices"]))
    assert frame.shape == (known.num_rows, 6)
    assert frame["device"].cast(str).to_list() == known["device"].to_pylist()
    assert plain(frame.with_columns(polars.col("device", "kind").cast(str)).to_arrow()) == plain(known)


def test_pandas_takes_a_trace(traces, known):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame.from_arrow(scrubjay.open(traces["two devices"])) if hasattr(pandas.DataFrame, "from_arrow") else known.to_pandas()
    assert list(frame.columns) == COLUMNS and len(frame) == known.num_rows
    assert frame["arrival_ns"].tolist() == known["arrival_ns"].to_pylist()
    assert frame["device"].astype(str).tolist() == known["device"].to_pylist()
    assert plain(pa.Table.from_pandas(frame.astype({"device": str, "kind": str}), preserve_index=False)) == plain(known)


def test_duckdb_asks_a_trace(traces, known):
    duckdb = pytest.importorskip("duckdb")
    records = pa.RecordBatchReader.from_stream(scrubjay.open(traces["two devices"]))
    connection = duckdb.connect()
    connection.register("records", records)
    counted = connection.execute("select device::varchar, count(*), sum(length) from records group by 1 order by 1").fetchall()
    devices = known["device"].to_pylist()
    lengths = known["length"].to_pylist()
    expected = [(name, devices.count(name), sum(l for d, l in zip(devices, lengths) if d == name)) for name in sorted(set(devices))]
    assert [(name, count, int(total)) for name, count, total in counted] == expected


def test_devices_are_filtered_and_a_second_reading_is_the_same(traces, known):
    trace = scrubjay.open(traces["two devices"], device="usr_1")
    only = pa.table(trace)
    assert set(only["device"].to_pylist()) == {"usr_1"} and plain(only) == plain(pa.table(trace))
    assert plain(only) == [row for row in plain(known) if row[1] == "usr_1"]


def test_damage_in_mid_stream_is_told(tmp_path, traces):
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(traces["two devices"].read_bytes()[:-3000])
    with pytest.raises(Exception, match="cut off"):
        pa.table(scrubjay.open(path))


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.csv.gz", "out.csv.zst"])
def test_what_is_written_is_the_same_trace(traces, tmp_path, known, name):
    trace = scrubjay.open(traces["two devices"])
    assert trace.write(tmp_path / name) == known.num_rows
    assert plain(pa.table(scrubjay.open(tmp_path / name))) == plain(known)


def test_what_a_format_cannot_hold_is_warned_of(traces, tmp_path):
    trace = scrubjay.open(traces["two devices"])
    with pytest.warns(scrubjay.TraceWarning, match="iolog"):
        trace.write(tmp_path / "out.log")
    with pytest.raises(scrubjay.FileError, match="force=True"):
        trace.write(tmp_path / "out.log")
    trace.write(tmp_path / "out.parquet", force=True)


def test_what_is_left_out_or_doubtful_is_warned_of_by_the_stream_too(tmp_path):
    bad = tmp_path / "few.csv"
    bad.write_text("128166372000000000,usr,0,Read,4096,512,0\n" * 300 + "nonsense\n")
    with pytest.warns(scrubjay.TraceWarning, match="line 301"):
        assert pa.table(scrubjay.open(bad, format="msr")).num_rows == 300
    doubtful = tmp_path / "us.trace"
    doubtful.write_text("".join(f"{index} 0 {index * 8} 8 1\n" for index in range(1000)))
    with pytest.warns(scrubjay.TraceWarning, match="time_unit"):
        assert pa.table(scrubjay.open(doubtful, format="mqsim")).num_rows == 1000
