#!/usr/bin/env bash
# Builds the programs of a Kubernetes control plane from their modules into Gatehouse's
# cache directory, for the tests that need a real API server: minutes, the first time.
# Does nothing when they are there, or where $KUBEBUILDER_ASSETS names others. Whoever is
# second waits for the first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../tools/cluster"

# test/cluster has the same name for the directory. The last number counts changes of the flags.
kubernetes=1.37.2 etcd=3.7.0 toolchain=go1.27.3
dir="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse/cluster/kubernetes-${kubernetes}-etcd-${etcd}-${toolchain}-1"

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
	echo "control plane: ${KUBEBUILDER_ASSETS} (named by \$KUBEBUILDER_ASSETS)"
	exit 0
fi
already() {
	[ -x "${dir}/kube-controller-manager" ] || return 0
	echo "control plane ${kubernetes}: ${dir} (already there)"
	exit 0
}

already
mkdir -p "${dir%/*}"
exec 9>"${dir}.lock"
flock 9
already

tmp="$(mktemp -d "${dir%/*}/.build.XXXXXX")"
trap 'rm -rf "${tmp}"' EXIT
trap 'exit 1' HUP INT TERM

# Clients want a version they can parse.
version=k8s.io/component-base/version
stamp="-X ${version}.gitVersion=v${kubernetes} -X ${version}.gitMajor=${kubernetes%%.*} -X ${version}.gitMinor=$(cut -d. -f2 <<<"${kubernetes}")"
export GOTOOLCHAIN="${toolchain}" GOWORK=off CGO_ENABLED=0

echo "control plane ${kubernetes}: fetching the sources"
total="$(go list -deps tool | wc -l)"
echo "control plane ${kubernetes}: compiling up to ${total} packages, which takes minutes"
# "go build -v" names each package that it compiles; everything else it says is shown.
go build -v -trimpath -ldflags "-s -w ${stamp}" -o "${tmp}/" tool 2>&1 | {
	count=0 next=15
	while IFS= read -r line; do
		if [[ ! "${line}" =~ ^[A-Za-z0-9._/~-]+$ ]]; then
			echo "${line}"
			continue
		fi
		count=$((count + 1))
		if ((SECONDS >= next)); then
			echo "control plane ${kubernetes}: ${count} packages in $((SECONDS / 60)) min $((SECONDS % 60)) s"
			next=$((SECONDS + 15))
		fi
	done
}
mv "${tmp}/server" "${tmp}/etcd"
"${tmp}/etcd" --version >/dev/null
mkdir -p "${dir}"
# The last one tells that all are there.
for program in etcd kube-apiserver kube-controller-manager; do
	mv -f "${tmp}/${program}" "${dir}/${program}"
done
echo "control plane ${kubernetes}: ${dir}, built in $((SECONDS / 60)) min $((SECONDS % 60)) s"
