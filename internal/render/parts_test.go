package render_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
)

// parts accepts writes until it has enough.
type parts struct{ largest, all, most int }

func (p *parts) Write(b []byte) (int, error) {
	p.largest, p.all = max(p.largest, len(b)), p.all+len(b)
	if p.all > p.most {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// A large JSON report is not copied as a whole before it is written. An error of
// the writer in the middle is returned.
func TestLargeDocumentsAreWrittenInParts(t *testing.T) {
	t.Parallel()
	r := report.Report{Verb: verbs.Upgrade, Diagnostics: []problem.Problem{{
		Code: problem.CodeSettings, Severity: problem.SeverityError, Message: strings.Repeat("x\u202ey", 1<<20),
	}}}
	p := &parts{most: 1 << 30}
	if err := report.JSON(p, r); err != nil || p.all < 8<<20 || p.largest > 64<<10 {
		t.Errorf("JSON() = %v, %d bytes in parts of at most %d, want above 8 MiB in parts of at most 64 KiB", err, p.all, p.largest)
	}
	if err := report.JSON(&parts{most: 1 << 20}, r); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("JSON() = %v where the writer fails, want its error", err)
	}
}
