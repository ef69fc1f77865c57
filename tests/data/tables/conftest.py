import pytest

from coterie.data.tables.delimited import Delimited


@pytest.fixture
def write(tmp_path):
    """Puts text or bytes into a file."""

    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def csv(write):
    """A table of comma-separated text."""

    def csv(text, name="table.csv", **settings):
        path = write(text, name)
        return Delimited(path, str(path), **settings)

    return csv
