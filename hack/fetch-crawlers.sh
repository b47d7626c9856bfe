#!/bin/sh
# Puts Scrapy, requests and Playwright into Gatehouse's cache directory, for the tests of the
# clients of the lease API, with what checks and builds the client of Python: each of a
# pinned version, checked by hash. Playwright drives the Chromium of "make chromium". Does
# nothing when all is there; safe to run twice at once; prints where it is.
set -eu

python="${PYTHON:-python3}"
pins="$(cd "$(dirname "$0")" && pwd)/crawlers.txt"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse/crawlers"
tmp=

fail() {
	echo "fetch-crawlers: $*" >&2
	exit 1
}

trap '[ -z "${tmp}" ] || rm -rf "${tmp}"' EXIT
trap 'exit 1' HUP INT TERM

command -v "${python}" >/dev/null ||
	fail "${python} not found: install Python 3.11 or newer with pip (Debian: apt-get install python3 python3-pip), or set \$PYTHON"
there="${cache}/$("${python}" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')-$(sha256sum <"${pins}" | cut -c1-16)"
[ ! -d "${there}" ] || { echo "${there} (already there)" && exit 0; }
mkdir -p "${cache}"
tmp="$(mktemp -d "${cache}/.fetch.XXXXXX")"
# It installs into a directory alone, so an externally managed Python (PEP 668) allows it.
"${python}" -m pip install --quiet --disable-pip-version-check --no-deps --no-cache-dir --no-compile \
	--only-binary=:all: --require-hashes --target "${tmp}/packages" --requirement "${pins}" >"${tmp}/log" 2>&1 || {
	cat "${tmp}/log" >&2
	fail "cannot install ${pins}: see the lines above; the wheels are for Linux/x86_64 and Python 3.11 to 3.14"
}
PYTHONPATH="${tmp}/packages" "${python}" -B -c 'import scrapy, requests, playwright.sync_api, flit_core, mypy' ||
	fail "what was downloaded does not run here"
# A half-filled directory never has the final name; unless somebody else was first.
mv -T "${tmp}/packages" "${there}" 2>/dev/null || [ -d "${there}" ] || fail "cannot make ${there}"
echo "${there}"
