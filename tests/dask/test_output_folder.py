"""Where a run may go on, and where it must not write."""

import pytest

from coterie.dask.output_folder import Inputs, open_folder
from coterie.data.tables.table import SourceError


def test_a_folder_without_labels_may_be_used_for_repaired_files(tmp_path):
    file, out = tmp_path / "a.parquet", tmp_path / "out"
    file.write_text("damaged")
    inputs = Inputs((file,), (3,))
    before = open_folder(out, inputs, {})
    assert open_folder(out, inputs, {}).tag == before.tag
    file.write_text("repaired")
    after = open_folder(out, inputs, {})
    assert after.tag != before.tag
    (out / "a.parquet").write_text("labels")
    file.write_text("written once more")
    with pytest.raises(SourceError, match="other files or settings"):
        open_folder(out, inputs, {})
    assert (out / "a.parquet").read_text() == "labels"
