package module

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// listOf is a registry's answer with these versions.
func listOf(versions ...string) []byte {
	return []byte(`{"modules":[{"source":"acme/net/aws","versions":[` + strings.Join(versions, ",") + `]}]}`)
}

const detail = `"root":{"providers":[{"name":"aws","namespace":"hashicorp","source":"hashicorp/aws","version":">= 5"}],"dependencies":[{"name":"x","source":"acme/x/aws","version":"1.0.0"}]},` +
	`"submodules":[{"path":"modules/x","providers":[{"name":"null","version":""}],"dependencies":[]}]`

// TestListingIsWhatTheRegistrySays reads documented answers, and those of registries that
// list less, or nonsense.
func TestListingIsWhatTheRegistrySays(t *testing.T) {
	t.Parallel()
	atLeast5, err := provider.ParseConstraints(">= 5")
	if err != nil {
		t.Fatal(err)
	}
	modules := []scan.ListedModule{
		{Path: ".", Providers: []scan.ListedProvider{{Name: "aws", Source: "hashicorp/aws", Constraints: atLeast5, Valid: true}}},
		{Path: "modules/x", Providers: []scan.ListedProvider{{Name: "null", Valid: true}}},
	}
	long := strings.Repeat("x", maxListedText+1)
	for name, tt := range map[string]struct {
		versions []string
		want     []scan.ModuleRelease
	}{
		"documented": {
			[]string{`{"version":"1.10.0",` + detail + `}`, `{"version":"v1.2",` + detail + `}`, `{"version":"1.3.0"}`},
			[]scan.ModuleRelease{{Version: "1.2.0", Modules: modules}, {Version: "1.3.0"}, {Version: "1.10.0", Modules: modules}},
		},
		"versions alone":          {[]string{`{"version":"1.0.0"}`}, []scan.ModuleRelease{{Version: "1.0.0"}}},
		"prereleases":             {[]string{`{"version":"1.0.0"}`, `{"version":"1.1.0-rc1"}`}, []scan.ModuleRelease{{Version: "1.0.0"}}},
		"no version":              {[]string{`{"version":"latest"}`, `{"version":"1.0.0"}`}, []scan.ModuleRelease{{Version: "1.0.0"}}},
		"of equal ones the first": {[]string{`{"version":"1.0"}`, `{"version":"1.0.0",` + detail + `}`}, []scan.ModuleRelease{{Version: "1.0.0"}}},
		"root is null":            {[]string{`{"version":"1.0.0","root":null,"submodules":null}`}, []scan.ModuleRelease{{Version: "1.0.0"}}},
		"root is a text":          {[]string{`{"version":"1.0.0","root":"x"}`}, []scan.ModuleRelease{{Version: "1.0.0"}}},
		"submodules are a map":    {[]string{`{"version":"1.0.0","root":{},"submodules":{}}`}, []scan.ModuleRelease{{Version: "1.0.0"}}},
		"a constraint is a list":  {[]string{`{"version":"1.0.0","root":{"providers":[{"name":"aws","version":[]}]}}`}, []scan.ModuleRelease{{Version: "1.0.0"}}},
		"a long constraint":       {[]string{`{"version":"1.0.0","root":{"providers":[{"name":"aws","version":"` + long + `"}]}}`}, []scan.ModuleRelease{{Version: "1.0.0"}}},
		"a submodule at the top": {
			[]string{`{"version":"1.0.0","root":{},"submodules":[{"path":".","providers":[{"name":"aws","version":"= 1"}]}]}`},
			[]scan.ModuleRelease{{Version: "1.0.0", Modules: []scan.ListedModule{{Path: "."}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readListing(listOf(tt.versions...))
			if err != nil || len(got.numbers) != len(tt.versions) {
				t.Fatalf("readListing = %v, %v, want %d numbers", got.numbers, err, len(tt.versions))
			}
			if diff := cmp.Diff(tt.want, got.versions.Releases); diff != "" {
				t.Errorf("releases (-want +got):\n%s", diff)
			}
		})
	}
}

// TestListingKeepsEqualDetailsOnce holds that equal details are kept once, and other
// details up to the bound.
func TestListingKeepsEqualDetailsOnce(t *testing.T) {
	t.Parallel()
	got, err := readListing(listOf(`{"version":"1.0.0",`+detail+`}`, `{"version":"1.1.0",`+strings.Replace(detail, "1.0.0", "1.1.0", 1)+`}`))
	if err != nil {
		t.Fatal(err)
	}
	r := got.versions.Releases
	if unsafe.SliceData(r[0].Modules) != unsafe.SliceData(r[1].Modules) {
		t.Error("equal details are there twice")
	}

	var many []string
	for i := range 20_000 {
		many = append(many, fmt.Sprintf(`{"version":"1.%d.0","root":{"providers":[{"name":"aws","source":"%0200d","version":">= %d"}]}}`, i, i, i))
	}
	body := listOf(many...)
	got, err = readListing(body)
	if err != nil || len(got.versions.Releases) != len(many) {
		t.Fatalf("readListing: %d releases, %v", len(got.versions.Releases), err)
	}
	size, told := 0, 0
	for _, r := range got.versions.Releases {
		if r.Modules != nil {
			size, told = size+len(r.Modules[0].Providers[0].Source), told+1
		}
	}
	if size > maxDetails || told < 1000 || got.versions.Releases[len(many)-1].Modules == nil || got.versions.Releases[0].Modules != nil {
		t.Errorf("%d bytes of %d releases are kept, want the newest, of at most %d bytes", size, told, maxDetails)
	}
}

// TestListedTerms holds that a provider's terms are found by its source, or else by its
// name.
func TestListedTerms(t *testing.T) {
	t.Parallel()
	aws := provider.Addr{Host: svchost.Hostname("registry.terraform.io"), Namespace: "hashicorp", Type: "aws"}
	other := provider.Addr{Host: aws.Host, Namespace: "acme", Type: "aws"}
	for text, want := range map[string]string{
		`{"providers":[{"name":"aws","source":"hashicorp/aws","version":">= 5, < 6"}]}`:                    ">= 5.0.0, < 6.0.0",
		`{"providers":[{"name":"cloud","source":"registry.terraform.io/hashicorp/aws","version":">= 5"}]}`: ">= 5.0.0",
		`{"providers":[{"name":"aws","version":">= 5"}]}`:                                                  ">= 5.0.0 by name",
		`{"providers":[{"name":"aws","source":"acme/aws","version":">= 5"}]}`:                              "",
		`{"providers":[]}`: "",
		`{"providers":[{"name":"aws","source":"hashicorp/aws","version":">= 5"},{"name":"b","source":"hashicorp/aws","version":"< 7"}]}`: ">= 5.0.0, < 7.0.0",
		`{"providers":[{"name":"aws","version":""}]}`:              " by name",
		`{"providers":[{"name":"aws","version":"**any**"}]}`:       "not said",
		`{"providers":[{"name":"a b","version":">= 5"}]}`:          "",
		`{"providers":[{"name":"x","source":"///","version":""}]}`: "",
	} {
		l, err := readListing(listOf(`{"version":"1.0.0","root":` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		said, ok := l.versions.Releases[0].Terms(".", aws, provider.Terraform)
		got := said.Constraints.String()
		if said.ByName {
			got += " by name"
		}
		if !ok {
			got = "not said"
		}
		if got != want {
			t.Errorf("the terms in %s are %q, want %q", text, got, want)
		}
	}
	l, _ := readListing(listOf(`{"version":"1.0.0",` + detail + `}`))
	if _, ok := l.versions.Releases[0].Terms("modules/y", other, provider.Terraform); ok {
		t.Error("the list says something of a module that it does not have")
	}
}

// BenchmarkListing reads the list of a large public module: 200 versions with 30 modules
// each, most of them repeated. kept is the number of bytes that remain of it.
func BenchmarkListing(b *testing.B) {
	var versions []string
	for i := range 200 {
		v := map[string]any{"version": fmt.Sprintf("5.%d.0", i)}
		var submodules []any
		for m := range 30 {
			submodules = append(submodules, map[string]any{
				"path": fmt.Sprintf("modules/role-%d", m), "dependencies": []any{},
				"providers": []any{map[string]any{"name": "aws", "namespace": "hashicorp", "source": "hashicorp/aws", "version": fmt.Sprintf(">= %d.0", 4+i/20)}},
			})
		}
		v["root"], v["submodules"] = map[string]any{"providers": []any{}, "dependencies": []any{}}, submodules
		text, err := json.Marshal(v)
		if err != nil {
			b.Fatal(err)
		}
		versions = append(versions, string(text))
	}
	body := listOf(versions...)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var before, after runtime.MemStats
	kept := make([]moduleList, b.N)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range b.N {
		var err error
		kept[i], err = readListing(body)
		if err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N), "kept-B/op")
	runtime.KeepAlive(kept)
	runtime.KeepAlive(versions)
}
