package cliconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// script writes a program for sh and returns its directory.
func script(t *testing.T, path, text string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are for sh")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	// A process that starts while the file is open for writing has it open, too. Until it
	// closes it, the program cannot be run: "text file busy" [https://go.dev/issue/22315].
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// helped returns the configuration of a user with a credentials helper.
func helped(t *testing.T, program string, variables ...string) *Config {
	t.Helper()
	env := home(t, map[string]string{".terraformrc": "credentials_helper \"vault\" {\n  args = [\"--mount\", \"a b\"]\n}\n" +
		credentials("block.example", "block") + "credentials \"bare.example\" {\n}\n"}, variables...)
	script(t, filepath.Join(env.Home, ".terraform.d", "plugins", "terraform-credentials-vault"), program)
	c, diags := Load(env, provider.Terraform)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	return c
}

func TestHelperIsAskedWithItsArgumentsOnce(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	c := helped(t, `echo "$*|$ODD" >> "$LOG"; echo '{"token": "t-'"$4"'", "more": 1}'`, "LOG="+log, "ODD=yes", "TF_TOKEN_variable_example=variable")
	for range 2 {
		for host, want := range map[string]string{
			"xn--bcher-kva.example": "t-xn--bcher-kva.example", "h.example:8443": "t-h.example:8443",
			"block.example": "block", "bare.example": "", "variable.example": "variable",
		} {
			if got := token(t, c, svchostOf(host)); got != want {
				t.Errorf("Token(%s) = %q, want %q", host, got, want)
			}
		}
	}
	asked, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--mount a b get xn--bcher-kva.example|yes\n", "--mount a b get h.example:8443|yes\n"} {
		if strings.Count(string(asked), want) != 1 || strings.Count(string(asked), "\n") != 2 {
			t.Errorf("the helper was asked\n%swant each of two hosts once, with %q", asked, want)
		}
	}
}

func TestHelperAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, program string
		want          string // of the error; empty: no token
	}{
		{"nothing_known", `echo '{}'`, ""},
		{"token_of_another_form", `echo '{"token": 5}'`, ""},
		{"failure", `echo s3cret >&2; exit 3`, `the credentials helper "vault" gave no answer for h.example: exit status 3`},
		{"no_json", `echo s3cret`, `the credentials helper "vault" gave no answer for h.example: its answer is not a JSON object`},
		{"too_much", `while :; do echo 0123456789012345678901234567890123456789; done`, "its answer is too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			token, err := helped(t, tt.program).Token(t.Context(), "h.example")
			if tt.want == "" {
				if token != "" || err != nil {
					t.Errorf("Token = %q, %v; want none", token, err)
				}
				return
			}
			e, ok := errors.AsType[*problem.Error](err)
			if !ok || e.Problem.Code != problem.CodeUnauthorized || !strings.Contains(e.Error(), tt.want) || e.Problem.Host != "h.example" {
				t.Fatalf("Token: %v, want %q", err, tt.want)
			}
			if !strings.Contains(e.Problem.Hint, "run terraform-credentials-vault get h.example to see why, or set TF_TOKEN_h_example") || strings.Contains(fmt.Sprint(e, e.Problem.Hint), "s3cret") {
				t.Errorf("error = %q, hint %q; want what to do, and nothing of the helper's words", e, e.Problem.Hint)
			}
		})
	}
}

func TestInterruptedHelperIsAskedAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := helped(t, `echo '{"token": "t"}'`)
	cancel()
	if _, err := c.Token(ctx, "h.example"); !problem.Coded(err, problem.CodeCancelled) {
		t.Errorf("Token after the end of the run: %v, want that it was interrupted", err)
	}
	if got := token(t, c, "h.example"); got != "t" {
		t.Errorf("Token of another run = %q, want the helper's", got)
	}
}

func TestHelperIsFound(t *testing.T) {
	t.Parallel()
	machine := "linux_" + runtime.GOARCH
	tests := []struct {
		name                string
		files               []string
		variables           []string
		terraform, opentofu string // the one that answers
	}{
		{name: "not_installed"},
		{name: "plain", files: []string{".terraform.d/plugins/terraform-credentials-x"}, terraform: "terraform-credentials-x", opentofu: "terraform-credentials-x"},
		{
			name: "newest_of_all_directories", files: []string{".terraform.d/plugins/terraform-credentials-x_v1.2.0", ".terraform.d/plugins/" + machine + "/terraform-credentials-x_v1.10.0_x4"},
			terraform: "terraform-credentials-x_v1.10.0_x4", opentofu: "terraform-credentials-x_v1.10.0_x4",
		},
		{name: "another_name", files: []string{".terraform.d/plugins/terraform-credentials-xy", ".terraform.d/plugins/terraform-provider-x"}},
		{name: "directory", files: []string{".terraform.d/plugins/terraform-credentials-x/y"}},
		{
			name: "data_of_tofu", files: []string{"data/opentofu/plugins/terraform-credentials-x"}, variables: []string{"XDG_DATA_HOME=$HOME/data"},
			opentofu: "terraform-credentials-x",
		},
		{name: "exe", files: []string{".terraform.d/plugins/terraform-credentials-x.exe"}, terraform: "terraform-credentials-x.exe", opentofu: "terraform-credentials-x.exe"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := home(t, map[string]string{".terraformrc": "\ncredentials_helper \"x\" {\n}\n"}, tt.variables...)
			for _, name := range tt.files {
				script(t, filepath.Join(env.Home, name), `echo '{"token": "'"${0##*/}"'"}'`)
			}
			for tool, want := range map[provider.ToolName]string{provider.Terraform: tt.terraform, provider.OpenTofu: tt.opentofu} {
				c, diags := Load(env, tool)
				if want == "" {
					if len(diags) != 1 || diags[0].Severity != problem.SeverityWarning || diags[0].Place.Line != 2 || !strings.Contains(diags[0].Hint, "terraform-credentials-x into ") {
						t.Errorf("diagnostics of %s = %+v, want one warning that says where to put the helper", tool, diags)
					}
				} else if len(diags) > 0 {
					t.Errorf("diagnostics of %s: %v", tool, diags)
				}
				if got := token(t, c, "h.example"); got != want {
					t.Errorf("token by %s = %q, want that of %q", tool, got, want)
				}
			}
		})
	}
}

func TestOneHelperOnly(t *testing.T) {
	t.Parallel()
	env := home(t, map[string]string{".terraformrc": "credentials_helper \"x\" {\n}\ncredentials_helper \"y\" {\n}\n"})
	for _, name := range []string{"x", "y"} {
		script(t, filepath.Join(env.Home, ".terraform.d", "plugins", "terraform-credentials-"+name), "")
	}
	_, diags := Load(env, provider.Terraform)
	if len(diags) != 1 || diags[0].Place.Line != 3 || diags[0].Message != "there is more than one credentials_helper block" || diags[0].Severity != problem.SeverityError {
		t.Errorf("diagnostics = %+v, want an error about the second block", diags)
	}
}
