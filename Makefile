# Two commands: `make run` does the main job, `make test` passes all checks and tests.
# Both set everything up on a machine that has only python3, pip, make and git.
SECONDS ?=
PY := .venv/bin/python
READY := .venv/.can-run
READY_TO_TEST := .venv/.can-test
COMPILED := .venv/.is-compiled

.PHONY: run test setup setup-dev gates fast slow drill lock bench clean

run: setup
	$(PY) -m vedette demo $(if $(SECONDS),--seconds $(SECONDS))

test: setup-dev gates fast slow

setup: $(READY) $(COMPILED)  ## what the program needs

setup-dev: $(READY_TO_TEST)  ## and what its checks and tests need

$(READY): requirements/core.txt requirements/build.txt pyproject.toml
	@echo "vedette: setting up .venv, a minute or so the first time"
	@tools/bootstrap
	@touch $(READY)

$(READY_TO_TEST): requirements/dev.txt pyproject.toml
	@echo "vedette: setting up .venv with everything that the tests need, some minutes the first time"
	@tools/bootstrap dev
	@touch $(READY) $(READY_TO_TEST)

# A newer source, as after `git pull`: compiled here, so that no command has to do it again and again.
$(COMPILED): $(READY) $(shell find src -name '*.py')
	@$(PY) -m compileall -q src/vedette || true
	@touch $(COMPILED)

gates: setup-dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PY) tools/gauge.py

fast: setup-dev
	$(PY) -m pytest -m "not slow" -n 3

slow: setup-dev
	$(PY) -m pytest -m "slow and not drill" -n 3 --dist worksteal

drill: setup-dev  ## the long ones, whose small versions are in `make test`
	$(PY) -m pytest -m drill

bench: setup-dev  ## ratios within one run; minutes
	$(PY) bench/claims.py
	$(PY) bench/documents.py
	$(PY) bench/verbs.py
	$(PY) bench/living.py --hosts 200 --pages 100 --days 1

lock: setup-dev
	.venv/bin/uv pip compile --universal --no-header --no-annotate --generate-hashes pyproject.toml -o requirements/core.txt
	.venv/bin/uv pip compile --universal --no-header --no-annotate --generate-hashes --group build -c requirements/core.txt -o requirements/build.txt
	.venv/bin/uv pip compile --universal --no-header --no-annotate --generate-hashes pyproject.toml --extra pg --extra redis --extra notify --extra mcp --extra s3 --extra timestamps -c requirements/core.txt -o requirements/server.txt
	.venv/bin/uv pip compile --universal --no-header --no-annotate --generate-hashes pyproject.toml --group dev -c requirements/core.txt -c requirements/build.txt -o requirements/dev.txt

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache
