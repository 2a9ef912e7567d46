# ContextOS. `make help` lists what there is; `make run` and `make test` need only Python 3.11 and make.
PYTHON ?= python3
PY := .venv/bin/python
PORT ?= 8000
DATA_DIR ?= .demo
READY_FILE ?= $(DATA_DIR)/ready.json
PYTEST := $(PY) -m pytest
# Each worker takes a stretch of the suite, so that what a module sets up is set up once.
WORKERS ?= 3
SPREAD := -n $(WORKERS) --dist worksteal
# Compiled code is kept even where the shell says otherwise: hundreds of processes start from it.
export PYTHONDONTWRITEBYTECODE :=
.DEFAULT_GOAL := help
.PHONY: help setup run test test-pg test-sqlite e2e e2e-products e2e-pages e2e-services scale faults abuse conformance bench lint fmt types lock docs clean

help: ## List the commands
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'
	@echo "  Variables: PORT=$(PORT) DATA_DIR=$(DATA_DIR) PYTHON=$(PYTHON)"

setup: ## Create .venv and install the locked dependencies (re-used while the lock is unchanged)
	@$(PYTHON) scripts/bootstrap.py

run: setup ## Start the product with demo data; prints address and sign-ins (Ctrl-C stops)
	@exec $(PY) manage.py demo --port "$(PORT)" --data-dir $(DATA_DIR) --ready-file $(READY_FILE)

test: test-pg test-sqlite ## Whole suite on PostgreSQL and Redis, then a fast pass on SQLite

test-pg: setup
	@echo "== suite on PostgreSQL and Redis"
	@$(PY) scripts/with_services.py $(PYTEST) $(SPREAD) -m "not (e2e or live or scale or faults or conformance)" \
		-q tests --ignore=tests/e2e --ignore=tests/faults
	@echo "== not run here: started products and browsers (make e2e), large tables (make scale), kills (make faults), foreign servers (make conformance)"

# The rooms whose work a database could do differently; the rest ran above and would say the same.
WITH_DATABASE := approvals audit gateway identity review registry/services
# Pages, words, files and sums are the same on every database.
ELSEWHERE := approvals/admin approvals/admin_gates approvals/api approvals/test_amounts_migration.py \
	approvals/test_eligibility.py approvals/test_gate_diff.py approvals/test_notify.py \
	approvals/test_notify_pages.py approvals/test_risk_words.py audit/api audit/reports audit/test_admin.py \
	audit/test_auditor_changes_nothing.py audit/test_bundle.py audit/test_bundle_trust.py \
	audit/test_export_formats.py audit/test_exports_admin.py audit/test_keeping_pages.py \
	audit/test_log_page.py audit/test_merkle.py audit/test_offline_ed25519.py audit/test_proof_guide.py \
	audit/test_record_search_page.py audit/test_report_definitions.py gateway/admin \
	gateway/api/test_plans.py gateway/connectors gateway/credentials gateway/figures/test_measures.py \
	gateway/figures/test_mode_corrections.py gateway/figures/test_surfaces.py \
	gateway/replaying/test_differences.py gateway/replaying/test_packets.py \
	gateway/replaying/test_periods.py gateway/replaying/test_surfaces.py gateway/siem \
	gateway/test_callbacks.py gateway/test_critic.py gateway/test_discovery.py gateway/test_error_model.py \
	gateway/test_explaining.py gateway/test_hardening.py gateway/test_long_poll.py gateway/test_normalise.py \
	gateway/test_policy_history.py gateway/test_published_schemas.py gateway/test_tracing.py \
	identity/test_admin_pages.py identity/test_commands.py identity/test_cross_tenant.py \
	identity/test_key_cache.py identity/test_people_page_guards.py identity/test_role_matrix.py \
	identity/test_trusted_issuers.py registry/services/test_compiled.py registry/services/test_documents.py \
	registry/services/test_no_record_no_change.py registry/services/test_other_process.py
test-sqlite: setup
	@echo "== fast pass on SQLite, the embedded default: what a database could do differently"
	@env -u DATABASE_URL -u REDIS_URL $(PYTEST) $(SPREAD) -m "not (e2e or live or scale or faults or slow or conformance or hypothesis)" -q \
		$(addprefix tests/,$(WITH_DATABASE)) \
		$(addprefix --ignore=tests/,$(ELSEWHERE))

# Two products side by side: a person who walks waits more than the machine does.
# AGAIN=1 takes once more what failed in the run before.
WALKS := -n 2 --dist loadfile $(if $(AGAIN),--last-failed --last-failed-no-failures none)
# The walks that write most; how pages look was judged on SQLite.
E2E_ON_SERVICES := test_approvals.py test_database.py test_first_steps.py test_gates.py \
	test_registry.py test_request_ends.py
e2e: e2e-products e2e-pages e2e-services ## Start the product and drive it, also in a real browser (installs chromium when missing)

e2e-products: setup
	@echo "== whole products, refused starts, wide walks, abuse"
	@$(PY) scripts/with_services.py $(PYTEST) $(SPREAD) -q tests -m "live and not (e2e or faults or conformance)"

e2e-pages: setup
	@sh scripts/ensure_chromium.sh
	@echo "== every page, on SQLite, the embedded default"
	@env -u DATABASE_URL -u REDIS_URL $(PYTEST) $(WALKS) -m e2e -q tests/e2e

e2e-services: setup
	@sh scripts/ensure_chromium.sh
	@echo "== first steps, an adapter's life and approvals, on PostgreSQL and Redis"
	@$(PY) scripts/with_services.py $(PYTEST) $(WALKS) -m e2e -q $(addprefix tests/e2e/,$(E2E_ON_SERVICES))

scale: setup ## Large tables, thousands of repeats, property tests at their full depth (half an hour)
	@HYPOTHESIS_PROFILE=whole $(PY) scripts/with_services.py $(PYTEST) $(SPREAD) -q tests \
		-m "(scale or hypothesis) and not (e2e or faults or conformance)"

faults: setup ## Kill processes and services in mid-call (LONG=1: every point, 10,000 calls; WRITE=1: the docs page)
	@rm -f build/faults.json
	@echo "== real processes on PostgreSQL and Redis, and the embedded worker on SQLite"
	@$(if $(LONG),CONTEXTOS_FAULTS_LONG=1) $(PY) scripts/with_services.py $(PYTEST) $(if $(LONG),,$(WALKS)) \
		-m faults -q -rs tests/faults
	@echo "== a failure at every statement, on SQLite too"
	@env -u DATABASE_URL -u REDIS_URL $(PYTEST) -m faults -q tests/faults/test_broken_statements.py
	@$(if $(LONG),CONTEXTOS_FAULTS_LONG=1) $(PY) -m tests.faults $(if $(WRITE),--write-docs)

abuse: setup ## Bursts, forged tokens, canaries, fuzz, naughty texts (LONG=1: 10,000 cases, every text in every field)
	@$(if $(LONG),CONTEXTOS_ABUSE_LONG=1) $(PY) scripts/with_services.py $(PYTEST) -q -rs tests/abuse

conformance: setup ## Speak with MCP servers that others wrote (installs them from npm into build/)
	@env -u DATABASE_URL -u REDIS_URL $(PYTEST) -m conformance -q -rs tests

bench: setup ## Measure speed on PostgreSQL into build/bench.json (QUICK=1 for at most a minute)
	@$(PY) scripts/with_services.py --durable $(PY) -m tests.bench $(if $(QUICK),--quick,--write-docs)

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
