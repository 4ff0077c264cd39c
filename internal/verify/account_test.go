package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// zh and h1 are well-formed hashes made from a name.
func zh(name string) provider.Hash {
	return provider.ZH(fmt.Sprintf("%x", sha256.Sum256([]byte(name))))
}

func dirH1(name string) provider.Hash {
	sum := sha256.Sum256([]byte(name))
	return provider.Hash("h1:" + base64.StdEncoding.EncodeToString(sum[:]))
}

func zipH1(name string) provider.Hash { return dirH1("zip of " + name) }

// release is a Source of one release, 1.0.0 of any provider.
type release struct {
	platforms []string          // served
	lists     map[string]string // platform -> names in its list; the list of "" is for all others; NAME=OTHER has the archive of OTHER
	known     []string          // platforms whose content is known without a download
	size      map[string]int64  // 100 by default
	real      map[string]int64  // if it differs from size
	fail      map[string]error  // platform -> the error of its package
	broken    error             // the error of all packages
	unsigned  bool
	expired   bool
	signedBy  string            // fingerprint of another key than the usual one
	fresh     bool              // this run has downloaded the known content
	mirrored  bool              // no registry may be asked
	byType    map[string]string // type of a provider -> names in its list
	wrong     error             // the error that shows a wrong hash cache
	reported  []provider.Hash
	content   map[string][]string // platform -> what is wrong with the files in its package

	mu       sync.Mutex
	asked    []string
	versions int // the number of questions for lists of versions
}

func (r *release) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, fmt.Sprintf(format, args...))
}

func (r *release) Versions(context.Context, provider.Tool, provider.Addr) (provider.Offer, error) {
	r.mu.Lock()
	r.versions++
	r.mu.Unlock()
	if len(r.platforms) == 0 {
		return provider.Offer{}, nil
	}
	served := provider.Release{Version: version("1.0.0")}
	for _, p := range r.platforms {
		served.Platforms = append(served.Platforms, platform(p))
	}
	return provider.Offer{Releases: []provider.Release{served}}, r.broken
}

func (r *release) listing(p string) provider.Listing {
	if r.mirrored {
		return provider.Listing{}
	}
	key := cmp.Or(r.signedBy, fingerprint)
	l := provider.Listing{Signer: provider.Signer{KeyID: key[24:], Fingerprint: key, Expired: r.expired}, Reported: r.reported}
	if r.unsigned {
		l.Signer = provider.Signer{Label: "unsigned"}
	}
	names := cmp.Or(r.lists[p], r.lists[""], strings.Join(r.platforms, " ")+" manifest.json")
	for name := range strings.FieldsSeq(names) {
		name, archive, same := strings.Cut(name, "=")
		if !same {
			archive = name
		}
		f := provider.ListedFile{Name: name, Sum: provider.Sum{ZH: zh(archive)}}
		if parsed, err := provider.ParsePlatform(name); err == nil {
			f.Name, f.Platform = name+".zip", parsed
		}
		if slices.Contains(r.known, archive) {
			f.Sum.H1, f.Sum.H1Zip, f.Sum.Size, f.Fresh = dirH1(archive), zipH1(archive), r.sizeOf(name), r.fresh
		}
		l.Files = append(l.Files, f)
	}
	return l
}

func (r *release) sizeOf(p string) int64 { return cmp.Or(r.real[p], r.size[p], 100) }

func (r *release) Listing(_ context.Context, _ provider.Tool, want provider.Want) (provider.Listing, error) {
	switch names := r.byType[want.Addr.Type]; {
	case r.broken != nil:
		return provider.Listing{}, r.broken
	case len(r.platforms) == 0:
		return provider.Listing{}, &problem.Error{Problem: problem.Problem{Code: problem.CodeNoPackage, Message: "no package"}}
	case names != "":
		return (&release{platforms: strings.Fields(names), known: r.known}).listing(""), nil
	}
	return r.listing(""), nil
}

func (r *release) Package(_ context.Context, _ provider.Tool, want provider.Want, limit int64) (provider.Listing, error) {
	p := want.Platform.String()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, fmt.Sprintf("%s %d", p, limit))
	if r.mirrored && slices.Contains(r.platforms, p) && r.fail[p] == nil && r.sizeOf(p) <= limit {
		return provider.Listing{Mirrored: &provider.Hashes{
			Sum: provider.Sum{ZH: zh(p), H1: dirH1(p), H1Zip: zipH1(p), Size: r.sizeOf(p)}, Platform: platform(p), Mirror: "network mirror",
		}}, nil
	}
	switch {
	case !slices.Contains(r.platforms, p):
		return provider.Listing{}, &problem.Error{Problem: problem.Problem{Code: problem.CodeNoPackage, Message: "no package for " + p}}
	case limit > 0 && r.fail[p] != nil:
		return provider.Listing{}, r.fail[p]
	case limit > 0 && r.sizeOf(p) > limit:
		return provider.Listing{}, &problem.Error{Problem: problem.Problem{Code: problem.CodeBadAnswer, Message: "longer than announced"}}
	case limit > 0:
		r.known = append(r.known, p)
	}
	return r.listing(p), nil
}

func (r *release) Recheck(_ context.Context, _ provider.Tool, want provider.Want, _ int64) (int64, error) {
	r.note("%s again", want.Platform)
	return r.sizeOf(want.Platform.String()), r.wrong
}

func (r *release) Content(_ context.Context, _ provider.Tool, want provider.Want, limit int64) (provider.Content, error) {
	p := want.Platform.String()
	r.note("%s inside %d", p, limit)
	return provider.Content{Problems: r.content[p], Size: r.sizeOf(p)}, r.fail[p]
}

func (r *release) Size(_ context.Context, _ provider.Tool, want provider.Want) (int64, error) {
	p := want.Platform.String()
	r.note("%s ?", p)
	if size, said := r.size[p]; said {
		return size, nil
	}
	return 100, nil
}

func version(s string) provider.Version { return must(provider.ParseVersion(s)) }

func platform(s string) provider.Platform { return must(provider.ParsePlatform(s)) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// lockOf is a lock file with an entry of alpha 1.0.0 with hashes. Each is a hash, or "zh ",
// "h1 " or "zip " before the name that it is made from.
func lockOf(t *testing.T, hashes ...string) *lockfile.File {
	t.Helper()
	text := "provider \"registry.terraform.io/hashicorp/alpha\" {\n  version = \"1.0.0\"\n  hashes = [\n"
	for _, given := range hashes {
		kind, name, _ := strings.Cut(given, " ")
		h := provider.Hash(given)
		switch kind {
		case "zh":
			h = zh(name)
		case "h1":
			h = dirH1(name)
		case "zip":
			h = zipH1(name)
		}
		text += fmt.Sprintf("    %q,\n", h)
	}
	f, problems := lockfile.Parse([]byte(text+"  ]\n}\n"), "root/.terraform.lock.hcl")
	if len(problems) > 0 {
		t.Fatalf("%s\n%v", text, problems)
	}
	return f
}

// entryOf is the entry of lockOf.
func entryOf(t *testing.T, hashes ...string) Suspect {
	t.Helper()
	f := lockOf(t, hashes...)
	return Suspect{
		Tool: provider.Newest(provider.Terraform), Lock: f.Locks[0], Path: f.Path,
		Covered: []provider.Platform{platform("linux_amd64")}, Depth: WithPackages,
	}
}

// accounts are the findings, with the names of entryOf's test.
func accounts(j Judgement) (found, undecided []string) {
	for _, f := range j.Found {
		found = append(found, string(f.Code)+" "+string(f.Subject.Hash))
	}
	for _, f := range j.Undecided {
		undecided = append(undecided, string(f.Subject.Hash)+" "+f.Message[strings.Index(f.Message, ": ")+2:])
	}
	return found, undecided
}

const forged = "h1 somebody"

func TestHashesAreAccountedFor(t *testing.T) {
	t.Parallel()
	five := []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "freebsd_386"}
	unauthorized := &problem.Error{Problem: problem.Problem{Code: problem.CodeUnauthorized, Message: "credentials are refused"}}
	tests := []struct {
		name    string
		release *release
		hashes  []string
		edit    func(*Suspect)
		allowed int64 // bytes; 0: enough, negative: none
		found   []string
		// undecided has the words after the colon.
		undecided []string
		asked     []string
	}{
		{
			name: "what_is_known_costs_nothing", release: &release{platforms: five, known: five},
			hashes: []string{"zh linux_amd64", "zh manifest.json", "h1 linux_amd64", "zip darwin_arm64", "h1 freebsd_386"},
		},
		{
			name: "forged_h1_where_everything_is_known", release: &release{platforms: five, known: five},
			hashes: []string{"zh linux_amd64", "h1 linux_amd64", forged}, found: []string{"hash-unknown " + string(dirH1("somebody"))},
		},
		{
			name: "h1_of_a_platform_that_is_found_first", release: &release{platforms: five, known: []string{"linux_amd64"}},
			hashes: []string{"h1 linux_amd64", "h1 darwin_arm64"},
			asked:  []string{"darwin_amd64 ?", "darwin_arm64 ?", "linux_arm64 ?", "darwin_amd64 100", "darwin_arm64 100"},
		},
		{
			name: "smallest_first", release: &release{platforms: five, known: []string{"linux_amd64"}, size: map[string]int64{"darwin_arm64": 7}},
			hashes: []string{"h1 darwin_arm64"},
			asked:  []string{"darwin_amd64 ?", "darwin_arm64 ?", "linux_arm64 ?", "darwin_arm64 7"},
		},
		{
			name: "forged_h1_is_refuted_by_all", release: &release{platforms: []string{"linux_amd64", "freebsd_386"}, known: []string{"linux_amd64"}},
			hashes: []string{"h1 linux_amd64", forged}, found: []string{"hash-unknown " + string(dirH1("somebody"))},
			asked: []string{"freebsd_386 ?", "freebsd_386 100"},
		},
		{
			name: "allowance_is_used_up", release: &release{platforms: []string{"linux_amd64", "freebsd_386", "darwin_arm64"}, known: []string{"linux_amd64"}},
			hashes: []string{forged}, allowed: 150, undecided: []string{string(dirH1("somebody")) + " budget: --max-download is reached; 2 of 3 packages looked at"},
			asked: []string{"darwin_arm64 ?", "darwin_arm64 100", "freebsd_386 ?"},
		},
		{
			name: "nothing_is_allowed", release: &release{platforms: five, known: []string{"linux_amd64"}, size: map[string]int64{"darwin_arm64": 0}},
			hashes: []string{forged}, allowed: -1, undecided: []string{string(dirH1("somebody")) + " budget: --max-download is reached; 1 of 5 packages looked at"},
			asked: []string{"darwin_amd64 ?", "darwin_arm64 ?", "linux_arm64 ?", "freebsd_386 ?"},
		},
		{
			name: "size_that_nobody_says", release: &release{platforms: []string{"linux_amd64", "freebsd_386", "solaris_386"}, size: map[string]int64{"freebsd_386": 0, "solaris_386": 0}, real: map[string]int64{"freebsd_386": 90, "solaris_386": 60}, known: []string{"linux_amd64"}},
			hashes: []string{forged}, allowed: 150, found: []string{"hash-unknown " + string(dirH1("somebody"))},
			asked: []string{"freebsd_386 ?", "solaris_386 ?", "freebsd_386 150", "solaris_386 60"},
		},
		{
			name: "size_that_is_a_lie", release: &release{platforms: []string{"linux_amd64", "freebsd_386"}, known: []string{"linux_amd64"}, real: map[string]int64{"freebsd_386": 1 << 40}},
			hashes: []string{forged}, undecided: []string{string(dirH1("somebody")) + " unreachable; 1 of 2 packages looked at; longer than announced"},
			asked: []string{"freebsd_386 ?", "freebsd_386 100"},
		},
		{
			name: "package_that_cannot_be_had", release: &release{platforms: []string{"linux_amd64", "freebsd_386"}, known: []string{"linux_amd64"}, fail: map[string]error{"freebsd_386": unauthorized}},
			hashes: []string{forged}, undecided: []string{string(dirH1("somebody")) + " unauthorized; 1 of 2 packages looked at; credentials are refused"},
			asked: []string{"freebsd_386 ?", "freebsd_386 100"},
		},
		{
			name: "archive_that_only_the_list_names", release: &release{platforms: []string{"linux_amd64"}, lists: map[string]string{"": "linux_amd64 plan9_386"}, known: []string{"linux_amd64"}},
			hashes: []string{forged}, undecided: []string{string(dirH1("somebody")) + " unreachable; 1 of 2 packages looked at"},
			asked: []string{"plan9_386 ?", "plan9_386 100"},
		},
		{
			name: "archive_of_an_odd_name", release: &release{platforms: []string{"linux_amd64"}, lists: map[string]string{"": "linux_amd64 odd.zip"}, known: []string{"linux_amd64"}},
			hashes: []string{forged}, undecided: []string{string(dirH1("somebody")) + " unreachable; 1 of 2 packages looked at"},
		},
		{
			name: "one_archive_for_two_platforms", release: &release{
				platforms: []string{"freebsd_386", "linux_amd64"}, known: []string{"linux_amd64"}, lists: map[string]string{"": "linux_amd64 freebsd_386=linux_amd64"},
			},
			hashes: []string{"h1 linux_amd64", forged}, found: []string{"hash-unknown " + string(dirH1("somebody"))},
		},
		{
			name: "forged_zh", release: &release{platforms: []string{"linux_amd64", "freebsd_386"}, known: []string{"linux_amd64"}},
			hashes: []string{"zh linux_amd64", "zh freebsd_386", "zh somebody", "h1 linux_amd64"}, found: []string{"hash-unknown " + string(zh("somebody"))},
			asked: []string{"freebsd_386 0", "linux_amd64 0"},
		},
		{
			name: "zh_of_another_platforms_own_list", release: &release{platforms: []string{"linux_amd64", "freebsd_386"}, lists: map[string]string{"": "linux_amd64", "freebsd_386": "freebsd_386 extra"}},
			hashes: []string{"zh linux_amd64", "zh extra"},
			asked:  []string{"freebsd_386 0", "linux_amd64 0"},
		},
		{
			name: "no_hash_is_spelt_like_this", release: &release{platforms: five},
			hashes: []string{"h1:surplus", "zh:" + strings.Repeat("AB", 32), "h2:unknown"},
			found:  []string{"hash-unknown h1:surplus", "hash-unknown zh:" + strings.Repeat("AB", 32)},
		},
		{
			name: "unsigned_list", release: &release{platforms: five, unsigned: true}, hashes: []string{forged, "zh somebody", "h1:surplus"},
		},
		{
			name: "registry_that_cannot_be_asked", release: &release{platforms: five, broken: &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "no answer"}}},
			hashes: []string{"h1:surplus", forged}, found: []string{"hash-unknown h1:surplus"},
			undecided: []string{string(dirH1("somebody")) + " unreachable; 0 of 5 packages looked at; no answer"},
		},
		{
			name: "reported_h1", release: &release{platforms: five, reported: []provider.Hash{dirH1("somebody")}}, hashes: []string{forged},
		},
		{
			name: "h1_that_the_plan_computed", release: &release{platforms: five}, hashes: []string{forged},
			edit: func(e *Suspect) { e.Explained = []provider.Hash{dirH1("somebody")} },
		},
		{
			name: "entry_that_is_left_costs_no_download", release: &release{platforms: five}, hashes: []string{"h1 linux_amd64", "zh linux_amd64"},
			edit: func(e *Suspect) { e.Left, e.Depth = true, ListsOnly },
		},
		{
			name: "entry_that_is_left_is_held_against_what_is_known", release: &release{platforms: five, known: five}, hashes: []string{"h1 linux_amd64", forged},
			edit:  func(e *Suspect) { e.Left, e.Depth = true, ListsOnly },
			found: []string{"hash-unknown " + string(dirH1("somebody"))},
		},
		{
			name: "entry_that_is_left_is_looked_into_by_check", release: &release{platforms: []string{"linux_amd64"}}, hashes: []string{"h1 linux_amd64", forged},
			edit:  func(e *Suspect) { e.Left = true },
			found: []string{"hash-unknown " + string(dirH1("somebody"))},
			asked: []string{"linux_amd64 100", "linux_amd64 ?"},
		},
		{
			name: "entry_that_is_left_of_a_replaced_release", release: &release{platforms: []string{"linux_amd64"}}, hashes: []string{"h1 somebody", "zh somebody"},
			edit:  func(e *Suspect) { e.Left = true },
			found: []string{"re-released " + string(zh("somebody"))},
			asked: []string{"linux_amd64 0"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := entryOf(t, tt.hashes...)
			if tt.edit != nil {
				tt.edit(&e)
			}
			allowance := NewAllowance(max(cmp.Or(tt.allowed, 1<<20), 0))
			announced := 0
			judged := Judge(t.Context(), tt.release, []Suspect{e}, Options{Allowance: allowance, Jobs: 3, Announce: func(d provider.Downloads) {
				if announced += d.Packages; d.Sized != d.Packages || d.Size < int64(d.Packages) {
					t.Errorf("%+v is announced, want packages of known size", d)
				}
			}})
			looked := slices.DeleteFunc(slices.Clone(tt.release.asked), func(q string) bool { return !strings.HasSuffix(q, " 100") })
			if tt.release.size == nil && announced != len(looked) {
				t.Errorf("%d packages are announced, and %q were looked at", announced, looked)
			}
			found, undecided := accounts(judged[0])
			if diff := gocmp.Diff(tt.found, found); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(tt.undecided, undecided); diff != "" {
				t.Errorf("undecided (-want +got):\n%s", diff)
			}
			slices.Sort(tt.asked)
			slices.Sort(tt.release.asked)
			if diff := gocmp.Diff(tt.asked, tt.release.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindingSaysWhereTheHashStands(t *testing.T) {
	t.Parallel()
	entries := []Suspect{entryOf(t, "h1 linux_amd64", forged), entryOf(t, "h1 linux_amd64")}
	src := &release{platforms: []string{"linux_amd64"}, known: []string{"linux_amd64"}}
	judged := Judge(t.Context(), src, entries, Options{Allowance: NewAllowance(0)})
	want := []problem.Problem{{
		Code: problem.CodeHashUnknown, Subject: problem.Subject{Addr: entries[0].Lock.Addr, Version: version("1.0.0"), Versioned: true, Hash: dirH1("somebody")},
		Place:   problem.Place{Path: "root/.terraform.lock.hcl", Line: 5, From: 5, To: 7 + len(dirH1("somebody"))},
		Message: string(dirH1("somebody")) + " belongs to no package of registry.terraform.io/hashicorp/alpha 1.0.0",
		Hint:    fmt.Sprintf("find out who added it: `git log -S %s`; then run `relock lock --prune`, which removes it", dirH1("somebody")),
	}}
	if diff := gocmp.Diff(want, judged[0].Found); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if len(judged[1].Found) > 0 {
		t.Errorf("the other root module has %v", judged[1].Found)
	}
}

func TestJudgeKnowsTheHashesOfOtherReleases(t *testing.T) {
	t.Parallel()
	alpha, beta := entryOf(t, "zh linux_amd64", "zh other"), entryOf(t, "zh other")
	beta.Lock.Addr.Type = "beta"
	src := &release{platforms: []string{"linux_amd64"}, byType: map[string]string{"beta": "linux_amd64 other"}}
	judged := Judge(t.Context(), src, []Suspect{alpha, beta}, Options{Allowance: NewAllowance(0)})
	found := judged[0].Found
	if len(found) != 1 || found[0].Code != problem.CodeHashOfOther || !strings.Contains(found[0].Message, "hashicorp/beta 1.0.0") || len(judged[1].Found) > 0 {
		t.Errorf("found %+v and %+v, want that the hash is beta's", found, judged[1].Found)
	}
}

func TestManyForgedHashesAreCounted(t *testing.T) {
	t.Parallel()
	var hashes []string
	for i := range fewFindings + 7 {
		hashes = append(hashes, fmt.Sprintf("h1:%d", i))
	}
	entries := []Suspect{entryOf(t, hashes...)}
	judged := Judge(t.Context(), &release{platforms: []string{"linux_amd64"}}, entries, Options{Allowance: NewAllowance(0)})
	found := judged[0].Found
	if len(found) != fewFindings || !slices.ContainsFunc(found, func(f problem.Problem) bool { return strings.Contains(f.Message, "7 more") }) {
		t.Errorf("%d findings, want %d, and one to count the rest", len(found), fewFindings)
	}
	if got := len(judged[0].Refuted); got != len(hashes) {
		t.Errorf("%d hashes are refuted, want %d", got, len(hashes))
	}
}

// TestListOfEndlessPlatformsEnds holds that a long list does not lead to more questions
// than the bound.
func TestListOfEndlessPlatformsEnds(t *testing.T) {
	t.Parallel()
	src := &release{platforms: []string{"linux_amd64"}, lists: map[string]string{"": "linux_amd64"}}
	for i := range 10 * mostPlatforms {
		src.lists[""] += fmt.Sprintf(" linux_a%d", i)
	}
	entries := []Suspect{entryOf(t, forged, "zh somebody")}
	judged := Judge(t.Context(), src, entries, Options{Allowance: NewAllowance(1 << 20)})
	if len(judged[0].Found) > 0 || len(judged[0].Undecided) != 2 {
		t.Errorf("findings %v, undecided %v, want both hashes undecided", judged[0].Found, judged[0].Undecided)
	}
	if most := 3 * mostPlatforms; len(src.asked) > most {
		t.Errorf("%d questions, want at most %d", len(src.asked), most)
	}
}

func TestLongHashIsShortened(t *testing.T) {
	t.Parallel()
	entries := []Suspect{entryOf(t, "h1:"+strings.Repeat("x", 1<<12))}
	judged := Judge(t.Context(), &release{platforms: []string{"linux_amd64"}}, entries, Options{Allowance: NewAllowance(0)})
	if got := len(judged[0].Found[0].Message); got > 300 {
		t.Errorf("the message has %d bytes", got)
	}
}

func TestInterruptedAccountSaysNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	entries := []Suspect{entryOf(t, "h1:surplus")}
	judged := Judge(ctx, &release{platforms: []string{"linux_amd64"}}, entries, Options{Allowance: NewAllowance(0)})
	if len(judged[0].Found) > 0 {
		t.Errorf("findings of an interrupted run: %v", judged[0].Found)
	}
}
