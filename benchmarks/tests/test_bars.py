from bench.bars import progress_bars


def measure():
    with progress_bars() as report:
        for done in range(3):
            report("ours [red]", done, 2)
        report("peers", 1, 4)


def test_progress_is_silent_where_nobody_watches(capsys):
    measure()
    assert capsys.readouterr() == ("", "")


def test_progress_is_a_bar_for_each_name_on_stderr(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes it for a terminal
    monkeypatch.setenv("TERM", "xterm")
    measure()
    captured = capsys.readouterr()
    assert captured.out == ""
    last = captured.err.rsplit("ours [red]", 1)[1]
    assert "2/2" in last
    assert "peers" in last
    assert "1/4" in last
