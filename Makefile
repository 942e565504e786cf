# Two commands for a newcomer: make demo, make test. Each does its own set-up in .venv.
PYTHON ?= python3
BIN := .venv/bin
CORE := .venv/core
READY := .venv/ready
BROWSER := .venv/browser

.PHONY: demo demo-data test test-slow bench check format pictures setup clean

demo: $(CORE)
	$(BIN)/tongsa demo

# the pairs that the demo learns, generated anew by the grammar in tools/phrasebook: the same bytes unless it changed
demo-data: $(CORE)
	cd tools && ../$(BIN)/python -m phrasebook

test: $(READY) $(BROWSER)
	$(BIN)/pytest -m "not slow" --cov --cov-report=term:skip-covered

test-slow: $(READY) $(BROWSER)
	$(BIN)/pytest -m slow

# some ten minutes of a machine that does nothing else; make bench BENCH="--peer-python …" where transformers is elsewhere
bench: $(READY)
	$(BIN)/python benchmarks/train_speed.py $(if $(wildcard ../shared/data/multi30k),,--phrasebook) $(BENCH)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# the pictures in the documentation, made again: the page of a small server in a real browser
pictures: $(READY) $(BROWSER)
	$(BIN)/python docs/pictures/screenshots.py

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

# a browser and Korean letters for the tests of the web page; where neither root nor sudo is there, they are skipped
$(BROWSER): | $(READY)
	@if { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null && fc-list :lang=ko 2>/dev/null | grep -q .; then touch $@; \
	elif command -v apt-get >/dev/null && { [ "$$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; then \
	  as=$$([ "$$(id -u)" = 0 ] || echo sudo -n); \
	  { $$as apt-get -qq update; $$as env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium fontconfig fonts-noto-cjk; } \
	    && touch $@ || echo "no Chromium could be installed: tests/browser will be skipped"; \
	else echo "no Chromium here, and no right to install it: tests/browser will be skipped"; fi

clean:
	rm -rf .venv runs .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
