package settings_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/settings"
)

func TestEverySettingIsNamedOnceInEachSource(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range settings.All {
		for source, name := range map[string]string{"key": s.Key, "flag": s.Flag, "input": s.Input, "name": s.Name()} {
			if id := source + " " + name; name != "" && seen[id] {
				t.Errorf("%s stands twice in the table", id)
			} else {
				seen[id] = true
			}
		}
	}
}

func TestEverySettingIsDescribed(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	for _, s := range settings.All {
		if !strings.HasSuffix(s.Doc, ".") || strings.ContainsAny(s.Doc, "`\n") {
			t.Errorf("%s: description %q is not plain sentences", s.Name(), s.Doc)
		}
		for _, n := range append(strings.Split(s.Key, "."), s.Flag, s.Input) {
			if n != "" && !name.MatchString(n) {
				t.Errorf("%s: %q is not in kebab-case", s.Name(), n)
			}
		}
		if (s.Flag == "") != (len(s.Verbs) == 0) {
			t.Errorf("%s: flag %q and verbs %q do not fit together", s.Name(), s.Flag, s.Verbs)
		}
		if s.Kind == settings.Choice && s.Default != "" && !slices.Contains(s.Values, s.Default) {
			t.Errorf("%s: default %q is not among %q", s.Name(), s.Default, s.Values)
		}
	}
}

func TestEveryFieldIsDescribed(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+([-.][a-z]+)*(\[\]|\.\*)\.[a-z]+(-[a-z]+)*$`)
	for _, s := range settings.All {
		if structured := s.Kind == settings.Records || s.Kind == settings.Named || s.Key == "module-vars"; structured != (len(s.Fields) > 0) {
			t.Errorf("%s has %d fields", s.Name(), len(s.Fields))
		}
		for _, f := range s.Fields {
			if !strings.HasSuffix(f.Doc, ".") || strings.ContainsAny(f.Doc, "`\n") || !name.MatchString(f.Key) || !strings.HasPrefix(f.Key, s.Key) {
				t.Errorf("%s: description %q is not plain sentences, or the key is not that of a field of %s", f.Key, f.Doc, s.Key)
			}
		}
	}
}

func TestDefaultsAreAccepted(t *testing.T) {
	if _, problems := settings.Resolve(settings.Merge()); len(problems) > 0 {
		t.Errorf("Resolve(Merge()) reports %v", problems)
	}
}

func TestSecretsHaveNoFlagAndNoKey(t *testing.T) {
	for _, s := range settings.All {
		if s.Secret && (s.Flag != "" || s.Key != "" || s.Env == "") {
			t.Errorf("%s: a secret comes from the environment only", s.Name())
		}
	}
}
