package command

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/settings"
)

// exampleOfKey matches the examples of keys in the settings reference.
var exampleOfKey = regexp.MustCompile("Example: `([a-z.-]+: .*)`\\.\n|```yaml\n([a-z][^`]*)```\n")

var fingerprints = regexp.MustCompile("[0-9A-F]{16,}")

// Every example of the settings reference is a file that config validate and verify take
// without a warning.
func TestExamplesOfTheReferenceWarnOfNothing(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, reference, _ := strings.Cut(string(src), "<!-- settings:begin -->")
	examples := exampleOfKey.FindAllStringSubmatch(reference, -1)
	if len(examples) < 40 {
		t.Fatalf("found %d examples in the reference, which cannot be all", len(examples))
	}
	for _, m := range examples {
		example := m[1] + m[2]
		if key, _, _ := strings.Cut(example, ":"); !settings.IsKey(key) {
			continue // an input of the Action
		}
		for _, fingerprint := range fingerprints.FindAllString(example, -1) {
			if len(fingerprint) != 40 { // verify warns of a part of one, where the key signs a release
				t.Errorf("%s: %s is no whole fingerprint", example, fingerprint)
			}
		}
		env, top := place(t)
		env.Getenv = func(name string) string { return map[string]string{"RELOCK_TOKEN_EXAMPLE": "s3cret"}[name] }
		config := filepath.Join(top, "relock.yml")
		content := example
		if !strings.HasPrefix(example, "version:") {
			content = "version: 1\n" + example
		}
		for name, text := range map[string]string{
			config: content + "\n", filepath.Join(env.WorkDir, "baseline.yml"): "version: 1\n",
			filepath.Join(env.WorkDir, "prod", ".terraform.lock.hcl"): "", filepath.Join(env.WorkDir, "prod", "main.tf"): "",
		} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, words := range [][]string{{"config", "validate"}, {"verify", "--offline", "prod"}} {
			var stdout, stderr bytes.Buffer
			env.Args, env.Stdout, env.Stderr = append(words, "--config", config), &stdout, &stderr
			if status := Main(t.Context(), env); status != ExitOK || strings.Contains(stdout.String()+stderr.String(), "warning") {
				t.Errorf("%s: %s ends with status %d: %s%s", example, strings.Join(words, " "), status, &stdout, &stderr)
			}
		}
	}
}
