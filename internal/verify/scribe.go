package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// scribe makes the findings about an entry.
type scribe struct {
	lock   lockfile.Lock
	path   string
	result *Verification
}

// add adds a finding about the entry.
func (f scribe) add(code problem.Code, format string, args ...any) *problem.Problem {
	return f.result.add(f.ofEntry(code, fmt.Sprintf(format, args...)))
}

func (f scribe) ofEntry(code problem.Code, message string) problem.Problem {
	return problem.Problem{Code: code, Subject: problem.Subject{Addr: f.lock.Addr, Version: f.lock.Version, Versioned: true}, Place: problem.Place{Path: f.path, Line: f.lock.Line()}, Message: message}
}

func (f scribe) ofHash(code problem.Code, h provider.Hash, message string) problem.Problem {
	found := f.ofEntry(code, message)
	found.Subject.Hash, found.Place.Line = h, f.lock.HashLine(h)
	found.Place.From, found.Place.To = f.lock.HashColumns(h)
	return found
}

// addOf adds a finding about several hashes. With another hash it is another finding: a
// person who accepted it knew only these.
func (f scribe) addOf(hashes []provider.Hash, code problem.Code, format string, args ...any) *problem.Problem {
	found := f.add(code, format, args...)
	found.About = digestOf(hashes)
	return found
}

// digestOf names a set of hashes.
func digestOf(hashes []provider.Hash) string {
	sum := sha256.New()
	for _, h := range slices.Sorted(slices.Values(hashes)) {
		fmt.Fprintln(sum, h)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// addHash adds a finding about a hash of the entry.
func (f scribe) addHash(code problem.Code, h provider.Hash, format string, args ...any) *problem.Problem {
	return f.result.add(f.ofHash(code, h, fmt.Sprintf(format, args...)))
}
