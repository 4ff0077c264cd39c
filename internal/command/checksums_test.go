package command

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Lines of a checksum list that are none: what Terraform records of them, and
// where it crashes.
func TestTerraformReadsChecksumLists(t *testing.T) {
	t.Parallel()
	terraform, _ := realTool(t, "terraform")
	const zeros = "0000000000000000000000000000000000000000000000000000000000000000"
	tests := map[string]struct {
		lines  string
		locked bool
	}{
		"no_checksum":    {`["this is no checksum"]`, true},
		"one_word":       {`["word"]`, true},
		"capitals":       {`["ABCDEF` + zeros[6:] + `  x"]`, true},
		"empty_between":  {`["", "` + zeros + `  x"]`, false},
		"empty_at_end":   {`[""]`, false},
		"spaces_between": {`["  ", "` + zeros + `  x"]`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveText(t, fmt.Sprintf("-- registry/registry.terraform.io/acme/tool --\nversions: {1.0.0: {shasums_extra: %s}}\n", tt.lines))
			theirs, ours := filepath.Join(t.TempDir(), "theirs"), filepath.Join(t.TempDir(), "ours")
			for _, root := range []string{theirs, ours} {
				write(t, filepath.Join(root, "main.tf"), []byte("terraform {\n  required_providers {\n    tool = { source = \"acme/tool\" }\n  }\n}\n"))
			}
			judged, output := judge(t, terraform, s, theirs)
			status, said := runIn(t, s, ours, "upgrade", "--exact", "--platform", judgedPlatforms[0], "--platform", judgedPlatforms[1], ".")
			if judged != tt.locked || (status == ExitOK) != judged {
				t.Errorf("terraform succeeded: %v, relock: status %d; want %v\n%s\n%s", judged, status, tt.locked, output, said)
			}
			if diff := cmp.Diff(readLock(t, theirs), readLock(t, ours)); diff != "" {
				t.Errorf("lock file (-terraform +relock):\n%s", diff)
			}
		})
	}
}
