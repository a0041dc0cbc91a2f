# Sourced by quickstart and check. Installs missing packages, and prints each step.
# shellcheck shell=sh

say() { printf '\n==> %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
cores() { getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2; }

# Runs a command as root, through sudo if necessary.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif have sudo; then
		sudo "$@"
	else
		die "'$*' needs root, and there is no sudo; run it yourself, then start again"
	fi
}

# install_debian NAME..., install_brew NAME...: install the packages that are missing.
install_debian() {
	missing=
	for package; do
		dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
			missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	say "Installing with apt:$missing"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >/dev/null
	# shellcheck disable=SC2086
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >/dev/null
}

install_brew() {
	for package; do
		brew list --formula "$package" >/dev/null 2>&1 && continue
		say "Installing with brew: $package"
		brew install -q "$package"
	done
}

need_build_tools() {
	if have apt-get; then
		install_debian gcc libc6-dev make pkg-config libsqlite3-dev libsodium-dev libgit2-dev \
			zlib1g-dev libmicrohttpd-dev libmd4c-dev
	elif have brew; then
		install_brew make pkg-config sqlite libsodium libgit2 libmicrohttpd md4c
		PKG_CONFIG_PATH="$(brew --prefix sqlite)/lib/pkgconfig:${PKG_CONFIG_PATH:-}"
		export PKG_CONFIG_PATH
	else
		for tool in cc make pkg-config; do
			have $tool || die "needs $tool, and neither apt-get nor brew is here to install it"
		done
		pkg-config --exists sqlite3 || die "needs SQLite's headers (pkg-config sqlite3)"
		pkg-config --exists libsodium || die "needs libsodium's headers (pkg-config libsodium)"
		pkg-config --exists libmicrohttpd || die "needs libmicrohttpd's headers (pkg-config libmicrohttpd)"
		pkg-config --exists md4c || die "needs md4c's headers (pkg-config md4c)"
		pkg-config --exists libgit2 || die "needs libgit2's headers (pkg-config libgit2)"
	fi
}

# Sets PYTHON to an interpreter that has pytest and hypothesis.
need_test_tools() {
	if have apt-get; then
		install_debian clang clang-format libcmocka-dev python3 python3-pytest \
			python3-hypothesis python3-cryptography strace git man-db zsh fish chromium chromium-driver \
			valgrind
		# The tests start an sshd of their own. Where systemd runs, the package would start another one.
		[ -d /run/systemd/system ] || install_debian openssh-server openssh-client
		# libFuzzer for this version of clang; without it, the fuzzers use test/fuzz/driver.c
		install_debian "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev" 2>/dev/null ||
			note "libFuzzer could not be installed; the fuzzers run without it"
	elif have brew; then
		install_brew cmocka clang-format python
	fi
	for PYTHON in python3 /usr/bin/python3 "$PWD/build/venv/bin/python"; do
		if "$PYTHON" -c 'import pytest, hypothesis' 2>/dev/null; then
			export PYTHON
			return 0
		fi
	done
	say "Making a Python environment for the tests in build/venv"
	python3 -m venv build/venv
	build/venv/bin/pip -q install pytest hypothesis
	PYTHON="$PWD/build/venv/bin/python"
	export PYTHON
}
