import re
from pathlib import Path

from coterie.palette import PALETTE
from coterie.playground.app import STATIC

ELSEWHERE = re.compile(r"""(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}""", re.IGNORECASE)


def test_the_page_comes_whole_from_this_server(client):
    page = client.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    for address in re.findall(r'(?:src|href)="([^"#]+)"', page.text):
        answer = client.get(f"/{address}")
        assert answer.status_code == 200, address
    assert client.get("/static/../app.py").status_code == 404


def test_nothing_is_fetched_from_elsewhere():
    files = [path for path in STATIC.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".html", ".css", ".js", ".svg"}
    for path in files:
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert ELSEWHERE.findall(text) == [], path


def test_every_module_of_the_page_finds_what_it_imports():
    for path in (STATIC / "js").glob("*.js"):
        for name in re.findall(r'from "\./([a-z]+\.js)"', path.read_text()):
            assert (STATIC / "js" / name).is_file(), f"{path.name} imports {name}"


def test_the_browser_is_told_to_trust_this_server_alone(client):
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert client.get("/api/limits").headers["x-content-type-options"] == "nosniff"


def test_the_description_names_both_kinds_of_body(client):
    description = client.get("/openapi.json").json()
    operation = description["paths"]["/api/cluster"]["post"]
    assert set(operation["requestBody"]["content"]) == {"application/json", "text/csv"}
    assert {"200", "413", "415", "422", "429"} <= set(operation["responses"])


def test_the_assets_are_small():
    assert sum(path.stat().st_size for path in Path(STATIC).rglob("*") if path.is_file()) < 200_000


def test_the_colours_are_those_of_the_other_pictures():
    text = (STATIC / "js" / "palette.js").read_text()
    assert tuple(re.findall(r'"(#[0-9A-F]{6})"', text)) == PALETTE
