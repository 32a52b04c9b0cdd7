/*
Package informer turns Kubernetes objects into what a service proxy needs to
know, and tells which Services changed.

# The parts

A [Source] feeds a [Store]. There are two: [Kubernetes] watches an API server
with client-go, [Manifests] reads files and watches them on disk. Both take the
same way through the same conversion, so a proxy cannot tell them apart. Any
other source writes through [Store.Set], [Store.Delete] and [Store.Replace].

The Store joins the ports of a Service with the endpoints of its EndpointSlices
and keeps a set of the Services whose joined value may differ from what was
last taken:

	store := informer.NewStore(informer.StoreOptions{NodeName: "node-a"})
	go source.Run(ctx, store)
	for store.Wait(ctx) == nil {
		changes := store.Take()
		for _, name := range changes.Services {
			service, ok := store.Service(name) // not ok: it is gone
			...
		}
	}

Wait does not return before Services, EndpointSlices and this proxy's own Node
were listed completely, so nobody programs a half-known cluster.

ServiceCIDRs, which tell where addresses of Services come from, are held apart.
Wait does not wait for them: an API server may not have them, or not give them
out.

# Memory

Every node of a cluster holds all Services and all endpoints, so their size
counts thousandfold. An EndpointSlice of the API carries pod references, host
names, managed fields and annotations that no proxy reads; as Go objects they
are several times the size of an address. The Store therefore never keeps an
API object. What arrives is converted at once, also while a first list is
still being streamed, to records of the few fields that matter: addresses are
netip values, and names of nodes and zones, of which there are few, are
interned. An endpoint takes some 170 bytes, with its share of everything else
(BenchmarkFirstList). client-go's reflectors write straight into the Store, so
there is no second cache beside it. What is deleted leaves nothing behind.

# Cost

A change costs what the Service it belongs to costs: conversion of the one
object that arrived, and a join of the slices of one Service. Nothing is done
for an object that means the same as before, for instance after a new list, or
when only an annotation moved. The number of Services does not matter.

# Bad input

Old objects hold values that an API server of today refuses, and manifests hold
whatever was typed. A value that cannot be used costs only itself: it is left
out, reported as one [Problem], and everything else works. A document that
cannot be read at all is a [ManifestError] and changes nothing.

Absent optional fields mean what the API server would have filled in: protocol
TCP, port name "", an endpoint ready, serving and not terminating, an affinity
of three hours.

# What it leaves to others

The package does not decide which endpoints get traffic; that is what package
selector does. It does not write to the API, and it does not look at the kernel.
*/
package informer
