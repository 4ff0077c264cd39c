package scan

import (
	"testing"

	tfaddr "github.com/hashicorp/terraform-registry-address"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/provider"
)

// FuzzAddress holds moduleaddr against what this package says of a source. The
// one difference: what looks like a URL in its directory alone is none.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{
		"github.com/o/r//a/b?ref=1", "git::git@h:o/r", "s3::https://s3.amazonaws.com/b/k//..", "a.s3.b.amazonaws.com/k", "/x//y", "git::x",
		"https://u:p@h/a.zip//*?archive=zip", "acme/net/aws//x", "./a/../..", `..\x`, "https://h/a?x=https://u:p@h", "a//googleapis.com/", "c:x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := moduleaddr.Unknown
		switch _, err := tfaddr.ParseModuleSource(text); {
		case isLocal(text):
			want = moduleaddr.Local
		case err == nil:
			want = moduleaddr.Registry
		case isRemote(text):
			want = moduleaddr.Remote
		}
		a, err := moduleaddr.Parse(text, provider.Terraform)
		if a.Kind != want && !(want == moduleaddr.Remote && a.Kind == moduleaddr.Unknown && err != nil) {
			t.Errorf("Parse(%q) is %v, want %v", text, a.Kind, want)
		}
		if a.Kind == moduleaddr.Unknown && err == nil {
			t.Errorf("Parse(%q): no error", text)
		}
		if a.String() != redacted(text) || a.PackageString() != packageName(text) {
			t.Errorf("%q is shown as %q, %q, want %q, %q", text, a, a.PackageString(), redacted(text), packageName(text))
		}
	})
}
