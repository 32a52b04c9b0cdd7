package hostsetup

import "fmt"

// Range of an OOM score adjustment (include/uapi/linux/oom.h).
const (
	minOOMScoreAdj = -1000
	maxOOMScoreAdj = 1000
)

// SetOOMScoreAdj sets how willing the kernel is to end this process when memory
// runs out, from -1000 (never) to 1000: kube-proxy's --oom-score-adj. It returns
// what it wrote, nothing if the process has that score.
//
// Lowering takes CAP_SYS_RESOURCE. An error is worth a line in the log, and no
// more: the process works all the same. Root is as in Options.
func SetOOMScoreAdj(root string, score int) ([]Change, error) {
	if score < minOOMScoreAdj || score > maxOOMScoreAdj {
		return nil, fmt.Errorf("check --oom-score-adj: %d is not a number from %d to %d", score, minOOMScoreAdj, maxOOMScoreAdj)
	}
	path := newHost(root).path("proc/self/oom_score_adj")
	have, err := readNumber(path)
	if err == nil && have != score {
		err = writeNumber(path, score)
	}
	if err != nil {
		return nil, fmt.Errorf("set oom_score_adj to %d: %w: to lower it takes CAP_SYS_RESOURCE", score, err)
	}
	if have == score {
		return nil, nil
	}
	return []Change{{Setting: "oom_score_adj", From: have, To: score}}, nil
}
