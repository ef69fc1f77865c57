"""The command printed below a table."""

import shlex


def command(name: str, **options: object) -> str:
    """The command line that repeats a measurement; a list or a tuple repeats its option."""
    words = ["python", "benchmarks", name]
    for option, value in options.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            words += [f"--{option.replace('_', '-')}", str(each)]
    return shlex.join(words)
