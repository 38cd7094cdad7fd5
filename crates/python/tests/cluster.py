"""A scheduler of Dask and its workers as processes of their own, which can be killed, and the command that runs on them."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

PYTHON = [sys.executable, "-m"]
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Cluster:
    """Nothing runs until it is started; all is ended at the end."""

    def __init__(self, folder):
        self.folder, self.started = pathlib.Path(folder), []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _process(self, *command, **how):
        self.started.append(subprocess.Popen([*PYTHON, *map(str, command)], start_new_session=True, **{**QUIET, **how}))
        return self.started[-1]

    def start(self, workers):
        """A scheduler, and so many workers, each below a nanny that replaces it."""
        file = self.folder / f"scheduler-{len(self.started)}.json"
        self.scheduler = self._process("distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file)
        begun = time.monotonic()
        while not file.exists():
            assert time.monotonic() - begun < 60, "no scheduler"
            time.sleep(0.05)
        self.address = json.loads(file.read_text())["address"]
        worker = ["distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-dashboard", "--local-directory", self.folder]
        self.workers = [self._process(*worker) for _ in range(workers)]

    def run(self, paths, out, *options):
        """The client: the command, on this scheduler."""
        paths = [paths] if isinstance(paths, (str, os.PathLike)) else paths
        how = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        return self._process("scrubjay.fleet", *paths, "--out", out, "--scheduler", self.address, *options, **how)

    def kill_a_worker(self):
        """A worker itself; its nanny lives."""
        nanny = self.workers[0].pid
        children = [int(text) for text in os.popen(f"pgrep -P {nanny} -f spawn_main").read().split()]
        assert children, "the nanny has no worker"
        os.kill(children[0], signal.SIGKILL)

    def kill_the_scheduler(self):
        """The scheduler; its workers, of no use any more, as well."""
        self.scheduler.kill()
        self.scheduler.wait()
        for worker in self.workers:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
