package command

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
)

// listed puts the beginning of a list before items.
func listed(begun string, items []string) []string {
	var lists []string
	for _, item := range items {
		lists = append(lists, begun+item)
	}
	return lists
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	env, top := place(t)
	put(t, env.path("prod/.terraform.lock.hcl"), "provider \"registry.terraform.io/hashicorp/aws\" {\n  version = \"5.0.0\"\n}\nprovider \"example.com/corp/tool\" {\n  version = \"1.0.0\"\n}\n")
	put(t, env.path("prod/sub/.terraform.lock.hcl"), "no lock file {")
	put(t, env.path(".git/.terraform.lock.hcl"), "provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"3.0.0\"\n}\n")
	platforms := []string{"auto", "all"}
	for _, p := range provider.KnownPlatforms {
		platforms = append(platforms, p.String())
	}
	for line, want := range map[string][]string{
		"upgrade --platform ": platforms,
		"upgrade --platform linux_amd64,auto,": slices.DeleteFunc(listed("linux_amd64,auto,", platforms), func(list string) bool {
			return list == "linux_amd64,auto,linux_amd64" || list == "linux_amd64,auto,auto"
		}),
		"lock --provider hashicorp/aws,ex": {"hashicorp/aws,example.com/corp/tool"},
		"check --tool ":                    {"auto", "terraform", "opentofu"},
		"check --format ":                  {"text", "json", "markdown", "html", "sarif"},
		"lock --format ":                   {"text", "json", "markdown", "html"},
		"scan --format ":                   {"text", "json"},
		"config show --format ":            {"text", "json"},
		"pr --group-by ":                   {"all", "provider", "directory", "namespace"},
		"lock --provider ":                 {"example.com/corp/tool", "hashicorp/aws"},
		"scan --why ":                      {"example.com/corp/tool", "hashicorp/aws"},
		"check --hash-source":              {"--hash-source"},
		"config va":                        {"validate"},
		"help config ":                     {"init", "schema", "show", "validate"},
	} {
		var out, talk bytes.Buffer
		env := env
		env.Args, env.Stdout, env.Stderr = append([]string{"__completeNoDesc"}, strings.Split(line, " ")...), &out, &talk
		Main(t.Context(), env)
		words, _, _ := strings.Cut(out.String(), ":")
		if diff := cmp.Diff(want, strings.Fields(words)); diff != "" {
			t.Errorf("%q is completed in %s (-want +got):\n%s%s", line, top, diff, &talk)
		}
	}
}
