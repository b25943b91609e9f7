PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo demo-collection test check quick types contracts fast tests soak screenshots format clean chromium

demo: $(READY)
	$(BIN)/python -m examples.demo

demo-collection: $(READY)
	$(BIN)/python -m examples.collection

test: check

check: $(READY)
	@command -v chromium >/dev/null || echo "There is no Chromium: tests in a browser are skipped. make chromium"
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) --no-print-directory --jobs 2 types tests contracts

# Beside the tests, which wait for crawls, servers and browsers half of the time.
types:
	$(BIN)/mypy

contracts:
	$(BIN)/lint-imports

tests:
	$(BIN)/pytest --processes 6 -m 'not soak'

# The browsers that tests drive: Debian's. As somebody else than root, with sudo. The headless shell saves time only.
chromium: GET = $(shell test $$(id -u) = 0 || echo sudo) apt-get
chromium:
	command -v chromium >/dev/null || \
		($(GET) update && $(GET) install --yes --no-install-recommends chromium fonts-dejavu-core)
	command -v chromium-headless-shell >/dev/null || \
		($(GET) update && $(GET) install --yes --no-install-recommends chromium-headless-shell) || \
		echo "There is no chromium-headless-shell: tests of pages take longer."

# Form, types, and the tests that start no server and no process, each property tried on a tenth of the examples.
quick: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) --no-print-directory --jobs 2 types fast

fast:
	$(BIN)/pytest --processes 2 -m 'not starts and not recorded and not slow and not soak' --hypothesis-profile=quick

# What takes long: each property on many examples, new ones each time, and the tests that `make test` leaves out.
soak: $(READY)
	$(BIN)/pytest --processes 2 -m 'soak or hypothesis' --hypothesis-profile=soak

# A picture of every page of the cockpit, for somebody to look at: in .cache/tests/screenshots.
screenshots: $(READY)
	AAH_SCREENSHOTS=1 $(BIN)/pytest --processes 2 -m 'not soak' tests/cockpit

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .cache/tests .mypy_cache .ruff_cache .pytest_cache .hypothesis
