"""Workers of this machine do not heed Ctrl-C, which a terminal sends to them, too: the client does, and ends them."""

import signal
import threading

from distributed import WorkerPlugin

__all__ = ["Heedless"]


class Heedless(WorkerPlugin):
    """A plugin of Dask's workers."""

    name = "scrubjay-heedless"

    def setup(self, worker) -> None:
        """Called by each worker as it begins."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
