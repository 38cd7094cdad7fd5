"""The notebook of the documentation runs from its first cell to its last."""

import os
import pathlib

import pytest

ROOT = pathlib.Path(os.environ.get("SCRUBJAY_ROOT") or pathlib.Path(__file__).resolve().parents[3])


@pytest.mark.long
def test_the_notebook_runs(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(ROOT / "docs/fleet.ipynb", as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("<svg" in output.get("data", {}).get("image/svg+xml", "") for output in outputs), "no figure was shown"
    assert any("wait_seconds" in str(output) for output in outputs), "no table was shown"
