package scan

import (
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
)

// What Reads leaves out changes nothing: here it is there, and is nonsense.
func TestReadsLeavesOutNothingThatMatters(t *testing.T) {
	t.Parallel()
	left := 0
	for _, c := range recordedCases(t) {
		hollow := map[string]string{}
		for name, text := range c.Files {
			if !Reads(name) {
				text = "\x00 not read \x00"
				left++
			}
			hollow[name] = text
		}
		for _, tool := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
			opts := Options{Dirs: []string{c.Root}, Tool: tool}
			want, _, err := scanned(t.Context(), fileTree(c.Files, c.Symlinks), recordedSource(), opts)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := scanned(t.Context(), fileTree(hollow, c.Symlinks), recordedSource(), opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(resultOf(t, want), resultOf(t, got), cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("%s, %s (-whole +hollow):\n%s", c.ID, tool, diff)
			}
		}
	}
	if left == 0 {
		t.Error("every file of every case is read")
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"main.tf": true, "a/b/main.tf.json": true, "a/main.tofu": true, "a/x.tftest.hcl": true, "tests/x.tofutest.json": true,
		"a/.terraform.lock.hcl": true, "prod.tfvars": true, "a/x.auto.tfvars.json": true,
		".terraform-version": true, "a/.opentofu-version": true, ".tool-versions": true, ".terragrunt-version": true,
		"mise.toml": true, "a/.mise.toml": true, ".config/mise.toml": true, "a/.config/mise.toml": true,
		"mise.local.toml": false, ".config/mise/config.toml": false, "a/premise.toml": false, "a/pyproject.toml": false,
		"a/terragrunt.hcl": true, "cdktf.out/stacks/a/cdk.tf.json": true, "cdktf.json": true,
		"a/x.tfcomponent.hcl": true, "a/x.tfdeploy.hcl": true, ".gitmodules": true,
		"a/.terraform/modules/modules.json": true, "a/.terraform/environment": true,
		"README.md": false, "a/main.tf.bak": false, "a/lambda.zip": false,
		"a/terraform.tfstate": false, "terraform.d/plugins/x/terraform-provider-x": false,
	} {
		if got := Reads(name); got != want {
			t.Errorf("Reads(%q) = %t, want %t", name, got, want)
		}
	}
}

// TestWhatIsNotNoticedMayGo takes away what Notices leaves out.
func TestWhatIsNotNoticedMayGo(t *testing.T) {
	t.Parallel()
	gone := 0
	for _, c := range recordedCases(t) {
		left := map[string]string{}
		for name, text := range c.Files {
			if Notices(name) {
				left[name] = text
			} else {
				left[path.Join(path.Dir(name), "kept.txt")] = "" // that a directory is there is noticed, too
				gone++
			}
		}
		opts := Options{Dirs: []string{c.Root}}
		want, _, err := scanned(t.Context(), fileTree(c.Files, c.Symlinks), recordedSource(), opts)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := scanned(t.Context(), fileTree(left, c.Symlinks), recordedSource(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(resultOf(t, want), resultOf(t, got), cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%s (-whole +left):\n%s", c.ID, diff)
		}
	}
	if gone == 0 {
		t.Error("every file of every case is noticed")
	}
	for _, name := range []string{"a/terragrunt.hcl.json", "terraform.d/plugins/x/y", "a/terraform.d/plugins/x/y", "a/main.tf"} {
		if !Notices(name) {
			t.Errorf("Notices(%q) = false", name)
		}
	}
}
