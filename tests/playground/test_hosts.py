"""Who may ask: a browser tells in Host and Origin whom it means and whose page asks."""

import pytest

from coterie.playground.hosts import names_of


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "localhost.evil", "", "a b"])
@pytest.mark.parametrize("path", ["/", "/api/limits", "/api/nothing", "/static/style.css"])
def test_requests_for_another_name_are_refused(client, host, path):
    answer = client.get(path, headers={"Host": host})
    assert 400 <= answer.status_code < 500
    assert answer.status_code == 421 or not host
    assert "coterie" not in answer.text


def test_what_the_machine_is_called_is_answered(client):
    for host in ("localhost", "LOCALHOST:8000", "127.0.0.1", "[::1]:80"):
        assert client.get("/api/limits", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", "http://127.0.0.1.evil", "//"]
)
def test_pages_of_other_hosts_may_not_ask(client, origin):
    answer = client.post("/api/cluster", json={"points": [[1, 2]]}, headers={"Origin": origin})
    assert answer.status_code == 403
    assert "other hosts" in answer.json()["detail"]


def test_the_own_page_may_ask(client):
    own = str(client.base_url).rstrip("/")
    assert client.get("/api/limits", headers={"Origin": own}).status_code == 200


def test_names_follow_the_address():
    local = names_of("127.0.0.1", ["My.Example."])
    assert local.has("my.example")
    assert not local.has("192.168.0.7")
    everywhere = names_of("0.0.0.0")
    assert everywhere.has("192.168.0.7")
    assert everywhere.has("fe80::1")
    assert not everywhere.has("evil.example")
    assert names_of("192.168.0.7").has("192.168.0.7")
    assert not local.has(None)
