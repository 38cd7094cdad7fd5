"""Workers of this machine ignore Ctrl-C, which a terminal sends to them, too: the client ends them."""

import signal
import threading

from distributed import WorkerPlugin

__all__ = ["IgnoresInterrupt"]


class IgnoresInterrupt(WorkerPlugin):
    """A plugin of Dask's workers."""

    name = "scrubjay-ignores-interrupt"

    def setup(self, worker) -> None:
        """Called by each worker as it begins."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
