package agent

import "github.com/nearside/nearside/nft"

// Step is a step of a round that may take a while.
type Step string

// The steps that Options.OnProgress tells of.
const (
	StepLoad   Step = "load objects"
	StepSelect Step = "select endpoints"
	StepRead   Step = "read the kernel's table"
	StepWrite  Step = "write the kernel's table"
)

// Progress tells how far a round is.
type Progress struct {
	Step Step
	// Done and Total count services; they are 0 for steps that cannot count.
	Done, Total int
	// Family is the table that is read or written.
	Family nft.Family
}

// progressEvery is the number of services between two reports.
const progressEvery = 1000

func (a *Agent) progress(p Progress) {
	if a.opts.OnProgress != nil {
		a.opts.OnProgress(p)
	}
}
