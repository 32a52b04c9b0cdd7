package conntrack

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// socket carries netlink messages. The kernel has answered when send returns,
// or goes on answering while receive is called: nobody waits for anything.
type socket interface {
	send(b []byte) error
	receive(b []byte) (n int, err error)
	close() error
}

// kernelSocket is a socket to nfnetlink.
type kernelSocket struct{ fd int }

// answerTimeout bounds the wait for an answer, in seconds. It is never reached
// unless the kernel has lost one for want of memory.
const answerTimeout = 10

func openSocket() (socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, fmt.Errorf("open netlink socket to conntrack: %w", err)
	}
	err = errors.Join(
		unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: answerTimeout}),
		// Refusals need not repeat what they refuse: more of them fit in.
		unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1),
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up netlink socket to conntrack: %w", err), unix.Close(fd))
	}
	return kernelSocket{fd: fd}, nil
}

func (s kernelSocket) send(b []byte) error {
	return unix.Sendto(s.fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
}

func (s kernelSocket) receive(b []byte) (int, error) {
	n, _, err := unix.Recvfrom(s.fd, b, 0)
	return n, err
}

func (s kernelSocket) close() error { return unix.Close(s.fd) }
