# Two commands for a newcomer: make demo, make test. Each does its own set-up in .venv.
PYTHON ?= python3
BIN := .venv/bin
CORE := .venv/core
READY := .venv/ready

.PHONY: demo test test-slow bench check format setup clean

demo: $(CORE)
	$(BIN)/tongsa demo

test: $(READY)
	$(BIN)/pytest -m "not slow" --cov --cov-report=term:skip-covered

test-slow: $(READY)
	$(BIN)/pytest -m slow

# some ten minutes of a machine that does nothing else; make bench BENCH="--peer-python …" where transformers is elsewhere
bench: $(READY)
	$(BIN)/python benchmarks/train_speed.py $(if $(wildcard ../shared/data/multi30k),,--phrasebook) $(BENCH)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

setup: $(READY)

# torch first and by its pin: a range would let the resolver bring a build for another machine.
$(CORE): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "tongsa needs Python 3.11 or newer: make PYTHON=python3.11 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^torch==' constraints.txt)" -c constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e . -c constraints.txt
	touch $@

# what the tests need besides: other engines and formats to compare with
$(READY): $(CORE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' -c constraints.txt
	touch $@

clean:
	rm -rf .venv runs .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
