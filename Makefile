# Everything happens in .venv; `make` alone prints this help.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
SITE := $(VENV)/.docs
READY := $(VENV)/.ready
BROWSER := $(VENV)/.browser
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

.PHONY: help setup run demo-sites test test-seeds test-wheel test-lowest test-newest wheel sbom coverage test-upgrade test-sites test-container images test-tutorials notebooks lint docs reference bench mutants clean

help: ## print what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(READY) ## create .venv and install Tacit and its papers with everything their tests use

$(CORE): pyproject.toml constraints.txt
	@echo 'installing Tacit into $(VENV); once, a minute or more'
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) .
	@touch $@

$(READY): pyproject.toml papers/pyproject.toml constraints.txt
	@echo 'installing Tacit, its papers and all that their tests use into $(VENV); once, a few minutes'
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) '.[torch,text,image,arrow,sklearn,hf,negotiate,server,ui,metrics,onnx,tensorboard,mlflow,wandb,cluster,docs,dev]' --editable papers
	@touch $(CORE) $(SITE) $@

run: $(CORE) ## train 20 Newsgroups on 5,657 simulated phones, privately, and write a report
	$(BIN)/tacit run examples/newsgroups.toml

demo-sites: setup ## train between three sites with TLS, policies and ledgers on this machine, and compare with the simulation
	$(BIN)/tacit rehearse examples/sites.toml
	$(BIN)/tacit rehearse examples/sites.toml --compare

# Root on a Debian or Ubuntu machine gets the browser; elsewhere those tests are skipped and say what to install.
$(BROWSER): | $(READY)
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null \
	|| { echo 'installing Chromium for the tests of the web pages; once'; \
	     { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium; } \
	       >$(VENV)/browser.log 2>&1 || echo 'it could not be installed; the tests in a browser are skipped'; }
	@touch $@

test: lint $(BROWSER) ## check style, types and import rules, then run the tests
	$(BIN)/pytest -n 2

SEEDS ?= $(shell seq 1 50)
test-seeds: setup ## run the statistical tests with 50 seeds (long); SEEDS="7 8" picks others
	@failed=; for seed in $(SEEDS); do echo "seed $$seed"; $(BIN)/pytest -m statistical --seed $$seed || failed="$$failed $$seed"; done; \
	if [ -n "$$failed" ]; then echo "failed with seeds:$$failed"; exit 1; fi

test-wheel: ## install the wheel into empty environments of Python 3.11, 3.12 and 3.13 and use it (long, needs a package index); WHEEL=--write keeps the tables
	$(PYTHON) -m tests.wheel.try_wheel $(WHEEL)

test-lowest: ## install the lowest versions that the ranges allow and run quick tests with them (minutes, needs a package index)
	$(PYTHON) -m tests.wheel.try_versions lowest

test-newest: ## the same with the newest versions
	$(PYTHON) -m tests.wheel.try_versions newest

wheel: ## build the wheel and the source distribution into dist, the same bytes at every build of a commit
	$(PYTHON) -m release.build dist

sbom: setup ## write the bill of materials (CycloneDX) into dist, and the licences of all packages into docs
	$(PYTHON) -m release.sbom dist
	$(BIN)/python -m release.licences

coverage: setup ## measure which lines of Tacit the tests run (long); TESTS=tests/codecs measures some
	$(BIN)/pytest -n 2 --cov --cov-report=term:skip-covered $(TESTS)

test-upgrade: setup ## run two versions of Tacit, each from its wheel, as server and sites of each other (minutes)
	$(BIN)/python -m tests.wheel.try_upgrade

test-sites: setup ## set up a server and three sites in network namespaces by commands alone, and train (minutes)
	$(BIN)/python -m tests.deploy.three_sites

test-container: setup ## start server and sites as the images do, without an engine (minutes, needs root and a package index)
	$(BIN)/python -m tests.deploy.container

images: ## build the images of server and site; BASE=python:3.11-slim@sha256:... names the base image
	@$(PYTHON) -m release.check_base $(BASE)
	docker build --file deploy/Dockerfile --build-arg BASE=$(BASE) --target server --tag tacit-server .
	docker build --file deploy/Dockerfile --build-arg BASE=$(BASE) --target site --tag tacit-site .

test-tutorials: setup ## run every tutorial from its own text, in empty folders (minutes)
	$(BIN)/python -m tests.docs.tutorials

notebooks: setup ## run every tutorial and write docs/tutorials/*.ipynb
	$(BIN)/python -m tests.docs.tutorials --notebooks

lint: setup ## check style, types and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(SITE): pyproject.toml constraints.txt
	@echo 'installing Tacit and what builds its site into $(VENV); once, a minute or more'
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) '.[docs]'
	@touch $@

docs: $(SITE) ## build the documentation site in build/site; every warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo 'open build/site/index.html'

reference: setup ## write the generated pages of docs/reference again
	$(BIN)/python -m tests.docs.reference

bench: setup ## measure speed side by side with peers (long)
	$(BIN)/python -m bench all

mutants: setup ## mutation testing of ledger, secure aggregation, messages and the site's side (long, can be resumed)
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt mutmut
	$(BIN)/python -m tests.mutants $(GROUPS)

clean: ## remove the environment and all caches; runs are kept
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
