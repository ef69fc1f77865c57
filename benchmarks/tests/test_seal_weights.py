import json

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import seal_weights
from coterie.weights.catalogue import find
from coterie.weights.checksum import ENTRY
from coterie.weights.format import load_system


def test_a_file_without_checksums_gets_them_and_keeps_its_tensors(tmp_path, capsys):
    path, shipped = tmp_path / "old.safetensors", find("amcp-mog2d")
    with safe_open(shipped, framework="pt") as file:
        header = json.loads(file.metadata()["coterie"])
    del header[ENTRY]
    save_file(load_file(shipped), path, metadata={"coterie": json.dumps(header)})
    seal_weights.main(str(path))
    seal_weights.main(str(path))
    assert capsys.readouterr().out == f"{path}: sealed\n{path}: has checksums\n"
    assert path.read_bytes() == shipped.read_bytes()
    for one, other in zip(*(load_system(p)[0].parameters() for p in (path, shipped)), strict=True):
        assert torch.equal(one, other)
