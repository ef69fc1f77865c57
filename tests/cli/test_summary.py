import pytest

from coterie.cli.summary import show

RESULT = {
    "file": "t.csv",
    "rows": 1000,
    "read_rows": 1000,
    "fitted_rows": 1000,
    "columns": ["x", "[red]y"],
    "left_out": [{"name": "", "reason": "unnamed row numbers"}],
    "weights": "mine",
    "n_clusters": 2,
    "clusters": [
        {"cluster": 0, "size": 1000, "mean_confidence": 0.5},
        {"cluster": 1, "size": 0, "mean_confidence": None},
    ],
    "noise": 0,
    "mean_log_likelihood": None,
    "notes": ["mind [b]this[/b]"],
    "labels": "-",
    "picture": None,
    "report": "r.html",
}


def said(capsys, **changes):
    show(RESULT | changes)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_a_great_many_columns_are_counted(capsys):
    lines = said(capsys, columns=[f"c{number}" for number in range(41)])
    assert "columns   41: c0, c1, c2, ..., c40" in lines
    lines = said(capsys, columns=[f"c{number}" for number in range(40)])
    assert f"columns   {', '.join(f'c{number}' for number in range(40))}" in lines


def test_what_was_found_is_said_as_it_is_called(capsys):
    lines = said(capsys)
    assert lines[:4] == [
        "2 clusters in t.csv",
        "rows      1,000",
        "columns   x, [red]y",
        "dropped   (no name): unnamed row numbers",
    ]
    assert lines[-2:] == ["report    r.html", "note      mind [b]this[/b]"]


def test_a_cluster_of_the_sample_may_have_no_row_in_the_file(capsys):
    (line,) = [line for line in said(capsys) if line.strip().startswith("1 ")]
    assert line.split() == ["1", "0", "0.0%"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"n_clusters": 1}, "1 cluster in t.csv"),
        ({"file": "-"}, "2 clusters in standard input"),
        ({"fitted_rows": 10}, "rows      1,000, clusters found on 10 of them"),
        (
            {"fitted_rows": 10, "stability": 0.9},
            "rows      1,000, clusters found on samples of 10 of them",
        ),
        (
            {"read_rows": 500, "fitted_rows": 500},
            "rows      1,000, a random sample of 500 in memory",
        ),
        (
            {"read_rows": 500, "fitted_rows": 10},
            "rows      1,000, a random sample of 500 in memory, clusters found on 10 of them",
        ),
        ({"noise": 1}, "noise     1 outlier, 0.1%: cluster -1"),
        ({"noise": 20}, "noise     20 outliers, 2.0%: cluster -1"),
        ({"mean_log_likelihood": -1.25}, "fit       mean log-likelihood -1.250 per row"),
    ],
)
def test_what_differs_is_said_otherwise(capsys, changes, expected):
    assert expected in said(capsys, **changes)


def test_names_of_any_length_fit_on_a_line(capsys):
    left_out = [{"name": "b" * 10**6, "reason": "a constant"}]
    lines = said(capsys, columns=["x", "a" * 10**6], left_out=left_out)
    assert f"columns   x, {'a' * 79}…" in lines
    assert f"dropped   {'b' * 79}…: a constant" in lines


def test_it_may_go_to_standard_error(capsys):
    show(RESULT, to_stderr=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "2 clusters" in captured.err
