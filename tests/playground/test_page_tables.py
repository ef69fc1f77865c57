"""Tables on the page, in a real browser."""

import csv
import io
import time

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score


def shops(n=240):
    """A table of customers of three kinds, by age and visits; its largest number is the income."""
    generator = np.random.default_rng(0)
    kind = np.arange(n) % 3
    age = np.array([25, 45, 70])[kind] + generator.normal(size=n)
    visits = np.array([30, 5, 18])[kind] + generator.normal(size=n)
    income = generator.lognormal(10, 0.6, size=n)
    lines = [f"{i},{income[i]:.2f},{age[i]:.2f},{visits[i]:.2f},{'abc'[kind[i]]}" for i in range(n)]
    return "number,income,age,visits,kind\n" + "\n".join(lines) + "\n", kind


def _late(route):
    """Answer half a second later, so that a page that shows a table before its truth is caught."""
    time.sleep(0.5)
    route.continue_()


def test_a_table_is_opened_and_its_truth_is_found(visitor, blobs):
    rows = zip(blobs.points.tolist(), blobs.labels, strict=True)
    text = "x,y,name,label\n" + "".join(f"{x},{y},row,{label}\n" for (x, y), label in rows)
    visitor.page.route("**/api/table?truth=label**", _late)
    visitor.upload("blobs.csv", text)
    visitor.page.wait_for_selector('body[data-points="300"]')
    visitor.wait()
    assert "blobs.csv: 300 rows, columns x, y" in visitor.page.inner_text("#table-note")
    assert visitor.page.input_value("#truth") == "label"
    with visitor.clustering():
        visitor.page.select_option("#scale", "none")
    visitor.panel().get_by_text("ARI 1.00").wait_for()
    assert visitor.n_clusters == 3


def test_gaps_of_a_table_are_said(visitor):
    visitor.upload("gappy.csv", "x,y\n" + "1,2\n3,4\n" * 20 + "5,\n")
    visitor.page.wait_for_selector('body[data-points="41"]')
    note = visitor.page.inner_text("#table-note")
    assert note.endswith("missing values filled with the median: 'y' (1 value)")


def test_a_wide_table_is_drawn_in_a_plane(visitor):
    generator = np.random.default_rng(0)
    values = np.repeat([[0.0] * 5, [8.0] * 5], 40, axis=0) + generator.normal(size=(80, 5)) * 0.2
    text = "a,b,c,d,e\n" + "\n".join(",".join(map(str, row)) for row in values)
    visitor.upload("wide.csv", text)
    visitor.page.wait_for_selector('body[data-points="80"]')
    visitor.wait()
    assert visitor.n_clusters >= 2
    assert visitor.page.locator("#tools input").first.is_disabled()
    restored = visitor.link()
    labels = _clusters(visitor.download("Labels"))
    visitor.go(restored.removeprefix(f"{visitor.address}/"))
    visitor.page.reload()
    visitor.wait()
    assert _clusters(visitor.download("Labels")) == labels


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\nx,y\n", "no numeric column"),
        ("", "is empty"),
        ("a,b\n1,2\n3\n", "Expected 2 columns"),
    ],
)
def test_a_bad_table_is_refused_and_the_points_stay(visitor, text, sentence):
    visitor.upload("bad.csv", text)
    toast = visitor.page.locator("#toast")
    toast.wait_for()
    assert toast.inner_text().startswith("bad.csv: ")
    assert sentence in toast.inner_text()
    assert visitor.n_points == 600
    assert visitor.n_clusters == 4


def test_a_table_can_be_dropped(visitor):
    visitor.page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File(["x,y\\n0,0\\n0,1\\n9,9\\n9,8\\n"], "four.csv"));
          for (const name of ["dragenter", "dragover", "drop"]) {
            document.body.dispatchEvent(new DragEvent(name,
              { dataTransfer: data, bubbles: true, cancelable: true }));
          }
        }"""
    )
    visitor.page.wait_for_selector('body[data-points="4"]')
    assert not visitor.page.locator("#drop").is_visible()


def test_the_code_of_a_table_reads_the_file(visitor, blobs, tmp_path, monkeypatch):
    text = "x;y;label\n" + "".join(f"{x};{y};a\n" for x, y in blobs.points.tolist())
    visitor.upload("mine.csv", text)
    visitor.page.wait_for_selector('body[data-points="300"]')
    visitor.wait()
    visitor.page.check("#methods input[value=hdbscan]")
    visitor.wait()
    (tmp_path / "mine.csv").write_text(text)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(visitor.download("Python", "hdbscan").decode(), names)
    lines = io.StringIO(visitor.download("Labels", "hdbscan").decode())
    rows = list(csv.DictReader(lines, delimiter=";"))
    assert list(rows[0]) == ["x", "y", "label", "cluster"]
    assert [float(row["x"]) for row in rows] == blobs.points[:, 0].tolist()  # not as scaled
    assert adjusted_rand_score(names["labels"], [row["cluster"] for row in rows]) == 1.0


def test_the_columns_to_cluster_by_can_be_chosen(visitor, tmp_path, monkeypatch):
    text, kind = shops()
    page = visitor.page
    visitor.upload("shops.csv", text)
    page.wait_for_selector('body[data-points="240"]')
    visitor.wait()
    boxes = page.locator("#columns-list input")
    names = [box.get_attribute("value") for box in boxes.all()]
    assert set(names) >= {"income", "age", "visits"}
    assert "kind" not in names
    for name in set(names) - {"age", "visits"}:
        with visitor.clustering():
            page.uncheck(f'#columns-list input[value="{name}"]')
    assert "clustered by 2 of" in page.inner_text("#columns-title")
    assert "240 rows, columns age, visits" in page.inner_text("#table-note")
    labels = [row["cluster"] for row in _rows(visitor.download("Labels"))]
    assert adjusted_rand_score(kind, labels) > 0.9
    (tmp_path / "shops.csv").write_text(text)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(visitor.download("Python").decode(), names)
    assert names["labels"].tolist() == [int(label) for label in labels]
    page.click("#undo")
    assert "clustered by 3 of" in page.inner_text("#columns-title")


def test_one_column_at_least_stays_chosen(visitor):
    visitor.upload("two.csv", "a,b\n1,2\n2,9\n3,4\n")
    visitor.page.wait_for_selector('body[data-points="3"]')
    visitor.wait()
    with visitor.clustering():
        visitor.page.uncheck('#columns-list input[value="a"]')
    visitor.page.locator('#columns-list input[value="b"]').click()
    assert visitor.page.is_checked('#columns-list input[value="b"]')
    assert "at least one column" in visitor.page.inner_text("#toast")


def test_a_table_is_drawn_so_that_its_clusters_are_seen(visitor):
    """Not as income against a running number."""
    text, kind = shops()
    with visitor.page.expect_response("**/api/table**") as waiting:
        visitor.upload("shops.csv", text)
    plane = np.array(waiting.value.json()["plane"])
    middles = np.array([plane[kind == each].mean(0) for each in range(3)])
    nearest = np.linalg.norm(plane[:, None] - middles, axis=2).argmin(1)
    assert (nearest == kind).mean() > 0.95


def test_the_last_choice_is_what_is_shown(visitor):
    """A table that is read slowly does not replace what was drawn meanwhile."""
    visitor.page.route("**/api/table**", _late)
    with visitor.page.expect_response("**/api/table**"):
        visitor.upload("late.csv", "x,y\n" + "1,2\n3,4\n" * 10)
        visitor.clear()
        visitor.touch(0.5, 0.5)
    visitor.painted()
    visitor.wait()
    assert visitor.n_points >= 12
    assert not visitor.page.locator("#table-options").is_visible()


def _rows(labels):
    return list(csv.DictReader(io.StringIO(labels.decode())))


def _clusters(labels):
    rows = csv.DictReader(io.StringIO(labels.decode()))
    return [(row["cluster"], row["confidence"]) for row in rows]
