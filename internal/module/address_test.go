package module

import (
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
)

func TestParseRemote(t *testing.T) {
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
		a, err := parseRemote(tt.source)
		if err != nil || a.key() != tt.key || a.subdir != tt.subdir {
			t.Errorf("parseRemote(%q) = %v, %q, %v; want %q, %q", tt.source, a.key(), a.subdir, err, tt.key, tt.subdir)
		}
	}
}

func TestParseRemoteRefuses(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"", "a", "a/b", "modules/net", "example.com/a/b/c/d", "user@example.com:o/r.git",
		"github.com/o", "https://example.com/a.zip//../b", "https://example.com/a.zip//x/../..",
		"github.com/o/r/../../..", "www.googleapis.com/storage/v1", "a.b.c.d.amazonaws.com/x", "git@example.com:o/r?ref=%zz",
	} {
		if a, err := parseRemote(source); err == nil {
			t.Errorf("parseRemote(%q) = %q, %q; want an error", source, a.key(), a.subdir)
		}
	}
}

func FuzzParseRemote(f *testing.F) {
	for _, source := range []string{"github.com/o/r//a/b?ref=1", "git::git@h:o/r", "s3::https://s3.amazonaws.com/b/k//..", "a.s3.b.amazonaws.com/k", "/x//y", "https://u:p@h/a.zip//*?archive=zip"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		a, err := parseRemote(source)
		if err != nil {
			return
		}
		if a.subdir == ".." || strings.HasPrefix(a.subdir, "../") || strings.HasPrefix(a.subdir, "/") {
			t.Errorf("parseRemote(%q) leads to %q", source, a.subdir)
		}
		if a.getter == "" || a.url.Scheme == "" {
			t.Errorf("parseRemote(%q) = %q without getter or scheme", source, a.key())
		}
		if a.url.User != nil && a.url.User.String() != "" && strings.Contains(a.String(), a.url.User.String()+"@") {
			t.Errorf("%q shows the credentials of %q", a, source)
		}
	})
}

func TestParseRegistry(t *testing.T) {
	t.Parallel()
	tests := []struct {
		source string
		tool   provider.ToolName
		want   string
		subdir string
	}{
		{"acme/net/aws", provider.Terraform, "registry.terraform.io/acme/net/aws", ""},
		{"acme/net/aws//modules/x", provider.OpenTofu, "registry.opentofu.org/acme/net/aws", "modules/x"},
		{"registry.terraform.io/acme/net/aws", provider.OpenTofu, "registry.terraform.io/acme/net/aws", ""},
		{"mods.example/acme/net/aws//x", provider.OpenTofu, "mods.example/acme/net/aws", "x"},
		{"mods.example:8443/a_b/net/aws", provider.Terraform, "mods.example:8443/a_b/net/aws", ""},
	}
	for _, tt := range tests {
		r, err := parseRegistry(tt.source, tt.tool)
		if err != nil {
			t.Errorf("parseRegistry(%q) = %v", tt.source, err)
			continue
		}
		if got := r.Host.ForDisplay() + "/" + r.Namespace + "/" + r.Name + "/" + r.TargetSystem; got != tt.want || r.subdir != tt.subdir {
			t.Errorf("parseRegistry(%q) = %q, %q; want %q, %q", tt.source, got, r.subdir, tt.want, tt.subdir)
		}
	}
	for _, source := range []string{"github.com/acme/net/aws", "bitbucket.org/acme/net/aws", "acme/net", "acme/net/aws?ref=x", "localhost/acme/net/aws", "https://x/y/z"} {
		if r, err := parseRegistry(source, provider.Terraform); err == nil {
			t.Errorf("parseRegistry(%q) = %v, want an error", source, r)
		}
	}
}
