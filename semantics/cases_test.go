package semantics

import (
	"slices"
	"strings"
	"testing"

	"github.com/nearside/nearside/internal/packettest"
)

// reportedCase is a trouble that users of another proxy reported, and what must
// hold instead.
type reportedCase struct {
	number string
	// says is what must hold.
	says string
	// url is the public report.
	url string
	// rows show it by packets, elsewhere names tests that do otherwise.
	rows      []row
	elsewhere []string
	// notYet says what does not hold yet, or is not shown.
	notYet string
}

var reportedCases = slices.SortedFunc(slices.Values(slices.Concat(policyCases, objectCases, kernelCases)), func(a, b reportedCase) int {
	return strings.Compare(a.number, b.number)
})

func TestCases(t *testing.T) {
	lab := packettest.New(t, packettest.Options{})
	for _, c := range reportedCases {
		if len(c.rows) == 0 {
			continue // the table says where it is shown, or why not
		}
		t.Run(c.number, func(t *testing.T) {
			for _, r := range c.rows {
				t.Run(r.name, func(t *testing.T) { r.run(t, lab) })
			}
		})
	}
}

// reported are the numbers of all cases that were taken over.
var reported = []string{
	"001", "004", "007", "009", "012", "013", "014", "016", "019", "021", "024", "027", "028", "030", "031", "034", "035", "037",
	"040", "043", "044", "046", "049", "050", "052", "054", "056", "058", "059", "062", "063", "065", "067", "069", "071",
}

// sources is shorter than []packettest.Source.
func sources(list ...packettest.Source) []packettest.Source { return list }
