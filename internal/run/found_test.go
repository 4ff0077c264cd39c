package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

// locked lays root modules with lock files of so many h1 hashes below a clone.
func locked(t *testing.T, hashes int, dirs ...string) string {
	t.Helper()
	root := lay(t, ".git/HEAD")
	list := ""
	if hashes > 0 {
		list = "  hashes = [\n" + h1Lines(hashes) + "  ]\n"
	}
	for _, dir := range dirs {
		worktreetest.Write(t, root, map[string]string{
			dir + "/main.tf":             "resource \"null_resource\" \"x\" {}\n",
			dir + "/.terraform.lock.hcl": "provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"3.2.2\"\n" + list + "}\n",
		})
	}
	return root
}

// h1Lines are the lines of so many h1 hashes.
func h1Lines(hashes int) string {
	var lines strings.Builder
	for i := range hashes {
		fmt.Fprintf(&lines, "    \"h1:%044d\",\n", i)
	}
	return lines.String()
}

func roots(top string, n int) []string {
	var dirs []string
	for i := range n {
		dirs = append(dirs, fmt.Sprintf("%s/%02d", top, i))
	}
	return dirs
}

func TestFound(t *testing.T) {
	t.Parallel()
	groups := func(names ...string) []settings.FoundGroup {
		var all []settings.FoundGroup
		for _, name := range names {
			all = append(all, settings.FoundGroup{Name: name[strings.LastIndexByte(name, '/')+1:], Directories: name + "/**"})
		}
		return all
	}
	tests := map[string]struct {
		dirs    []string
		exclude []string
		groups  []settings.FoundGroup
	}{
		"few":                    {[]string{"live/a", "live/b"}, nil, nil},
		"the_top_alone":          {[]string{"."}, nil, nil},
		"examples":               {[]string{"live/a", "examples/a", "modules/x/examples/b", "modules/x/tests/c"}, []string{"**/examples/**", "**/tests/**", "examples/**"}, nil},
		"nothing_but_examples":   {[]string{"examples/a", "examples/b"}, nil, nil},
		"test_is_an_environment": {[]string{"env/test", "env/prod"}, nil, nil},
		"many":                   {append(roots("prod", 6), roots("stage", 6)...), nil, groups("prod", "stage")},
		"many_below_one":         {append(roots("live/prod", 6), roots("live/stage", 6)...), nil, groups("live/prod", "live/stage")},
		"many_and_examples":      {append(append(roots("prod", 6), roots("stage", 6)...), "examples/a"), []string{"examples/**"}, groups("prod", "stage")},
		"many_in_one":            {roots("prod", 12), nil, groups("prod/00", "prod/01", "prod/02", "prod/03", "prod/04", "prod/05", "prod/06", "prod/07", "prod/08", "prod/09", "prod/10", "prod/11")},
		"too_many_groups":        {roots("prod", 13), nil, nil},
		"a_pattern":              {append(roots("pr*d", 6), roots("stage", 6)...), nil, nil},
		"the_shared_one_too":     {append(append(roots("live/prod", 6), roots("live/stage", 6)...), "live"), nil, groups("live/prod", "live/stage")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := Found(context.Background(), locked(t, 0, tt.dirs...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.exclude, found.Exclude); diff != "" {
				t.Errorf("exclude (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.groups, found.Groups); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFoundTellsOfToolsAndPlatforms(t *testing.T) {
	t.Parallel()
	root := locked(t, 3, "live/a", "live/b")
	worktreetest.Write(t, root, map[string]string{
		"live/a/.terraform-version":     "1.11.4\n",
		"tofu/main.tofu":                "",
		"tofu/.terraform.lock.hcl":      "provider \"registry.opentofu.org/hashicorp/null\" {\n  version = \"3.2.2\"\n}\n",
		"unlocked/main.tf":              "",
		"elsewhere/.terraform.lock.hcl": "",
	})
	found, err := Found(context.Background(), root)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string][]string{
		"include":   {"4 directories with a lock file."},
		"tool":      {"OpenTofu", "Terraform 1.11.4 in 1", "Nothing names the release in"},
		"platforms": {"hashes for 3 platforms in 2 lock files, hashes for 0 platforms in 2 lock files", "fewer than two"},
	} {
		for _, part := range want {
			if !strings.Contains(found.Notes[key], part) {
				t.Errorf("the note on %s is %q, want %q in it", key, found.Notes[key], part)
			}
		}
	}
	many := lay(t, ".git/HEAD")
	for i := range 40 {
		dir := fmt.Sprintf("live/%02d", i)
		worktreetest.Write(t, many, map[string]string{
			dir + "/.terraform-version":  fmt.Sprintf("1.%d.%d\n", 5+i%5, i),
			dir + "/.terraform.lock.hcl": "provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"3.2.2\"\n  hashes = [\n" + h1Lines(1+i%7) + "  ]\n}\n",
		})
	}
	found, err = Found(context.Background(), many)
	if lines := strings.Count(string(settings.Init(found, "v1")), "\n"); err != nil || lines > 20 {
		t.Errorf("40 releases make %d lines, want at most 20: %v\n%s", lines, err, settings.Init(found, "v1"))
	}
	for key, want := range map[string]string{"tool": " in 1 and 37 more.", "platforms": " lock files and 4 more."} {
		if !strings.Contains(found.Notes[key], want) {
			t.Errorf("the note on %s is %q, want %q in it", key, found.Notes[key], want)
		}
	}
	broken := lay(t, ".git/HEAD", "a/main.tf")
	worktreetest.Write(t, broken, map[string]string{"a/.terraform.lock.hcl": "provider {"})
	if found, err = Found(context.Background(), broken); err != nil || found.Notes["include"] != "1 directory with a lock file." || found.Notes["platforms"] != "" {
		t.Errorf("Found(a lock file that cannot be read) = %+v, %v", found, err)
	}
	empty, err := Found(context.Background(), lay(t, ".git/HEAD", "main.tf"))
	if err != nil || empty.Notes["include"] != "no lock file." || len(empty.Groups)+len(empty.Exclude) > 0 {
		t.Errorf("Found(a repository without lock files) = %+v, %v", empty, err)
	}
}

// The hosts of a commit are those that requirements and lock files name, of root modules
// without a lock file, too.
func TestHostsIn(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"live/main.tf":             {Data: []byte("terraform {\n  required_providers {\n    a = { source = \"required.example/acme/a\" }\n  }\n}\n")},
		"live/.terraform.lock.hcl": {Data: []byte("provider \"locked.example/acme/b\" {\n  version = \"1.0.0\"\n}\n")},
		"new/main.tf":              {Data: []byte("terraform {\n  backend \"local\" {}\n  required_providers {\n    c = { source = \"new.example/acme/c\" }\n  }\n}\n")},
		"gone/README.md":           {Data: []byte("unnamed.example")},
	}
	hosts, err := HostsIn(t.Context(), &Remote{FS: files}, settings.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(hosts)
	if want := []svchost.Hostname{"locked.example", "new.example", "required.example"}; !slices.Equal(slices.Compact(hosts), want) {
		t.Errorf("HostsIn() = %q, want %q", hosts, want)
	}
}
