// Package hostsetup brings a node's kernel settings to what a service proxy
// needs: room for connections, timeouts, and the process's standing when memory
// runs out. It is the part of the agent that needs privileges on the host.
//
//	if err := hostsetup.CheckKernel("/"); err != nil {
//		return err
//	}
//	changes, err := hostsetup.Apply(ctx, hostsetup.Defaults())
//	switch {
//	case errors.Is(err, hostsetup.ErrNotLoaded):
//		// go on with one warning, and try again after the first commit
//	case err != nil:
//		return err
//	}
//
// A setting is written only where it differs, so that a node that was set up
// before, by an init container or by its owner, needs no privilege here. The
// number of connections is only ever raised.
//
// Options, their defaults and their meaning are those of kube-proxy, and so are
// the names of the flags that errors mention.
//
// # Settings that are not there yet
//
// On a freshly booted host the module nf_conntrack may not be loaded, and then
// none of its settings exists. Apply asks conntrack a question over netlink,
// which makes the kernel load it: that takes CAP_NET_ADMIN in the host's network
// namespace, but neither modprobe nor CAP_SYS_MODULE. Where that does not help,
// the error is ErrNotLoaded. Rules that use conntrack load it too.
//
// # What it does not do
//
// It logs nothing, starts no goroutine, and never lowers the number of
// connections or touches what an option leaves at 0.
package hostsetup
