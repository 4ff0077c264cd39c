package settings_test

import (
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/settings"
)

func TestParseCondition(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]settings.Condition{
		"topic=terraform":              {Key: "topic", Value: "terraform"},
		"name!=test-*":                 {Key: "name", Value: "test-*", Not: true},
		"property.team=a=b":            {Key: "property.team", Value: "a=b"},
		"property.Cost center!=x":      {Key: "property.Cost center", Value: "x", Not: true},
		"fork=any":                     {Key: "fork", Value: "any"},
		"file!=.github/relock-off.yml": {Key: "file", Value: ".github/relock-off.yml", Not: true},
	} {
		if got, err := settings.ParseCondition(text); err != nil || got != want || got.String() != text {
			t.Errorf("ParseCondition(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                 "like topic=terraform",
		"terraform":        "like topic=terraform",
		"topic=":           "like topic=terraform",
		"archived=true":    "cannot be chosen by archived",
		"property.=x":      "cannot be chosen by",
		"visibility=known": "is not public, private or internal",
		"fork!=true":       "is not true, false or any, with =",
		"name=[":           "is not a pattern",
		"file=/etc/passwd": "from the top of a repository",
		"file=../x":        "from the top of a repository",
	} {
		if got, err := settings.ParseCondition(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseCondition(%q) = %+v, %v, want %q", text, got, err, want)
		}
	}
}
