package report

import (
	"encoding"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// documented maps the names of rows in docs/json.md to types of format 1. The
// last row, about config show, has no name.
var documented = map[string]reflect.Type{
	"the report":         reflect.TypeFor[document](),
	"a module of `scan`": reflect.TypeFor[scanJSON](),
	"a module of `upgrade`, `lock`, `check`, `pr`": reflect.TypeFor[planJSON](),
	"a module of `verify`":                         reflect.TypeFor[verifiedJSON](),
	"a call that was not read":                     reflect.TypeFor[scan.Unread](),
	"a finding":                                    reflect.TypeFor[findingJSON](),
	"a change":                                     reflect.TypeFor[changeJSON](),
	"a version in `held_modules`":                  reflect.TypeFor[heldModuleJSON](),
	"a change in `locked_modules`":                 reflect.TypeFor[upgrade.ModuleChange](),
	"a measure in `help`":                          reflect.TypeFor[upgrade.Measure](),
	"a release in `held`":                          reflect.TypeFor[heldJSON](),
	"a term in `terms` and `also`":                 reflect.TypeFor[scan.Term](),
	"a signer":                                     reflect.TypeFor[provider.Signer](),
	"an error or a warning":                        reflect.TypeFor[problemJSON](),
	"`consistency`, where a provider is in use in several versions": reflect.TypeFor[VersionSkew](),
	"`fleet`":        reflect.TypeFor[fleetJSON](),
	"a pull request": reflect.TypeFor[PullRequest](),
	"`waiting`, where a proposal has no open pull request": reflect.TypeFor[Waiting](),
	"`dashboards`, the issues that show what waits":        reflect.TypeFor[Dashboard](),
	"`release_notes` of an upgrade":                        reflect.TypeFor[notesJSON](),
	"`stats`":                                              reflect.TypeFor[Stats](),
	"":                                                     reflect.TypeFor[settingsJSON](),
}

// words look like keys in the page but are none: values, settings, verbs and
// places.
var words = strings.Fields(`null exact some allowed oldest none required_version ordinary terragrunt stack cdk orphan
	hash-unknown re-released mirror reported unsigned constraint rule hold age lock check platform protocol
	include exclude diff pr comment verify hashes breaking note deprecation other outdated failed required_providers
	default environment operator repository enforced input flag edit listed read refuted unread unknown fixed clash why created updated closed room run person added removed updated moved repackaged switched`)

var code = regexp.MustCompile("`([a-z_-]+)`")

// TestEveryKeyIsDocumented compares the keys of each type of format 1 with its
// row in docs/json.md. Nothing else may look like a key there.
func TestEveryKeyIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.FromSlash("../../docs/json.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "|---|---|\n")
	rows := map[string]string{}
	for line := range strings.Lines(rest) {
		if cells := strings.SplitN(line, " | ", 2); len(cells) == 2 {
			rows[strings.TrimPrefix(cells[0], "| ")] = cells[1]
		}
	}
	_, rows[""], _ = strings.Cut(rest, "`config show` prints")
	for name, of := range documented {
		row, ok := rows[name]
		if !ok {
			t.Errorf("docs/json.md has no row for %s", name)
			continue
		}
		delete(rows, name)
		keys := map[string]bool{}
		keysOf(of, map[reflect.Type]bool{}, keys)
		for key := range keys {
			if !strings.Contains(row, "`"+key+"`") && !strings.Contains(row, `"`+key+`"`) {
				t.Errorf("docs/json.md does not have the key %s of %s", key, name)
			}
		}
		for _, m := range code.FindAllStringSubmatch(row, -1) {
			if !keys[m[1]] && !slices.Contains(words, m[1]) {
				t.Errorf("docs/json.md has %s for %s, which is no key of it", m[1], name)
			}
		}
	}
	for _, word := range words {
		if !strings.Contains(rest, "`"+word+"`") {
			t.Errorf("the list of words has %s, which is not in docs/json.md", word)
		}
	}
	for name := range rows {
		t.Errorf("docs/json.md has a row for %s, which is no type of the format", name)
	}
}

// keysOf adds the keys of a type, and those of its fields' types without a row of
// their own.
func keysOf(t reflect.Type, seen map[reflect.Type]bool, keys map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	own := slices.Contains(slices.Collect(maps.Values(documented)), t) && len(seen) > 0
	_, text := reflect.Zero(t).Interface().(encoding.TextMarshaler)
	_, whole := reflect.Zero(t).Interface().(json.Marshaler)
	if own || text || whole || seen[t] || t.Kind() != reflect.Struct {
		return
	}
	seen[t] = true
	for field := range t.Fields() {
		if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "-" {
			keys[key] = true
			keysOf(field.Type, seen, keys)
		}
	}
	delete(keys, "") // embedded types have no key
}
