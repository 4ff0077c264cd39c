package sandbox

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModuleRegistry(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	base := s.URL() + "/registry.terraform.io/v1/modules/acme/net/cloud/"

	versions := getJSON[modulesAnswer](t, base+"versions")
	want := modulesAnswer{[]moduleAnswer{{"acme/net/cloud", []moduleVersionAnswer{{"1.0.0"}, {"v2.0.0-rc1"}}}}}
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
