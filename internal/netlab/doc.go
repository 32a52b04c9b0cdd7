// Package netlab builds hosts out of network namespaces: nodes, pods and
// routers with real interfaces, routes and sockets, on one Linux machine.
//
//	lab, err := netlab.New(ctx, netlab.Options{Name: "nearside-demo"})
//	if err != nil {
//		return err
//	}
//	defer lab.Close()
//	cluster, err := netlab.BuildCluster(ctx, lab, plan)
//	err = cluster.Pod("client").Host.Do(func() error {
//		// sockets made here belong to the pod
//	})
//
// # What it leaves alone
//
// Everything is made inside namespaces of the lab: links, addresses, routes,
// sysctls, the bridges that connect nodes. Of the machine's own namespace
// nothing is used, so no address can conflict with it. All that is visible from
// outside are the names of the namespaces, NAME-PID-HOST, for
// "ip netns exec" while the lab lives.
//
// # Clean-up
//
// Close removes everything and may be called at any time, more than once. A
// process that was killed cannot call it: New therefore first removes the
// namespaces of earlier labs of the same name whose process is gone. A lab
// counts as alive as long as its process holds one of its namespaces open,
// which no later process with the same number does by chance.
//
// # Threads
//
// A network namespace belongs to an OS thread. Host.Do runs a function on a
// thread that is in the host's namespace for just that time; a thread that
// cannot be brought back is never used for anything else.
//
// # What it needs
//
// Root (CAP_SYS_ADMIN and CAP_NET_ADMIN) and the program ip of iproute2. ip is
// used, rather than a netlink library, because its batches read like the
// configuration of a real host and cost the project no dependency.
package netlab
