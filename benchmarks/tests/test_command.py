from pathlib import Path

from bench.command import command


def test_the_command_names_every_option_and_repeats_lists():
    weights = ["dac-mog2d", Path("runs/my model.safetensors")]
    assert command("mog", sets=5, peer_sets=3, weights=weights) == (
        "python benchmarks mog --sets 5 --peer-sets 3"
        " --weights dac-mog2d --weights 'runs/my model.safetensors'"
    )
