# Two commands: `make run` does the main job, `make test` passes all checks and tests.
# Both set everything up on a machine that has only python3, pip, make and git.
SECONDS ?=
PY := .venv/bin/python
STAMP := .venv/.ready

.PHONY: run test setup gates fast slow drill lock bench clean

run: setup
	$(PY) -m vedette demo $(if $(SECONDS),--seconds $(SECONDS))

test: setup gates fast slow

setup: $(STAMP)

$(STAMP): requirements/dev.txt pyproject.toml
	@tools/bootstrap
	@touch $(STAMP)

gates: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PY) tools/gauge.py

fast: setup
	$(PY) -m pytest -m "not slow" -n 2

slow: setup
	$(PY) -m pytest -m "slow and not drill" -n 2 --dist worksteal

drill: setup  ## the long ones, whose small versions are in `make test`
	$(PY) -m pytest -m drill

bench: setup  ## ratios within one run; minutes
	$(PY) bench/claims.py
	$(PY) bench/documents.py
	$(PY) bench/living.py --hosts 200 --pages 100 --days 1

lock:
	.venv/bin/uv pip compile --universal --no-header --no-annotate --generate-hashes pyproject.toml -o requirements/core.txt
	.venv/bin/uv pip compile --universal --no-header --no-annotate --generate-hashes pyproject.toml --group dev -c requirements/core.txt -o requirements/dev.txt

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache
