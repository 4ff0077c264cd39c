package settings_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/settings"
)

// found is a repository that shows of everything.
var found = settings.Found{
	Notes: map[string]string{
		"include": "12 directories with a lock file.", "tool": "Terraform 1.11.4 in 12.",
		"platforms": strings.Repeat("hashes for 3 platforms in 12 lock files, ", 9) + "and no more.",
		"exclude":   "2 directories that look like examples.", "groups": "12 root modules.",
	},
	Exclude: []string{"**/tests/**", "examples/**"},
	Groups:  []settings.FoundGroup{{Name: "prod", Directories: "live/prod/**"}, {Name: "stage", Directories: "live/stage/**"}},
}

func TestInitChangesNothing(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]settings.Found{"nothing_found": {}, "much_found": found} {
		t.Run(name, func(t *testing.T) {
			values := file(t, string(settings.Init(f, "v1")))
			if len(values) != 1 || values.Text("version") != "1" {
				t.Errorf("the starting file sets %v, want the version alone", values)
			}
			if err := validate(t, settings.Init(f, "v1")); err != nil {
				t.Error(err)
			}
		})
	}
}

// inForce is the starting file with all of its lines taken into force.
func inForce(f settings.Found) string {
	off := regexp.MustCompile(`(?m)^#([^ ]|  )`)
	return off.ReplaceAllString(string(settings.Init(f, "v1")), "$1")
}

// A person who reads the file for the first time looks at no more than a screen of it.
func TestInitIsShort(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]settings.Found{"nothing_found": {}, "much_found": found} {
		text := string(settings.Init(f, "v1"))
		if lines := strings.Count(text, "\n"); lines > 20 {
			t.Errorf("%s: the starting file has %d lines, want at most 20:\n%s", name, lines, text)
		}
	}
}

// An editor and a person find the rest where the file says. Both addresses are of files
// of this repository.
func TestInitLeadsToTheRest(t *testing.T) {
	t.Parallel()
	text := string(settings.Init(settings.Found{}, "v1"))
	if !strings.HasPrefix(text, "# yaml-language-server: $schema=https://") {
		t.Errorf("the first line names no schema:\n%s", text)
	}
	addresses := regexp.MustCompile(`https://(?:raw\.githubusercontent\.com/relock-dev/relock|github\.com/relock-dev/relock/blob)/(?:v1|main)/(\S+)`).FindAllStringSubmatch(text, -1)
	if len(addresses) != 2 {
		t.Errorf("the starting file has the addresses %q, want two of this repository", addresses)
	}
	for _, a := range addresses {
		if _, err := os.Stat("../../" + a[1]); err != nil {
			t.Errorf("%s is not in the repository: %v", a[0], err)
		}
	}
}

func TestInitOffersWhatWasFound(t *testing.T) {
	t.Parallel()
	cfg, problems := settings.Resolve(settings.Merge(file(t, inForce(found))))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(found.Exclude, cfg.Exclude); diff != "" {
		t.Errorf("exclude (-want +got):\n%s", diff)
	}
	var groups []settings.FoundGroup
	for _, g := range cfg.Policy.Groups {
		groups = append(groups, settings.FoundGroup{Name: g.Name, Directories: strings.Join(g.Where.Directories, ",")})
	}
	if diff := cmp.Diff(found.Groups, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	text := string(settings.Init(found, "v1"))
	for _, note := range found.Notes {
		if !strings.Contains(strings.ReplaceAll(text, "\n# ", " "), "Found here: "+note) {
			t.Errorf("the starting file lacks the note %q", note)
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "# ") && !strings.Contains(line, "$schema=") && len(line) > 81 {
			t.Errorf("the line %q is longer than 80 characters", line)
		}
	}
}
