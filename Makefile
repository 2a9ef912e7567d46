# ContextOS. `make help` lists what there is; `make run` and `make test` need only Python 3.11 and make.
PYTHON ?= python3
PY := .venv/bin/python
PORT ?= 8000
DATA_DIR ?= .demo
READY_FILE ?= $(DATA_DIR)/ready.json
PYTEST := $(PY) -m pytest
.DEFAULT_GOAL := help
.PHONY: help setup run test test-pg test-sqlite e2e faults bench lint fmt types lock docs clean

help: ## List the commands
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'
	@echo "  Variables: PORT=$(PORT) DATA_DIR=$(DATA_DIR) PYTHON=$(PYTHON)"

setup: ## Create .venv and install the locked dependencies (re-used while the lock is unchanged)
	@$(PYTHON) scripts/bootstrap.py

run: setup ## Start the product with demo data; prints address and sign-ins (Ctrl-C stops)
	@$(PY) manage.py demo --port "$(PORT)" --data-dir $(DATA_DIR) --ready-file $(READY_FILE)

test: test-pg test-sqlite ## Whole suite on PostgreSQL and Redis, then a fast pass on SQLite

test-pg: setup
	@echo "== suite on PostgreSQL and Redis"
	@$(PY) scripts/with_services.py $(PYTEST) -n 2 -m "not e2e and not faults" -q tests

# The rooms whose work a database could do differently; the rest ran above and would say the same.
WITH_DATABASE := approvals audit gateway identity review registry/services adminkit/test_verify_page.py
PAGES := approvals/admin approvals/admin_gates gateway/admin identity/test_cross_tenant.py \
	identity/test_role_matrix.py
test-sqlite: setup
	@echo "== fast pass on SQLite, the embedded default: what a database could do differently"
	@env -u DATABASE_URL -u REDIS_URL $(PYTEST) -n 2 -m "not e2e and not slow" -q \
		$(addprefix tests/,$(WITH_DATABASE)) \
		$(addprefix --ignore=tests/,$(PAGES))

# The walks that write most; how pages look was judged on SQLite.
E2E_ON_SERVICES := test_database.py test_first_steps.py test_registry.py
e2e: setup ## Drive the running product in a real browser (installs Debian's chromium when missing)
	@sh scripts/ensure_chromium.sh
	@echo "== every page, on SQLite, the embedded default"
	@env -u DATABASE_URL -u REDIS_URL $(PYTEST) -m e2e -q tests/e2e
	@echo "== first steps and an adapter's life, on PostgreSQL and Redis"
	@$(PY) scripts/with_services.py $(PYTEST) -m e2e -q $(addprefix tests/e2e/,$(E2E_ON_SERVICES))

faults: setup ## Kill workers, web, broker and database in mid-call: nothing lost, nothing doubled
	@echo "== real processes on PostgreSQL and Redis, and the embedded worker on SQLite"
	@$(PY) scripts/with_services.py $(PYTEST) -m faults -q tests/faults
	@echo "== a failure at every statement, on SQLite too"
	@env -u DATABASE_URL -u REDIS_URL $(PYTEST) -m faults -q tests/faults/test_broken_statements.py

bench: setup ## Measure speed on PostgreSQL into build/bench.json (QUICK=1 for at most a minute)
	@$(PY) scripts/with_services.py $(PY) -m tests.bench $(if $(QUICK),--quick,--write-docs)

lint: setup ## Formatting, ruff, mypy strict, layers, missing migrations, lock and docs in step
	@.venv/bin/ruff format --check -q . && .venv/bin/ruff check -q .
	@.venv/bin/mypy contextos audit registry approvals gateway contextos_client examples tests scripts manage.py
	@.venv/bin/lint-imports --no-cache >build/imports.txt 2>&1 || (cat build/imports.txt; exit 1)
	@CONTEXTOS_DATA_DIR=build/lint $(PY) manage.py makemigrations --check --dry-run
	@$(PY) scripts/generate_docs.py --check
	@! grep -nE '://|^--(extra-)?index|^--find' requirements.lock requirements-runtime.lock
	@echo "lint: clean"

fmt: setup ## Format the code and apply safe fixes
	@.venv/bin/ruff check -q --fix . ; .venv/bin/ruff format -q .

docs: setup ## Regenerate the reference pages that come from code
	@$(PY) scripts/generate_docs.py

lock: setup ## Resolve pyproject.toml again into the hashed, host-free lock files
	@.venv/bin/uv pip compile -q pyproject.toml --group dev --universal --generate-hashes \
		--no-header --python-version 3.11 -o requirements.lock
	@.venv/bin/uv pip compile -q pyproject.toml --universal --generate-hashes --no-header \
		--python-version 3.11 -c requirements.lock -o requirements-runtime.lock

clean: ## Remove .venv, build and the demo's data
	rm -rf .venv build .demo
