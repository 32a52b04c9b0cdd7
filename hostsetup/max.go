package hostsetup

import "fmt"

const nfConntrackMax = "nf_conntrack_max"

// maxCap is the largest number of connections that is worked out from the
// number of CPUs: large machines need not set memory aside for more.
const maxCap = 1 << 20

// connectionsPerBucket is how many connections there are at most for each
// bucket of the hash table, on average. A longer list makes every packet slow.
const connectionsPerBucket = 4

// leaveMax is how to have everything here left alone.
const leaveMax = "--conntrack-max-per-core=0"

// maxConnections is how many connections to allow. The cap is for what the CPUs
// make, and then holds against a larger minimum too, as it does in kube-proxy.
func maxConnections(perCore, least, cpus int) int {
	scaled := int64(perCore) * int64(cpus)
	if scaled > maxCap {
		return maxCap
	}
	return max(least, int(scaled))
}

// raiseMax raises the number of connections, and the hash table with it.
func raiseMax(h host, perCore, least int) ([]Change, error) {
	cpus, err := onlineCPUs(h)
	if err != nil {
		return nil, fmt.Errorf("set %s: %w: have it left alone by %s", nfConntrackMax, err, leaveMax)
	}
	want := maxConnections(perCore, least, cpus)
	changes, err := h.sysctl(nfConntrackMax, leaveMax).raise(want)
	if err != nil {
		return nil, err // a larger hash table would be of no use
	}
	more, err := raiseBuckets(h, want/connectionsPerBucket)
	return append(changes, more...), err
}

// raiseBuckets raises the size of the hash table. The kernel shows it in two
// places; sys may be read-only where proc is not.
func raiseBuckets(h host, want int) ([]Change, error) {
	parameter := setting{
		name: "hashsize of nf_conntrack", leave: leaveMax,
		path: h.path("sys/module/nf_conntrack/parameters/hashsize"),
	}
	changes, err := parameter.raise(want)
	if err == nil {
		return changes, nil
	}
	changes, second := h.sysctl("nf_conntrack_buckets", leaveMax).raise(want)
	if second == nil {
		return changes, nil
	}
	return nil, failures{err, second}
}
