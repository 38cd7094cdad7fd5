"""The volumes that are made up are like those whose figures they were made by."""

import pytest

import volumes


@pytest.mark.parametrize("number", range(0, len(volumes.KNOWN), 7))
def test_a_volume_has_the_figures_of_its_row(number):
    row = volumes.KNOWN[number]
    lines = [line.split(",") for line in volumes.lines(number, 10_000)]
    reads = sum(line[3] == "Read" for line in lines) / len(lines)
    assert reads == pytest.approx(row["read_share"], abs=0.02)
    arrivals = [int(line[0]) / 10 for line in lines]
    gaps = [after - before for before, after in zip(arrivals, arrivals[1:])]
    for share in volumes.SHARES[2:]:  # those before are a few microseconds: arrivals are rounded
        shorter = sum(gap <= row[f"gap_us_p{share * 100:.0f}"] for gap in gaps) / len(gaps)
        assert shorter == pytest.approx(share, abs=0.03), share
    follows = sum(int(line[4]) == int(before[4]) + int(before[5]) for before, line in zip(lines, lines[1:]))
    assert follows / len(lines) == pytest.approx(row["sequential_share"], abs=0.02)
    # The last hundredth of the gaps has most of their sum, and few are in it: that sum is held against the law, not the sample.
    law = volumes.Gaps(row)
    steps = 20_000
    mean = sum(law.at((step + 0.5) / steps) for step in range(steps)) / steps
    assert mean == pytest.approx(row["gap_us_mean"], rel=0.02)
