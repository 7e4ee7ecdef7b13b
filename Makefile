# Everything happens in .venv; `make` alone prints this help.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup run test lint bench clean

help: ## print what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(READY) ## create .venv and install Tacit with everything its tests use

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[torch,text,image,hf,dev]'
	touch $@

run: setup ## train 20 Newsgroups on 100 simulated phones, privately, and write a report
	$(BIN)/tacit run examples/newsgroups.toml

test: lint ## check style, types and import rules, then run the tests
	$(BIN)/pytest -n 2

lint: setup ## check style, types and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup ## measure speed side by side with peers (long)
	$(BIN)/python -m bench all

clean: ## remove the environment and all caches; runs are kept
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
