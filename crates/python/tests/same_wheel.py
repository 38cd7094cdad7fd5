"""Two wheels are the same but for the bytes of the library and the list of its dependencies. Usage: same_wheel.py WHEEL WHEEL."""

import pathlib
import sys
import zipfile


def content(path):
    """The files, but for what signs the bytes, and the list of dependencies that maturin makes while it compiles."""
    with zipfile.ZipFile(path) as wheel:
        names = [name for name in wheel.namelist() if not name.endswith((".so", "/RECORD", "/")) and "/sboms/" not in name]
        libraries = sorted(name for name in wheel.namelist() if name.endswith(".so"))
        return libraries, {name: wheel.read(name) for name in names}


def main(one, other):
    first, second = content(one), content(other)
    assert first[0] == second[0] != [], (first[0], second[0])
    differing = [name for name in {**first[1], **second[1]} if first[1].get(name) != second[1].get(name)]
    assert not differing, differing
    assert pathlib.Path(one).name == pathlib.Path(other).name, (one, other)
    print(f"{pathlib.Path(one).name}: the same {len(first[1])} files in both")


if __name__ == "__main__":
    main(*sys.argv[1:])
