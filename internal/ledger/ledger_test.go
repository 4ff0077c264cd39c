package ledger

import (
	"strings"
	"testing"
)

const fingerprint = "AAAABBBBCCCCDDDDEEEEFFFF0123456789ABCDEF"

func TestLedgerForgetsNoLine(t *testing.T) {
	t.Parallel()
	good := "registry.terraform.io/hashicorp/alpha 1.0.0 linux_amd64 " + "zh:" + strings.Repeat("a", 64) + " " + fingerprint + " 2026-01-02\n"
	for _, line := range []string{"x\n", strings.Replace(good, "zh:", "h1:", 1), strings.Replace(good, "2026-", "26-", 1), strings.Replace(good, "AAAA", "A!!A", 1), "rotate a b\n",
		strings.Replace(good, "\n", " more\n", 1), strings.Replace(good, " linux_amd64", "", 1)} {
		if _, err := ReadLedger([]byte(ledgerHeader+"\n"+good+line), "l"); err == nil || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%q: error %v, want its number", line, err)
		}
	}
	if _, err := ReadLedger([]byte(good), "l"); err == nil {
		t.Error("a file without the first line is read")
	}
	// A union of two files repeats lines, also the header.
	both := ledgerHeader + "\n" + good + strings.Replace(good, "2026-01", "2025-12", 1) + ledgerHeader + "\n" + good
	l := must(ReadLedger([]byte(both), "l"))
	if got := string(l.Print()); got != ledgerHeader+"\n"+strings.Replace(good, "2026-01", "2025-12", 1) {
		t.Errorf("united:\n%s", got)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
