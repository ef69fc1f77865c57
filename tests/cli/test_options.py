import os
import subprocess
import sys

import coterie
from coterie.cli.options import shipped_weights


def test_the_shell_is_told_the_shipped_models():
    names = [model.name for model in coterie.models()]
    assert shipped_weights("") == sorted(names)
    assert shipped_weights("dac") == [name for name in sorted(names) if name.startswith("dac")]


def completions(*words):
    code = (
        "import sys; sys.modules['torch'] = None;"  # the shell waits for nobody
        "from coterie.cli import main; main()"
    )
    environment = os.environ | {
        "_COTERIE_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_commands_options_and_models_are_completed():
    assert {"cluster", "compare"} <= set(completions("coterie", "c"))
    assert "--report" in completions("coterie", "cluster", "--re")
    assert completions("coterie", "cluster", "t.csv", "--weights", "dac") == ["dac-mog2d"]
