package coverage

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

var (
	linux, mac, arm, bsd = platform("linux_amd64"), platform("darwin_arm64"), platform("linux_arm64"), platform("freebsd_386")
	served               = []provider.Platform{linux, mac, arm, bsd}
)

func platform(s string) provider.Platform {
	p, err := provider.ParsePlatform(s)
	if err != nil {
		panic(err)
	}
	return p
}

func version(s string) provider.Version {
	v, err := provider.ParseVersion(s)
	if err != nil {
		panic(err)
	}
	return v
}

func addr(name string) provider.Addr {
	return provider.Addr{Host: "registry.example", Namespace: "acme", Type: name}
}

// contentOf is the h1 of a package of 1.0.0.
func contentOf(name string, p provider.Platform) provider.Hash {
	return provider.Hash(fmt.Sprintf("h1:%s-%s", name, p))
}

// locked is an entry that covers some platforms of its release.
func locked(name, v string, serves []provider.Platform, covers ...provider.Platform) Locked {
	l := Locked{Version: version(v), Release: &provider.Release{Version: version(v), Platforms: serves}}
	for _, p := range covers {
		l.H1 = append(l.H1, contentOf(name, p))
	}
	return l
}

// stays is a provider whose version stays; moves one whose version moves.
func stays(name string, serves []provider.Platform, covers ...provider.Platform) Renewal {
	return Renewal{Addr: addr(name), InLock: true, Old: locked(name, "1.0.0", serves, covers...), New: provider.Release{Version: version("1.0.0"), Platforms: serves}}
}

func moves(name string, serves []provider.Platform, covers ...provider.Platform) Renewal {
	c := stays(name, serves, covers...)
	c.New.Version = version("1.1.0")
	return c
}

// recoverBy runs a recovery with a table. It returns all packages that were asked about and
// the cover. Packages of the provider broken do not answer.
func recoverBy(table []numberRow, broken string, choices ...Renewal) (asked []string, cover Cover) {
	r := Recover([]LockFile{{Renewals: choices}})
	r.files[0].table = table
	known := map[ask.Question]Evidence{}
	for {
		next := r.Next(known)
		if len(next) == 0 {
			return slices.Sorted(slices.Values(asked)), r.Covers(known)[0]
		}
		for _, q := range next {
			asked = append(asked, q.Want.Addr.Type+" "+q.Want.Platform.String())
			e := Evidence{Hashes: provider.Hashes{Sum: provider.Sum{H1: contentOf(q.Want.Addr.Type, q.Want.Platform)}}}
			if q.Want.Addr.Type == broken {
				e = Evidence{Err: &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "no answer"}}}
			}
			known[q] = e
		}
	}
}

// outcomeOf is the part of a recovery that people and registries see.
func outcomeOf(table []numberRow, choices ...Renewal) string {
	asked, cover := recoverBy(table, "", choices...)
	text := fmt.Sprintln(asked)
	for _, c := range choices {
		d := cover.Of(c, true)
		text += fmt.Sprintln(c.Addr.Type, d.Named, d.Err)
	}
	return text + fmt.Sprintln(cover.Assumed)
}

// tooMany are so many likely entries that proving all of them needs more packages than
// mostProofs.
func tooMany() []Renewal {
	choices := []Renewal{stays("a", served, linux, mac, arm)}
	for i := range mostProofs {
		choices = append(choices, moves(fmt.Sprintf("b%02d", i), served, linux, mac, arm))
	}
	return choices
}

// Every row of the table matters to some lock file: without that row alone, relock asks or
// covers something else.
func TestEachRowOfNumbersMatters(t *testing.T) {
	t.Parallel()
	first := stays("a", served, linux, mac)
	merged := stays("b", served)
	merged.Sides = []Locked{merged.Old, locked("b", "0.9.0", []provider.Platform{linux, mac}, mac)}
	cases := map[verdict][]Renewal{
		open:     {first, merged},
		silent:   {first, stays("b", served, linux)},
		agrees:   {first, stays("b", served, linux, mac)},
		provable: tooMany(),
	}
	for i, row := range numberTable {
		t.Run(row.name, func(t *testing.T) {
			choices, ok := cases[row.says]
			if !ok {
				t.Fatalf("no case shows what this row means")
			}
			usual := outcomeOf(numberTable, choices...)
			if other := outcomeOf(slices.Delete(slices.Clone(numberTable), i, i+1), choices...); other == usual {
				t.Errorf("without the row nothing changes:\n%s", usual)
			}
		})
	}
}

// Every demand says why the entry must cover its platforms, and whether the old entry is
// complete.
func TestDemand(t *testing.T) {
	t.Parallel()
	two, three := []provider.Platform{linux, mac}, []provider.Platform{linux, mac, arm}
	ruled := stays("b", served, linux)
	ruled.ByRule = []provider.Platform{bsd}
	small := []provider.Platform{mac, linux}
	for name, tt := range map[string]struct {
		why      Ground
		fixed    *Cover // nil: recover it
		choices  []Renewal
		platform []provider.Platform // the platforms of the last one
		complete bool
	}{
		"a rule names them":                {ByRule, nil, []Renewal{stays("a", served, two...), ruled}, []provider.Platform{bsd}, true},
		"somebody names them":              {ByName, new(Fixed(three)), []Renewal{stays("a", served, two...)}, three, false},
		"somebody asks for all":            {Served, new(Fixed(nil)), []Renewal{stays("a", small, small...)}, small, false},
		"all that is served is covered":    {Everywhere, nil, []Renewal{stays("a", small, small...)}, small, true},
		"the entries cover them":           {Recovered, nil, []Renewal{stays("a", served, two...), stays("b", served, linux)}, []provider.Platform{mac, linux}, false},
		"the entry covers more by itself":  {Own, nil, []Renewal{stays("a", served, two...), moves("b", served, linux, bsd)}, []provider.Platform{mac, bsd, linux}, false},
		"no entry says which, but several": {Unnamed, nil, []Renewal{{Addr: addr("a"), Old: Locked{H1: []provider.Hash{"h1:1", "h1:2"}}}}, provider.DefaultPlatforms, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, cover := recoverBy(numberTable, "", tt.choices...)
			if tt.fixed != nil {
				cover = *tt.fixed
			}
			f := LockFile{Renewals: tt.choices}
			d := cover.Of(tt.choices[len(tt.choices)-1], f.Tells())
			if d.Err != nil || d.Why != tt.why || d.Complete != tt.complete {
				t.Errorf("demand %+v, want the reason %d and complete: %t", d, tt.why, tt.complete)
			}
			got, want := slices.Clone(d.Platforms), slices.Clone(tt.platform)
			slices.SortFunc(got, provider.Platform.Compare)
			slices.SortFunc(want, provider.Platform.Compare)
			if !slices.Equal(got, want) {
				t.Errorf("platforms %v, want %v", got, want)
			}
		})
	}
}

// If a package fails, the platforms of its entry are not known. The entries that depend on
// it fail. A neighbour whose platforms a rule names does not.
func TestFailureIsNoAnswer(t *testing.T) {
	t.Parallel()
	neighbour := stays("c", served, linux)
	neighbour.ByRule = []provider.Platform{linux}
	choices := []Renewal{moves("a", served, linux, mac), stays("b", served, linux), neighbour}
	_, cover := recoverBy(numberTable, "a", choices...)
	failed := map[string]bool{}
	for _, c := range choices {
		failed[c.Addr.Type] = cover.Of(c, true).Err != nil
	}
	if want := map[string]bool{"a": true, "b": true, "c": false}; !maps.Equal(failed, want) {
		t.Errorf("failed: %v, want %v", failed, want)
	}
	if _, cover := recoverBy(numberTable, "", choices...); cover.Of(choices[0], true).Err != nil {
		t.Errorf("with all packages, a fails: %v", cover.Of(choices[0], true).Err)
	}
}

// A plan requests no more proofs than mostProofs. Beyond that the number of hashes is the
// proof, and the entry is named.
func TestNumbersStandInForProofs(t *testing.T) {
	t.Parallel()
	asked, cover := recoverBy(numberTable, "", tooMany()...)
	if proofs := len(asked) - 3; proofs > mostProofs || proofs <= mostProofs-3 {
		t.Errorf("%d packages were asked about as proofs, want %d at most", proofs, mostProofs)
	}
	if want := mostProofs - mostProofs/3; len(cover.Assumed) != want {
		t.Errorf("%d entries are assumed, want %d", len(cover.Assumed), want)
	}
}
