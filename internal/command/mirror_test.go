package command

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/sandbox"
)

// mirrorWorld is the registry and the network mirror of TestTerraformAgreesOnMirrors and
// TestTofuAgreesOnMirrors.
const mirrorWorld = `
-- registry/registry.terraform.io/hashicorp/plain --
versions: [1.0.0, 1.1.0, 1.2.0]
-- registry/registry.terraform.io/hashicorp/named --
platforms: [linux_amd64]
versions:
  1.0.0:
    files: {"*": [{name: terraform-provider-named_v1.0.0, content: x}]}
    mirror_hashes: {linux_amd64: ["h1:ZcJrb1Cu3GkoqOj2R5oyjiCi5wjUFaS+4MPpTQxDt7I=", "h2:other"]}
-- registry/registry.terraform.io/hashicorp/partly --
platforms: [linux_amd64]
versions:
  1.0.0:
    files: {"*": [{name: terraform-provider-partly_v1.0.0, content: x}]}
    mirror_hashes: {linux_amd64: ["zh:0000000000000000000000000000000000000000000000000000000000000000", "h1:5yK2Ku1yErziqjLvcjpMvslQESV5bO83osM0dWcLFeg="]}
-- registry/registry.terraform.io/hashicorp/unknown --
platforms: [linux_amd64]
versions:
  1.0.0: {mirror_hashes: {linux_amd64: ["h2:other"]}}
-- registry/registry.terraform.io/hashicorp/wrong --
platforms: [linux_amd64]
versions:
  1.0.0: {mirror_hashes: {linux_amd64: ["h1:x", "zh:y"]}}
-- registry/example.com/acme/own --
versions: [2.0.0]
`

// mirrorCases are installation methods, with what lies in the home directory
// beside them. @MIRROR@, @WORK@ and @ROOT@ stand for the network mirror, the
// home directory and the root module.
var mirrorCases = []struct {
	name      string
	cli       string
	files     map[string]string // of packages, from those of the mirror: path -> NAME VERSION
	providers string
	lock      string
}{
	{name: "network", cli: `network_mirror { url = "@MIRROR@" }`, providers: `plain = { source = "hashicorp/plain" }`},
	{name: "network_without_the_provider", cli: `network_mirror { url = "@MIRROR@" }`, providers: `none = { source = "hashicorp/none" }`},
	{name: "network_of_another_host", cli: `network_mirror { url = "@MIRROR@" }`, providers: `own = { source = "example.com/acme/own" }`},
	{name: "named", cli: `network_mirror { url = "@MIRROR@" }`, providers: `named = { source = "hashicorp/named" }`},
	{name: "partly_right", cli: `network_mirror { url = "@MIRROR@" }`, providers: `partly = { source = "hashicorp/partly" }`},
	{name: "of_unknown_schemes", cli: `network_mirror { url = "@MIRROR@" }`, providers: `unknown = { source = "hashicorp/unknown" }`},
	{name: "wrong", cli: `network_mirror { url = "@MIRROR@" }`, providers: `wrong = { source = "hashicorp/wrong" }`},
	{
		name: "excluded_from_the_mirror", providers: `plain = { source = "hashicorp/plain" }`,
		cli: `network_mirror { 
 url = "@MIRROR@"
 exclude = ["hashicorp/*"] 
}
direct {}`,
	},
	{
		name: "included_in_nothing", providers: `plain = { source = "hashicorp/plain" }`,
		cli: `direct { include = ["example.com/*/*"] }`,
	},
	{
		name: "wildcard_of_the_default_host", providers: `plain = { source = "hashicorp/plain" }
own = { source = "example.com/acme/own" }`,
		cli: `network_mirror {
 url = "@MIRROR@"
 include = ["*/*"]
}
direct {
 exclude = ["*/*"]
}`,
	},
	{
		name: "packed_older_than_the_registry", providers: `plain = { source = "hashicorp/plain" }`,
		cli:   "filesystem_mirror { path = \"@WORK@/m\" }\ndirect {}",
		files: map[string]string{"@WORK@/m/registry.terraform.io/hashicorp/plain/terraform-provider-plain_1.0.0_linux_amd64.zip": "plain 1.0.0"},
	},
	{
		name: "packed_of_the_wanted_version", providers: `plain = { 
 source = "hashicorp/plain" 
 version = "1.0.0"
}`,
		cli:   "filesystem_mirror { path = \"@WORK@/m\" }\ndirect {}",
		files: map[string]string{"@WORK@/m/registry.terraform.io/hashicorp/plain/Terraform-Provider-Plain_1.0_linux_amd64.ZIP": "plain 1.0.0"},
	},
	{
		name: "packed_for_another_platform", providers: `plain = { 
 source = "hashicorp/plain" 
 version = "1.0.0"
}`,
		cli:   "filesystem_mirror { path = \"@WORK@/m\" }\ndirect {}",
		files: map[string]string{"@WORK@/m/registry.terraform.io/hashicorp/plain/terraform-provider-plain_1.0.0_darwin_arm64.zip": "plain 1.0.0"},
	},
	{
		name: "packed_alone_for_another_platform", providers: `plain = { source = "hashicorp/plain" }`,
		cli:   `filesystem_mirror { path = "@WORK@/m" }`,
		files: map[string]string{"@WORK@/m/registry.terraform.io/hashicorp/plain/terraform-provider-plain_1.0.0_darwin_arm64.zip": "plain 1.0.0"},
	},
	{
		name: "unpacked", providers: `plain = { source = "hashicorp/plain" }`,
		cli:   `filesystem_mirror { path = "@WORK@/m" }`,
		files: map[string]string{"@WORK@/m/registry.terraform.io/hashicorp/plain/1.0.0/linux_amd64/": "plain 1.0.0"},
	},
	{
		name: "packed_against_other_zh", providers: `plain = { source = "hashicorp/plain" }`,
		cli:   `filesystem_mirror { path = "@WORK@/m" }`,
		files: map[string]string{"@WORK@/m/registry.terraform.io/hashicorp/plain/terraform-provider-plain_1.0.0_linux_amd64.zip": "plain 1.0.0"},
		lock:  "zh:0000000000000000000000000000000000000000000000000000000000000000",
	},
	{
		name: "unpacked_against_zh", providers: `plain = { source = "hashicorp/plain" }`,
		cli:   `filesystem_mirror { path = "@WORK@/m" }`,
		files: map[string]string{"@WORK@/m/registry.terraform.io/hashicorp/plain/1.0.0/linux_amd64/": "plain 1.0.0"},
		lock:  "zh:0000000000000000000000000000000000000000000000000000000000000000",
	},
	{
		name: "unpacked_against_other_h1", providers: `plain = { source = "hashicorp/plain" }`,
		cli:   `filesystem_mirror { path = "@WORK@/m" }`,
		files: map[string]string{"@WORK@/m/registry.terraform.io/hashicorp/plain/1.0.0/linux_amd64/": "plain 1.0.0"},
		lock:  "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
	},
	{name: "missing_directory", cli: `filesystem_mirror { path = "@WORK@/none" }`, providers: `plain = { source = "hashicorp/plain" }`},
	{name: "no_method", cli: ``, providers: `plain = { source = "hashicorp/plain" }`},
	{
		name: "implied_in_the_home_directory", providers: "plain = { source = \"hashicorp/plain\" }\nown = { source = \"example.com/acme/own\" }", cli: "none",
		files: map[string]string{"@WORK@/.terraform.d/plugins/registry.terraform.io/hashicorp/plain/terraform-provider-plain_1.0.0_linux_amd64.zip": "plain 1.0.0"},
	},
	{
		name: "implied_in_the_root_module", providers: `plain = { source = "hashicorp/plain" }`, cli: "none",
		files: map[string]string{
			"@ROOT@/terraform.d/plugins/registry.terraform.io/hashicorp/plain/1.1.0/linux_amd64/":                                        "plain 1.1.0",
			"@WORK@/.local/share/terraform/plugins/registry.terraform.io/hashicorp/plain/terraform-provider-plain_1.0.0_linux_amd64.zip": "plain 1.0.0",
		},
	},
	{
		name: "implied_for_another_platform", providers: `plain = { source = "hashicorp/plain" }`, cli: "none",
		files: map[string]string{"@WORK@/.terraform.d/plugins/registry.terraform.io/hashicorp/plain/terraform-provider-plain_1.0.0_darwin_arm64.zip": "plain 1.0.0"},
	},
}

// TestTerraformAgreesOnMirrors runs the real terraform init -upgrade and relock
// upgrade with each configuration, and compares what they leave.
func TestTerraformAgreesOnMirrors(t *testing.T) {
	t.Parallel()
	agreesOnMirrors(t, "terraform", "registry.terraform.io")
}

// TestTofuAgreesOnMirrors does so with the real tofu, for which the same is in its
// own registry.
func TestTofuAgreesOnMirrors(t *testing.T) {
	t.Parallel()
	agreesOnMirrors(t, "tofu", "registry.opentofu.org")
}

func agreesOnMirrors(t *testing.T, tool, registry string) {
	program, as := realTool(t, tool)
	own := func(text string) string { return strings.ReplaceAll(text, "registry.terraform.io", registry) }
	s := serveText(t, own(mirrorWorld))
	for _, tt := range mirrorCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			ours, theirs := filepath.Join(t.TempDir(), "root"), filepath.Join(t.TempDir(), "root")
			for _, root := range []string{ours, theirs} {
				write(t, filepath.Join(root, "main.tf"), []byte("terraform {\n required_providers {\n"+own(tt.providers)+"\n }\n}\n"))
				if tt.lock != "" {
					write(t, filepath.Join(root, lockfile.Name), []byte("provider \""+registry+"/hashicorp/plain\" {\n  version = \"1.0.0\"\n  hashes = [\n    \""+tt.lock+"\",\n  ]\n}\n"))
				}
				for name, pkg := range tt.files {
					name = strings.NewReplacer("@WORK@", home, "@ROOT@", root).Replace(own(name))
					archive := packageOf(t, s, registry, pkg)
					if dir, ok := strings.CutSuffix(name, "/"); ok {
						_ = os.RemoveAll(dir)
						unpack(t, dir, archive)
						continue
					}
					write(t, name, archive)
				}
			}
			cli := ""
			if tt.cli != "none" {
				cli = "provider_installation {\n" + strings.NewReplacer("@MIRROR@", s.Mirror(), "@WORK@", home).Replace(own(tt.cli)) + "\n}\n"
			}
			output, failed := runTool(t, program, s, theirs, home, cli, "init", "-upgrade", "-input=false", "-no-color")
			status, said := session{cli: cli, home: home}.run(t, s, ours, append([]string{"upgrade", "--platform", "linux_amd64", "."}, as...)...)
			if (status != ExitOK) != failed {
				t.Errorf("relock ended with status %d, the tool failed: %v\nrelock:\n%s\nthe tool:\n%s", status, failed, said, output)
			}
			if diff := cmp.Diff(readLock(t, theirs), readLock(t, ours)); diff != "" {
				t.Errorf("lock file (-tool +relock):\n%s\nrelock:\n%s\nthe tool:\n%s", diff, said, output)
			}
		})
	}
}

// TestBlockThatOneToolKnows holds that both tools may have one configuration
// file: what is an error for one of them is none for root modules of the other.
func TestBlockThatOneToolKnows(t *testing.T) {
	t.Parallel()
	s := serveText(t, "-- registry/registry.opentofu.org/hashicorp/plain --\nversions: [1.0.0]\nalso: [registry.terraform.io]\n")
	const cli = `provider_installation {
  oci_mirror {
    repository_template = "registry.example/${hostname}/${namespace}/${type}"
    include             = ["example.com/*/*"]
  }
  direct {}
}
`
	for tool, want := range map[string]int{"opentofu": ExitOK, "terraform": ExitUsage} {
		root := filepath.Join(t.TempDir(), "root")
		write(t, filepath.Join(root, "main.tf"), []byte("terraform {\n required_providers {\n  plain = { source = \"hashicorp/plain\" }\n }\n}\n"))
		status, said := session{cli: cli, home: t.TempDir()}.run(t, s, root, "upgrade", "--tool", tool, "--platform", "linux_amd64", ".")
		if named := strings.Contains(said, "the oci_mirror block is not valid: Terraform has no such installation method"); status != want || named != (want == ExitUsage) {
			t.Errorf("relock for %s ended with status %d, want %d:\n%s", tool, status, want, said)
		}
	}
}

// packageOf is the zip of "NAME VERSION" for linux_amd64, as the sandbox has it.
func packageOf(t *testing.T, s *sandbox.Sandbox, registry, pkg string) []byte {
	t.Helper()
	name, version, _ := strings.Cut(pkg, " ")
	url := fmt.Sprintf("%s/%s/files/hashicorp/%s/%s/terraform-provider-%[3]s_%[4]s_linux_amd64.zip", s.URL(), registry, name, version)
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return data
}

// runTool runs a tool with a CLI configuration beside the hosts of a sandbox.
func runTool(t *testing.T, program string, s *sandbox.Sandbox, dir, home, cli string, args ...string) (output string, failed bool) {
	t.Helper()
	rc := filepath.Join(t.TempDir(), "terraformrc")
	write(t, rc, []byte(s.CLIConfig()+cli))
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + rc, "CHECKPOINT_DISABLE=1", "GOGC=400",
		"SSL_CERT_FILE=" + os.Getenv("SSL_CERT_FILE"), "XDG_DATA_DIRS=" + filepath.Join(home, "none"),
	}
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err != nil
}
