"""A fleet's traces on many machines: tuned by Dask, a task for each file and device, the results in one Parquet data set.

>>> from scrubjay import fleet
>>> fleet.tune(["vol-*.csv.gz"], slowdown="1ms", out="results.parquet")     # two workers here; or client="tcp://scheduler:8786"

``python -m scrubjay.fleet`` does the same from a shell. What a file costs is computed by the same core as ``scrubjay tune``;
here is only who computes what, where. Needs ``pip install 'scrubjay[dask]'``.
"""

from ._fleet.run import tune
from ._fleet.results import read

__all__ = ["read", "tune"]


if __name__ == "__main__":
    import sys

    from ._fleet.command import main

    sys.exit(main())
