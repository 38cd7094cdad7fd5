"""The Python in the documents runs as it is printed, but for addresses of other machines."""

import gzip
import os
import pathlib
import re

import pytest
from conftest import ROOT

DOCUMENTS = ["docs/python.md", "docs/traces.md", "docs/fleet.md", "crates/python/README.md"]
#: Modules that only the long form has.
OPTIONAL = ["polars", "pandas", "tqdm", "fleet"]
#: What is printed, and what runs here: other machines and their folders are this one.
SUBSTITUTIONS = {"s3://traces/": "", "/shared/": "", ', client="tcp://head:8786"': "", 'client="tcp://head:8786", ': ""}


def blocks():
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        for number, block in enumerate(re.findall(r"```python\n(.*?)```", text, re.S), 1):
            marks = [pytest.mark.long] if any(name in block for name in OPTIONAL) else []
            yield pytest.param(block, id=f"{document} {number}", marks=marks)


@pytest.fixture
def typed(msr, tmp_path, monkeypatch):
    """A folder with the traces that the documents name."""
    monkeypatch.chdir(tmp_path)
    msr("proj_0.csv", devices=("proj_0",))
    msr("src1.csv", devices=("src1_0", "src1_1"))
    for part in ("sda.blktrace.0", "sda.blktrace.1"):
        msr(part, devices=("sda_0",))
    os.mkdir("volumes")
    for packed in ("proj_0.csv.gz", "volumes/proj_0.csv.gz"):
        with gzip.open(packed, "wb") as file:
            file.write(pathlib.Path("proj_0.csv").read_bytes())


@pytest.mark.parametrize("block", list(blocks()))
def test_the_python_of_documents_runs_as_printed(block, typed):
    import scrubjay

    names = {"scrubjay": scrubjay, "trace": scrubjay.open("proj_0.csv.gz"), "paths": ["proj_0.csv.gz"]}
    for module in ("pyarrow", "polars", "pandas", "tqdm"):
        if re.search(rf"\b{module}\b", block):
            names[module] = __import__(module)
    for printed, runs in SUBSTITUTIONS.items():
        block = block.replace(printed, runs)
    exec(compile(block, "document", "exec"), names)
