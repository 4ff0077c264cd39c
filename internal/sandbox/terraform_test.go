package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestTerraform runs the real tool against the sandbox: discovery, signatures,
// packages, modules, the mirror.
func TestTerraform(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("terraform"); err != nil {
		t.Skip("terraform is not on PATH")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the world's packages and SSL_CERT_FILE need linux_amd64")
	}
	s := startWorld(t)
	tests := []struct {
		name   string
		cli    string
		config string
		want   string // in the output
		fails  bool
		locked []string
	}{
		{
			name: "provider_and_module_are_installed",
			cli:  s.CLIConfig(),
			config: `module "net" {
				source  = "acme/net/cloud"
				version = "1.0.0"
			}
			` + required(`plain = { source = "hashicorp/plain" }
				one = { source = "bücher.example/acme/one" }`),
			want:   "Installed hashicorp/cloud v1.1.0 (self-signed, key ID " + s.world.keyID(t, "registry.terraform.io/hashicorp/cloud"),
			locked: []string{`"registry.terraform.io/hashicorp/cloud"`, `"1.1.0+meta"`, `"bücher.example/acme/one"`},
		},
		{
			name:   "signature_by_a_key_that_is_not_announced_is_refused",
			cli:    s.CLIConfig(),
			config: required(`odd = { version = "1.0.0" }`),
			want:   "authentication signature from unknown issuer",
			fails:  true,
		},
		{
			name:   "missing_token_is_refused",
			cli:    s.CLIConfig(),
			config: required(`secret = { source = "private.example/acme/secret" }`),
			want:   "requires authentication credentials",
			fails:  true,
		},
		{
			name:   "token_opens_a_restricted_host_and_an_expired_key_still_counts",
			cli:    s.CLIConfig() + `credentials "private.example" { token = "s3cret" }`,
			config: required(`secret = { source = "private.example/acme/secret" }`),
			want:   "Installed private.example/acme/secret v1.0.0",
			locked: []string{`"private.example/acme/secret"`, "zh:"},
		},
		{
			name:   "mirror_serves_packages",
			cli:    `provider_installation { network_mirror { url = "` + s.Mirror() + `" } }`,
			config: required(`plain = { source = "hashicorp/plain", version = "1.0.0" }`),
			want:   "Installed hashicorp/plain v1.0.0 (unauthenticated)",
			locked: []string{"h1:"},
		},
		{
			name:   "mirror_with_a_wrong_hash_is_refused",
			cli:    `provider_installation { network_mirror { url = "` + s.Mirror() + `" } }`,
			config: required(`odd = { source = "hashicorp/odd", version = "1.0.0" }`),
			want:   "doesn't match the expected checksum",
			fails:  true,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "main.tf", test.config)
			write(t, dir, "cli.tfrc", test.cli)
			write(t, dir, "ca.pem", string(s.Certificate()))
			out, err := terraformInit(t, dir)
			if (err != nil) != test.fails || !strings.Contains(unwrapped(out), test.want) {
				t.Fatalf("terraform init: %v, want failure %v and %q in\n%s", err, test.fails, test.want, out)
			}
			lock, _ := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
			for _, want := range test.locked {
				if !strings.Contains(string(lock), want) {
					t.Errorf("the lock lacks %s:\n%s", want, lock)
				}
			}
		})
	}
}

func required(providers string) string {
	return "terraform {\n  required_providers {\n" + providers + "\n  }\n}\n"
}

func terraformInit(t *testing.T, dir string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "terraform", "init", "-input=false", "-no-color")
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CHECKPOINT_DISABLE=1",
		"TF_CLI_CONFIG_FILE=" + filepath.Join(dir, "cli.tfrc"), "SSL_CERT_FILE=" + filepath.Join(dir, "ca.pem"),
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// unwrapped undoes the line breaks of diagnostics.
func unwrapped(s string) string { return strings.Join(strings.Fields(s), " ") }

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
