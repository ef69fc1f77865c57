import pytest

from before_after import compare, report


def line(weights: str, name: str, ari: float, k: int = 2) -> dict:
    return {"weights": weights, "set": name, "parts": ["suite"], "ari": ari, "k": k, "true_k": 2}


def test_changes_are_paired():
    lines = [line("old", "a", 0.2), line("old", "b", 0.6), line("new", "a", 0.3)]
    lines += [line("new", "b", 0.7, k=1)]
    title, old, new = report(lines, ["old", "new"]).splitlines()
    assert title == "suite: 2 sets"
    assert "ARI 0.400 ± 0.200  change +0.000 ± 0.000  k exact 100%" in old
    assert "ARI 0.500 ± 0.200  change +0.100 ± 0.000  k exact  50%" in new
    assert "within one 100% one cluster  50%" in new


@pytest.mark.parametrize("answered", [("a",), ()])
def test_only_sets_that_all_have_answered_count(answered):
    lines = [line("old", name, 0.5) for name in "abc"] + [line("new", x, 0.5) for x in answered]
    found = report(lines, ["old", "new"])
    assert found.startswith("suite: 1 sets") if answered else found == ""


def test_gains_and_losses_are_counted_set_by_set():
    lines = [line("old", name, 0.5) for name in "abc"]
    lines += [line("new", name, ari) for name, ari in zip("abc", (0.9, 0.505, 0.2), strict=True)]
    old, new = compare(lines, ["old", "new"])["suite"]["models"].values()
    assert (new["gained"], new["lost"]) == (1, 1)
    assert new["largest_loss"] == pytest.approx(0.3)
    assert (old["gained"], old["lost"], old["largest_loss"]) == (0, 0, 0.0)


def test_a_single_set_has_no_standard_error():
    (part,) = compare([line("old", "a", 0.5)], ["old"]).values()
    assert part["models"]["old"]["ari"] == {"mean": 0.5, "standard_error": None}
