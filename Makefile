# PlaneZip: the commands people type. `make help` lists them.
# Rust, C++ and Python are found by tools/setup.sh, which every target runs first; it is quick when all is in place.

CARGO_FLAGS ?=
TARGET_DIR  := $(or $(CARGO_TARGET_DIR),target)
CARGO       := tools/run cargo
TARGET      ?= all
SECONDS     ?= 60
PLANEZIP    := $(TARGET_DIR)/release/planezip

.DEFAULT_GOAL := help
.PHONY: help setup build demo test lint fmt fuzz area bench clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## check the system and put the pinned tools into .tools/
	@tools/run tools/setup.sh

build: setup ## the planezip program: target/release/planezip
	$(CARGO) build --release $(CARGO_FLAGS)

demo: build ## real activations through the codec, the RTL and the area flow, with a verdict
	@tools/demo.sh "$(PLANEZIP)"

test: setup ## all tests, examples in the documentation included
	$(CARGO) test --workspace $(CARGO_FLAGS)

lint: setup ## formatting, clippy, documentation, RTL lint
	@tools/run tools/lint.sh

fmt: setup ## format the Rust sources
	$(CARGO) fmt --all

fuzz: setup ## fuzz the codec and the file readers: TARGET=all SECONDS=60 for each
	@tools/run tools/fuzz.sh $(TARGET) $(SECONDS)

area: build ## the engine's area and timing on every PDK found
	$(PLANEZIP) area --pdk all

bench: build ## the benchmarks, and the codec's speed beside that of others
	$(CARGO) bench $(CARGO_FLAGS)
	$(PLANEZIP) bench

clean: ## remove what was built; .tools/ stays
	$(CARGO) clean
