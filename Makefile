# demo: install Cabida here and decide a real brief, offline. test: set up and pass all the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BRIEF ?= examples/chat-llama-70b.yaml

.PHONY: demo test test-long dev check docs bench clean

$(VENV)/.run: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Cabida needs Python 3.11 or newer; say make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fast]'
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	touch $@

demo: $(VENV)/.run
	$(BIN)/cabida recommend $(BRIEF) --out out

dev: $(VENV)/.dev

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs calibration benchmarks README.md CONTRIBUTING.md

test: check
	$(BIN)/pytest -n 2 -m 'not long' --hypothesis-profile=ci

test-long: check
	$(BIN)/pytest -n 2

docs: $(VENV)/.dev
	$(BIN)/python -m cabida.faces.reference docs/commands.md
	$(BIN)/python calibration/accuracy.py
	$(BIN)/python calibration/readme.py

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/simulator.py
	$(BIN)/python benchmarks/recommend.py

clean:
	rm -rf $(VENV) out .mypy_cache .ruff_cache .pytest_cache .hypothesis
