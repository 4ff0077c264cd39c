// Package ledger reads and writes the files in which people keep findings of verify. A
// ledger records the first sighting of each release. A baseline lists findings that people
// accept for a time.
package ledger

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// A ledger records what relock first saw of a release, and when. It does not say that this
// was right: later findings are compared with it. Its file is text, one line for each
// package, sorted, so that git can merge two by union.

// Sighting is one package of a verified list.
type Sighting struct {
	Addr        provider.Addr
	Version     provider.Version
	Platform    provider.Platform // from the file name in the list; zero if it has none
	ZH          provider.Hash
	Fingerprint string // of the key that signed the list; empty if none did
	Day         string // of the first sighting, as YYYY-MM-DD
}

// rotation is a change of a provider's key that a person has confirmed.
type rotation struct {
	addr                  provider.Addr
	old, fresh, day, text string
}

// sighted identifies a sighting: lines that differ only in the day are the same one.
type sighted struct {
	addr    provider.Addr
	version provider.Version
	zh      provider.Hash
}

// Ledger is the content of a ledger's file. The methods of a nil Ledger know
// nothing.
type Ledger struct {
	seen      map[sighted]Sighting
	rotations []rotation
}

// ledgerHeader is the first line of the file.
const ledgerHeader = "relock ledger 1"

// noValue is written for an empty field.
const noValue = "-"

var (
	dayForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	keyForm = regexp.MustCompile(`^([0-9A-F]{16}|[0-9A-F]{40}|[0-9A-F]{64}|-)$`)
)

// MaxLedger bounds the file of a ledger. It has room for some 200,000 packages.
const MaxLedger = 32 << 20

// ReadLedger reads the file of a ledger. An empty file is an empty ledger. A line that
// cannot be read is an error, since skipping it would lose a sighting.
func ReadLedger(src []byte, name string) (*Ledger, error) {
	l := &Ledger{seen: map[sighted]Sighting{}}
	n := 0
	for line := range bytes.Lines(src) {
		n++
		text := strings.TrimSuffix(string(line), "\n")
		if text == ledgerHeader || text == "" { // both sides of a merge have it
			continue
		}
		if err := l.read(text); err != nil {
			return nil, &problem.Error{
				Problem: problem.Problem{
					Code:    problem.CodeSettings,
					Message: fmt.Sprintf("the ledger %s, line %d: %v", name, n, err),
					Hint:    "correct the line or take the file from the last commit that could be read; a line that is left out would be forgotten",
				},
			}
		}
	}
	if n > 0 && !bytes.HasPrefix(src, []byte(ledgerHeader+"\n")) {
		return nil, &problem.Error{
			Problem: problem.Problem{
				Code:    problem.CodeSettings,
				Message: fmt.Sprintf("%s is no ledger of this version: its first line is not %q", name, ledgerHeader),
			},
		}
	}
	return l, nil
}

func (l *Ledger) read(line string) error {
	f := strings.Split(line, " ")
	if f[0] == "rotate" {
		return l.readRotation(f[1:])
	}
	if len(f) != 6 {
		return fmt.Errorf("it has %s, want 6", collect.Count(len(f), "word", "words"))
	}
	var s Sighting
	var failed [3]error
	s.Addr, failed[0] = provider.ParseAddr(f[0], provider.Terraform)
	s.Version, failed[1] = provider.ParseVersion(f[1])
	if f[2] != noValue {
		s.Platform, failed[2] = provider.ParsePlatform(f[2])
	}
	s.ZH, s.Day = provider.Hash(f[3]), f[5]
	if f[4] != noValue {
		s.Fingerprint = f[4]
	}
	switch {
	case errors.Join(failed[:]...) != nil:
		return errors.Join(failed[:]...)
	case s.ZH.Scheme() != provider.SchemeZH || !s.ZH.WellFormed():
		return errors.New("the fourth word is no zh hash")
	case !keyForm.MatchString(f[4]):
		return errors.New("the fifth word is no fingerprint")
	case !dayForm.MatchString(s.Day):
		return errors.New("the sixth word is no day")
	}
	l.note(s)
	return nil
}

func (l *Ledger) readRotation(f []string) error {
	if len(f) < 5 || !keyForm.MatchString(f[1]) || !keyForm.MatchString(f[2]) || !dayForm.MatchString(f[3]) {
		return errors.New("a rotation is: rotate ADDRESS OLD NEW DAY REASON")
	}
	addr, err := provider.ParseAddr(f[0], provider.Terraform)
	if err != nil {
		return err
	}
	l.rotations = append(l.rotations, rotation{addr, f[1], f[2], f[3], strings.Join(f[4:], " ")})
	return nil
}

// note adds a sighting. If there are two of one package, the earlier one counts.
func (l *Ledger) note(s Sighting) (fresh bool) {
	key := sighted{s.Addr, s.Version, s.ZH}
	known, ok := l.seen[key]
	if !ok || s.Day < known.Day {
		l.seen[key] = s
	}
	return !ok
}

// Note adds a run's sightings with their day, and reports whether any is new.
func (l *Ledger) Note(seen []Sighting, day time.Time) bool {
	changed := false
	for _, s := range seen {
		s.Day = day.UTC().Format(time.DateOnly)
		changed = l.note(s) || changed
	}
	return changed
}

// Print returns the file.
func (l *Ledger) Print() []byte {
	var lines []string
	for _, s := range l.seen {
		platform := noValue
		if s.Platform != (provider.Platform{}) {
			platform = s.Platform.String()
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s %s\n", s.Addr, s.Version, platform, s.ZH, cmp.Or(s.Fingerprint, noValue), s.Day))
	}
	for _, r := range l.rotations {
		lines = append(lines, fmt.Sprintf("rotate %s %s %s %s %s\n", r.addr, r.old, r.fresh, r.day, r.text))
	}
	slices.Sort(lines)
	return []byte(ledgerHeader + "\n" + strings.Join(lines, ""))
}

// Lost are the packages of a release that the ledger has and no list names now.
func (l *Ledger) Lost(addr provider.Addr, version provider.Version, files map[provider.Hash]provider.ListedFile) []provider.Hash {
	if l == nil {
		return nil
	}
	var gone []provider.Hash
	for key := range l.seen {
		if _, there := files[key.zh]; key.addr == addr && key.version == version && !there {
			gone = append(gone, key.zh)
		}
	}
	return gone
}

// Key is the key that signed the packages of a release in the ledger. If the ledger does
// not have the release, it is the key of the provider's last sighting: releases of two keys
// may be locked at the same time. It is empty if there is no sighting, or if no key signed
// it.
func (l *Ledger) Key(addr provider.Addr, version provider.Version) string {
	if l == nil {
		return ""
	}
	var last Sighting
	own := func(s Sighting) int {
		if s.Version == version {
			return 1
		}
		return 0
	}
	for _, s := range l.seen {
		if s.Addr == addr && cmp.Or(own(s)-own(last), cmp.Compare(s.Day, last.Day), s.Version.Compare(last.Version), cmp.Compare(s.ZH, last.ZH)) > 0 {
			last = s
		}
	}
	return last.Fingerprint
}

// Rotated reports whether the ledger has a rotation from one key of the provider to the
// other.
func (l *Ledger) Rotated(addr provider.Addr, old, fresh string) bool {
	return slices.ContainsFunc(l.rotations, func(r rotation) bool { return r.addr == addr && r.old == old && r.fresh == fresh })
}
