package main

import (
	"os"
	"strings"
	"testing"
)

const reliability = "docs/reliability.md"

// reliabilityTable is a table of docs/reliability.md that a test writes: it is between two lines,
// of which this is the first.
type reliabilityTable string

// The tables, and the line after each.
const (
	matrixTable reliabilityTable = "<!-- The table is written by go test -run Reliability -matrix -update. -->\n"
	writesTable reliabilityTable = "<!-- The table is written by go test -run EveryWriteEveryFailure -update. -->\n"
	tableEnd                     = "<!-- End of the table. -->\n"
)

// tableNames are what the rows and columns of a table are called.
type tableNames struct{ rows, columns []string }

// cut divides the document into what is before the table, the table, and the rest.
func (table reliabilityTable) cut(t *testing.T) (before, within, after string) {
	t.Helper()
	text, err := os.ReadFile(reliability)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), string(table))
	within, after, ok := strings.Cut(rest, tableEnd)
	if !ok {
		t.Fatalf("%s has no place for the table", reliability)
	}
	return before, within, after
}

// read returns the cells by the names of row and column, one behind the other.
func (table reliabilityTable) read(t *testing.T) map[string]string {
	t.Helper()
	_, within, _ := table.cut(t)
	told := map[string]string{}
	var head []string
	for line := range strings.Lines(strings.TrimSpace(within)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if head == nil {
			head = cells
		}
		for i, text := range cells[1:] {
			if i+1 < len(head) {
				told[cells[0]+head[i+1]] = text
			}
		}
	}
	return told
}

// write writes the cells into the document.
func (table reliabilityTable) write(t *testing.T, names tableNames, told map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("| |")
	for _, column := range names.columns {
		b.WriteString(" " + column + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(names.columns)) + "\n")
	for _, row := range names.rows {
		b.WriteString("| " + row + " |")
		for _, column := range names.columns {
			b.WriteString(" " + told[row+column] + " |")
		}
		b.WriteString("\n")
	}
	before, _, after := table.cut(t)
	mustWrite(t, reliability, []byte(before+string(table)+"\n"+b.String()+"\n"+tableEnd+after))
}
