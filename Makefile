# Two commands matter: `make run` and `make test`. Both set themselves up, need no root, and leave .venv/bin/remit behind.
# Needed on the machine: Python >= 3.11 with pip, Node.js >= 20 with npm, make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
NPM := npm --prefix client-vscode
TYPED := .cache/typed
CLIENT := client-vscode/node_modules/.package-lock.json
SITE := scripts/docs/node_modules/.package-lock.json

# Without bytecode each of some hundred processes that the tests start would compile the project anew.
unexport PYTHONDONTWRITEBYTECODE

# What tests write lies in memory where there is some: the quick suite waits for the disk otherwise. What is about the disk is slow.
MEMORY := $(if $(wildcard /dev/shm/.),PYTEST_DEBUG_TEMPROOT=/dev/shm)
QUICK := -m "not slow and not e2e" -q $(if $(CI),,--hypothesis-profile=quick)

.PHONY: run test test-quick test-near test-thorough durations check ci-like lint types contracts schemas-fresh client setup schemas bench docs pictures e2e-tools package release audit-dependencies clean

run: setup
	$(BIN)/remit demo

test: setup check $(SITE)
	$(BIN)/python -m pytest -m "slow or e2e" -n 4 --dist loadfile --no-loadscope-reorder

# Everything that must hold before a commit, two steps at a time, and what each says in one piece.
check: setup $(CLIENT)
	+$(MAKE) --no-print-directory -j 2 --output-sync=target lint types contracts schemas-fresh client test-quick

# Of the examples of each property fewer, other ones each time; CI looks at all of them.
test-quick: setup
	$(MEMORY) $(BIN)/python -m pytest $(QUICK) -n 3 --dist loadfile --no-loadscope-reorder

# What has changed since COMMIT (the last one, unless you name another) touches: seconds, and it stops at the first failure.
test-near: setup
	$(MEMORY) $(BIN)/python -m pytest $(QUICK) -x --near $(or $(COMMIT),HEAD) || test $$? -eq 5

# All examples of generated tests, all kills of the storage tests, both of CI's halves.
test-thorough: setup check $(SITE)
	REMIT_THOROUGH=1 $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

# How long each file of tests took here, for everybody's next run to begin with the longest.
durations: setup
	$(BIN)/python tests/support/durations.py

# `make check` as CI begins: in a clone of what is committed, with an environment of its own. Before you leave.
ci-like:
	bash scripts/ci-like.sh

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# What has been found well typed is not looked at again while nothing of it changes; mypy keeps a cache of its own.
types: setup $(TYPED)
$(TYPED): pyproject.toml $(shell find server governance -name '*.py')
	$(BIN)/mypy
	$(BIN)/pyright --warnings
	mkdir -p $(@D) && touch $@

contracts: setup
	$(BIN)/lint-imports

schemas-fresh: setup $(CLIENT)
	$(BIN)/python -m remit_server.schemas_export --check

client: $(CLIENT)
	$(NPM) run check
	$(NPM) test

# The lock file is honoured with uv, which is taken from PyPI into the virtual environment: none is needed on the machine.
setup: $(STAMP)
$(STAMP): pyproject.toml uv.lock
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Remit needs Python 3.11 or newer: name one, as in make setup PYTHON=python3.12" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.13,<1" || { echo "make setup needs a network, or a mirror of PyPI: see docs/install.md" >&2; exit 1; }
	UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/uv sync --quiet --frozen --inexact --extra mlx --extra otel
	touch $(STAMP)

$(CLIENT): client-vscode/package.json client-vscode/package-lock.json
	$(NPM) ci --no-audit --no-fund --loglevel=error

schemas: setup $(CLIENT)
	$(BIN)/python -m remit_server.schemas_export

# The documentation as a site, in .cache/site, which can be read from there. A dead link or anchor fails.
docs: setup $(SITE)
	$(BIN)/python scripts/docs/build.py

# The pictures in it, taken anew by the end-to-end tests in VS Code.
pictures: setup
	REMIT_PICTURES=1 $(BIN)/python -m pytest tests/e2e/test_vscode.py -q
	$(BIN)/uv run --quiet --script scripts/docs/pictures.py

$(SITE): scripts/docs/package.json scripts/docs/package-lock.json
	npm --prefix scripts/docs ci --no-audit --no-fund --loglevel=error

# With the server as a wheel and what it needs by version and hash, which the extension's button installs.
package: setup $(CLIENT)
	rm -rf client-vscode/bundled
	$(BIN)/uv build --quiet --wheel --out-dir client-vscode/bundled
	$(BIN)/uv export --quiet --frozen --group button --no-dev --no-emit-project --no-header --output-file client-vscode/bundled/requirements.txt
	$(NPM) run package

# What is given to people, in dist/: the wheel, the extension with it, what both are made of (CycloneDX), and checksums of all.
release: package
	rm -rf dist && mkdir dist
	cp client-vscode/bundled/*.whl client-vscode/remit.vsix dist/
	$(BIN)/uv export --quiet --frozen --no-dev --format cyclonedx1.5 --output-file dist/remit.cdx.json
	cd client-vscode && npm sbom --sbom-format=cyclonedx --sbom-type=application --package-lock-only > ../dist/remit-vscode.cdx.json
	cd dist && sha256sum * > SHA256SUMS

# Known vulnerabilities of what is shipped, by OSV and by npm's registry. Needs a network that reaches both.
audit-dependencies: setup
	$(BIN)/uv audit --frozen --no-dev --preview-features audit-command
	$(NPM) audit --omit=optional

bench: setup
	UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/uv sync --quiet --frozen --inexact --extra mlx --group bench
	$(BIN)/python bench/initialize.py
	$(BIN)/python bench/first_question.py
	$(BIN)/python bench/governed_read.py
	$(BIN)/python bench/audit.py
	$(BIN)/python bench/sessions.py
	$(BIN)/python bench/policy.py
	$(BIN)/python bench/risk.py
	$(BIN)/python bench/search.py
	$(BIN)/python bench/diffs.py
	$(BIN)/python bench/tool_calls.py
	$(BIN)/python bench/sandbox.py
	$(BIN)/python bench/guided.py
	$(BIN)/python bench/model.py
	$(BIN)/python bench/speculation.py
	$(BIN)/python bench/prompt_cache.py

clean:
	rm -rf $(VENV) client-vscode/node_modules scripts/docs/node_modules client-vscode/out client-vscode/bundled dist .cache .mypy_cache .ruff_cache .pytest_cache
