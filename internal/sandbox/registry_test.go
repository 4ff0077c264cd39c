package sandbox

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/google/go-cmp/cmp"
)

func TestRegistryAnswers(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	s.Mend()
	const notFound = `{"errors":["Not Found"]}`
	tests := []struct {
		name, path string
		status     int
		body       string // with URL for the sandbox's own
	}{
		{
			"versions_in_the_order_of_the_text", "/registry.terraform.io/v1/providers/hashicorp/cloud/versions", 200,
			`{"id":"hashicorp/cloud","versions":[` +
				`{"version":"1.0.0","protocols":["5.0","6.0"],"platforms":[{"os":"linux","arch":"amd64"},{"os":"darwin","arch":"arm64"},{"os":"windows","arch":"amd64"}]},` +
				`{"version":"1.1.0","protocols":["5.0"],"platforms":[{"os":"linux","arch":"amd64"}]},` +
				`{"version":"2.0.0-beta1","protocols":["5.0","6.0"],"platforms":[{"os":"linux","arch":"amd64"},{"os":"darwin","arch":"arm64"},{"os":"windows","arch":"amd64"}]}` +
				`],"warnings":["moved to acme/cloud"]}`,
		},
		{
			"extra_versions_as_they_are", "/registry.terraform.io/v1/providers/hashicorp/moody/versions", 200,
			`{"id":"hashicorp/moody","versions":[` +
				`{"version":"1.0.0","protocols":["5.0"],"platforms":[{"os":"darwin","arch":"amd64"},{"os":"darwin","arch":"arm64"},{"os":"linux","arch":"amd64"},{"os":"linux","arch":"arm64"},{"os":"windows","arch":"amd64"}]},` +
				`{"version":"v3.0.0","protocols":["5.0"],"platforms":[]}` +
				`],"warnings":null}`,
		},
		{"time_of_publication", "/registry.terraform.io/v1/providers/hashicorp/cloud/1.1.0", 200,
			`{"id":"hashicorp/cloud/1.1.0","namespace":"hashicorp","name":"cloud","version":"1.1.0","published_at":"2024-05-01T00:00:00Z"}`},
		{"time_of_publication_unknown", "/registry.terraform.io/v1/providers/hashicorp/cloud/1.0.0", 200,
			`{"id":"hashicorp/cloud/1.0.0","namespace":"hashicorp","name":"cloud","version":"1.0.0"}`},
		{"discovery", "/registry.terraform.io/.well-known/terraform.json", 200,
			`{"modules.v1":"URL/registry.terraform.io/v1/modules/","providers.v1":"URL/registry.terraform.io/v1/providers/"}`},
		{"unknown_provider", "/registry.terraform.io/v1/providers/hashicorp/none/versions", 404, notFound},
		{"provider_of_another_host", "/registry.opentofu.org/v1/providers/hashicorp/plain/versions", 404, notFound},
		{"unknown_version", "/registry.terraform.io/v1/providers/hashicorp/cloud/9.9.9/download/linux/amd64", 404, notFound},
		{"unknown_platform", "/registry.terraform.io/v1/providers/hashicorp/cloud/1.1.0/download/darwin/arm64", 404, notFound},
		{"listed_only", "/registry.terraform.io/v1/providers/hashicorp/cloud/2.0.0-beta1/download/linux/amd64", 404, notFound},
		{"unknown_file", "/registry.terraform.io/files/hashicorp/cloud/1.0.0/README", 404, notFound},
		{"no_token", "/private.example/v1/providers/acme/secret/versions", 401, `{"errors":["Unauthorized"]}`},
		{"mirror_index", "/mirror/registry.terraform.io/hashicorp/cloud/index.json", 200, `{"versions":{"1.0.0":{},"1.1.0":{}}}`},
		{
			"mirror_archives", "/mirror/registry.terraform.io/hashicorp/odd/1.0.0.json", 200,
			`{"archives":{` +
				`"darwin_arm64":{"url":"URL/registry.terraform.io/files/hashicorp/odd/1.0.0/terraform-provider-odd_1.0.0_darwin_arm64.zip"},` +
				`"linux_amd64":{"url":"URL/registry.terraform.io/files/hashicorp/odd/1.0.0/terraform-provider-odd_1.0.0_linux_amd64.zip","hashes":["zh:11"]}}}`,
		},
		{"mirror_without_the_provider", "/mirror/registry.terraform.io/hashicorp/none/index.json", 404, notFound},
		{"mirror_without_an_unlisted_version", "/mirror/registry.terraform.io/hashicorp/cloud/2.0.0.json", 404, notFound},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := get(t, s.URL()+test.path)
			if a.err != nil || a.status != test.status {
				t.Fatalf("GET %s = %d, %v, want %d", test.path, a.status, a.err, test.status)
			}
			want := strings.ReplaceAll(test.body, "URL", s.URL())
			if diff := cmp.Diff(want, string(a.body)); diff != "" {
				t.Errorf("GET %s (-want +got):\n%s", test.path, diff)
			}
		})
	}
}

func TestRegistryToken(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	url := s.URL() + "/private.example/v1/providers/acme/secret/versions"
	for token, want := range map[string]int{"s3cret": http.StatusOK, "wrong": http.StatusUnauthorized} {
		a := request(t, http.MethodGet, url, http.Header{"Authorization": {"Bearer " + token}})
		if a.status != want {
			t.Errorf("versions with the token %q = %d, want %d", token, a.status, want)
		}
	}
}

// metadata reads the metadata of a package from a registry.
func metadata(t *testing.T, s *Sandbox, addr, version, platform string) metadataAnswer {
	t.Helper()
	host, rest, _ := strings.Cut(addr, "/")
	return getJSON[metadataAnswer](t, fmt.Sprintf("%s/%s/v1/providers/%s/%s/download/%s",
		s.URL(), host, rest, version, strings.ReplaceAll(platform, "_", "/")))
}

// fetch downloads a file that must be there.
func fetch(t *testing.T, url string) []byte {
	t.Helper()
	a := get(t, url)
	if a.err != nil || a.status != http.StatusOK {
		t.Fatalf("GET %s = %d, %v", url, a.status, a.err)
	}
	return a.body
}

// checkSignature verifies a checksum list with the announced keys, as the
// tools do.
func checkSignature(t *testing.T, m metadataAnswer, now time.Time) error {
	t.Helper()
	var ring openpgp.EntityList
	for _, key := range m.SigningKeys.GPGPublicKeys {
		entities, err := openpgp.ReadArmoredKeyRing(strings.NewReader(key.Armor))
		if err != nil {
			t.Fatal(err)
		}
		if got := entities[0].PrimaryKey.KeyIdString(); got != key.ID {
			t.Errorf("the key announced as %s is %s", key.ID, got)
		}
		ring = append(ring, entities...)
	}
	config := &packet.Config{Time: func() time.Time { return now }}
	_, err := openpgp.CheckDetachedSignature(ring, bytes.NewReader(fetch(t, m.ShasumsURL)), bytes.NewReader(fetch(t, m.SignatureURL)), config)
	return err
}

var today = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestPackageIsProvenBySignature(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	for _, addr := range []string{"registry.terraform.io/hashicorp/cloud", "registry.opentofu.org/hashicorp/cloud"} {
		m := metadata(t, s, addr, "1.0.0", "darwin_arm64")
		if err := checkSignature(t, m, today); err != nil {
			t.Errorf("signature of %s: %v", addr, err)
		}
		line := m.Shasum + "  " + m.Filename + "\n"
		if list := string(fetch(t, m.ShasumsURL)); !strings.Contains(list, line) {
			t.Errorf("the list of %s lacks %q:\n%s", addr, line, list)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(fetch(t, m.DownloadURL))); got != m.Shasum {
			t.Errorf("the package of %s has the SHA-256 %s, want %s", addr, got, m.Shasum)
		}
	}
}

func TestKeyBearsItsOwner(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	for addr, want := range map[string]string{
		"registry.terraform.io/hashicorp/cloud": "Acme Providers (sandbox) <acme@example.com>",
		"registry.terraform.io/hashicorp/plain": "k1",
	} {
		m := metadata(t, s, addr, "1.0.0", "linux_amd64")
		keys, err := openpgp.ReadArmoredKeyRing(strings.NewReader(m.SigningKeys.GPGPublicKeys[0].Armor))
		if err != nil {
			t.Fatal(err)
		}
		if got := keys[0].PrimaryIdentity().Name; got != want {
			t.Errorf("the key of %s belongs to %q, want %q", addr, got, want)
		}
	}
}

func TestPackagesDiffer(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	seen := map[string]string{}
	for _, want := range [][3]string{
		{"registry.terraform.io/hashicorp/cloud", "1.0.0", "linux_amd64"},
		{"registry.terraform.io/hashicorp/cloud", "1.0.0", "darwin_arm64"},
		{"registry.terraform.io/hashicorp/cloud", "1.1.0", "linux_amd64"},
		{"registry.terraform.io/hashicorp/plain", "1.0.0", "linux_amd64"},
	} {
		m := metadata(t, s, want[0], want[1], want[2])
		if other, ok := seen[m.Shasum]; ok {
			t.Errorf("%v has the package of %s", want, other)
		}
		seen[m.Shasum] = fmt.Sprint(want)
	}
}

func TestSwitchesOfRelease(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	const odd = "registry.terraform.io/hashicorp/odd"

	m := metadata(t, s, odd, "1.0.0", "darwin_arm64")
	if err := checkSignature(t, m, today); err == nil {
		t.Error("a list signed by k2 verifies with k1")
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(fetch(t, m.DownloadURL))); got == m.Shasum {
		t.Error("serve_other serves the package itself")
	}
	if list := string(fetch(t, m.ShasumsURL)); !strings.HasSuffix(list, "  manifest.json\n") || strings.Count(list, "\n") != 3 {
		t.Errorf("shasums_extra gives the list\n%s", list)
	}

	m = metadata(t, s, odd, "1.1.0", "linux_amd64")
	if len(m.SigningKeys.GPGPublicKeys) != 0 {
		t.Errorf("no_keys announces %v", m.SigningKeys)
	}
	if got, want := string(fetch(t, m.ShasumsURL)), m.Shasum+"  only-this-line.zip\n"; got != want {
		t.Errorf("shasums_raw gives %q, want %q", got, want)
	}
	if diff := cmp.Diff(statedHashes{Hashes: []string{"h1:false"}, PackageSize: 1}, m.Packages["linux_amd64"]); diff != "" {
		t.Errorf("packages_edit (-want +got):\n%s", diff)
	}
}

func TestExpiredKeySignedInTime(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	url := s.URL() + "/private.example/v1/providers/acme/secret/1.0.0/download/linux/amd64"
	a := request(t, http.MethodGet, url, http.Header{"Authorization": {"Bearer s3cret"}})
	var m metadataAnswer
	if err := json.Unmarshal(a.body, &m); err != nil {
		t.Fatalf("GET %s = %d, %v", url, a.status, err)
	}
	if err := checkSignature(t, m, time.Date(2019, 6, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Errorf("in 2019: %v", err)
	}
	if err := checkSignature(t, m, today); err == nil {
		t.Error("today: the signature verifies, want an expired key")
	}
}

func TestStatedHashesAreTrue(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	m := metadata(t, s, "registry.opentofu.org/hashicorp/cloud", "1.0.0", "linux_amd64")
	if len(m.Packages) != 3 {
		t.Fatalf("packages states %d platforms, want 3", len(m.Packages))
	}
	for platform, stated := range m.Packages {
		p := metadata(t, s, "registry.opentofu.org/hashicorp/cloud", "1.0.0", platform)
		if len(stated.Hashes) != 2 || stated.Hashes[0] != "zh:"+p.Shasum || !strings.HasPrefix(stated.Hashes[1], "h1:") {
			t.Errorf("packages of %s states %v, want zh:%s and an h1", platform, stated.Hashes, p.Shasum)
		}
		if size := len(fetch(t, p.DownloadURL)); stated.PackageSize != int64(size) {
			t.Errorf("packages of %s states the size %d, want %d", platform, stated.PackageSize, size)
		}
	}
	if m := metadata(t, s, "registry.terraform.io/hashicorp/plain", "1.0.0", "linux_amd64"); m.Packages != nil {
		t.Errorf("a registry that does not state hashes states %v", m.Packages)
	}
}

func TestPackageContent(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	tests := []struct {
		name, addr, version, platform string
		want                          []string
	}{
		{"default", "registry.terraform.io/hashicorp/plain", "1.0.0", "linux_amd64", []string{
			"-rwxr-xr-x LICENSE.txt A package of relock's sandbox.\n",
			"-rwxr-xr-x terraform-provider-plain_v1.0.0 #!/bin/sh\necho registry.terraform.io/hashicorp/plain 1.0.0 for linux_amd64 >&2\nexit 1\n",
		}},
		{"windows", "registry.terraform.io/hashicorp/plain", "1.0.0", "windows_amd64", []string{
			"-rwxr-xr-x LICENSE.txt A package of relock's sandbox.\n",
			"-rwxr-xr-x terraform-provider-plain_v1.0.0.exe #!/bin/sh\necho registry.terraform.io/hashicorp/plain 1.0.0 for windows_amd64 >&2\nexit 1\n",
		}},
		{"own_files", "registry.terraform.io/hashicorp/odd", "1.0.0", "linux_amd64", []string{
			"drwxr-xr-x docs/ ",
			"-rwxr-xr-x terraform-provider-odd odd\n",
			"Lrwxrwxrwx link terraform-provider-odd",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			archive := fetch(t, metadata(t, s, test.addr, test.version, test.platform).DownloadURL)
			if diff := cmp.Diff(test.want, entriesOf(t, archive)); diff != "" {
				t.Errorf("package (-want +got):\n%s", diff)
			}
		})
	}
}

// entriesOf returns mode, name and content of each entry of a zip.
func entriesOf(t *testing.T, archive []byte) []string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	for _, f := range r.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, fmt.Sprintf("%v %s %s", f.Mode(), f.Name, body))
	}
	return entries
}
