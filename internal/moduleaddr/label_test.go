package moduleaddr

import (
	"net/url"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
)

// TestLabel has addresses of every kind and what locks their packages.
func TestLabel(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, address, ref string }{
		{"./a", "", ""},
		{"acme/net/aws//modules/x", "registry.opentofu.org/acme/net/aws", ""},
		{"registry.terraform.io/acme/net/aws", "registry.terraform.io/acme/net/aws", ""},
		{"Mods.Example:8443/acme/net/aws", "mods.example:8443/acme/net/aws", ""},
		{"Müller.example/acme/net/aws", "müller.example/acme/net/aws", ""},
		{"github.com/o/r/a//b?ref=v1&depth=1", "git::https://github.com/o/r.git", "v1"},
		{"bitbucket.org/o/r//m?ref=v1", "git::https://bitbucket.org/o/r.git", "v1"},
		{"git::https://u:p@h.example/r.git//m?ref=v%2F1&sshkey=x", "git::https://h.example/r.git", "v/1"},
		{"git::https://u@h.example/r.git?%72ef=v1", "git::https://h.example/r.git", "v1"},
		{"git::https://h.example/r.git?b=2&ref=v1&a=1&b=1&checksum=md5:0", "git::https://h.example/r.git?a=1&b=2&b=1", "v1"},
		{"git::ssh://git:p@h.example:22/r.git?ref=v1", "git::ssh://git@h.example:22/r.git", "v1"},
		{"git@h.example:o/r.git?depth=1&ref=v1", "git::ssh://git@h.example/o/r.git", "v1"},
		{"git@h.example://o/r.git", "git::ssh://git@h.example/o/r.git", ""},
		{"git::file:///modules/net.git?ref=main", "git::file:///modules/net.git", "main"},
		{"git://h.example/r.git?ref=v1", "git://h.example/r.git", "v1"},
		{"https::https://h.example/a.zip", "https://h.example/a.zip", ""},
		{"https://u:p@h.example/a.zip//m?checksum=sha256:0&archive=zip", "https://h.example/a.zip?archive=zip", ""},
		{"https://h.example/archive.zip?ref=v1&depth=2", "https://h.example/archive.zip?depth=2&ref=v1", ""}, // the server's
		{"https://h.example/a.zip?", "https://h.example/a.zip", ""},
		{"bucket.s3.eu-west-1.amazonaws.com/a.zip//m?version=3&aws_access_key_id=x&aws_access_key_secret=y&aws_access_token=z",
			"s3::https://s3.eu-west-1.amazonaws.com/bucket/a.zip?version=3", ""},
		{"s3::https://s3.amazonaws.com/bucket/a.zip?region=x&aws_profile=p", "s3::https://s3.amazonaws.com/bucket/a.zip?aws_profile=p&region=x", ""},
		{"gcs::https://www.googleapis.com/storage/v1/bucket/a.zip#12", "gcs::https://www.googleapis.com/storage/v1/bucket/a.zip#12", ""},
		{"www.googleapis.com/storage/v1/bucket/a/b.zip//m", "gcs::https://www.googleapis.com/storage/v1/bucket/a/b.zip", ""},
		{"oci://h.example/a/b//m?tag=1", "oci://h.example/a/b?tag=1", ""},
		{"hg::http://h.example/r?rev=1", "hg::http://h.example/r?rev=1", ""},
		{"/modules/net//m", "file:///modules/net", ""},
	}
	for _, tt := range tests {
		a, err := Parse(tt.text, provider.OpenTofu)
		if err != nil {
			t.Errorf("Parse(%q) = %v", tt.text, err)
		}
		if address, ref := a.Label(); address != tt.address || ref != tt.ref {
			t.Errorf("Label of %q = %q, %q, want %q, %q", tt.text, address, ref, tt.address, tt.ref)
		}
	}
}

func TestRepository(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"git::https://u:p@h.example/r?ref=v1":            "git::https://h.example/r",
		"git::https://h.example/r//a/../b?ref=v1":        "git::https://h.example/r//b",
		"git::https://h.example/r//a/b?z=1&ref=v1&a=%3F": "git::https://h.example/r//a/b?a=%3F&z=1",
		"github.com/o/r/a?ref=v1":                        "git::https://github.com/o/r.git//a",
	} {
		a, err := Parse(text, provider.Terraform)
		if err != nil || a.Repository() != want {
			t.Errorf("Repository of %q = %q, %v; want %q", text, a.Repository(), err, want)
		}
	}
}

// FuzzLabel checks that a label is an address which has itself as its label, without what
// may be secret. So does the address of a repository, with the same subdirectory.
func FuzzLabel(f *testing.F) {
	for _, text := range []string{
		"github.com/o/r//a/b?ref=1", "git::git@h:o/r", "git@h://o//r", "s3::https://s3.amazonaws.com/b/k//..", "https://u:p@h/a.zip//*?archive=zip",
		"acme/net/aws//x", "https://h/a?x=https://u:p@h", "git::https://h/r///x?b&a=%", "https://h/a#x?y//z", "git@0:////0",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text, provider.Terraform)
		if err != nil {
			return
		}
		label, _ := a.Label()
		if a.Kind == Local {
			if label != "" {
				t.Errorf("Label of %q = %q, want none", text, label)
			}
			return
		}
		if a.Kind == Remote {
			u := a.Package.URL
			if _, err := url.Parse(u.String()); err != nil || u.Host == "" && u.Scheme != "file" {
				return // no server has it
			}
		}
		b, err := Parse(label, provider.OpenTofu)
		again, ref := b.Label()
		if err != nil || b.Subdir != "" || again != label || ref != "" {
			t.Errorf("Label of %q = %q, which is read as %q with the subdirectory %q and the ref %q (%v)", text, label, again, b.Subdir, ref, err)
		}
		if a.Kind != Remote || a.Package.Getter != "git" {
			return
		}
		if user := b.Package.URL.User; user != nil && user.String() != url.User(user.Username()).String() {
			t.Errorf("Label of %q = %q, which has a password", text, label)
		}
		c, err := Parse(a.Repository(), provider.OpenTofu)
		if err != nil || c.Subdir != a.Subdir || c.Repository() != a.Repository() {
			t.Errorf("Repository of %q = %q, which is read as %q (%v)", text, a.Repository(), c.Repository(), err)
		}
	})
}

func TestPlausibleRef(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{"", "v1.2.0", "feat/x", "v1~2", "vé"} {
		if !PlausibleRef(ref) {
			t.Errorf("PlausibleRef(%q) = false, want true", ref)
		}
	}
	for _, ref := range []string{"-x", "a\nb", "a\x7f", "\xff", strings.Repeat("a", 3) + "\x00"} {
		if PlausibleRef(ref) {
			t.Errorf("PlausibleRef(%q) = true, want false", ref)
		}
	}
}

func TestOnGitHub(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"git::https://github.com/acme/net.git":        "acme/net",
		"git::https://github.com/acme/net":            "acme/net",
		"git::https://github.com/acme/net//sub?ref=x": "acme/net",
		"git::ssh://git@github.com/acme/net.git":      "acme/net",
		"git::https://example.com/acme/net.git":       "",
		"git::https://github.com/acme/net/more":       "",
		"git::https://github.com/acme/../x":           "",
		"https://github.com/acme/net/archive.zip":     "",
		"mods.example/a/b/c":                          "",
		"":                                            "",
	} {
		if got := OnGitHub(address); got != want {
			t.Errorf("OnGitHub(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	const vpc, net = "registry.terraform.io/terraform-aws-modules/vpc/aws", "git::https://example.com/acme/net.git"
	for _, tt := range []struct {
		pattern, address string
		want             bool
	}{
		{"terraform-aws-modules/vpc", vpc, true},
		{"terraform-aws-modules/vpc/aws", vpc, true},
		{vpc, vpc, true},
		{"terraform-*/vpc", vpc, true},
		{"acme/net", net, true},
		{"example.com/acme/net.git", net, true},
		{"aws", vpc, false},
		{"terraform-aws-modules/aws", vpc, false},
		{"modules/vpc", vpc, false},
		{"acme/net/more", net, false},
	} {
		if got := Matches(tt.pattern, tt.address); got != tt.want {
			t.Errorf("Matches(%q, %q) = %t, want %t", tt.pattern, tt.address, got, tt.want)
		}
	}
}
