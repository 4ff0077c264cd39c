package settings

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// exampleFile is a file that sets some settings as their examples do. Sections are written
// once.
func exampleFile(some []Setting) string {
	var tops, order []string
	sections := map[string]string{}
	for _, s := range some {
		section, name, nested := strings.Cut(s.Key, ".")
		if !nested {
			tops = append(tops, s.example())
			continue
		}
		if sections[section] == "" {
			order = append(order, section)
		}
		sections[section] += "\n  " + name + ": " + examples[s.Key]
	}
	for _, section := range order {
		tops = append(tops, section+":"+sections[section])
	}
	return "version: 1\n" + strings.Join(tops, "\n") + "\n"
}

// TestShowReadsBack holds that any settings that are shown are a file with the same ones.
func TestShowReadsBack(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var some []Setting
		for _, s := range All {
			contradicts := s.Key == "pull-request.draft" // the example of auto-merge
			if s.Key != "" && s.Key != "version" && !contradicts && random.IntN(3) == 0 {
				some = append(some, s)
			}
		}
		random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		text := exampleFile(some)
		given, problems := ParseOperatorFile([]byte(text), "given.yml")
		values := Merge(given.Values)
		again, more := ParseOperatorFile([]byte(values.Show()), "shown.yml")
		if len(problems)+len(more) > 0 {
			t.Fatalf("%s\nhas the problems %v, and is shown with %v as\n%s", text, problems, more, values.Show())
		}
		read := Merge(again.Values)
		for _, s := range All {
			if want, got := write(shown(s, values[s.Name()])), write(shown(s, read[s.Name()])); got != want {
				t.Errorf("%s is shown as %s, which reads back as %s", s.Name(), want, got)
			}
		}
	}
}

// TestLiteralsHaveOneSpelling holds that a number with a leading zero, which JSON has not, is
// shown as JSON, and so is an overridden text that is no number.
func TestLiteralsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	file, problems := ParseFile([]byte("version: 1\npull-request: {limit: 07}\n"), "relock.yml")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	inputs := map[string]string{"INPUT_STRICT": "TRUE", "INPUT_MAX_NEW": "many"}
	values := Merge(Flags(map[string][]string{"max-new": {"5"}}), Inputs(func(name string) string { return inputs[name] }), file.Values)
	if _, err := json.Marshal(Explain(values)); err != nil {
		t.Errorf("the settings are no JSON: %v", err)
	}
	for _, want := range []string{"  limit: 7  # relock.yml:2", "strict: true  # input strict", "  max-new: 5  # flag --max-new; not many, input max-new"} {
		if !strings.Contains(values.Show(), want+"\n") {
			t.Errorf("no line %q in\n%s", want, values.Show())
		}
	}
}
