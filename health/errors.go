package health

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// ErrNoAddress is the cause of a ListenError when none of the addresses given
// to SetAddresses is of a family that the Service has.
var ErrNoAddress = errors.New("no address of this node is allowed to")

// ListenError says that a Service's health check port does not listen. Its
// cause, such as syscall.EADDRINUSE, is found by errors.Is.
type ListenError struct {
	// Service is the Service whose port it is.
	Service Name
	// Address is where the port should have listened. With ErrNoAddress it is
	// the unspecified address of the family.
	Address netip.AddrPort
	// Holder is another Service whose health check has the port already; zero
	// when it is something else.
	Holder Name
	// Err is the cause.
	Err error
}

// Error returns one line for people.
func (e *ListenError) Error() string {
	return fmt.Sprintf("listen on %s for health checks of service %q: %v%s", e.Address, e.Service, cause(e.Err), e.advice())
}

// Unwrap returns the cause.
func (e *ListenError) Unwrap() error { return e.Err }

// advice says what to do, after a cause.
func (e *ListenError) advice() string {
	switch {
	case e.Holder != Name{}:
		return fmt.Sprintf(": service %q has it; give one of them another healthCheckNodePort", e.Holder)
	case errors.Is(e.Err, syscall.EADDRINUSE):
		return ": another program on this node has it; end that, or give the service another healthCheckNodePort"
	case errors.Is(e.Err, syscall.EADDRNOTAVAIL):
		return ": no interface has this address (yet)"
	case errors.Is(e.Err, ErrNoAddress):
		return "; the addresses for node ports hold none of this family that an interface has"
	}
	return ""
}

// cause leaves out of an error of package net what ListenError says itself.
func cause(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return strings.TrimPrefix(err.Error(), "bind: ")
}
