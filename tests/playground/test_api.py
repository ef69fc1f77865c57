import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie.estimators.registry import DEFAULT
from coterie.playground.methods import INITIAL

JSON, CSV = {"Content-Type": "application/json"}, {"Content-Type": "text/csv"}


def as_csv(points):
    return "x,y\n" + "\n".join(f"{x!r},{y!r}" for x, y in points.tolist())


def test_points_in_clusters_out(client, blobs):
    body = {"points": blobs.points.tolist(), "truth": blobs.labels.tolist()}
    answer = client.post("/api/cluster", json=body)
    assert answer.status_code == 200
    told = answer.json()
    assert told["n_clusters"] == 3
    assert adjusted_rand_score(blobs.labels, told["labels"]) == told["ari"] == 1.0
    assert told["labels"] == coterie.cluster(blobs.points).tolist()
    assert told["method"] == DEFAULT
    assert told["seconds"] > 0


def test_csv_gets_the_answer_of_json(client, blobs):
    as_json = client.post("/api/cluster", json={"points": blobs.points.tolist()}).json()
    told = client.post("/api/cluster", content=as_csv(blobs.points), headers=CSV).json()
    assert told["labels"] == as_json["labels"]


def test_a_column_of_a_csv_may_be_the_truth(client, blobs):
    rows = zip(blobs.points.tolist(), blobs.labels.tolist(), strict=True)
    text = "x,y,species\n" + "\n".join(f"{x},{y},kind {label}" for (x, y), label in rows)
    query = {"truth": "species", "scale": "whole"}
    told = client.post("/api/cluster", params=query, content=text, headers=CSV).json()
    assert told["ari"] > 0.9


def test_steps_and_probabilities_are_told_on_demand(client, blobs):
    body = {"points": blobs.points.tolist()}
    plain = client.post("/api/cluster", json=body).json()
    assert plain["steps"] is plain["probabilities"] is plain["ari"] is None
    query = {"steps": True, "probabilities": True}
    told = client.post("/api/cluster", params=query, json=body).json()
    assert len(told["steps"]) >= 3
    np.testing.assert_allclose(np.sum(told["probabilities"], 1), 1, atol=1e-3)


def test_every_method_that_is_listed_answers(client, blobs):
    methods = client.get("/api/methods").json()
    assert [method["name"] for method in methods if method["default"]] == [DEFAULT]
    assert [method["name"] for method in methods if method["initial"]] == [INITIAL]
    for method in methods:
        query = {"method": method["name"]}
        answer = client.post("/api/cluster", params=query, json={"points": blobs.points.tolist()})
        assert answer.status_code == 200, answer.text
        assert len(answer.json()["labels"]) == len(blobs.points)


@pytest.mark.parametrize(
    ("body", "headers", "status", "word"),
    [
        (b"", JSON, 422, "not JSON"),
        (b"{", JSON, 422, "not JSON"),
        (b"[[1, 2]]", JSON, 422, "object"),
        (b"{}", JSON, 422, "points"),
        (b'{"points": []}', JSON, 422, "points"),
        (b'{"points": [[]]}', JSON, 422, "points.0"),
        (b'{"points": [[1, 2], [3]]}', JSON, 422, "points.1 has 1 numbers"),
        (b'{"points": [[1, "2"]]}', JSON, 422, "valid number"),
        (b'{"points": [[1, NaN]]}', JSON, 422, "finite"),
        (b'{"points": [[1, 1e999]]}', JSON, 422, "finite"),
        (b'{"points": [[1, 1e300]]}', JSON, 422, "1e+300"),
        (b'{"points": [[1, 2]], "truth": [1, 2]}', JSON, 422, "2 entries for 1 points"),
        (b'{"points": [[1, 2]], "k": 3}', JSON, 422, "k: extra"),
        (b"[" * 100_000, JSON, 422, "not JSON"),
        (b"", CSV, 422, "empty"),
        (b"a,b\n1,2\n3\n", CSV, 422, "Expected 2 columns"),
        (b"a,b\nx,y\n", CSV, 422, "no numeric column"),
        (b"\xff\xfe\x00", CSV, 422, "not UTF-8"),
        (b"a,b\n1,\x002\n", CSV, 422, "zero byte"),
        (b"x", {"Content-Type": "text/plain"}, 415, "text/plain"),
        (b"x", {}, 415, "without a type"),
    ],
)
def test_bad_input_is_refused_with_one_sentence(client, body, headers, status, word):
    answer = client.post("/api/cluster", content=body, headers=headers)
    assert answer.status_code == status, answer.text
    detail = answer.json()["detail"]
    assert word in detail
    assert "\n" not in detail
    assert len(detail) <= 300


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ({"method": "nonsense"}, "no method 'nonsense'"),
        ({"steps": "perhaps"}, "steps"),
        ({"scale": "huge"}, "scale"),
    ],
)
def test_wrong_parameters_are_refused_by_name(client, query, word):
    answer = client.post("/api/cluster", params=query, json={"points": [[1, 2]]})
    assert answer.status_code == 422
    assert word in answer.json()["detail"]


def test_a_method_that_cannot_is_no_fault_of_the_server(client):
    query = {"method": "gaussianmixture-bic"}
    answer = client.post("/api/cluster", params=query, json={"points": [[1, 2]]})
    assert answer.status_code == 422
    assert "three points" in answer.json()["detail"]


@pytest.mark.parametrize("points", [[[1.0, 2.0]], [[1.0]] * 5, [[0.0, 0.0]] * 30])
def test_little_and_equal_points_are_answered(client, points):
    answer = client.post("/api/cluster", json={"points": points})
    assert answer.status_code == 200
    assert len(answer.json()["labels"]) == len(points)


def test_a_table_is_read_as_it_will_be_clustered_and_drawn(client):
    text = "a,b,c,kind\n1,2,3,x\n4,5,9,y\n7,8,2,x\n"
    told = client.post("/api/table", params={"truth": "kind"}, content=text, headers=CSV).json()
    assert told["names"] == ["a", "b", "c", "kind"]
    assert told["columns"] == ["a", "b", "c"]
    assert told["points"] == [[1, 2, 3], [4, 5, 9], [7, 8, 2]]
    assert np.shape(told["plane"]) == (3, 2)
    assert told["truth"] == [0, 1, 0]
    assert client.post("/api/table", json={"points": [[1]]}).status_code == 415


def test_gaps_of_a_table_are_filled_and_told(client):
    text = "a,b\n1,2\n4,\n7,8\n"
    note = "missing values filled with the median: 'b' (1 value)"
    told = client.post("/api/table", content=text, headers=CSV).json()
    assert told["points"] == [[1, 2], [4, 5], [7, 8]]
    assert told["notes"] == [note]
    assert note in client.post("/api/cluster", content=text, headers=CSV).json()["warnings"]
    whole = client.post("/api/cluster", content="a,b\n1,2\n4,5\n7,8\n", headers=CSV).json()
    assert note not in whole["warnings"]


def test_presets_are_drawn_within_what_their_sliders_allow(client):
    for preset in client.get("/api/presets").json():
        query = {"n": 100, "overlap": preset["overlap"]["highest"]}
        if preset["k"]:
            query["k"] = int(preset["k"]["highest"])
        told = client.get(f"/api/presets/{preset['name']}", params=query).json()
        assert np.shape(told["points"]) == (100, 2)
        assert np.shape(told["truth"]) == (100,)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/presets/nonsense", 404),
        ("/api/presets/moons?n=1", 422),
        ("/api/presets/moons?overlap=nan", 422),
        ("/api/presets/moons?n=1000000000", 413),
        ("/api/nothing", 404),
        ("/api/cluster", 405),
    ],
)
def test_wrong_addresses_are_told(client, path, status):
    answer = client.get(path)
    assert answer.status_code == status
    assert answer.json()["detail"]


def test_limits_are_told_and_hold(strict):
    limits = strict.get("/api/limits").json()
    assert limits["max_points"] == 50
    cases = {
        "51 points": {"points": [[1, 2]] * 51},
        "4 columns": {"points": [[1, 2, 3, 4]] * 5},
        "20,000 bytes": {"points": [[1.123456789, 2.123456789]] * 1000},
    }
    for word, body in cases.items():
        answer = strict.post("/api/cluster", json=body)
        assert answer.status_code == 413
        assert word in answer.json()["detail"]
    assert strict.get("/api/presets/moons?n=51").status_code == 413


def test_a_body_that_never_ends_is_given_up(strict):
    def slowly():
        yield b'{"points": ['
        for _ in range(2_400):
            time.sleep(0.05)
            yield b" "

    start = time.perf_counter()
    answer = strict.post("/api/cluster", content=slowly(), headers=JSON)
    assert answer.status_code == 408
    assert time.perf_counter() - start < 100


def test_a_busy_server_sends_away_and_goes_on(strict):
    body = {"points": np.random.default_rng(0).normal(size=(50, 2)).tolist()}
    statuses = []

    def ask():
        query = {"method": "k-means-silhouette"}
        statuses.append(strict.post("/api/cluster", params=query, json=body).status_code)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {200, 422, 429}
    assert 429 in statuses
    assert strict.get("/api/limits").status_code == 200


def in_time(client, path, **request):
    """The answer of a server with next to no patience, also for bodies and for its own workers."""
    while (answer := client.post(path, **request)).status_code in (408, 429):
        time.sleep(0.1)
    return answer


def test_a_clustering_that_takes_too_long_is_stopped(hasty):
    points = np.random.default_rng(0).normal(size=(2_000, 2)).round(2).tolist()
    query = {"method": "k-means-silhouette"}
    for _ in range(2):
        answer = in_time(hasty, "/api/cluster", params=query, json={"points": points})
        assert answer.status_code == 422
        assert "k-means-silhouette took longer than 0.05 s" in answer.json()["detail"]
    assert hasty.get("/api/limits").status_code == 200


def test_a_table_that_takes_too_long_to_read_is_given_up(hasty):
    rows = np.random.default_rng(0).normal(size=(5_000, 5)).round(1).tolist()
    text = "a,b,c,d,e\n" + "\n".join(",".join(map(str, row)) for row in rows)
    answer = in_time(hasty, "/api/table", content=text, headers=CSV)
    assert answer.status_code == 422
    assert "reading the table took longer than 0.05 s" in answer.json()["detail"]


def test_a_table_of_equal_names_holds_up_nobody(client):
    """Reading it takes place where clusterings do, after a look at the number of columns."""
    names = ",".join(["c"] * 8_000)
    text = f"{names}\n{','.join(['1'] * 8_000)}\n"
    with ThreadPoolExecutor(10) as threads:
        tables = [
            threads.submit(client.post, "/api/table", content=text, headers=CSV) for _ in range(8)
        ]
        clusters = threads.submit(client.post, "/api/cluster", json={"points": [[0, 0], [1, 1]]})
        assert clusters.result(30).status_code == 200
        for table in tables:
            assert table.result(30).status_code == 413
            assert "8,000 columns" in table.result().json()["detail"]


def test_a_long_table_is_refused_by_its_own_number_of_rows(client):
    text = "a,b\n" + "1,2\n" * 200_000
    for path in ("/api/table", "/api/cluster"):
        answer = client.post(path, content=text, headers=CSV)
        assert answer.status_code == 413
        assert answer.json()["detail"] == "200,000 rows; this server allows 20,000"


def test_the_number_of_clusters_and_noise_can_be_asked_for(client, blobs):
    body = {"points": [*blobs.points.tolist(), [40.0, 40.0]]}

    def ask(**query):
        return client.post("/api/cluster", params=query, json=body)

    assert ask(k="5").json()["n_clusters"] == 5
    assert ask(k="1-2").json()["n_clusters"] <= 2
    assert "n_clusters=5, noise=True" in ask(k="5", noise=True).json()["code"]
    assert -1 in ask(method="hdbscan", noise=True).json()["labels"]
    for wrong in ("0", "5-2", "x", "1-", "1-5000"):
        answer = ask(k=wrong)
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith("k")


def test_columns_of_a_table_can_be_chosen(client):
    text = "a,b,c\n1,2,3\n4,5,9\n7,8,2\n"
    query = {"columns": ["c", "a"]}
    told = client.post("/api/table", params=query, content=text, headers=CSV).json()
    assert told["columns"] == ["a", "c"]
    assert told["points"] == [[1, 3], [4, 9], [7, 2]]
    assert told["left_out"] == [{"name": "b", "reason": "not chosen"}]
    clusters = client.post("/api/cluster", params=query, content=text, headers=CSV)
    assert clusters.status_code == 200
