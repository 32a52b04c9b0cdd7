package semantics

type reportedCase struct {
	number, says, url string
	rows              []row
	elsewhere         []string
	notYet            string
}

var reportedCases []reportedCase
