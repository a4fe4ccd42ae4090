# Unisono. `make help` lists what there is.
#
# Debian's own Python, because it is the one that sees Debian's packages; another python3 may come
# first on the PATH.
PYTHON  := /usr/bin/python3
BUILD   := build
PREFIX  ?= /usr/local
SECONDS ?= 1800
BENCH   ?= default
PAPERS  ?= telling

.DEFAULT_GOAL := help
# The parts of one target use the whole machine already, and follow on each other.
.NOTPARALLEL:
.PHONY: help setup configure build demo test test-ceph bench papers fuzz install sanitize tidy format \
        format-check clean

help:            ## List the targets
	@echo "Unisono: collective I/O for MPI programs, without changing them"
	@echo
	@awk -F ':|## ' '/^[a-z-]+:.*## / { printf "  make %-14s%s\n", $$1, $$NF }' Makefile
	@echo
	@echo "On a fresh Debian 12 machine, 'make demo' and 'make test' do everything."

setup:           ## Install the Debian packages that are missing (or say which, when not root)
	@tools/setup.sh

configure:
	@cmake --preset default

build: configure ## Build libraries, command and tests into build/
	@cmake --build $(BUILD)

demo: setup build ## Run real MPI programs with and without Unisono and compare (3 minutes)
	@$(PYTHON) demo/demo.py --build $(BUILD)

test: setup      ## Run all tests (20 to 40 minutes on 2 cores)
	@$(PYTHON) tools/run_tests.py --build $(BUILD)

# Interrupted when it takes too long, so that the cluster goes away.
test-ceph: setup build ## Try every strategy on a real CephFS (2 minutes; installs Ceph)
	@tools/setup.sh tests/ceph/debian-packages.txt
	@timeout --signal=INT --kill-after=60 290 env UNISONO_BUILD_DIR=$(abspath $(BUILD)) \
	    $(PYTHON) -m pytest -p no:cacheprovider tests/ceph/test_ceph.py

bench: setup build ## Measure against the MPI libraries (30 minutes; everything with BENCH=full)
	@$(PYTHON) bench/run.py $(if $(filter full,$(BENCH)),--full)

papers: setup build ## Redo the papers' figures on emulated disks (90 minutes; PAPERS=all takes hours, PAPERS=NAME one)
	@cd bench && $(PYTHON) -m papers --build $(abspath $(BUILD)) $(if $(filter all,$(PAPERS)),--all, \
	    $(addprefix --figure ,$(filter-out telling,$(PAPERS))))

fuzz: setup build ## Run the differential fuzzer for SECONDS=1800 on both MPIs
	@$(PYTHON) tests/fuzz/fuzz.py --build $(BUILD) --mpi both --seconds $(SECONDS)

install:         ## Install into PREFIX=/usr/local
	@cmake --preset default -DCMAKE_INSTALL_PREFIX=$(abspath $(PREFIX))
	@cmake --build $(BUILD)
	@cmake --install $(BUILD)

sanitize: setup  ## Run the unit tests with address, undefined-behaviour and thread sanitizers
	@tools/sanitize.sh

tidy: setup build ## Look for mistakes with clang-tidy
	@$(PYTHON) tools/tidy.py --build $(BUILD)

format:          ## Lay out the sources with clang-format
	@tools/format.sh

format-check:    ## Check the layout of the sources
	@tools/format.sh --check

clean:           ## Remove everything that was built
	@cmake -E rm -rf $(BUILD)
