package module

import (
	"net/url"
	"testing"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/provider"
)

// FuzzAddress holds moduleaddr against what this package reads of a source.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{
		"github.com/o/r//a/b?ref=1", "git::git@h:o/r", "s3::https://s3.amazonaws.com/b/k//..", "a.s3.b.amazonaws.com/k", "/x//y", "git::x",
		"https://u:p@h/a.zip//*?archive=zip", "acme/net/aws//x", "./a/../..", `..\x`, "a//googleapis.com/", "bitbucket.org/o/r",
		"www.googleapis.com/storage/v1/bucket/a/b.zip//m", "git@example.com:o/r.git?ref=v1&depth=1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := moduleaddr.Parse(text, provider.OpenTofu)
		if a.Kind == moduleaddr.Local {
			return // module is asked about no others
		}
		if r, wrong := parseRegistry(text, provider.OpenTofu); wrong == nil {
			subdir, _ := cleanSubdir(r.subdir)
			if a.Kind != moduleaddr.Registry || a.Module != r.ModulePackage || a.Subdir != subdir {
				t.Errorf("Parse(%q) = %+v, want %+v", text, a, r)
			}
			return
		}
		want, wrong := parseRemote(text)
		if (wrong == nil) != (err == nil) || err != nil && err.Error() != wrong.Error() {
			t.Fatalf("Parse(%q) = %v, want %v", text, err, wrong)
		}
		if err == nil && (a.Kind != moduleaddr.Remote || a.Package.Key() != want.key() || a.Package.OnDisk() != want.local() || a.Subdir != want.subdir) {
			t.Errorf("Parse(%q) = %+v, want %+v", text, a, want)
		}
		full, err := moduleaddr.ParseURL(text)
		pkg, _ := splitSubdir(text)
		_, src := cutForced(pkg)
		if u, err := url.Parse(src); err != nil || u.Scheme == "" {
			wrong = errNoURL
		}
		if (wrong == nil) != (err == nil) || err == nil && (full.Package.Key() != want.key() || full.Subdir != want.subdir) {
			t.Errorf("ParseURL(%q) = %+v, %v, want %+v, %v", text, full, err, want, wrong)
		}
	})
}
