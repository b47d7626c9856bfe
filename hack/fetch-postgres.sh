#!/bin/sh
# Makes sure that PostgreSQL is here, server and clients, which the database router is
# tested with. Does nothing when it is; makes no cluster and starts no service; safe to
# run twice at once; prints one line with its version.
set -eu

policy=
. "$(dirname "$0")/debian.sh"

fail() {
	echo "fetch-postgres: $*" >&2
	exit 1
}

trap '[ -z "${policy}" ] || rm -f "${policy}"' EXIT
trap 'exit 1' HUP INT TERM

# server prints the newest installed server, in Debian's place for them.
server() {
	newest=
	for path in /usr/lib/postgresql/*/bin/postgres; do
		[ -x "${path}" ] && newest="${path}"
	done
	[ -n "${newest}" ] && echo "${newest}"
}

if path="$(server)" && command -v psql >/dev/null; then
	echo "$("${path}" --version): ${path} (already there)"
	exit 0
fi
# Debian's package makes a cluster when it is installed, unless this says no.
no_cluster=/etc/postgresql-common/createcluster.conf
if [ "$(id -u)" = 0 ] && [ ! -e "${no_cluster}" ]; then
	mkdir -p "${no_cluster%/*}"
	echo "create_main_cluster = false" >"${no_cluster}"
fi
install_package postgresql && path="$(server)" ||
	fail "no PostgreSQL: install it (Debian: as root, apt-get install --no-install-recommends postgresql)"
echo "$("${path}" --version): ${path}"
