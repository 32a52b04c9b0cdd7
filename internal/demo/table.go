package demo

import (
	"strings"
	"unicode/utf8"
)

// table is text in columns.
type table struct {
	// right holds a letter for each column: l for text that begins at its left
	// edge, r for numbers that end at its right.
	align string
	rows  [][]string
}

// row adds a row; cells that are missing are empty.
func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// String returns the table with two spaces before each column, without spaces
// at the ends of lines.
func (t *table) String() string {
	width := make([]int, len(t.align))
	for _, r := range t.rows {
		for i, cell := range r {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, r := range t.rows {
		var line strings.Builder
		for i, cell := range r {
			space := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			line.WriteString("  ")
			if t.align[i] == 'r' {
				line.WriteString(space + cell)
			} else {
				line.WriteString(cell + space)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}
