package cliconfig

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// load reads one configuration file without complaint.
func load(t *testing.T, tool provider.ToolName, text string, variables ...string) *Config {
	t.Helper()
	c, diags := Load(home(t, map[string]string{".terraformrc": text}, variables...), tool)
	if len(diags) > 0 {
		t.Fatalf("Load: %v", diags)
	}
	return c
}

func addr(t *testing.T, source string) provider.Addr {
	t.Helper()
	a, err := provider.ParseAddr(source, provider.Terraform)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestMethodsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	const text = `
provider_installation {
  filesystem_mirror {
    path    = "/srv/mirror/"
    include = ["acme/*"]
  }
  network_mirror {
    url                  = "https://mirror.example/providers/"
    trust_all_hashes     = true
    download_retry_count = 7
  }
  direct {
    download_retry_count = 0
    exclude = ["*/*/*"]
  }
  filesystem_mirror {
    path = "/srv/other"
  }
}
`
	describe := func(tool provider.ToolName) []string {
		methods, implied := load(t, tool, text, "TF_PROVIDER_DOWNLOAD_RETRY=4").Methods()
		if implied {
			t.Errorf("the methods of %s are implied", tool)
		}
		var got []string
		for _, m := range methods {
			got = append(got, fmt.Sprintf("%s %s%v %d %v", m.Kind, m.Path, m.URL, m.DownloadRetries, m.TrustAllHashes))
		}
		return got
	}
	want := map[provider.ToolName][]string{
		// Terraform does not know the two arguments, nor the variable.
		provider.Terraform: {
			"filesystem_mirror /srv/mirror<nil> 0 false", "network_mirror https://mirror.example/providers/ 0 false",
			"direct <nil> 0 false", "filesystem_mirror /srv/other<nil> 0 false",
		},
		provider.OpenTofu: {
			"filesystem_mirror /srv/mirror<nil> 4 false", "network_mirror https://mirror.example/providers/ 7 true",
			"direct <nil> -1 false", "filesystem_mirror /srv/other<nil> 4 false",
		},
	}
	for tool, want := range want {
		if diff := cmp.Diff(want, describe(tool)); diff != "" {
			t.Errorf("methods of %s (-want +got):\n%s", tool, diff)
		}
	}
}

func TestServes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		arguments string
		terraform string // those of the candidates that are served, by Terraform
		opentofu  string
	}{
		{name: "all", terraform: "tf/hashicorp/aws tofu/hashicorp/aws tf/acme/x example.com/acme/x bücher.example:8443/acme/x"},
		{
			name: "a_pattern_without_host_is_about_the_default_registry", arguments: `include = ["hashicorp/*"]`,
			terraform: "tf/hashicorp/aws", opentofu: "tofu/hashicorp/aws",
		},
		{name: "one_provider", arguments: `include = ["example.com/acme/x"]`, terraform: "example.com/acme/x"},
		{name: "normalised", arguments: `include = ["Example.COM:443/Acme/X"]`, terraform: "example.com/acme/x"},
		{name: "international_with_port", arguments: `include = ["bücher.example:8443/*/*"]`, terraform: "bücher.example:8443/acme/x"},
		{name: "everywhere", arguments: `include = ["*/*/*"]`, terraform: "tf/hashicorp/aws tofu/hashicorp/aws tf/acme/x example.com/acme/x bücher.example:8443/acme/x"},
		{
			name: "all_of_the_default_registry", arguments: `include = ["*/*"]`,
			terraform: "tf/hashicorp/aws tf/acme/x", opentofu: "tofu/hashicorp/aws",
		},
		{name: "exclude_beats_include", arguments: `include = ["example.com/*/*"]` + "\n" + `exclude = ["example.com/acme/*"]`},
		{name: "several", arguments: `exclude = ["*/*", "example.com/acme/x", "registry.opentofu.org/*/*", "registry.terraform.io/*/*"]`, terraform: "bücher.example:8443/acme/x"},
	}
	candidates := map[string]string{"tf": "registry.terraform.io", "tofu": "registry.opentofu.org"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.opentofu == "" {
				tt.opentofu = tt.terraform
			}
			for tool, want := range map[provider.ToolName]string{provider.Terraform: tt.terraform, provider.OpenTofu: tt.opentofu} {
				c := load(t, tool, "provider_installation {\n direct {\n"+tt.arguments+"\n}\n}\n")
				methods, _ := c.Methods()
				var got []string
				for _, candidate := range []string{"tf/hashicorp/aws", "tofu/hashicorp/aws", "tf/acme/x", "example.com/acme/x", "bücher.example:8443/acme/x"} {
					host, rest, _ := strings.Cut(candidate, "/")
					if full, ok := candidates[host]; ok {
						host = full
					}
					if methods[0].Serves(addr(t, host+"/"+rest)) {
						got = append(got, candidate)
					}
				}
				if strings.Join(got, " ") != want {
					t.Errorf("%s with %s serves %v, want %q", tool, tt.arguments, got, want)
				}
			}
		})
	}
}

func TestInstallationReports(t *testing.T) {
	t.Parallel()
	method := func(block string) string { return "provider_installation {\n" + block + "\n}\n" }
	tests := []struct {
		name string
		text string
		want string // LINE: message
	}{
		{"unknown_method", method(`carrier_pigeon {}`), "2: the carrier_pigeon block is not valid: Terraform has no such installation method"},
		{"oci_with_terraform", method(`oci_mirror { repository_template = "a.example/${namespace}/${type}" }`), "2: the oci_mirror block is not valid: Terraform has no such installation method"},
		{"no_path", method(`filesystem_mirror {}`), "2: the filesystem_mirror block is not valid: it needs a path"},
		{"relative_path", method(`filesystem_mirror { path = "mirror" }`), `2: the filesystem_mirror block is not valid: the path "mirror" must be absolute, since relock works on many root modules`},
		{"no_url", method(`network_mirror {}`), "2: the network_mirror block is not valid: it needs a url"},
		{"plain_http", method(`network_mirror { url = "http://user:s3cret@m.example/" }`), "2: the network_mirror block is not valid: the url must be an https URL"},
		{"no_url_at_all", method(`network_mirror { url = "https://[s3cret/" }`), "2: the network_mirror block is not valid: the url must be an https URL"},
		{"wrong_type", method("\ndirect { include = \"a/b\" }"), "3: the direct block has an argument of an unexpected form"},
		{"label", method(`direct "x" {}`), `2: "direct" in provider_installation is not a block without labels`},
		{"argument", method(`direct = 3`), `2: "direct" in provider_installation is not a block without labels`},
		{"one_part", method(`direct { include = ["aws"] }`), `2: the direct block is not valid: the provider pattern "aws" must be like NAMESPACE/TYPE or HOST/NAMESPACE/TYPE`},
		{"four_parts", method(`direct { exclude = ["a/b/c/d"] }`), `2: the direct block is not valid: the provider pattern "a/b/c/d" must be like NAMESPACE/TYPE or HOST/NAMESPACE/TYPE`},
		{"host", method(`direct { include = ["a..b/c/d"] }`), `2: the direct block is not valid: the provider pattern "a..b/c/d" has no valid host name`},
		{"underscore_in_type", method(`direct { include = ["my_org/my_type"] }`), `2: the direct block is not valid: the provider pattern "my_org/my_type" has a part that is neither a name nor *`},
		{"part", method(`direct { include = ["hashi*/aws"] }`), `2: the direct block is not valid: the provider pattern "hashi*/aws" has a part that is neither a name nor *`},
		{"name_behind_wildcard", method(`direct { include = ["*/aws"] }`), `2: the direct block is not valid: the provider pattern "*/aws" has a name behind a *`},
		{"namespace_behind_wildcard", method(`direct { include = ["*/hashicorp/*"] }`), `2: the direct block is not valid: the provider pattern "*/hashicorp/*" has a name behind a *`},
		{"late_overrides", method("direct {}\ndev_overrides {\n\"a/b\" = \"/x\"\n}"), "3: the dev_overrides block must come before all installation methods"},
		{"overrides_of_nothing", method(`dev_overrides { "a b" = "/x" }`), `2: dev_overrides: invalid provider source address "a b": `},
		{"overrides_of_another_form", method(`dev_overrides { "a/b" = ["/x"] }`), "2: the dev_overrides block has an argument of an unexpected form"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, diags := Load(home(t, map[string]string{".terraformrc": tt.text}), provider.Terraform)
			if len(diags) != 1 || diags[0].Severity != problem.SeverityError {
				t.Fatalf("diagnostics = %v, want one error", diags)
			}
			if got := fmt.Sprintf("%d: %s", diags[0].Place.Line, diags[0].Message); !strings.HasPrefix(got, tt.want) {
				t.Errorf("diagnostic = %q, want %q", got, tt.want)
			}
			if strings.Contains(fmt.Sprint(diags), "s3cret") {
				t.Errorf("diagnostics quote the file: %v", diags)
			}
		})
	}
}

func TestOverridesAreNamedAndChangeNothing(t *testing.T) {
	t.Parallel()
	const text = "provider_installation {\n  dev_overrides {\n    \"acme/b\" = \"/x\"\n    \"hashicorp/a\" = \"/y\"\n  }\n  direct {}\n}\n"
	c, diags := Load(home(t, map[string]string{".terraformrc": text}), provider.OpenTofu)
	if len(diags) != 1 || diags[0].Severity != problem.SeverityWarning || diags[0].Place.Line != 2 ||
		diags[0].Message != "dev_overrides do not change what is locked: acme/b, hashicorp/a as without them" {
		t.Errorf("diagnostics = %+v, want one warning at line 2 that names both", diags)
	}
	if methods, _ := c.Methods(); len(methods) != 1 || !methods[0].Serves(addr(t, "acme/b")) {
		t.Errorf("methods = %v, want direct for all", methods)
	}
}

// Releases of Terraform that skip such providers are said, since only there do they
// matter [case dev-override-lock-upgrade].
func TestOverridesOfTerraform(t *testing.T) {
	t.Parallel()
	const text = "provider_installation {\n  dev_overrides {\n    \"acme/b\" = \"/x\"\n    \"hashicorp/a\" = \"/y\"\n  }\n  direct {}\n}\n"
	c, diags := Load(home(t, map[string]string{".terraformrc": text}), provider.Terraform)
	if len(diags) != 1 || diags[0].Message != "dev_overrides: upgrades leave the entries of acme/b, hashicorp/a alone in root modules for Terraform 1.15.0 and later, as init does" {
		t.Errorf("diagnostics = %+v, want one warning that names both", diags)
	}
	if want := []provider.Addr{addr(t, "registry.terraform.io/acme/b"), addr(t, "registry.terraform.io/hashicorp/a")}; !slices.Equal(c.Overridden(), want) {
		t.Errorf("Overridden() = %v, want %v", c.Overridden(), want)
	}
}

// Terraform 1.16 reads such a pattern, and 1.11 refuses the configuration for it. It is
// read once for root modules of all releases [case underscore-namespace-cli-pattern].
func TestUnderscoresInPatterns(t *testing.T) {
	t.Parallel()
	const text = "provider_installation {\n  direct {\n    exclude = [\"registry.terraform.io/my_org/*\"]\n  }\n}\n"
	c, diags := Load(home(t, map[string]string{".terraformrc": text}), provider.Terraform)
	if len(diags) > 0 {
		t.Fatalf("diagnostics = %v", diags)
	}
	methods, _ := c.Methods()
	if methods[0].Serves(addr(t, "registry.terraform.io/my_org/thing")) || !methods[0].Serves(addr(t, "registry.terraform.io/my-org/thing")) {
		t.Errorf("%v serves my_org, or does not serve my-org", methods)
	}
	_, diags = Load(home(t, map[string]string{".tofurc": text}), provider.OpenTofu)
	if len(diags) != 1 || !strings.Contains(diags[0].Message, "neither a name nor *") {
		t.Errorf("OpenTofu: diagnostics = %v, want that the pattern is refused", diags)
	}
}

func TestInstallationBlocksOfSeveralFiles(t *testing.T) {
	t.Parallel()
	const block = "provider_installation {\n  direct {}\n}\n"
	_, diags := Load(home(t, map[string]string{".terraformrc": block, ".terraform.d/a.tfrc": "\n" + block}), provider.Terraform)
	if len(diags) != 1 || !strings.HasSuffix(diags[0].Place.Path, "/a.tfrc") || diags[0].Place.Line != 2 || !strings.Contains(diags[0].Message, "more than one") {
		t.Errorf("diagnostics = %+v, want that the second file has one too many", diags)
	}
}

func TestMirrorsAreEndpoints(t *testing.T) {
	t.Parallel()
	c := load(t, provider.OpenTofu, `
provider_installation {
  network_mirror { url = "https://127.0.0.1:8443/m/" }
  oci_mirror { repository_template = "localhost:5000/${hostname}/${namespace}/${type}" }
  oci_mirror { repository_template = "${hostname}/${namespace}/${type}" }
  direct {}
}
`)
	if got := c.Endpoints(); !slices.Equal(got, []string{"127.0.0.1:8443", "localhost:5000"}) {
		t.Errorf("Endpoints() = %v, want both servers that the configuration names", got)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		files     map[string]string
		variables []string
		terraform Limits
		opentofu  Limits
	}{
		{name: "nothing"},
		{
			name:      "variables",
			variables: []string{"TF_REGISTRY_DISCOVERY_RETRY=3", "TF_REGISTRY_CLIENT_TIMEOUT=40", "TF_PROVIDER_DOWNLOAD_RETRY=5"},
			terraform: Limits{Retries: 3, Timeout: 40 * time.Second},
			opentofu:  Limits{Retries: 3, Timeout: 40 * time.Second, DownloadRetries: 5},
		},
		{name: "values_that_do_not_count", variables: []string{"TF_REGISTRY_DISCOVERY_RETRY=0", "TF_REGISTRY_CLIENT_TIMEOUT=-1", "TF_PROVIDER_DOWNLOAD_RETRY=x"}},
		{
			name:     "block",
			files:    map[string]string{".terraformrc": "registry_protocols {\n retry_count = 0\n request_timeout_seconds = 20\n}\n"},
			opentofu: Limits{Retries: -1, Timeout: 20 * time.Second},
		},
		{
			name: "later_file_and_variable_win",
			files: map[string]string{
				".terraformrc":        "registry_protocols {\n retry_count = 1\n request_timeout_seconds = 20\n}\n",
				".terraform.d/a.tfrc": "registry_protocols {\n retry_count = 2\n}\n",
			},
			variables: []string{"TF_REGISTRY_CLIENT_TIMEOUT=30"},
			terraform: Limits{Timeout: 30 * time.Second},
			opentofu:  Limits{Retries: 2, Timeout: 30 * time.Second},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := home(t, tt.files, tt.variables...)
			for tool, want := range map[provider.ToolName]Limits{provider.Terraform: tt.terraform, provider.OpenTofu: tt.opentofu} {
				c, diags := Load(env, tool)
				if got := c.Limits(); got != want || len(diags) > 0 {
					t.Errorf("limits of %s = %+v, diagnostics %v; want %+v", tool, got, diags, want)
				}
			}
		})
	}
}
