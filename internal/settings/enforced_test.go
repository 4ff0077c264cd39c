package settings

import (
	"strings"
	"testing"
)

// TestDefaultsThatAreEnforcedHold holds of every setting that an operator who enforces its
// default gets that, and in each group what stands in its place, whatever a repository says.
// A setting that is new is among them.
func TestDefaultsThatAreEnforcedHold(t *testing.T) {
	t.Parallel()
	var lines []string // each setting with its example
	sections := map[string][]string{}
	for _, s := range All {
		section, name, nested := strings.Cut(s.Key, ".")
		switch {
		case s.Key == "", s.Operator, s.Key == "groups":
		case s.Key == "pull-request.auto-merge": // which contradicts draft; the groups say it
		case nested:
			sections[section] = append(sections[section], name+": "+examples[s.Key])
		default:
			lines = append(lines, s.example())
		}
	}
	for section, entries := range sections {
		lines = append(lines, section+": {"+strings.Join(entries, ", ")+"}")
	}
	own := strings.Join(lines, "\n") + "\ngroups:\n" +
		"  - {name: a, directories: [a], limit: 7, labels: [x], reviewers: [x], team-reviewers: [x], assignees: [x], milestone: x, auto-merge: squash, draft: false}\n" +
		"  - {name: b, directories: [b], draft: true}\n"
	for _, s := range All {
		if s.Key == "" || s.Operator || s.Key == "version" || !s.replaces() {
			continue
		}
		value := write(shown(s, s.byDefault()))
		if s.structured() {
			value = "[]"
		}
		text := "enforced: {" + s.Key + ": " + value + "}\n"
		if section, name, nested := strings.Cut(s.Key, "."); nested {
			text = "enforced: {" + section + ": {" + name + ": " + value + "}}\n"
		}
		operator, problems := ParseOperatorFile([]byte("version: 1\n"+text), "central.yml")
		mine, more := ParseFile([]byte(own), "relock.yml")
		if len(problems)+len(more) > 0 {
			t.Fatalf("%s: %v, %v", s.Key, problems, more)
		}
		both := merge(layersOf(operator, mine)).values
		if got := write(shown(s, both[s.Key])); got != value {
			t.Errorf("%s is %s, where %s is enforced", s.Key, got, value)
		}
		c, problems := Resolve(both)
		if len(problems) > 0 {
			t.Errorf("%s: Resolve reports %v", s.Key, problems)
		}
		for _, r := range both["groups"].Items {
			for _, f := range fieldsOfGroups(t) {
				same := "pull-request."+f.Name() == s.Key
				if v, said := r.Fields[f.Name()]; same && said && !v.implied {
					t.Errorf("the group %s has %s: %v, where %s: %s is enforced", r.key(), f.Key, v.texts(), s.Key, value)
				}
			}
		}
		for _, r := range c.Policy.Rules {
			if s.Key == "platforms" && len(r.Platforms) > 0 {
				t.Errorf("a rule has the platforms %v, where %s is enforced", r.Platforms, value)
			}
		}
	}
}

func fieldsOfGroups(t *testing.T) []Setting {
	t.Helper()
	groups, ok := lookup(Setting.Name, "groups")
	if !ok {
		t.Fatal("there is no setting groups")
	}
	return groups.Fields
}
