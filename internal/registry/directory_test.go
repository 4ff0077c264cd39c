package registry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// lay writes files into a new directory.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// program is the content of a package of hashicorp/alpha.
func program(text string) map[string]string {
	return map[string]string{"terraform-provider-alpha_v1.1.0": text}
}

// mirrored is a client whose only installation method is a filesystem mirror.
func mirrored(t *testing.T, dir string) *Client {
	t.Helper()
	return mirroredWith(t, Options{}, dir)
}

func mirroredWith(t *testing.T, opts Options, dir string) *Client {
	t.Helper()
	return clientOf(t, opts, "provider_installation {\n  filesystem_mirror {\n    path = \""+dir+"\"\n  }\n}\n")
}

const alphaDir = "registry.terraform.io/hashicorp/alpha/"

func TestDirectoryListsBothLayouts(t *testing.T) {
	t.Parallel()
	dir := lay(t, map[string]string{
		alphaDir + "terraform-provider-alpha_1.0.0_linux_amd64.zip":             "",
		alphaDir + "Terraform-Provider-ALPHA_1.1.0_linux_amd64.ZIP":             "",
		alphaDir + "terraform-provider-alpha_1.1.0-beta1_darwin_arm64_x.zip":    "",
		alphaDir + "1.1.0/darwin_arm64/terraform-provider-alpha":                "",
		alphaDir + "01.2/windows_amd64/terraform-provider-alpha":                "",
		alphaDir + "terraform-provider-beta_3.0.0_linux_amd64.zip":              "",
		alphaDir + "terraform-provider-alpha_v3.0.0_linux_amd64.zip":            "",
		alphaDir + "terraform-provider-alpha_3.0.0_linux.zip":                   "",
		alphaDir + "terraform-provider-alpha_3.0.0_linux_amd64.tar":             "",
		alphaDir + "latest/linux_amd64/terraform-provider-alpha":                "",
		alphaDir + "3.0.0/linux/terraform-provider-alpha":                       "",
		alphaDir + "3.0.0/linux_amd64":                                          "a file",
		alphaDir + "terraform-provider-alpha_3.1.0_linux_amd64.zip/x":           "a directory",
		"bücher.example:8443/acme/x/terraform-provider-x_1.0.0_linux_amd64.zip": "",
		"registry.terraform.io/bad_space/alpha/3.0.0/linux_amd64/x":             "",
		"registry.terraform.io/-/alpha/3.0.0/linux_amd64/x":                     "",
		"README": "",
	})
	c := mirrored(t, dir)
	offer, err := c.Versions(t.Context(), terraform, alpha(terraformHost))
	got := offer.Releases
	if err != nil {
		t.Fatal(err)
	}
	want := []provider.Release{
		{Version: provider.Version{Major: 1}, Platforms: []provider.Platform{linux}},
		{Version: provider.Version{Major: 1, Minor: 1, Prerelease: "beta1"}, Platforms: []provider.Platform{darwin}},
		{Version: provider.Version{Major: 1, Minor: 1}, Platforms: []provider.Platform{darwin, linux}},
		{Version: provider.Version{Major: 1, Minor: 2}, Platforms: []provider.Platform{windows}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Versions (-want +got):\n%s", diff)
	}
	addr, err := provider.ParseAddr("bücher.example:8443/acme/x", provider.Terraform)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Versions(t.Context(), opentofu, addr); err != nil || len(got.Releases) != 1 {
		t.Errorf("Versions of an international host with a port = %v, %v; want one", got, err)
	}
}

func TestDirectoryFollowsNoLinksButAtBothEnds(t *testing.T) {
	t.Parallel()
	elsewhere := lay(t, map[string]string{
		"registry.terraform.io/hashicorp/alpha/1.0.0/linux_amd64/terraform-provider-alpha": "x",
		"package/terraform-provider-alpha":                                                 "x",
		"package.zip":                                                                      string(pack(program("x"))),
	})
	dir := lay(t, map[string]string{alphaDir + "1.1.0/windows_amd64/terraform-provider-alpha": "x"})
	link := func(target, name string) {
		if err := os.Symlink(filepath.Join(elsewhere, target), filepath.Join(dir, name)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	link("package", alphaDir+"1.1.0/linux_amd64")
	link("package.zip", alphaDir+"terraform-provider-alpha_1.1.0_darwin_arm64.zip")
	link("registry.terraform.io/hashicorp/alpha/1.0.0", alphaDir+"1.0.0")
	link("registry.terraform.io", "example.com")
	base := filepath.Join(t.TempDir(), "mirror")
	if err := os.Symlink(dir, base); err != nil {
		t.Fatal(err)
	}
	c := mirrored(t, base)
	offer, err := c.Versions(t.Context(), terraform, alpha(terraformHost))
	got := offer.Releases
	if err != nil || len(got) != 1 || len(got[0].Platforms) != 3 {
		t.Errorf("Versions = %v, %v; want 1.1.0 alone, for three platforms", got, err)
	}
	for _, p := range []provider.Platform{linux, darwin} {
		if _, err := c.Hashes(t.Context(), terraform, want(terraformHost, p)); err != nil {
			t.Errorf("Hashes for %s behind a link: %v", p, err)
		}
	}
}

func TestDirectoryHashes(t *testing.T) {
	t.Parallel()
	zip := string(pack(map[string]string{"terraform-provider-alpha_v1.1.0": "x", "docs/": "", "docs/a": "b"}))
	dir := lay(t, map[string]string{
		alphaDir + "terraform-provider-alpha_1.1.0_linux_amd64.zip":     zip,
		alphaDir + "1.1.0/linux_amd64/terraform-provider-alpha":         "another copy",
		alphaDir + "1.1.0/darwin_arm64/terraform-provider-alpha_v1.1.0": "x",
		alphaDir + "1.1.0/darwin_arm64/docs/a":                          "b",
	})
	hashed, err := hash.Package(strings.NewReader(zip))
	if err != nil {
		t.Fatal(err)
	}
	c := mirrored(t, dir)
	wants := map[provider.Platform]provider.Hashes{
		// A zip has precedence over a directory. No zh is recorded.
		linux: {
			Sum: hashed.Sum, Platform: linux, Mirror: "filesystem mirror " + filepath.ToSlash(dir),
		},
		darwin: {Sum: provider.Sum{H1: hashed.Sum.H1, H1Zip: hashed.Sum.H1}, Platform: darwin, Mirror: "filesystem mirror " + filepath.ToSlash(dir)},
	}
	if hashed.Sum.H1 == hashed.Sum.H1Zip {
		t.Fatal("the package does not tell both h1 apart")
	}
	for p, w := range wants {
		for _, tool := range []provider.Tool{terraform, opentofu} {
			got, err := c.Hashes(t.Context(), tool, want(terraformHost, p))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(w, got); diff != "" {
				t.Errorf("Hashes of %s for %s (-want +got):\n%s", p, tool, diff)
			}
			if diff := cmp.Diff([]provider.Mark{provider.MarkMirror}, provider.Marks([]provider.Hashes{got}, []provider.Hash{got.Sum.H1})); diff != "" {
				t.Errorf("marks of %s (-want +got):\n%s", p, diff)
			}
		}
	}
	if c.Packages() != 0 {
		t.Errorf("%d packages were downloaded from a directory", c.Packages())
	}
}

func TestDirectoryFailures(t *testing.T) {
	t.Parallel()
	file := alphaDir + "terraform-provider-alpha_1.1.0_linux_amd64.zip"
	tests := []struct {
		name  string
		files map[string]string
		code  problem.Code
		want  string
	}{
		{"unknown_provider", map[string]string{"x": ""}, problem.CodeNoPackage, "provider registry.terraform.io/hashicorp/alpha 1.1.0 is not available for linux_amd64"},
		{"unknown_platform", map[string]string{strings.ReplaceAll(file, "linux", "plan9"): ""}, problem.CodeNoPackage, "is not available for linux_amd64"},
		{"no_zip", map[string]string{file: "<html>"}, problem.CodeBadPackage, "hashing " + file},
		{"no_program", map[string]string{file: string(pack(map[string]string{"README": ""}))}, problem.CodeBadPackage, "provider binary not found"},
		{"no_program_unpacked", map[string]string{alphaDir + "1.1.0/linux_amd64/sub/terraform-provider-alpha": ""}, problem.CodeBadPackage, "provider binary not found"},
		{"name_that_cannot_be_hashed", map[string]string{alphaDir + "1.1.0/linux_amd64/a\nb": ""}, problem.CodeBadPackage, "cannot be unpacked"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := mirrored(t, lay(t, tt.files)).Hashes(t.Context(), terraform, want(terraformHost, linux))
			e := wantError(t, err, tt.code, tt.want)
			if e.Problem.Hint == "" || e.Problem.Subject.Addr != alpha(terraformHost) || e.Problem.Subject.Version != v110 || e.Problem.Subject.Platform != linux {
				t.Errorf("error = %+v, want it about the package, with a hint", e)
			}
		})
	}
	c := mirrored(t, filepath.Join(t.TempDir(), "missing"))
	_, err := c.Versions(t.Context(), terraform, alpha(terraformHost))
	if e := wantError(t, err, problem.CodeCLIConfig, "/missing cannot be searched: "); !strings.Contains(e.Problem.Hint, "path") {
		t.Errorf("hint = %q, want what to check", e.Problem.Hint)
	}
	c = mirrored(t, lay(t, map[string]string{"x": ""}))
	_, err = c.Versions(t.Context(), terraform, alpha(terraformHost))
	wantError(t, err, problem.CodeUnknownProvider, "provider registry.terraform.io/hashicorp/alpha was not found in the filesystem mirror")
}

// TestPackedPackageIsUnpackedOnceEver holds that the cache knows a zip by the zh of its
// bytes, if relock itself has hashed it.
func TestPackedPackageIsUnpackedOnceEver(t *testing.T) {
	t.Parallel()
	zip := pack(program("packed"))
	dir := lay(t, map[string]string{alphaDir + filename(linux): string(zip)})
	path := filepath.Join(t.TempDir(), "hashes")
	hashed, err := hash.Package(strings.NewReader(string(zip)))
	if err != nil {
		t.Fatal(err)
	}
	for run, cached := range []int{0, 1} {
		c := mirroredWith(t, Options{Cache: openCache(t, path)}, dir)
		got, err := c.Hashes(t.Context(), terraform, want(terraformHost, linux))
		if err != nil || got.Sum.H1 != hashed.Sum.H1 || got.Sum.ZH != hashed.Sum.ZH || c.Cached() != cached || c.Packages() != 0 {
			t.Errorf("run %d: Hashes = %+v, %v, with %d cached; want %+v with %d", run, got, err, c.Cached(), hashed, cached)
		}
	}

	// The cache knows the zip, so it is not unpacked, even if that would give another
	// result.
	for _, origin := range []hash.Origin{hash.FromPackage, hash.FromRegistry} {
		other := hash.Entry{Hashed: hashed, Origin: origin}
		other.Hashed.Sum.H1 = provider.Hash("h1:" + strings.Repeat("A", 43) + "=")
		wanted := other.Hashed.Sum.H1
		if origin == hash.FromRegistry {
			other.Hashed.Programs, wanted = nil, hashed.Sum.H1
		}
		cache := openCache(t, filepath.Join(t.TempDir(), "hashes"))
		if err := cache.Add(other); err != nil {
			t.Fatal(err)
		}
		got, err := mirroredWith(t, Options{Cache: cache}, dir).Hashes(t.Context(), terraform, want(terraformHost, linux))
		if err != nil || got.Sum.H1 != wanted {
			t.Errorf("Hashes with an entry of origin %q = %+v, %v; want %s", origin, got, err, wanted)
		}
	}
}

func TestUnreadableDirectoryIsUnusable(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("nothing is unreadable to the superuser")
	}
	dir := lay(t, map[string]string{alphaDir + "1.1.0/linux_amd64/terraform-provider-alpha": "x", "other.example/x": ""})
	if err := os.Chmod(filepath.Join(dir, "other.example"), 0); err != nil {
		t.Fatal(err)
	}
	_, err := mirrored(t, dir).Versions(t.Context(), terraform, alpha(terraformHost))
	wantError(t, err, problem.CodeCLIConfig, "cannot be searched")
}

// implied is a client without a provider_installation block. The user's plugin directory
// has the files. The registry is the fixture's.
func (f *fixture) implied(t *testing.T, files map[string]string) *Client {
	t.Helper()
	home := map[string]string{}
	for name, text := range files {
		home[".terraform.d/plugins/"+name] = text
	}
	return f.clientIn(t, lay(t, home), Options{}, "")
}

func TestProviderInAPluginDirectoryHasNoRegistry(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.implied(t, map[string]string{alphaDir + "1.0.0/darwin_arm64/terraform-provider-alpha": "x"})
	offer, err := c.Versions(t.Context(), terraform, alpha(terraformHost))
	got := offer.Releases
	if err != nil || len(got) != 1 || got[0].Version != (provider.Version{Major: 1}) {
		t.Errorf("Versions = %v, %v; want what lies in the directory alone", got, err)
	}
	// The registry is not asked for another version or platform either.
	_, err = c.Hashes(t.Context(), terraform, want(terraformHost, linux))
	wantError(t, err, problem.CodeNoPackage, "is not available for linux_amd64")
	if asked := f.requests(); len(asked) > 0 {
		t.Errorf("the registry was asked: %v", asked)
	}
	if _, err := c.Versions(t.Context(), terraform, alpha(privateHost)); err != nil {
		t.Errorf("a provider that does not lie there: %v", err)
	}
	origin := want(terraformHost, linux)
	origin.Origin = true
	if h, err := c.Hashes(t.Context(), terraform, origin); err != nil || h.Mirror != "" {
		t.Errorf("the package of the origin = %+v, %v; want the registry's", h, err)
	}
}

func TestPluginDirectoryOfARootModule(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	home := map[string]string{alphaDir + "1.0.0/linux_amd64/terraform-provider-alpha": "home"}
	tree := fstest.MapFS{}
	for name, text := range program("vendored") {
		tree[alphaDir+"1.1.0/linux_amd64/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	shared := f.implied(t, home)

	c := shared.In(tree, "envs/prod/terraform.d/plugins", true)
	offer, err := c.Versions(t.Context(), terraform, alpha(terraformHost))
	got := offer.Releases
	if err != nil || len(got) != 2 {
		t.Errorf("Versions = %v, %v; want those of both directories", got, err)
	}
	h, err := c.Hashes(t.Context(), terraform, want(terraformHost, linux))
	if err != nil || h.Mirror != "filesystem mirror envs/prod/terraform.d/plugins" {
		t.Errorf("Hashes = %+v, %v; want the root module's own package", h, err)
	}
	if got, err := shared.Versions(t.Context(), terraform, alpha(terraformHost)); err != nil || len(got.Releases) != 1 {
		t.Errorf("Versions of another root module = %v, %v; want those of the home directory", got, err)
	}

	c = shared.In(tree, "envs/prod/terraform.d/plugins", false)
	_, err = c.Versions(t.Context(), opentofu, alpha(terraformHost))
	e := wantError(t, err, problem.CodeCLIConfig,
		"OpenTofu would take registry.terraform.io/hashicorp/alpha from envs/prod/terraform.d/plugins, and what a repository keeps there is not used on GitHub")
	if !strings.Contains(e.Problem.Hint, "filesystem_mirror") || e.Problem.Subject.Addr != alpha(terraformHost) {
		t.Errorf("error = %+v, want it about the provider, with what to do", e)
	}
	_, err = c.Hashes(t.Context(), terraform, want(terraformHost, linux))
	wantError(t, err, problem.CodeCLIConfig, "is not used on GitHub")
	if _, err := c.Versions(t.Context(), terraform, alpha(privateHost)); err != nil {
		t.Errorf("a provider that the root module does not keep: %v", err)
	}

	// A configured method disables all implied directories.
	c = f.client(t, Options{}, "provider_installation {\n  direct {}\n}\n").In(tree, "terraform.d/plugins", false)
	if h, err := c.Hashes(t.Context(), terraform, want(terraformHost, linux)); err != nil || h.Mirror != "" {
		t.Errorf("Hashes with direct alone = %+v, %v; want the registry's", h, err)
	}
}

func TestPackageOfADirectoryIsAtHand(t *testing.T) {
	t.Parallel()
	c := mirrored(t, lay(t, map[string]string{alphaDir + "1.1.0/linux_amd64/terraform-provider-alpha": "one"}))
	want := want(terraformHost, linux)
	want.Origin = true
	if size, err := c.Size(t.Context(), terraform, want); err != nil || size != provider.AtHand {
		t.Errorf("Size = %d, error %v, want that it costs nothing", size, err)
	}
	if l, err := c.Package(t.Context(), terraform, want, 1); err != nil || l.Mirrored == nil || l.Mirrored.Sum.H1 == "" {
		t.Errorf("Package = %+v, error %v, want what it hashes to", l.Mirrored, err)
	}
}
