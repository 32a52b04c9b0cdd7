#!/bin/sh
# Starts and stops a real etcd and kube-apiserver for work by hand:
#
#   test/apiserver.sh build|start|status|stop [--dir DIR]
#
# `start` prints the name of a kubeconfig. Nothing outside the folder DIR and
# the ignored folder .cache/ is written. To have it in a network namespace:
#
#   ip netns exec NAME test/apiserver.sh start
set -eu
command -v go >/dev/null || {
	echo "apiserver.sh: Go is not in the PATH; install Go 1.26 (https://go.dev/dl)" >&2
	exit 1
}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

# A relative --dir means relative to where the user stands, and an interrupt
# has to reach the program itself: build, then become it.
binary="$here/../.cache/bin/apiserver"
go -C "$here/cluster" build -o "$binary" ./cmd/apiserver
exec "$binary" "$@"
