package moduleaddr

import (
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
)

// TestParse reads an address of each kind and shows what people see of it.
func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text    string
		kind    Kind
		is      string // the path, the module, or the package's key
		subdir  string
		shown   string // empty: the text
		pkgShow string // empty: shown
	}{
		{text: "./a//b/", kind: Local, is: "a/b", pkgShow: "./a"},
		{text: `..\a\b`, kind: Local, is: "../a/b"},
		{text: "acme/net/aws", kind: Registry, is: "registry.opentofu.org/acme/net/aws"},
		{text: "registry.terraform.io/acme/net/aws//x/..", kind: Registry, is: "registry.terraform.io/acme/net/aws", pkgShow: "registry.terraform.io/acme/net/aws"},
		{text: "mods.example:8443/a_b/net/aws//m", kind: Registry, is: "mods.example:8443/a_b/net/aws", subdir: "m", pkgShow: "mods.example:8443/a_b/net/aws"},
		{text: "github.com/o/r/a//b?ref=v1", kind: Remote, is: "git::https://github.com/o/r.git?ref=v1", subdir: "a/b", shown: "github.com/o/r/a//b", pkgShow: "github.com/o/r/a"},
		{text: "git::https://u:p@h.example/r.git//m?ref=v1&sshkey=x", kind: Remote, is: "git::https://u:p@h.example/r.git?ref=v1&sshkey=x", subdir: "m", shown: "git::https://h.example/r.git//m", pkgShow: "git::https://h.example/r.git"},
		{text: "https://h.example/a.zip", kind: Remote, is: "https::https://h.example/a.zip"},
		{text: "/modules/net", kind: Remote, is: "file::file:///modules/net"},
	}
	for _, tt := range tests {
		a, err := Parse(tt.text, provider.OpenTofu)
		if err != nil {
			t.Errorf("Parse(%q) = %v", tt.text, err)
			continue
		}
		is := a.Path
		switch a.Kind {
		case Registry:
			is = a.Module.Host.ForDisplay() + "/" + a.Module.Namespace + "/" + a.Module.Name + "/" + a.Module.TargetSystem
		case Remote:
			is = a.Package.Key()
		}
		if tt.shown == "" {
			tt.shown = tt.text
		}
		if tt.pkgShow == "" {
			tt.pkgShow = tt.shown
		}
		if a.Kind != tt.kind || is != tt.is || a.Subdir != tt.subdir || Shown(tt.text) != tt.shown || ShownPackage(tt.text) != tt.pkgShow {
			t.Errorf("Parse(%q) = %v %q, %q, shown as %q, %q", tt.text, a.Kind, is, a.Subdir, Shown(tt.text), ShownPackage(tt.text))
		}
	}
}

// TestParse_remote reads URLs and all short forms.
func TestParse_remote(t *testing.T) {
	t.Parallel()
	tests := []struct{ source, key, subdir string }{
		{"https://example.com/a.zip", "https::https://example.com/a.zip", ""},
		{"https://example.com/a.zip//x/y?archive=zip", "https::https://example.com/a.zip?archive=zip", "x/y"},
		{"https://example.com/a?u=http://b//c", "https::https://example.com/a?u=http://b//c", ""},
		{"https://example.com/a.zip//*", "https::https://example.com/a.zip", "*"},
		{"https://example.com/a.zip//./x/../y//z", "https::https://example.com/a.zip", "y/z"},
		{"https://example.com/a.zip///x", "https::https://example.com/a.zip", "x"},
		{"git::https://example.com/r.git//m?ref=v1", "git::https://example.com/r.git?ref=v1", "m"},
		{"git::ssh://git@example.com:22/r.git", "git::ssh://git@example.com:22/r.git", ""},
		{"git::git@example.com:o/r.git//m?ref=v1", "git::ssh://git@example.com/o/r.git?ref=v1", "m"},
		{"git@example.com:o/r.git?ref=v1&depth=1", "git::ssh://git@example.com/o/r.git?depth=1&ref=v1", ""},
		{"git@example.com:/o/r.git", "git::ssh://git@example.com/o/r.git", ""},
		{"github.com/o/r", "git::https://github.com/o/r.git", ""},
		{"github.com/o/r.git?ref=v1", "git::https://github.com/o/r.git?ref=v1", ""},
		{"github.com/o/r/a/b?ref=x/y", "git::https://github.com/o/r.git?ref=x/y", "a/b"},
		{"github.com/o/r/a//b", "git::https://github.com/o/r.git", "a/b"},
		{"git::github.com/o/r//b", "git::https://github.com/o/r.git", "b"},
		{"hg::github.com/o/r", "hg::https://github.com/o/r.git", ""},
		{"bitbucket.org/o/r//m?ref=v1", "git::https://bitbucket.org/o/r.git?ref=v1", "m"},
		{"bitbucket.org/o/r.git", "git::https://bitbucket.org/o/r.git", ""},
		{"hg::http://example.com/r?rev=1", "hg::http://example.com/r?rev=1", ""},
		{"www.googleapis.com/storage/v1/bucket/a/b.zip//m", "gcs::https://www.googleapis.com/storage/v1/bucket/a/b.zip", "m"},
		{"s3.amazonaws.com/bucket/a.zip", "s3::https://s3.amazonaws.com/bucket/a.zip", ""},
		{"s3-eu-west-1.amazonaws.com/bucket/a.zip", "s3::https://s3-eu-west-1.amazonaws.com/bucket/a.zip", ""},
		{"bucket.s3-eu-west-1.amazonaws.com/a/b.zip", "s3::https://s3-eu-west-1.amazonaws.com/bucket/a/b.zip", ""},
		{"bucket.s3.eu-west-1.amazonaws.com/a.zip//m", "s3::https://s3.eu-west-1.amazonaws.com/bucket/a.zip", "m"},
		{"/modules/net//m", "file::file:///modules/net", "m"},
		{"file:///modules/net", "file::file:///modules/net", ""},
		{"git::/modules/net.git", "git::file:///modules/net.git", ""},
		{"oci://example.com/a/b//m?tag=1", "oci::oci://example.com/a/b?tag=1", "m"},
		{"example.com:8080/a", "example.com::example.com:8080/a", ""}, // a scheme, by the rules of URLs
		{"git::ext::sh -c x", "git::ext::sh -c x", ""},
	}
	for _, tt := range tests {
		a, err := Parse(tt.source, provider.OpenTofu)
		if err != nil || a.Kind != Remote || a.Package.Key() != tt.key || a.Subdir != tt.subdir {
			t.Errorf("Parse(%q) = %v, %q, %v; want %q, %q", tt.source, a.Package.Key(), a.Subdir, err, tt.key, tt.subdir)
		}
	}
}

// TestParse_refuses distinguishes text that is no address from a wrong address.
func TestParse_refuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Kind{
		"": Unknown, "a": Unknown, "a/b": Unknown, "modules/net": Unknown, "example.com/a/b/c/d": Unknown, "user@example.com:o/r.git": Unknown,
		"a//googleapis.com/": Unknown,
		"github.com/o":       Remote, "https://example.com/a.zip//../b": Remote, "github.com/o/r/../../..": Remote,
		"www.googleapis.com/storage/v1": Remote, "a.b.c.d.amazonaws.com/x": Remote, "git@example.com:o/r?ref=%zz": Remote, "git::abc": Remote,
	} {
		if a, err := Parse(text, provider.Terraform); err == nil || a.Kind != want {
			t.Errorf("Parse(%q) = %v, %v, want %v and an error", text, a.Kind, err, want)
		}
	}
}

// FuzzParse checks what users of an address rely on. No directory leads out. A fetched
// address has a getter and a URL. The text for people has no credentials and no query.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"github.com/o/r//a/b?ref=1", "git::git@h:o/r", "s3::https://s3.amazonaws.com/b/k//..", "a.s3.b.amazonaws.com/k", "/x//y",
		"https://u:p@h/a.zip//*?archive=zip", "acme/net/aws//x", "./a/../..", "https://h/a?x=https://u:p@h",
		"A://:p@#:p@", "A://:p@/:p@",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text, provider.Terraform)
		if shown := Shown(text); strings.Contains(shown, "?") || !strings.HasPrefix(shown, ShownPackage(text)) {
			t.Errorf("%q is shown as %q, %q", text, shown, ShownPackage(text))
		}
		if err != nil {
			return
		}
		if a.Subdir == ".." || strings.HasPrefix(a.Subdir, "../") || strings.HasPrefix(a.Subdir, "/") {
			t.Errorf("Parse(%q) leads to %q", text, a.Subdir)
		}
		if a.Kind == Unknown || a.Kind == Remote && (a.Package.Getter == "" || a.Package.URL.Scheme == "") {
			t.Errorf("Parse(%q) = %+v without kind, getter or scheme", text, a)
		}
		if a.Kind != Remote || a.Package.URL.User == nil || strings.Contains(text, "@") && !strings.Contains(text, "://") {
			return
		}
		// A path or a fragment may say by chance what the credentials are.
		_, shown, _ := strings.Cut(Shown(text), "://")
		shown, _, _ = strings.Cut(shown, "#")
		shown, _, _ = strings.Cut(shown, "/")
		if _, secret := a.Package.URL.User.Password(); secret && strings.Contains(shown, a.Package.URL.User.String()+"@") {
			t.Errorf("%q is shown as %q", text, Shown(text))
		}
	})
}

// TestParse_registry distinguishes addresses of registries from text that looks like
// them.
func TestParse_registry(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"github.com/acme/net/aws", "bitbucket.org/acme/net/aws", "acme/net", "acme/net/aws?ref=x", "localhost/acme/net/aws", "https://x/y/z", "a\x90.example/acme/net/aws"} {
		if a, _ := Parse(text, provider.Terraform); a.Kind == Registry {
			t.Errorf("Parse(%q) = %v, want another kind", text, a.Module)
		}
	}
}

// Of a query the ref alone is shown, and no text that is none.
func TestRef(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"github.com/o/r//a?ref=v1.2.0":            "v1.2.0",
		"git::ssh://git@h/o/r?depth=1&ref=feat/x": "feat/x",
		"git::https://h/o/r?sshkey=c2VjcmV0":      "",
		"git::https://h/o/r?ref=a%20b":            "",
		"git::https://h/o/r?ref=%zz":              "",
		"git::https://h/o/r?ref=-x":               "",
		"acme/net/aws":                            "",
	} {
		if got := Ref(text); got != want {
			t.Errorf("Ref(%q) = %q, want %q", text, got, want)
		}
	}
}
