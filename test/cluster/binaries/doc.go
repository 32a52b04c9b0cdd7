// Package binaries provides the programs that the cluster tests start: etcd and
// the parts of the Kubernetes control plane, built from their Go modules, and
// nearside itself, built from this checkout.
//
// The control plane is built by the module in test/cluster/kube, whose go.mod
// is the one place that names its version. The results are kept in
// .cache/kube-VERSION at the root of the repository, which git ignores; a cold
// build of kube-apiserver and etcd takes about ten minutes on two cores, a warm
// one nothing.
//
// etcd is a Go module here and not Debian's etcd-server: it is then the version
// that this Kubernetes release is tested with (Debian 12 has 3.4.23, which
// cannot answer the progress requests that consistent reads from the watch
// cache need), it needs no package to be installed, and it shares most of its
// compiled packages with kube-apiserver.
package binaries
