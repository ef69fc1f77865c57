"""`python benchmarks NAME`: measure a table of the README, the docs or a model card again.

Python puts this folder on the path, so the package `bench` beside this file needs no installation.
"""

from bench.cli import app

if __name__ == "__main__":
    app(prog_name="python benchmarks")
