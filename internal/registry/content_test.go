package registry

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// linuxProgram is the header of a program for linux_amd64.
var linuxProgram = "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 11) + "\x3e" + strings.Repeat("\x00", 45)

// replace gives the package for linux another content, before the list is made.
func (f *fixture) replace(files map[string]string) {
	old := sha256Hex(f.zips[linux])
	f.zips[linux] = pack(files)
	f.list = strings.Replace(f.list, old, sha256Hex(f.zips[linux]), 1)
}

func TestContentOfAPackage(t *testing.T) {
	t.Parallel()
	const manifest = "terraform-provider-alpha_1.1.0_manifest.json"
	const speaks5 = `{"version": 1, "metadata": {"protocol_versions": ["5.0"]}}`
	sound := map[string]string{"terraform-provider-alpha_v1.1.0": linuxProgram, "LICENSE": "text"}
	for name, tt := range map[string]struct {
		files          map[string]string
		listed, served string // manifest
		want           string // words of the only problem; empty: no problem
	}{
		"as published":             {files: sound},
		"script":                   {files: map[string]string{"terraform-provider-alpha": "#!/bin/sh"}, want: "none for linux_amd64"},
		"nobody can unpack it":     {files: map[string]string{"terraform-provider-alpha": linuxProgram, "../x": ""}, want: "leads out"},
		"manifest":                 {files: sound, listed: speaks5, served: speaks5},
		"manifest of another kind": {files: sound, listed: `{"metadata": {"protocol_versions": ["6.0", "5.0"]}}`, served: `{"metadata": {"protocol_versions": ["6.0", "5.0"]}}`, want: `announces plugin protocol "5.0", and the manifest of the release says "5.0, 6.0"`},
		"other manifest":           {files: sound, listed: speaks5, served: speaks5 + " ", want: "not the one that the checksum list names"},
		"no manifest":              {files: sound, listed: "nonsense", served: "nonsense", want: "cannot be read"},
		"manifest elsewhere":       {files: sound, listed: speaks5},
	} {
		f := newFixture(t)
		f.replace(tt.files)
		if tt.listed != "" {
			f.list += sha256Hex([]byte(tt.listed)) + "  " + manifest + "\n"
		}
		f.hook = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/files/"+manifest) {
				return false
			}
			if tt.served == "" {
				http.NotFound(w, r)
			}
			io.WriteString(w, tt.served)
			return true
		}
		c := f.client(t, Options{Content: true}, "")
		size := int64(len(f.zips[linux]))
		got, err := c.Content(t.Context(), terraform, want(privateHost, linux), size)
		if err != nil || (tt.want != "") != (len(got.Problems) == 1) || !strings.Contains(strings.Join(got.Problems, ""), tt.want) || got.Size != size {
			t.Errorf("%s: %+v, error %v, want %q after %d bytes", name, got, err, tt.want, size)
		}
		if again, err := c.Content(t.Context(), terraform, want(privateHost, linux), 1); err != nil || again.Size != 0 || len(again.Problems) != len(got.Problems) {
			t.Errorf("%s: %+v, error %v, want the same without a download", name, again, err)
		}
	}
}

// TestContentIsKeptOfWhatIsHashed holds that a package is downloaded once for hashing and
// inspecting, and never above the limit.
func TestContentIsKeptOfWhatIsHashed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.client(t, Options{Content: true}, "")
	if _, err := c.Content(t.Context(), terraform, want(privateHost, linux), 10); err == nil {
		t.Error("more than the limit was downloaded")
	}
	if _, err := c.Package(t.Context(), terraform, want(privateHost, linux), 1<<20); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Content(t.Context(), terraform, want(privateHost, linux), 1); err != nil || got.Size != 0 || len(got.Problems) != 1 {
		t.Errorf("%+v, error %v, want the problem of a package that is here", got, err)
	}
}
