package lockfile

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/provider"
)

func addr(t testing.TB, s string) provider.Addr {
	t.Helper()
	a, err := provider.ParseFullAddr(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func version(t testing.TB, s string) provider.Version {
	t.Helper()
	v, err := provider.ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func constraints(t testing.TB, s string) provider.Constraints {
	t.Helper()
	c, err := provider.ParseConstraints(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCanonicalFilesPrintAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, file := range glob(t, "testdata/canonical/*.hcl") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := read(t, file)
			f := mustParse(t, src)
			if diff := cmp.Diff(string(src), string(f.Print())); diff != "" {
				t.Errorf("Print (-want +got):\n%s", diff)
			}
			if !f.Canonical() {
				t.Error("Canonical() = false, want true")
			}
		})
	}
}

// printed is the lock file of a tool with some locks.
func printed(tool provider.ToolName, locks []Lock) []byte {
	return (&File{Tool: tool, Locks: locks}).Print()
}

func TestPrintSortsEntries(t *testing.T) {
	t.Parallel()
	f := mustParse(t, read(t, "testdata/canonical/hosts.hcl"))
	shuffled := slices.Clone(f.Locks)
	slices.Reverse(shuffled)
	if got := printed(f.Tool, shuffled); string(got) != string(f.Source) {
		t.Errorf("Print of reversed entries:\n%s\nwant:\n%s", got, f.Source)
	}
	if shuffled[0].Addr != f.Locks[len(f.Locks)-1].Addr {
		t.Error("Print sorted its argument in place")
	}
}

func TestNewSortsHashesInItsOwnSlice(t *testing.T) {
	t.Parallel()
	hashes := []provider.Hash{"zh:bb", "h1:bb", "zh:aa", "h1:bb"}
	l := New(addr(t, "registry.terraform.io/hashicorp/null"), version(t, "1.0.0"), provider.Constraints{}, hashes)
	if diff := cmp.Diff([]provider.Hash{"h1:bb", "zh:aa", "zh:bb"}, l.Hashes); diff != "" {
		t.Errorf("Hashes (-want +got):\n%s", diff)
	}
	if hashes[0] != "zh:bb" {
		t.Errorf("New changed its argument to %v", hashes)
	}
}

const untidy = `
provider "registry.terraform.io/hashicorp/random" {
  version="3.7.2" # pinned
  hashes = ["zh:bb", "h1:zz"]
}

provider "registry.terraform.io/hashicorp/null" {
  version = "3.2.3"
  hashes = [
    "zh:bb",
    "h1:zz",
    "zh:bb",
  ]
} # behind
`

func TestKeptEntriesPrintTheirOwnBytes(t *testing.T) {
	t.Parallel()
	f := mustParse(t, []byte(untidy))
	random, _ := f.Lock(addr(t, "registry.terraform.io/hashicorp/random"))
	null, _ := f.Lock(addr(t, "registry.terraform.io/hashicorp/null"))
	const want = `# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.terraform.io/hashicorp/null" {
  version = "3.2.3"
  hashes = [
    "h1:zz",
    "zh:bb",
  ]
}

provider "registry.terraform.io/hashicorp/random" {
  version="3.7.2" # pinned
  hashes = ["zh:bb", "h1:zz"]
}
`
	if diff := cmp.Diff(want, string(printed(provider.OpenTofu, []Lock{random.Kept(), null}))); diff != "" {
		t.Errorf("Print (-want +got):\n%s", diff)
	}
}

func TestKeptEntriesWithoutBytesPrintCanonically(t *testing.T) {
	t.Parallel()
	l := New(addr(t, "registry.terraform.io/hashicorp/null"), version(t, "1.0.0"), provider.Constraints{}, nil)
	if got, want := string(printed("", []Lock{l.Kept()})), string(printed("", []Lock{l})); got != want {
		t.Errorf("Print of a kept new entry:\n%s\nwant:\n%s", got, want)
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	f := mustParse(t, []byte(untidy))
	null, _ := f.Lock(addr(t, "registry.terraform.io/hashicorp/null"))
	if got := null.Line(); got != 7 {
		t.Errorf("Line() = %d, want 7", got)
	}
	for hash, want := range map[provider.Hash]int{"zh:bb": 10, "h1:zz": 11, "h1:other": 0} {
		if got := null.HashLine(hash); got != want {
			t.Errorf("HashLine(%s) = %d, want %d", hash, got, want)
		}
	}
	fresh := New(null.Addr, null.Version, null.Constraints, null.Hashes)
	if fresh.Line() != 0 || fresh.HashLine("zh:bb") != 0 {
		t.Errorf("a new entry stands in line %d, its hash in %d; want 0 and 0", fresh.Line(), fresh.HashLine("zh:bb"))
	}
}

func TestLockFindsEntries(t *testing.T) {
	t.Parallel()
	f := mustParse(t, read(t, "testdata/canonical/hosts.hcl"))
	for _, want := range f.Locks {
		if got, ok := f.Lock(want.Addr); !ok || !got.Equal(want) {
			t.Errorf("Lock(%s) = %v, %v; want %v", want.Addr, got, ok, want)
		}
	}
	if got, ok := f.Lock(addr(t, "registry.terraform.io/acme/other")); ok {
		t.Errorf("Lock of an address that is not there = %v, true", got)
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	a, v, c := addr(t, "registry.terraform.io/hashicorp/null"), version(t, "1.0.0"), constraints(t, ">= 1")
	hashes := []provider.Hash{"h1:a", "zh:b"}
	base := New(a, v, c, hashes)
	for name, tt := range map[string]struct {
		lock Lock
		want bool
	}{
		"same facts":               {New(a, v, constraints(t, ">=1.0"), []provider.Hash{"zh:b", "h1:a", "zh:b"}), true},
		"other address":            {New(addr(t, "registry.terraform.io/hashicorp/tls"), v, c, hashes), false},
		"other build metadata":     {New(a, version(t, "1.0.0+b"), c, hashes), false},
		"no constraints":           {New(a, v, provider.Constraints{}, hashes), false},
		"one hash more":            {New(a, v, c, append(hashes, "zh:c")), false},
		"another hash":             {New(a, v, c, []provider.Hash{"h1:a", "zh:c"}), false},
		"read and marked as kept":  {mustParse(t, printed("", []Lock{base})).Locks[0].Kept(), true},
		"hashes in another scheme": {New(a, v, c, []provider.Hash{"h1:a", "h1:b"}), false},
	} {
		if got := base.Equal(tt.lock); got != tt.want {
			t.Errorf("%s: Equal = %v, want %v", name, got, tt.want)
		}
	}
}

func TestCanonicalNeedsEveryByte(t *testing.T) {
	t.Parallel()
	src := string(read(t, "testdata/canonical/terraform.hcl"))
	for name, text := range map[string]string{
		"empty":               "",
		"header lost":         src[strings.Index(src, "provider"):],
		"header of opentf":    strings.Replace(src, "terraform init", "opentf init", 1),
		"final newline lost":  strings.TrimSuffix(src, "\n"),
		"one line more":       src + "\n",
		"comment":             src + "# mine\n",
		"constraints aligned": strings.Replace(src, "version     =", "version =", 1),
	} {
		if mustParse(t, []byte(text)).Canonical() {
			t.Errorf("%s: Canonical() = true, want false", name)
		}
	}
}

// Literals that are printed directly equal those that the library prints.
func TestLiteralsAreTheLibrarys(t *testing.T) {
	t.Parallel()
	texts := []string{"", "h1:$", "h1:${", "h1:%{x}", "h1:$$", "x:é", "x:e\u0301", "x:\U0001f600", "x:\u2028", "x:\xff"}
	for c := range 256 {
		texts = append(texts, "x:"+string(rune(c))+"{y", "x:"+string([]byte{byte(c)}))
	}
	for _, s := range texts {
		want := string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes())
		if got := string(AppendQuoted([]byte("before"), s)); got != "before"+want {
			t.Errorf("AppendQuoted(before, %q) = %s, want before%s", s, got, want)
		}
	}
}

// A lock file has the native syntax, whatever its name.
func TestParseKnowsOneSyntax(t *testing.T) {
	t.Parallel()
	if f, diags := Parse([]byte("{}"), "old.json"); f != nil || len(diags) != 1 || diags[0].Place.Path != "old.json" {
		t.Errorf("Parse({}, old.json) = %v, %v, want an error in old.json", f, diags)
	}
	if f, diags := Parse(read(t, "testdata/canonical/terraform.hcl"), "old.json"); f == nil {
		t.Errorf("Parse of a lock file that is called old.json fails: %v", diags)
	}
}

func TestIsLockFile(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		".terraform.lock.hcl": true, "live/prod/.terraform.lock.hcl": true,
		"terraform.lock.hcl": false, "live/.terraform.lock.hcl/main.tf": false, "live/my.terraform.lock.hcl": false,
	} {
		if got := Is(name); got != want {
			t.Errorf("Is(%q) = %t, want %t", name, got, want)
		}
	}
}
