#!/bin/sh
# Makes sure that squid and tinyproxy, which cloud-init templates install, and nft, which
# guards them, are here from the distribution. Does nothing when they are there; starts no
# service; safe to run twice at once; prints one line for each.
set -eu

policy=
. "$(dirname "$0")/debian.sh"

clean() {
	[ -z "${policy}" ] || rm -f "${policy}"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM

# need makes sure that a program of a package is here; servers are not in everyone's PATH.
need() {
	PATH="${PATH}:/usr/local/sbin:/usr/sbin:/sbin"
	if path="$(command -v "$1")"; then
		echo "$1: ${path} (already there)"
	elif install_package "$2" && path="$(command -v "$1")"; then
		if [ -e "/etc/init.d/$2" ]; then update-rc.d "$2" disable >&2; fi
		echo "$1: ${path}"
	else
		echo "fetch-forward-proxies: no $1: install it (Debian: as root, apt-get install --no-install-recommends $2)" >&2
		exit 1
	fi
}

need squid squid
need tinyproxy tinyproxy-bin
need ip iproute2
need nft nftables
need openssl openssl
need curl curl
