// Package controlplane runs a real etcd and a real kube-apiserver as child
// processes, in the network namespace of the caller.
//
// Nothing is shared with other instances: the ports are free ones chosen at the
// start, and data, certificates, logs and the kubeconfig live in one folder,
// which Stop removes. An API server that is killed and started again keeps its
// address, its certificate and what etcd holds.
//
// Processes belong to the caller and end with it, whatever ends it, unless
// Options.Detach asks for processes that a later command finds by Open.
package controlplane
