package nft

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
)

// Errors that callers decide on. An Error matches them with errors.Is.
var (
	// ErrStale: something was committed to the kernel after the ruleset that
	// the transaction is based on was read. Read it back again.
	ErrStale = errors.New("the kernel's rules have changed since they were read")
	// ErrOutOfStep: the kernel's table is not what the transaction takes it to
	// be, because someone else changed it. Read it back and use Diff.
	ErrOutOfStep = errors.New("the kernel's table is not what it was taken for")
	// ErrUncertain: the kernel's answer was lost, so the transaction may or may
	// not have been carried out. Read the table back.
	ErrUncertain = errors.New("the kernel's answer was lost")
	// ErrPermission: the process may not write nftables.
	ErrPermission = errors.New("not permitted: run as root or with CAP_NET_ADMIN in this network namespace")
	// ErrUnsupported: the kernel has no nf_tables, or lacks a part of it.
	ErrUnsupported = errors.New("the kernel lacks support: it needs nf_tables with NAT (modules nf_tables, nft_chain_nat, nft_numgen, nft_ct, nft_masq, nft_reject)")
)

// Error is what the kernel had to say against a transaction, or against
// reading a table. The kernel still holds the state of before.
type Error struct {
	// Op is what was done, for instance "add element".
	Op string
	// Object is what it was done to, for instance
	// "map backends { 10.96.0.1 . tcp . 80 . 3 }" in table "ip nearside".
	Object string
	// Frontend and Protocol tell which frontend the object belongs to; Frontend
	// is not valid where it belongs to none. Table.OwnerOf gives its service.
	Frontend netip.AddrPort
	Protocol Protocol
	// Errno is the kernel's error number.
	Errno syscall.Errno
	// Message is the kernel's own explanation, often empty.
	Message string
	// More counts further operations of the transaction that the kernel
	// refused.
	More int

	dynamic bool // the object is an element that the kernel itself put there
}

// Error returns the error as one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Object != "" {
		b.WriteString(" " + e.Object)
	}
	fmt.Fprintf(&b, ": %v", e.Errno)
	if e.Message != "" {
		fmt.Fprintf(&b, " (kernel: %q)", e.Message)
	}
	if e.More > 0 {
		fmt.Fprintf(&b, ", and %d more refused", e.More)
	}
	if s := e.sentinel(); s != nil {
		b.WriteString(": " + s.Error())
	}
	return b.String()
}

// Unwrap returns the kernel's error number and, where the number is one that
// callers decide on, the error that stands for it.
func (e *Error) Unwrap() []error {
	if s := e.sentinel(); s != nil {
		return []error{e.Errno, s}
	}
	return []error{e.Errno}
}

func (e *Error) sentinel() error {
	if e.Errno == syscall.EINVAL && e.Op == opReadGeneration {
		return ErrUnsupported // what nfnetlink answers for a subsystem it does not have
	}
	switch e.Errno {
	case syscall.ERESTART:
		return ErrStale
	case syscall.ENOENT, syscall.EEXIST, syscall.EBUSY:
		return ErrOutOfStep
	case syscall.ENOBUFS, syscall.EINTR:
		return ErrUncertain
	case syscall.EPERM, syscall.EACCES:
		return ErrPermission
	case syscall.EOPNOTSUPP, syscall.EPROTONOSUPPORT, syscall.EAFNOSUPPORT:
		return ErrUnsupported
	}
	return nil
}
