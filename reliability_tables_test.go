package main

import (
	"os"
	"strings"
	"testing"
)

// reliabilityTable is a file with a table that a test writes and compares. docs/reliability.md
// says what its cells mean.
type reliabilityTable string

const (
	matrixTable reliabilityTable = "testdata/reliability/requests.md"
	writesTable reliabilityTable = "testdata/reliability/writes.md"
)

// tableNames are what the rows and columns of a table are called.
type tableNames struct{ rows, columns []string }

// read returns the cells by the names of row and column, one behind the other.
func (table reliabilityTable) read(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(string(table))
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	var head []string
	for line := range strings.Lines(string(text)) {
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

// write writes the cells into the file.
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
	mustWrite(t, string(table), []byte(b.String()))
}
