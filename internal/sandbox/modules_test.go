package sandbox

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

func TestModuleRegistry(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	base := s.URL() + "/registry.terraform.io/v1/modules/acme/net/cloud/"

	versions := getJSON[modulesAnswer](t, base+"versions")
	want := modulesAnswer{[]moduleAnswer{{"acme/net/cloud", []moduleVersionAnswer{{Version: "1.0.0"}, {Version: "v2.0.0-rc1"}}}}}
	if diff := cmp.Diff(want, versions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}

	a := get(t, base+"1.0.0/download")
	if a.status != http.StatusNoContent || len(a.body) != 0 {
		t.Fatalf("download = %d with %q, want 204 with nothing", a.status, a.body)
	}
	archive := fetch(t, a.header.Get("X-Terraform-Get"))
	entries := entriesOf(t, archive)
	if len(entries) != 2 || entries[1] != "-rwxr-xr-x sub/main.tf # nothing\n" {
		t.Errorf("archive holds %q", entries)
	}
}

func TestModuleRegistryKnowsNoOther(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	for _, path := range []string{
		"/registry.terraform.io/v1/modules/acme/none/cloud/versions",
		"/registry.opentofu.org/v1/modules/acme/net/cloud/versions",
		"/registry.terraform.io/v1/modules/acme/net/cloud/9.9.9/download",
		"/registry.terraform.io/archives/acme/net/cloud/9.9.9.zip",
		"/registry.terraform.io/archives/acme/net/cloud/1.0.0.tar",
	} {
		if a := get(t, s.URL()+path); a.status != http.StatusNotFound {
			t.Errorf("GET %s = %d, want 404", path, a.status)
		}
	}
}

func TestModuleRegistryListsWhatVersionsRequire(t *testing.T) {
	t.Parallel()
	const listing = "1.0.0 . aws hashicorp/aws >= 5.0, < 6\n1.0.0 . null - >= 3\n1.0.0 modules/x\n"
	w, err := ParseWorld(txtar.Parse([]byte("-- listings/registry.terraform.io/acme/net/cloud --\n" + listing + "-- modules/registry.terraform.io/acme/net/cloud/2.0.0/main.tf --\n")))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	got := get(t, s.URL()+"/registry.terraform.io/v1/modules/acme/net/cloud/versions")
	const want = `{"modules":[{"source":"acme/net/cloud","versions":[` +
		`{"version":"1.0.0","root":{"providers":[{"name":"aws","namespace":"hashicorp","source":"hashicorp/aws","version":"\u003e= 5.0, \u003c 6"},{"name":"null","version":"\u003e= 3"}],"dependencies":[]},` +
		`"submodules":[{"path":"modules/x","providers":[],"dependencies":[]}]},{"version":"2.0.0"}]}]}`
	if strings.TrimSpace(string(got.body)) != want {
		t.Errorf("versions = %s\nwant %s", got.body, want)
	}
}

func TestListingsAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"-- listings/registry.terraform.io/acme/net --\n":                    "it must be like listings/HOST/NAMESPACE/NAME/SYSTEM",
		"-- listings/registry.terraform.io/acme/net/cloud --\n1.0.0\n":       "must be like VERSION PATH",
		"-- listings/registry.terraform.io/acme/net/cloud --\n1.0.0 . aws\n": "must be like VERSION PATH",
		"-- listings/-/acme/net/cloud --\n":                                  "invalid host",
	} {
		if _, err := ParseWorld(txtar.Parse([]byte(text))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseWorld(%q): %v, want %q", text, err, want)
		}
	}
}
