package informer

import (
	"fmt"
)

// ManifestError says that a manifest cannot be read: where, and why. What was
// known before stays as it was.
type ManifestError struct {
	// File is the path as given, "-" for standard input.
	File string
	// Line counts from 1 within the file; 0 means the file as a whole.
	Line int
	// Reason says what is wrong; it is a phrase without a full stop.
	Reason string
	// Err is the cause, if it came from the system.
	Err error
}

var _ error = (*ManifestError)(nil)

// Error returns "file:line: reason".
func (e *ManifestError) Error() string {
	file := e.File
	if !plain(file) {
		file = quote(file)
	}
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", file, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", file, e.Line, e.Reason)
}

// Unwrap returns the cause.
func (e *ManifestError) Unwrap() error { return e.Err }

// lineError is a ManifestError that does not know its file yet.
type lineError struct {
	line   int
	reason string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.reason) }

func errorAt(line int, format string, args ...any) error {
	return &lineError{line, fmt.Sprintf(format, args...)}
}
