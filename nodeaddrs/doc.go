// Package nodeaddrs knows the addresses of this machine's interfaces as they
// come and go, and which of them serve node ports.
//
// A [Watcher] follows the kernel over rtnetlink and hands out the whole set
// after every change. [Select] takes out of it what serves node ports by a
// [Spec], [Listen] where the health checks of node ports listen. Both are pure
// functions.
//
// The package speaks the few messages it needs over mdlayher/netlink, which the
// renderer uses too. It changes nothing in the kernel and needs no privilege.
package nodeaddrs
