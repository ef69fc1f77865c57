# Two commands do everything on a fresh machine: make demo, make test.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= auto

# Real data sets for the experiments, where they are there.
DATA := $(wildcard ../shared/data)
ifneq ($(DATA),)
export COTERIE_DATA ?= $(abspath $(DATA))
endif

.PHONY: help setup demo test golden check format bench figures docs clean

help: ## say what there is to make
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

setup: $(STAMP) ## create .venv and install the package with its extras

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: setup ## cluster a real example and print where the report and the picture are
	$(BIN)/coterie cluster examples/wine.csv --report runs/demo/report.html \
	    --plot runs/demo/clusters.png --out runs/demo/labels.csv

test: setup ## run the tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

golden: setup ## store the answers of the shipped models anew (a change of labels belongs into the changelog)
	$(BIN)/python tests/golden/golden.py

check: setup ## format, lint, types, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

format: setup ## put the code in house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

NAME ?= mog
bench: setup ## measure a table again and write it into the pages: make bench NAME=speed
	$(BIN)/python benchmarks $(NAME) $(OPTIONS)
	$(BIN)/python benchmarks/render.py

figures: setup ## write the tables of benchmarks/results into the README, the docs and the cards
	$(BIN)/python benchmarks/render.py

docs: setup ## build the site into site/, strictly
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

clean: ## remove everything that was made
	rm -rf $(VENV) runs build dist site
