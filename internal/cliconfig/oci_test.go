package cliconfig

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

func svchostOf(s string) svchost.Hostname { return svchost.Hostname(s) }

func TestRepositoryTemplate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, arguments string
		want            string // repository of example.com/acme/thing, or the diagnostic
	}{
		{"all", `repository_template = "reg.example:5000/p/${hostname}/${namespace}/${type}"`, "reg.example:5000/p/example.com/acme/thing"},
		{"expression", `repository_template = "reg.example/${hostname == "example.com" ? "own" : "others"}/${namespace}-${type}"`, "reg.example/own/acme-thing"},
		{
			"pinned_by_include", `repository_template = "reg.example/${type}"` + "\n" + `include = ["example.com/acme/*"]`,
			"reg.example/thing",
		},
		{"registry_from_the_address", `repository_template = "${hostname}/${namespace}/${type}"`, "example.com/acme/thing"},
		{"none", ``, "it needs a repository_template"},
		{"syntax", `repository_template = "reg.example/${hostname +}"`, "is not a valid template"},
		{"no_host", `repository_template = "reg.example/${namespace}/${type}"`, "must refer to hostname, unless include leaves one value of it"},
		{"two_hosts", `repository_template = "reg.example/${namespace}/${type}"` + "\n" + `include = ["a.example/*/*", "b.example/*/*"]`, "must refer to hostname"},
		{"no_type", `repository_template = "reg.example/${hostname}/${namespace}"`, "must refer to type"},
		{"unknown_symbol", `repository_template = "reg.example/${hostname}/${namespace}/${type}/${version}"`, "refers to version; there are only hostname, namespace and type"},
		{"no_repository", `repository_template = "${hostname}${namespace}${type}"`, "must give the address of an OCI repository"},
		{"tag", `repository_template = "reg.example/${hostname}/${namespace}/${type}:latest"`, "must give the address of an OCI repository"},
		{"no_text", `repository_template = "${[hostname, namespace, type]}"`, "must give the address of an OCI repository"},
	}
	thing := addr(t, "example.com/acme/thing")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := "provider_installation {\n oci_mirror {\n" + tt.arguments + "\n}\n}\n"
			c, diags := Load(home(t, map[string]string{".tofurc": text}), provider.OpenTofu)
			if len(diags) > 0 {
				if got := diags[0].Message; !strings.Contains(got, tt.want) || diags[0].Place.Line != 2 {
					t.Errorf("diagnostic = %q at line %d, want %q", got, diags[0].Place.Line, tt.want)
				}
				return
			}
			methods, _ := c.Methods()
			got, err := methods[0].Repository(thing)
			if err != nil || got.String() != tt.want {
				t.Errorf("Repository(%s) = %s, %v; want %s", thing, got, err, tt.want)
			}
		})
	}
}

func TestTemplateFailsForOneProvider(t *testing.T) {
	t.Parallel()
	c := load(t, provider.OpenTofu, `provider_installation {
  oci_mirror { repository_template = "${hostname}/${namespace}/${type}" }
}
`)
	methods, _ := c.Methods()
	if r, err := methods[0].Repository(addr(t, "bücher.example/Größe/x")); err == nil || !strings.Contains(err.Error(), "no address of an OCI repository") {
		t.Errorf("Repository of a name that OCI does not allow = %v, %v; want an error", r, err)
	}
}

func TestOCICredential(t *testing.T) {
	t.Parallel()
	const (
		secret = "dXNlcjpwYXNz"     // user:pass
		deeper = "ZGVlcGVyOnBhc3M=" // deeper:pass
		broken = `{"auths": {"reg.example": {"auth": "%%%"}}}`
	)
	auths := func(pairs ...string) string {
		var entries []string
		for i := 0; i < len(pairs); i += 2 {
			entries = append(entries, fmt.Sprintf(`%q: {"auth": %q}`, pairs[i], pairs[i+1]))
		}
		return `{"auths": {` + strings.Join(entries, ",") + `}}`
	}
	basic := func(label, user string) string {
		return fmt.Sprintf("oci_credentials %q {\n  username = %q\n  password = \"pass\"\n}\n", label, user)
	}
	const repository = "reg.example:5000/team/sub/alpha"
	tests := []struct {
		name      string
		files     map[string]string
		variables []string
		want      string // user, or access token
	}{
		{name: "nothing"},
		{name: "block", files: map[string]string{".tofurc": basic("reg.example:5000", "block")}, want: "block"},
		{name: "block_of_another_port", files: map[string]string{".tofurc": basic("reg.example", "block")}},
		{
			name:  "longest_prefix",
			files: map[string]string{".tofurc": basic("reg.example:5000", "all") + basic("reg.example:5000/team/sub", "sub") + basic("reg.example:5000/team", "team") + basic("reg.example:5000/team/su", "su")},
			want:  "sub",
		},
		{
			name:  "tokens",
			files: map[string]string{".tofurc": "oci_credentials \"reg.example:5000\" {\n access_token = \"access\"\n refresh_token = \"refresh\"\n}\n"},
			want:  "access",
		},
		{name: "docker", files: map[string]string{".docker/config.json": auths("reg.example:5000", secret)}, want: "user"},
		{name: "old_docker", files: map[string]string{".dockercfg": auths("reg.example:5000", secret)}, want: "user"},
		{name: "podman", files: map[string]string{"run/containers/auth.json": auths("reg.example:5000", secret)}, variables: []string{"XDG_RUNTIME_DIR=$HOME/run"}, want: "user"},
		{name: "config_home", files: map[string]string{"xdg/containers/auth.json": auths("reg.example:5000", secret)}, variables: []string{"XDG_CONFIG_HOME=$HOME/xdg"}, want: "user"},
		{
			name:  "more_specific_file_beats_block",
			files: map[string]string{".tofurc": basic("reg.example:5000", "block"), ".config/containers/auth.json": auths("reg.example:5000", secret, "reg.example:5000/team", deeper)},
			want:  "deeper",
		},
		{
			name:  "block_beats_equal_file",
			files: map[string]string{".tofurc": basic("reg.example:5000", "block"), ".docker/config.json": auths("reg.example:5000", secret)},
			want:  "block",
		},
		{
			name:  "not_discovered",
			files: map[string]string{".tofurc": "oci_default_credentials {\n discover_ambient_credentials = false\n}\n", ".docker/config.json": auths("reg.example:5000", secret)},
		},
		{
			name: "named_files_relative_to_the_configuration",
			files: map[string]string{
				".tofurc": "oci_default_credentials {\n docker_style_config_files = [\"conf/a.json\"]\n}\n", "conf/a.json": auths("reg.example:5000", deeper),
				".docker/config.json": auths("reg.example:5000", secret),
			},
			want: "deeper",
		},
		{name: "no_file_at_all", files: map[string]string{".tofurc": "oci_default_credentials {\n docker_style_config_files = []\n}\n", ".docker/config.json": auths("reg.example:5000", secret)}},
		{name: "broken_usual_file_is_ignored", files: map[string]string{".docker/config.json": broken, ".dockercfg": auths("reg.example:5000", secret)}, want: "user"},
		{name: "entry_without_credential", files: map[string]string{".docker/config.json": `{"auths": {"reg.example:5000": {}, "bad label": {"auth": "` + secret + `"}, "reg.example:5000/team": null}}`}},
	}
	name, _ := parsePrefix(repository)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, diags := Load(home(t, tt.files, tt.variables...), provider.OpenTofu)
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			got, err := c.OCICredential(t.Context(), name)
			if err != nil || got.Username+got.AccessToken != tt.want {
				t.Errorf("OCICredential(%s) = %+v, %v; want that of %q", repository, got, err, tt.want)
			}
		})
	}
}

func TestOCICredentialHelpers(t *testing.T) {
	// The helpers are found by PATH, which is the process's.
	dir := t.TempDir()
	script(t, filepath.Join(dir, "docker-credential-fake"), `
read url
case "$1 $url" in
"get https://reg.example") echo '{"ServerURL": "x", "Username": "helper", "Secret": "'$ODD'"}';;
"get https://token.example") echo '{"Username": "<token>", "Secret": "s3cret"}';;
"get https://none.example") echo 'credentials not found in native keychain'; exit 1;;
*) echo s3cret; exit 2;;
esac
`)
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	files := map[string]string{
		".tofurc": "oci_credentials \"reg.example\" {\n docker_credentials_helper = \"fake\"\n}\n" +
			"oci_default_credentials {\n docker_credentials_helper = \"fake\"\n}\n",
		".docker/config.json": `{"credHelpers": {"own.example": "missing"}, "credsStore": "missing"}`,
	}
	c, diags := Load(home(t, files, "ODD=pass"), provider.OpenTofu)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	for registry, want := range map[string]string{
		"reg.example":    "{Username:helper Password:pass AccessToken: RefreshToken:} <nil>",
		"none.example":   "{Username: Password: AccessToken: RefreshToken:} <nil>",
		"token.example":  `the credentials helper "fake" gave no answer for token.example: it answers with an identity token`,
		"broken.example": `the credentials helper "fake" gave no answer for broken.example: exit status 2`,
		"own.example":    `the credentials helper "missing" gave no answer for own.example: it is not installed`,
	} {
		got, err := c.OCICredential(t.Context(), Repository{Registry: registry, Name: "x"})
		if text := fmt.Sprintf("%+v %v", got, err); !strings.Contains(text, want) || strings.Contains(text, "s3cret") {
			t.Errorf("OCICredential(%s) = %s, want %s", registry, text, want)
		}
		if e, ok := errors.AsType[*problem.Error](err); err != nil && (!ok || e.Problem.Code != problem.CodeUnauthorized || e.Problem.Hint == "") {
			t.Errorf("OCICredential(%s): %+v, want code unauthorized and a hint", registry, err)
		}
	}
}

func TestNamedFileMustBeReadable(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"missing.json": "", "broken.json": `{"auths": s3cret`} {
		files := map[string]string{".tofurc": "oci_default_credentials {\n docker_style_config_files = [\"" + name + "\"]\n}\n"}
		if text != "" {
			files[name] = text
		}
		c, _ := Load(home(t, files), provider.OpenTofu)
		_, err := c.OCICredential(t.Context(), Repository{Registry: "reg.example", Name: "x"})
		if !problem.Coded(err, problem.CodeCLIConfig) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("OCICredential with %s: %v, want an error that names it", name, err)
		}
	}
}

func TestOCIReports(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"no_label", "oci_credentials {\n}\n", "1: an oci_credentials block must have one label, the address of a registry or repository"},
		{"label", "\noci_credentials \"https://x\" {\n username = \"a\"\n password = \"b\"\n}\n", `2: oci_credentials "https://x": the label is no address of a registry or repository`},
		{"tag", "oci_credentials \"x/y:1\" {\n username = \"a\"\n password = \"b\"\n}\n", `1: oci_credentials "x/y:1": the label is no address of a registry or repository`},
		{"half", "oci_credentials \"x\" {\n username = \"s3cret\"\n}\n", `1: oci_credentials "x": it must set username and password, access_token and refresh_token, or docker_credentials_helper`},
		{"two_ways", "oci_credentials \"x\" {\n username = \"a\"\n password = \"b\"\n docker_credentials_helper = \"c\"\n}\n", `1: oci_credentials "x": it must set`},
		{"mixed", "oci_credentials \"x\" {\n username = \"a\"\n access_token = \"b\"\n}\n", `1: oci_credentials "x": it must set`},
		{"helper_of_repository", "oci_credentials \"x/y\" {\n docker_credentials_helper = \"c\"\n}\n", `1: oci_credentials "x/y": a docker_credentials_helper must be a name, and knows whole registries only`},
		{"helper_path", "oci_credentials \"x\" {\n docker_credentials_helper = \"../c\"\n}\n", `1: oci_credentials "x": a docker_credentials_helper must be a name`},
		{"form", "oci_credentials \"x\" {\n username = [\"s3cret\"]\n}\n", `1: oci_credentials "x": an argument has an unexpected form`},
		{"twice", "oci_credentials \"x\" {\n docker_credentials_helper = \"c\"\n}\noci_credentials \"x\" {\n docker_credentials_helper = \"d\"\n}\n", `4: oci_credentials "x": there is more than one for this address`},
		{"defaults_form", "oci_default_credentials {\n discover_ambient_credentials = \"s3cret\"\n}\n", "1: the oci_default_credentials block has an unexpected form"},
		{"defaults_twice", "oci_default_credentials {\n}\noci_default_credentials {\n}\n", "3: there is more than one oci_default_credentials block"},
		{"defaults_contradiction", "oci_default_credentials {\n discover_ambient_credentials = false\n docker_style_config_files = [\"a\"]\n}\n", "1: oci_default_credentials turns ambient credentials off and names files to find them in"},
		{"defaults_helper", "oci_default_credentials {\n docker_credentials_helper = \"a/b\"\n}\n", "1: the docker_credentials_helper of oci_default_credentials must be a name"},
		{"protocols", "registry_protocols {\n retry_count = \"x\"\n}\n", "1: the registry_protocols block has an unexpected form"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := home(t, map[string]string{".terraformrc": tt.text})
			_, diags := Load(env, provider.OpenTofu)
			if len(diags) != 1 || !strings.HasPrefix(fmt.Sprintf("%d: %s", diags[0].Place.Line, diags[0].Message), tt.want) {
				t.Errorf("diagnostics = %+v, want %q", diags, tt.want)
			}
			if strings.Contains(fmt.Sprint(diags), "s3cret") {
				t.Errorf("diagnostics quote the file: %v", diags)
			}
			if _, diags := Load(env, provider.Terraform); len(diags) > 0 {
				t.Errorf("Terraform does not know the block, but: %v", diags)
			}
		})
	}
}
