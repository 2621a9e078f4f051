#!/usr/bin/env bash
# All static checks. Runs every one, then says which failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

# Word splitting of CARGO_FLAGS is meant.
# shellcheck disable=SC2206
flags=(${CARGO_FLAGS:-})
failed=()
check() {
  local name=$1
  shift
  printf 'lint: %s\n' "$name" >&2
  "$@" || failed+=("$name")
}

# verilate_lint TOP SOURCES…: shows warnings, leaves out Verilator's own statistics.
verilate_lint() {
  local top=$1 beat output status=0
  shift
  for beat in 16 32 64; do
    output=$("${verilator[@]}" --lint-only -Wall -GBEAT_BYTES="$beat" --top-module "$top" rtl/planezip.vlt "$@" 2>&1) \
      || status=1
    grep -v '^- ' <<<"$output" | sed '/^$/d' >&2
  done
  return $status
}

lint_rtl() {
  local verilator=("$@") status=0
  verilate_lint planezip_engine -F rtl/planezip.f || status=1
  verilate_lint planezip_loopback rtl/planezip_pkg.sv sim/rtl/planezip_loopback.sv || status=1
  return $status
}

check "rustfmt" cargo fmt --all --check
check "clippy" cargo clippy --workspace --all-targets "${flags[@]}" -- -D warnings
check "clippy, no default features" \
  cargo clippy --package planezip --no-default-features --all-targets "${flags[@]}" -- -D warnings
check "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items "${flags[@]}"
check "RTL lint" lint_rtl tools/verilator
# A second Verilator, if it is new enough to be supported, shows what differs between versions.
if system=$(command -v verilator) && [ -z "${PLANEZIP_VERILATOR:-}" ] && [ -d .tools/venv ]; then
  version=$("$system" --version 2>/dev/null </dev/null | sed -n 's/^Verilator \([0-9.]*\).*/\1/p')
  if [ -n "$version" ] && [ "$(printf '%s\n5.006\n' "$version" | sort -V | head -n 1)" = 5.006 ]; then
    check "RTL lint with the system's Verilator $version" lint_rtl "$system"
  fi
fi
if command -v cargo-deny >/dev/null 2>&1; then
  check "cargo-deny" cargo deny check
else
  echo "lint: cargo-deny is not installed, dependencies are not checked" >&2
fi

if [ ${#failed[@]} -gt 0 ]; then
  printf 'lint: failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
echo "lint: all clean" >&2
