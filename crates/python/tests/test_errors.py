"""Bad input: the right exception, in one line, with file and place."""

import io
import subprocess
import sys
import textwrap

import pytest
import scrubjay

LINE = "128166372000000000,usr,0,Read,4096,512,0\n"


def raised(kind, call):
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert isinstance(caught.value, scrubjay.Error) and text and "\n" not in text, text
    return caught.value


def test_a_missing_file(tmp_path):
    path = tmp_path / "nowhere.csv"
    error = raised(scrubjay.MissingFileError, scrubjay.open(path).info)
    assert isinstance(error, FileNotFoundError) and error.file == str(path) and str(path) in str(error)


def test_a_file_that_cannot_be_opened(tmp_path):
    path = tmp_path / "circle.csv"
    path.symlink_to(path)
    error = raised(scrubjay.FileError, scrubjay.open(path).info)
    assert error.file == str(path) and not isinstance(error, FileNotFoundError)


def test_what_is_no_trace(tmp_path):
    path = tmp_path / "photo.jpg"
    path.write_bytes(b"\xff\xd8\xff\xe0" + bytes(range(256)) * 8)
    error = raised(scrubjay.TraceError, scrubjay.open(path).info)
    assert error.file == str(path) and "not a trace" in str(error)
    (tmp_path / "empty").write_bytes(b"")
    assert "empty" in str(raised(scrubjay.TraceError, scrubjay.open(tmp_path / "empty").info))
    assert "folder" in str(raised(scrubjay.TraceError, scrubjay.open(tmp_path).info))


def test_a_damaged_file_and_its_place(tmp_path):
    path = tmp_path / "damaged.csv"
    path.write_text(LINE * 20 + "128166372000000000,usr,0,Sneeze,4096,512,0\n" + LINE * 20)
    error = raised(scrubjay.TraceError, scrubjay.open(path).info)
    assert (error.file, error.place) == (str(path), "line 21"), error
    for question in (lambda t: t.tune(), lambda t: t.idle(), lambda t: t.figures(), lambda t: t.simulate("budget")):
        assert raised(scrubjay.TraceError, lambda: question(scrubjay.open(path))).place == "line 21"


def test_a_few_bad_records_are_warned_of(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text(LINE * 300 + "nonsense\n")
    with pytest.warns(scrubjay.TraceWarning, match="line 301"):
        assert scrubjay.open(path, format="msr").info()["malformed"] == 1


def test_units_and_formats(tmp_path):
    path = tmp_path / "usr.csv"
    path.write_text(LINE)
    assert "time_unit" in str(raised(scrubjay.OptionError, lambda: scrubjay.open(path, time_unit="parsec")))
    assert "block" in str(raised(scrubjay.OptionError, lambda: scrubjay.open(path, block="0")))
    assert "msr" in str(raised(scrubjay.OptionError, lambda: scrubjay.open(path, format="mrs")))
    assert "units" in str(raised(scrubjay.OptionError, scrubjay.open(path, time_unit="us").info))


def test_what_is_written_where(tmp_path):
    path = tmp_path / "usr.csv"
    path.write_text(LINE)
    trace = scrubjay.open(path)
    assert "format=" in str(raised(scrubjay.OptionError, lambda: trace.write(tmp_path / "out.xyz")))
    assert "written are" in str(raised(scrubjay.OptionError, lambda: trace.write(tmp_path / "out.srt", format="srt")))
    nowhere = tmp_path / "no/out.parquet"
    assert raised(scrubjay.FileError, lambda: trace.write(nowhere)).file == str(nowhere)


def test_numbers_below_the_least(traces):
    trace = scrubjay.open(traces["one volume"])
    assert "min_requests" in str(raised(scrubjay.OptionError, lambda: trace.tune(min_requests=-1)))
    assert "threads" in str(raised(scrubjay.OptionError, lambda: trace.simulate("budget", threads=-1)))
    with pytest.raises(TypeError, match="path: "):
        scrubjay.open(3)


def test_no_such_device(tmp_path):
    path = tmp_path / "usr.csv"
    path.write_text(LINE)
    error = raised(scrubjay.DeviceError, scrubjay.open(path, device="sda").info)
    assert "`sda`" in str(error) and "usr_0" in str(error) and isinstance(error, LookupError)


def test_options_that_make_no_sense(traces):
    trace = scrubjay.open(traces["one volume"])
    assert "slowdown" in str(raised(scrubjay.OptionError, lambda: trace.tune(slowdown="soon")))
    assert "slowdown" in str(raised(scrubjay.OptionError, lambda: trace.tune(slowdown=1)))
    assert "sizes" in str(raised(scrubjay.OptionError, lambda: trace.tune(sizes="1..2")))
    assert "goal" in str(raised(scrubjay.OptionError, lambda: trace.tune(goal="none")))
    assert "service" in str(raised(scrubjay.OptionError, lambda: trace.info(service="guess")))
    assert "disk" in str(raised(scrubjay.OptionError, lambda: trace.info(disk="floppy")))
    assert "waiting" in str(raised(scrubjay.OptionError, lambda: trace.simulate("wait")))
    assert "wait has no effect" in str(raised(scrubjay.OptionError, lambda: trace.simulate("budget", wait="1ms")))
    assert "no parameter" in str(raised(scrubjay.OptionError, lambda: trace.simulate("budget", speed="1ms")))
    raised(scrubjay.Error, lambda: trace.simulate("waiting", request="100"))
    raised(scrubjay.TraceError, lambda: trace.tune(min_requests=10**9))


def test_file_objects(tmp_path):
    path = tmp_path / "usr.csv"
    path.write_text(LINE * 10)
    with open(path) as text:
        assert "rb" in str(raised(scrubjay.Error, scrubjay.open(text).info))
    assert "closed" in str(raised(scrubjay.FileError, lambda: scrubjay.open(text).info()))
    once = io.BytesIO(path.read_bytes())
    once.seekable = lambda: False
    pipe = scrubjay.open(once)
    assert pipe.info()["requests"] == 10
    assert "once" in str(raised(scrubjay.FileError, pipe.info))
    pytest.importorskip("fsspec")
    raised(scrubjay.MissingFileError, scrubjay.open(f"file://{tmp_path}/nowhere").info)
    raised(scrubjay.FileError, scrubjay.open("nothing://there").info)
    url = f"file://{path}"
    assert scrubjay.open([url, path, io.BytesIO(path.read_bytes())]).info()["requests"] == 30
    assert raised(scrubjay.MissingFileError, scrubjay.open([url, tmp_path / "nowhere"]).info).file == str(tmp_path / "nowhere")


def test_ctrl_c_ends_a_stream_of_records(tmp_path):
    """Of a trace that never ends. Whoever reads the stream tells of Arrow's error, and then the interrupt comes."""
    pytest.importorskip("pyarrow")
    script = textwrap.dedent(
        """
        import os, signal, subprocess, sys, threading, time, pyarrow, scrubjay
        signal.signal(signal.SIGINT, signal.default_int_handler)  # see below
        feed = subprocess.Popen(["yes", sys.argv[1]], stdout=subprocess.PIPE)
        trace = scrubjay.open(f"/dev/fd/{feed.stdout.fileno()}", format="msr")
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            try:
                pyarrow.table(trace)
            except pyarrow.ArrowInvalid as error:
                assert "interrupted" in str(error)
                time.sleep(0.01)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        feed.kill()
        """
    )
    done = subprocess.run([sys.executable, "-c", script, LINE.strip()], capture_output=True, text=True, timeout=120)
    assert done.stdout == "interrupted\n", done


def test_ctrl_c_ends_it(tmp_path, msr):
    """A pipe that never ends is read until the signal comes; the interpreter stays whole."""
    script = textwrap.dedent(
        """
        import os, signal, threading, scrubjay
        # Whoever starts the tests in the background has the signal ignored, and we would inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        read, write = os.pipe()
        line = b"128166372000000000,usr,0,Read,4096,512,0\\n" * 4096
        def feed():
            with open(write, "wb") as pipe:
                try:
                    while True:
                        pipe.write(line)
                except OSError:
                    pass
        threading.Thread(target=feed, daemon=True).start()
        told = []
        def progress(records, pieces, expected):
            if records and not told:
                told.append(records)
                os.kill(os.getpid(), signal.SIGINT)
        try:
            scrubjay.open(open(read, "rb")).info(progress=progress)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            os._exit(0)
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "interrupted\n", done
