package sandbox

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

func TestParseWorldRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"unknown_section", "-- registries/x --\n", "registries/x: unknown kind of file"},
		{"file_twice", "-- hosts --\n-- hosts --\n", "hosts: this file is here twice"},
		{"bad_yaml", "-- registry/example.com/a/b --\nversions: [1.0.0]\nx: [\n", "registry/example.com/a/b:2: "},
		{"unknown_key", "-- registry/example.com/a/b --\nversions: [1.0.0]\nsigned: k1\n", "registry/example.com/a/b:2: unknown field \"signed\""},
		{"unknown_key_of_version", "-- registry/example.com/a/b --\nversions:\n  1.0.0:\n    listed: true\n", "registry/example.com/a/b:3: unknown field \"listed\""},
		{"bad_address", "-- registry/example.com/b --\n", "registry/example.com/b: invalid provider source address"},
		{"bad_version", "-- registry/example.com/a/b --\nversions:\n- 1.0.0\n- latest\n", "registry/example.com/a/b:3: invalid version \"latest\""},
		{"versions_are_text", "-- registry/example.com/a/b --\nversions: all\n", "registry/example.com/a/b:1: versions must be a list or a map"},
		{"bad_platform", "-- registry/example.com/a/b --\nversions:\n  1.0.0:\n    platforms: [linux]\n", "registry/example.com/a/b:2: invalid platform \"linux\""},
		{"unknown_signing_key", "-- registry/example.com/a/b --\nsign: k9\nversions: [1.0.0]\n", "registry/example.com/a/b:2: unknown key \"k9\""},
		{"unknown_announced_key", "-- registry/example.com/a/b --\nkeys: [k9]\nversions: [1.0.0]\n", "registry/example.com/a/b:2: unknown key \"k9\""},
		{"swap_without_package", "-- registry/example.com/a/b --\nversions:\n  1.0.0:\n    serve_other: {linux_amd64: plan9_arm}\n", "registry/example.com/a/b:2: b 1.0.0 has no package for \"plan9_arm\""},
		{"bad_mode", "-- registry/example.com/a/b --\nversions:\n  1.0.0:\n    files: {\"*\": [{name: x, mode: pipe}]}\n", "registry/example.com/a/b:2: unknown mode \"pipe\""},
		{"bad_host_beside", "-- registry/example.com/a/b --\nalso: [\"-\"]\n", "registry/example.com/a/b: invalid host \"-\""},
		{"provider_twice", "-- registry/example.com/a/b --\n-- registry/example.org/a/b --\nalso: [example.com]\n", "registry/example.org/a/b: example.com/a/b is described twice"},
		{"bad_key", "-- keys --\nk1: {born: 2020-01-01}\n", "keys:1: unknown field \"born\""},
		{"key_expires_too_early", "-- keys --\nk3: {expires: 2017-01-01}\n", "keys: making the key \"k3\": it expires before it is created"},
		{"bad_host", "-- hosts --\n\"a b\": {token: x}\n", "hosts: invalid host \"a b\""},
		{"bad_fault", "-- faults --\n# fine\nGET /a 500\nGET /a\n", "faults:3: a fault must be"},
		{"short_module", "-- modules/example.com/a/b/c/main.tf --\n", "modules/example.com/a/b/c/main.tf: it must be like"},
		{"short_repository", "-- github/acme/infra/main --\n", "github/acme/infra/main: it must be like"},
		{"short_settings", "-- settings/acme --\n", "settings/acme: it must be like settings/OWNER/REPOSITORY"},
		{"unknown_setting", "-- settings/acme/infra --\npublic: true\n", "settings/acme/infra:1: unknown field \"public\""},
		{"unknown_role", "-- settings/acme/infra --\npeople: {ada: owner}\n", "settings/acme/infra: ada has the unknown role \"owner\""},
		{"unknown_key_of_app", "-- apps --\nrelock: {name: x}\n", "apps:1: unknown field \"name\""},
		{"bad_path_in_repository", "-- github/acme/infra/main/../x --\n", "github/acme/infra/main/../x: invalid path"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseWorld(txtar.Parse([]byte(test.text)))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("ParseWorld = %v, want %s…", err, test.want)
			}
		})
	}
}

func TestParseWorldReturnsAllErrors(t *testing.T) {
	t.Parallel()
	_, err := ParseWorld(txtar.Parse([]byte("-- a --\n-- faults --\nx\n-- registry/b --\n")))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("ParseWorld = %v, want three errors", err)
	}
}

func TestRepositoriesOfWorld(t *testing.T) {
	t.Parallel()
	ar, err := txtar.ParseFile("testdata/world.txtar")
	if err != nil {
		t.Fatal(err)
	}
	w, err := ParseWorld(ar)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*Repository{"acme/infra": {
		Owner: "acme", Name: "infra", DefaultBranch: "main",
		Branches: map[string]map[string]File{
			"main": {
				"main.tf":     {Mode: ModeFile, Content: []byte("# main\n")},
				"run.sh":      {Mode: ModeExecutable, Content: []byte("#!/bin/sh\n")},
				"live/shared": {Mode: ModeLink, Content: []byte("../shared")},
			},
			"topic": {"main.tf": {Mode: ModeFile, Content: []byte("# topic\n")}},
		},
	}}
	if diff := cmp.Diff(want, w.Repositories); diff != "" {
		t.Errorf("Repositories (-want +got):\n%s", diff)
	}
}

// TestWorldIsTheSameEverywhere holds the hashes and key IDs that texts of
// scenarios and of the README may quote.
func TestWorldIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	m := metadata(t, s, "registry.terraform.io/hashicorp/plain", "1.0.0", "linux_amd64")
	if got, want := m.Shasum, "eb8a2b4c315c2e369430fdc96c34e6c191b41f9e594b37c22ed3550a08b9f807"; got != want {
		t.Errorf("shasum = %s, want %s", got, want)
	}
	if got, want := m.SigningKeys.GPGPublicKeys[0].ID, "28EDC318B350EE6A"; got != want {
		t.Errorf("key ID = %s, want %s", got, want)
	}
	again := metadata(t, startWorld(t), "registry.terraform.io/hashicorp/plain", "1.0.0", "linux_amd64")
	if !bytes.Equal(fetch(t, m.SignatureURL), fetch(t, again.SignatureURL)) {
		t.Error("the signature differs from one start to the next")
	}
}

func TestCLIConfigNamesEveryHost(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	want := strings.ReplaceAll(`host "private.example" {
  services = {
    "providers.v1" = "URL/private.example/v1/providers/"
    "modules.v1"   = "URL/private.example/v1/modules/"
  }
}
host "registry.opentofu.org" {
  services = {
    "providers.v1" = "URL/registry.opentofu.org/v1/providers/"
    "modules.v1"   = "URL/registry.opentofu.org/v1/modules/"
  }
}
host "registry.terraform.io" {
  services = {
    "providers.v1" = "URL/registry.terraform.io/v1/providers/"
    "modules.v1"   = "URL/registry.terraform.io/v1/modules/"
  }
}
host "bücher.example" {
  services = {
    "providers.v1" = "URL/xn--bcher-kva.example/v1/providers/"
    "modules.v1"   = "URL/xn--bcher-kva.example/v1/modules/"
  }
}
`, "URL", s.URL())
	if diff := cmp.Diff(want, s.CLIConfig()); diff != "" {
		t.Errorf("CLIConfig (-want +got):\n%s", diff)
	}
}

func TestWorldDescribesPeopleAndApps(t *testing.T) {
	t.Parallel()
	w, err := ParseWorld(txtar.Parse([]byte(`
-- settings/acme/infra --
private: true
people: {hubot: triage}
teams: [platform]
milestones: [v1]
forbid_actions_pulls: true
auto_merge: true
unprotected: true
delete_merged: true
-- apps --
relock: {id: 12, permissions: {contents: write}, repositories: [acme/infra]}
`)))
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		Private: true, People: map[string]Role{"hubot": RoleTriage}, Teams: []string{"platform"}, Milestones: []string{"v1"},
		ForbidActionsPulls: true, AutoMerge: true, Unprotected: true, DeleteMerged: true,
	}
	if diff := cmp.Diff(want, w.Repositories["acme/infra"].Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	s, err := Start(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	app, err := s.GitHub().Credentials("relock")
	if err != nil || app.ID != 12 || app.Installations["acme"] == 0 || len(app.Key) == 0 {
		t.Errorf("credentials = %d, installations %v, %d bytes of key, %v", app.ID, app.Installations, len(app.Key), err)
	}
	if _, err := s.GitHub().Credentials("other"); err == nil {
		t.Error("there are credentials of an App that does not exist")
	}
	w.apps[0].Repositories = []string{"acme/other"}
	if s, err := Start(w); err == nil {
		s.Close()
		t.Error("an App was installed in a repository that does not exist")
	}
}
