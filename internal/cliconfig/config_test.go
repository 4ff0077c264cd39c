package cliconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// home writes files, named relative to a new home directory, and returns the
// environment of a Linux user who lives there. A value $HOME in the variables
// stands for the directory.
func home(t *testing.T, files map[string]string, variables ...string) Env {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The machine's own shared directories must not matter.
	environ := []string{"XDG_DATA_DIRS=" + filepath.Join(dir, "usr", "share")}
	for _, v := range variables {
		environ = append(environ, strings.ReplaceAll(v, "$HOME", dir))
	}
	return Env{
		Home: dir, GOOS: "linux", Environ: environ,
		Getenv: func(key string) string {
			for _, v := range slices.Backward(environ) {
				if value, ok := strings.CutPrefix(v, key+"="); ok {
					return value
				}
			}
			return ""
		},
	}
}

func token(t *testing.T, c *Config, host svchost.Hostname) string {
	t.Helper()
	token, err := c.Token(t.Context(), host)
	if err != nil {
		t.Errorf("Token(%s): %v", host, err)
	}
	return token
}

func credentials(host, token string) string {
	return fmt.Sprintf("credentials %q {\n  token = %q\n}\n", host, token)
}

func TestLoadChoosesFiles(t *testing.T) {
	t.Parallel()
	rc := func(token string) string { return credentials("h.example", token) }
	tests := []struct {
		name      string
		files     map[string]string
		variables []string
		terraform string
		opentofu  string
	}{
		{"nothing", nil, nil, "", ""},
		{"terraformrc", map[string]string{".terraformrc": rc("rc")}, nil, "rc", "rc"},
		{"tofurc_first", map[string]string{".terraformrc": rc("rc"), ".tofurc": rc("tofu")}, nil, "rc", "tofu"},
		{
			"xdg_only_without_the_others",
			map[string]string{"xdg/opentofu/tofurc": rc("xdg")},
			[]string{"XDG_CONFIG_HOME=$HOME/xdg"}, "", "xdg",
		},
		{
			"xdg_not_beside_terraformrc",
			map[string]string{"xdg/opentofu/tofurc": rc("xdg"), ".terraformrc": rc("rc")},
			[]string{"XDG_CONFIG_HOME=$HOME/xdg"}, "rc", "rc",
		},
		{
			"directory_wins_over_file_in_order_of_names",
			map[string]string{
				".terraformrc": rc("rc"), ".terraform.d/a.tfrc": rc("a"), ".terraform.d/b.tfrc": rc("b"),
				".terraform.d/z.txt": rc("z"),
			},
			nil, "b", "b",
		},
		{
			"credentials_of_login",
			map[string]string{".terraform.d/credentials.tfrc.json": `{"credentials": {"h.example": {"token": "login"}}}`},
			nil, "login", "login",
		},
		{
			"variable_instead_of_all",
			map[string]string{".terraformrc": rc("rc"), ".tofurc": rc("rc"), ".terraform.d/a.tfrc": rc("a"), "mine": ""},
			[]string{"TF_CLI_CONFIG_FILE=$HOME/mine"}, "", "",
		},
		{
			"old_variable",
			map[string]string{"mine": rc("mine")},
			[]string{"TERRAFORM_CONFIG=$HOME/mine"}, "mine", "mine",
		},
		{
			"new_variable_before_old",
			map[string]string{"mine": rc("mine"), "old": rc("old")},
			[]string{"TERRAFORM_CONFIG=$HOME/old", "TF_CLI_CONFIG_FILE=$HOME/mine"}, "mine", "mine",
		},
		{
			"xdg_directory",
			map[string]string{"xdg/opentofu/a.tfrc": rc("a")},
			[]string{"XDG_CONFIG_HOME=$HOME/xdg"}, "", "a",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := home(t, tt.files, tt.variables...)
			for tool, want := range map[provider.ToolName]string{provider.Terraform: tt.terraform, provider.OpenTofu: tt.opentofu} {
				c, diags := Load(env, tool)
				if len(diags) > 0 {
					t.Errorf("Load(%s): %v", tool, diags)
				}
				if got := token(t, c, "h.example"); got != want {
					t.Errorf("Load(%s): token %q, want %q", tool, got, want)
				}
			}
		})
	}
}

func TestLoadOnWindows(t *testing.T) {
	t.Parallel()
	env := home(t, map[string]string{
		"Roaming/terraform.rc":       credentials("h.example", "rc"),
		"Roaming/tofu.rc":            credentials("h.example", "tofu"),
		"Roaming/terraform.d/x.tfrc": credentials("other.example", "dir"),
	}, "APPDATA=$HOME/Roaming", "XDG_CONFIG_HOME=$HOME/xdg")
	env.GOOS = "windows"
	for tool, want := range map[provider.ToolName]string{provider.Terraform: "rc", provider.OpenTofu: "tofu"} {
		c, diags := Load(env, tool)
		if got := token(t, c, "h.example"); got != want || token(t, c, "other.example") != "dir" || len(diags) > 0 {
			t.Errorf("Load(%s): tokens %q, %q, %v; want %q, dir", tool, got, token(t, c, "other.example"), diags, want)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	env := home(t, map[string]string{
		".terraformrc": credentials("a.example", "block") + credentials("b.example", "block") +
			credentials("C.example:443", "block") + credentials("d.example:8443", "port") + credentials("bücher.example", "idn") +
			"credentials \"n.example\" {\n  token = 5\n}\n",
	},
		"TF_TOKEN_a_example=variable",
		"TF_TOKEN_b_example=",
		"TF_TOKEN_my__host_corp__net_example=hyphens",
		"TF_TOKEN_dots.and-hyphens.example=direct",
		"TF_TOKEN_xn____bcher__kva_test=punycode",
		"TF_TOKEN_é_test=unicode",
		"TF_TOKEN_=nobody", "TF_TOKEN_a___b=nobody", "PATH=/bin")
	c, diags := Load(env, provider.Terraform)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	for host, want := range map[svchost.Hostname]string{
		"a.example":                "variable",
		"b.example":                "", // an empty variable hides the block
		"c.example":                "block",
		"d.example:8443":           "port",
		"d.example":                "",
		"xn--bcher-kva.example":    "idn",
		"n.example":                "",
		"my-host.corp-net.example": "hyphens",
		"dots.and-hyphens.example": "direct",
		"xn--bcher-kva.test":       "punycode",
		"xn--9ca.test":             "unicode",
		"unknown.example":          "",
	} {
		if got := token(t, c, host); got != want {
			t.Errorf("Token(%s) = %q, want %q", host, got, want)
		}
	}
}

func TestHostTokenHintNamesWhatIsRead(t *testing.T) {
	t.Parallel()
	for host, want := range map[svchost.Hostname]string{
		"app.example":      `set TF_TOKEN_app_example, or a token in a credentials "app.example" block in the CLI configuration`,
		"my-host.example":  `set TF_TOKEN_my__host_example, or a token in a credentials "my-host.example" block in the CLI configuration`,
		"app.example:8443": `set a token in a credentials "app.example:8443" block in the CLI configuration`,
		"xn--9ca.test":     `set TF_TOKEN_xn____9ca_test, or a token in a credentials "é.test" block in the CLI configuration`,
	} {
		hint := hostTokenHint(host)
		if hint != want {
			t.Errorf("hostTokenHint(%s) = %q, want %q", host, hint, want)
		}
		if name, _, ok := strings.Cut(strings.TrimPrefix(hint, "set "), ","); ok {
			c, _ := Load(home(t, nil, name+"=x"), provider.Terraform)
			if token(t, c, host) != "x" {
				t.Errorf("setting %s gives %s no token", name, host)
			}
		}
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	env := home(t, map[string]string{".terraformrc": `
host "a.example" {
  services = {
    "providers.v1" = "http://127.0.0.1:8080/providers/"
    "modules.v1"   = "https://Mirror.example/modules/"
    "login.v1"     = { client = "x" }
    "odd.v1"       = "ftp://files.example/"
  }
}
host "localhost:9443" {
  services {
    "providers.v1" = "/v1/providers/"
  }
}
host "none.example" {
}
host "localhost:3000" {}
host "127.0.0.1:80" {}
credentials "localhost:8443" {
  token = "x"
}
`}, "TF_TOKEN_app_example=x")
	c, diags := Load(env, provider.Terraform)
	want := []string{
		"127.0.0.1:80", "127.0.0.1:8080", "a.example:443", "app.example:443",
		"localhost:3000", "localhost:8443", "localhost:9443", "mirror.example:443", "none.example:443",
	}
	if diff := cmp.Diff(want, c.Endpoints()); diff != "" || len(diags) > 0 {
		t.Errorf("Endpoints() (-want +got), diagnostics %v:\n%s", diags, diff)
	}
}

func TestLoadReports(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		file string // default .terraformrc
		text string
		want []string // LINE: message; none: no diagnostic
	}{
		{name: "harmless_settings", text: "plugin_cache_dir = \"$HOME/nowhere\"\ndisable_checkpoint = true\nregistry_protocols {\n retry_count = 3\n}\n"},
		{name: "plain_direct", text: "provider_installation {\n  direct {}\n}\n"},
		{name: "plain_direct_with_retries", text: "provider_installation {\n  direct {\n    download_retry_count = 2\n  }\n}\n"},
		{name: "plain_direct_json", file: ".terraform.d/a.tfrc.json", text: `{"provider_installation": [{"direct": [{}]}]}`},
		{name: "plain_direct_json_folded", file: ".terraform.d/a.tfrc.json", text: `{"provider_installation": {"direct": {}}}`},
		{name: "empty_file", text: ""},
		{
			name: "syntax", text: "host \"a.example\" {\n  s3cret\n}\n",
			want: []string{"3: the CLI configuration is not valid HCL"},
		},
		{
			name: "syntax_json", file: ".terraform.d/a.tfrc.json", text: "{\n\"credentials\": s3cret}",
			want: []string{"2: the CLI configuration is not valid HCL"},
		},
		{
			name: "host_of_another_form", text: "\nhost = 3\n",
			want: []string{"2: a host, credentials or credentials_helper block of the CLI configuration has an unexpected form"},
		},
		{
			name: "host_name", text: "\nhost \"a..example\" {\n}\n",
			want: []string{`2: the host block "a..example" has no valid host name`},
		},
		{
			name: "credentials_name", text: "\n\ncredentials \"https://a\" {\n}\n",
			want: []string{`3: the credentials block "https://a" has no valid host name`},
		},
		{
			name: "no_method", text: "provider_installation {\n}\n",
			want: []string{"1: the provider_installation block has no method, so that no provider could be installed"},
		},
		{
			name: "two_blocks", text: "provider_installation {\n  direct {}\n}\nprovider_installation {\n  direct {}\n}\n",
			want: []string{"4: there is more than one provider_installation block"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.file == "" {
				tt.file = ".terraformrc"
			}
			env := home(t, map[string]string{tt.file: tt.text})
			c, diags := Load(env, provider.Terraform)
			if c == nil {
				t.Error("Load = nil")
			}
			var got []string
			for _, d := range diags {
				got = append(got, fmt.Sprintf("%d: %s", d.Place.Line, d.Message))
				if d.Place.Path != filepath.ToSlash(filepath.Join(env.Home, tt.file)) || d.Code != problem.CodeCLIConfig || d.Severity != problem.SeverityError {
					t.Errorf("diagnostic = %+v, want an error of code cli-config in %s", d, tt.file)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			if strings.Contains(fmt.Sprint(diags), "s3cret") {
				t.Errorf("diagnostics quote the file: %v", diags)
			}
		})
	}
}

func TestFileOfVariableMayBeMissing(t *testing.T) {
	t.Parallel()
	_, diags := Load(home(t, nil, "TF_CLI_CONFIG_FILE=$HOME/missing"), provider.Terraform)
	if len(diags) != 1 || diags[0].Severity != problem.SeverityWarning || !strings.HasSuffix(diags[0].Place.Path, "/missing") {
		t.Errorf("diagnostics = %v, want one warning about the file", diags)
	}
}

func TestUnreadableFileIsAnError(t *testing.T) {
	t.Parallel()
	// A directory can be opened by everybody, and read as a file by nobody.
	for _, env := range []Env{
		home(t, map[string]string{".terraformrc/x": ""}),
		home(t, map[string]string{"mine/x": ""}, "TF_CLI_CONFIG_FILE=$HOME/mine"),
		home(t, map[string]string{".terraform.d": "a file"}),
	} {
		if _, diags := Load(env, provider.Terraform); len(diags) != 1 || diags[0].Severity != problem.SeverityError {
			t.Errorf("diagnostics = %v, want one error", diags)
		}
	}
}

func TestImpliedDirectories(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                string
		files               []string
		variables           []string
		goos                string
		terraform, opentofu []string
	}{
		{name: "none"},
		{
			name: "home", files: []string{".terraform.d/plugins/x"},
			terraform: []string{".terraform.d/plugins"}, opentofu: []string{".terraform.d/plugins"},
		},
		{name: "file_of_that_name", files: []string{".terraform.d/plugins"}},
		{
			name: "data_of_user_then_of_system", files: []string{"usr/share/terraform/plugins/x", ".local/share/terraform/plugins/x"},
			terraform: []string{".local/share/terraform/plugins", "usr/share/terraform/plugins"},
			opentofu:  []string{".local/share/terraform/plugins", "usr/share/terraform/plugins"},
		},
		{
			name: "data_of_tofu", files: []string{"data/opentofu/plugins/x", ".terraform.d/plugins/x"}, variables: []string{"XDG_DATA_HOME=$HOME/data"},
			terraform: []string{".terraform.d/plugins"}, opentofu: []string{".terraform.d/plugins", "data/opentofu/plugins"},
		},
		{
			name: "mac", goos: "darwin", files: []string{"Library/Application Support/io.terraform/plugins/x"},
			terraform: []string{"Library/Application Support/io.terraform/plugins"}, opentofu: []string{"Library/Application Support/io.terraform/plugins"},
		},
		{
			name: "windows", goos: "windows", variables: []string{"APPDATA=$HOME/R"}, files: []string{"R/HashiCorp/Terraform/plugins/x"},
			terraform: []string{"R/HashiCorp/Terraform/plugins"}, opentofu: []string{"R/HashiCorp/Terraform/plugins"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for _, name := range tt.files {
				files[name] = ""
			}
			env := home(t, files, tt.variables...)
			if tt.goos != "" {
				env.GOOS = tt.goos
			}
			for tool, want := range map[provider.ToolName][]string{provider.Terraform: tt.terraform, provider.OpenTofu: tt.opentofu} {
				c, diags := Load(env, tool)
				methods, implied := c.Methods()
				var got []string
				for _, m := range methods[:len(methods)-1] {
					got = append(got, strings.TrimPrefix(filepath.ToSlash(m.Path), filepath.ToSlash(env.Home)+"/"))
				}
				if diff := cmp.Diff(want, got); diff != "" || methods[len(methods)-1].Kind != Direct || !implied || len(diags) > 0 {
					t.Errorf("methods of %s: implied %v, diagnostics %v, and at the end %v; directories (-want +got):\n%s", tool, implied, diags, methods[len(methods)-1], diff)
				}
			}
		})
	}
}

func TestUnconfiguredToolAsksRegistries(t *testing.T) {
	t.Parallel()
	methods, implied := new(Config).Methods()
	if len(methods) != 1 || methods[0].Kind != Direct || !implied {
		t.Errorf("Methods() = %v, %v; want direct alone, implied", methods, implied)
	}
}
