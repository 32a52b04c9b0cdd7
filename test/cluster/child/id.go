package child

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// ID names a process beyond the reuse of its number.
type ID struct {
	PID int `json:"pid"`
	// Started is the start time in clock ticks since boot, field 22 of
	// /proc/PID/stat.
	Started string `json:"started"`
}

// identify reads the start time of a running process.
func identify(pid int) (ID, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ID{}, err
	}
	// The name in field 2 may contain anything, so count after it: the state
	// comes first, and the start time is the 20th.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ID{}, fmt.Errorf("process %d has ended", pid)
	}
	return ID{PID: pid, Started: fields[19]}, nil
}

func (id ID) alive() bool {
	now, err := identify(id.PID)
	return err == nil && now == id
}
