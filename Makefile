# On a fresh machine `make demo` and `make test` suffice: both create the environment first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= auto

# The folder of real data sets for the experiments, if present.
DATA := $(wildcard ../shared/data)
ifneq ($(DATA),)
export COTERIE_DATA ?= $(abspath $(DATA))
endif

.PHONY: help setup demo test golden check format bench figures docs clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

setup: $(STAMP) ## create .venv and install the package with its extras

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: setup ## cluster an example table and print the paths of the report and the plot
	$(BIN)/coterie cluster examples/wine.csv --id cultivar --report runs/demo/report.html \
	    --plot runs/demo/clusters.png --out runs/demo/labels.csv

test: setup ## run the tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

golden: setup ## regenerate the golden labels of the shipped models (record changes in the changelog)
	$(BIN)/python tests/golden/golden.py

check: setup ## check formatting, lint and types, run the tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

format: setup ## format the code and fix lint errors
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

NAME ?= mog
bench: setup ## run a benchmark and update the tables in the docs: make bench NAME=speed
	$(BIN)/python benchmarks $(NAME) $(OPTIONS)
	$(BIN)/python benchmarks/render.py

figures: setup ## update the tables of the pages from benchmarks/results, and what their code prints
	$(BIN)/python benchmarks/render.py
	$(BIN)/python tests/docs/page_code.py

docs: setup ## build the documentation into site/, with warnings as errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

clean: ## remove the environment and all build outputs
	rm -rf $(VENV) runs build dist site
