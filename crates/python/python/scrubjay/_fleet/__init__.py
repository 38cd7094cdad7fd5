"""The parts of ``scrubjay.fleet``: tasks run by workers, results on disk, and the client that keeps them going."""
