package settings

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// inputGroup is a section of the inputs in action.yml.
type inputGroup struct {
	title  string
	inputs []actionInput
}

// actionInput is an input in the words of action.yml: one short sentence. The Doc of its
// setting says the rest, in docs/configuration.md.
type actionInput struct{ name, description string }

// inputGroups are the inputs as people meet them. action.yml is made from this list.
var inputGroups = []inputGroup{
	{"Everyday", []actionInput{
		{"command", "What to run: auto (by the event), pr, check, verify, upgrade, lock, scan, comment, get, get --require or get --check."},
		{"directories", "Directories of root modules, like prod/network, prod/* or DIR/...; without it, relock searches the whole repository."},
		{"platforms", "Platforms that each lock file must cover: auto, all, or a list like linux_amd64, darwin_arm64."},
		{"providers", "Patterns of the providers to work on, like hashicorp/aws or */aws; without it, all providers."},
		{"config", "Path of the configuration file; without it, relock looks for " + strings.Join(FileNames, ", ") + "."},
		{"cache", "File that keeps the hashes of packages between runs; only trusted jobs may write to it."},
		{"token", "Token for GitHub's API; workflows on pull requests that the workflow's own token makes wait for an approval."},
		{"app-id", "ID of a GitHub App that relock acts as; workflows on its pull requests need no approval."},
		{"app-private-key", "Private key of the GitHub App, in PEM form."},
		{"app-installation-id", "Installation of the GitHub App; 0, the default, takes that of the repository."},
		{"module-token", "Token to fetch modules from this GitHub server by git, where the workflow's own token may not read them."},
		{"tool", "Tool whose rules apply: auto (by the files of each root module), terraform or opentofu."},
		{"tool-version", "Release of the tool, like 1.11.4; without it, that of a version file, else the newest that required_version allows."},
		{"timeout", "How long a run may make requests, like 90s or 20m; without it 30m, and longer while packages arrive."},
		{"verbose", "Log each request and its answer, and list what is up to date."},
		{"binary", "Path of a relock program on the runner, outside of the workspace, for runners that cannot reach the releases."},
		{"download-url", "Address of a copy of the releases, like https://mirror.example.com/relock; this commit names the checksums of their archives."},
	}},
	{"Checks and pull requests", []actionInput{
		{"check", "What fails a check: lock (an incomplete or wrong lock file) or upgrade (newer releases, too)."},
		{"strict", "Leave a root module untouched if any of its providers fails or any new hash is unproven."},
		{"unlocked", "What to do about root modules without a lock file: warn, fail or ignore."},
		{"module-lock", "Which root modules have a lock file of modules: keep (those that have one) or write (all with remote modules)."},
		{"downgrades", "What to do when a locked version is no longer offered: keep (fails the provider) or allow (moves it down)."},
		{"judge", "Which entries check and verify judge by the rules: changed (by the change), all or off."},
		{"group-by", "How to group changes that match no named group: all (in one pull request), provider, directory or namespace."},
		{"dry-run", "Say what relock would propose, and change nothing on GitHub."},
		{"fail-on", "The least severity of a finding that fails verify: error, warning or note."},
		{"ledger", "File of what verify first saw of every release, so that a later run finds what changed."},
		{"baseline", "File of the findings that are accepted, each with a reason and a last day."},
		{"max-download", "How much verify and check download at most to prove h1 hashes, like 500MiB; the default is 4GiB."},
		{"packages", "Check that each package holds one program for its platform, and nothing that leads out of the package."},
		{"recheck", "How many cached hashes to prove again by a download, to find a changed cache; the default is 0."},
		{"sarif-category", "Name that keeps apart several uploads to code scanning for one commit, such as those of a matrix."},
	}},
	{"Organisations", []actionInput{
		{"repositories", "Repositories, as OWNER/NAME, that relock reads from GitHub instead of a checkout."},
		{"org", "Organisation or user whose repositories relock reads from GitHub, as an App or with a person's token."},
		{"where", "Conditions on those repositories, like topic=terraform, name=infra-*, visibility=private, property.team=platform, file!=.norelock or fork=any."},
		{"max-new", "How many pull requests a run opens at most over all repositories; the default is 50."},
		{"fleet", "File that remembers repositories, so that relock skips unchanged ones; it names private repositories."},
		{"dashboard-repository", "Repository, as OWNER/NAME, that has one issue about all of those repositories."},
		{"shard", "Part of those repositories that this job does, like 3/8, with as much of max-new and GitHub's limits."},
	}},
}

// installInputs are the inputs of the scripts that install the program. No setting has them.
var installInputs = []string{"binary", "download-url"}

// inputSection is the inputs as action.yml has them, between inputsBegin and inputsEnd.
func inputSection() string {
	const head = `  # Of several values, the first is the default. docs/configuration.md says more about each
  # input, and docs/install.md about binary and download-url.

`
	var b strings.Builder
	b.WriteString(inputsBegin + head)
	for i, g := range inputGroups {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "  # %s\n", g.title)
		for _, in := range g.inputs {
			text := in.description
			if strings.Contains(text, ": ") { // which begins a value in YAML
				text = strconv.Quote(text)
			}
			fmt.Fprintf(&b, "  %s:\n    description: %s\n", in.name, text)
			if s, ok := lookup(input, in.name); ok && s.InputDefault != "" {
				fmt.Fprintf(&b, "    default: %s\n", s.InputDefault)
			}
		}
	}
	return b.String() + inputsEnd
}

const inputsBegin, inputsEnd = "\ninputs:\n", "\noutputs:\n"

func TestActionInputsAreFresh(t *testing.T) {
	const name = "../../action.yml"
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(src), inputsBegin)
	_, after, ends := strings.Cut(rest, inputsEnd)
	if !begins || !ends {
		t.Fatalf("action.yml has no %q and %q", inputsBegin, inputsEnd)
	}
	updateOrCompare(t, name, string(src), before+inputSection()+after)
}

// TestInputsAreInOneGroup holds that each input has one place, and that each name in the
// groups is an input.
func TestInputsAreInOneGroup(t *testing.T) {
	t.Parallel()
	places, known := map[string]int{}, map[string]bool{}
	for _, name := range installInputs {
		known[name] = true
	}
	for _, s := range All {
		if s.Input != "" {
			known[s.Input] = true
		}
	}
	for _, g := range inputGroups {
		for _, in := range g.inputs {
			if places[in.name]++; !known[in.name] {
				t.Errorf("%s: no setting has the input %s", g.title, in.name)
			}
		}
	}
	for name := range known {
		if places[name] != 1 {
			t.Errorf("the input %s is in %d groups, want 1", name, places[name])
		}
	}
}

// TestInputsAreOneSentence holds that a description is read at a glance, and still names
// each value and the default.
func TestInputsAreOneSentence(t *testing.T) {
	t.Parallel()
	for _, g := range inputGroups {
		for _, in := range g.inputs {
			for _, fault := range sentenceFaults(in.description) {
				t.Errorf("%s: %s: %q", in.name, fault, in.description)
			}
			s, _ := lookup(input, in.name)
			for _, fault := range s.inputFaults(in.description) {
				t.Errorf("%s: %s: %q", in.name, fault, in.description)
			}
		}
	}
}

// sentenceFaults are what keeps a text from being one short sentence.
func sentenceFaults(text string) []string {
	var faults []string
	if words := len(strings.Fields(text)); words > 20 {
		faults = append(faults, fmt.Sprintf("%d words, want 20 at most", words))
	}
	if !strings.HasSuffix(text, ".") || strings.HasSuffix(text, "..") {
		faults = append(faults, "it must end with a full stop")
	}
	for _, end := range []string{". ", "! ", "? ", "\n"} {
		if strings.Contains(strings.ReplaceAll(text, "/...", ""), end) { // DIR/... is a pattern
			faults = append(faults, "it must be one sentence")
		}
	}
	if first := text[:min(1, len(text))]; first < "A" || first > "Z" {
		faults = append(faults, "it must begin with a capital letter")
	}
	return faults
}

// inputFaults are the values that a description of the setting's input lacks.
func (s Setting) inputFaults(text string) []string {
	var faults []string
	_, list, _ := strings.Cut(text, ": ")
	for _, value := range s.Values {
		if value != "" && !wordIn(list, value) {
			faults = append(faults, "it must name the value "+value)
		}
	}
	switch {
	case s.Default == "" || s.Kind == Bool:
	case s.Kind == Number || s.Kind == Text:
		if !wordIn(text, s.Default) {
			faults = append(faults, "it must name the default "+s.Default)
		}
	case !strings.HasPrefix(list, s.Default):
		faults = append(faults, "it must name the default "+s.Default+" first")
	}
	return faults
}

// wordIn reports whether a text has a word, or some in a row, whatever marks surround each.
func wordIn(text, word string) bool {
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = strings.Trim(w, "(),;.")
	}
	return strings.Contains(" "+strings.Join(words, " ")+" ", " "+word+" ")
}

func TestSentenceFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"short":             {"Path of a file, like a/... or b.yml.", 0},
		"two_sentences":     {"Path of a file. It is read.", 1},
		"two_lines":         {"Path\nof a file.", 1},
		"no_full_stop":      {"Path of a file", 1},
		"ends_with_dots":    {"Path of a file...", 1},
		"lowercase":         {"path of a file.", 1},
		"empty":             {"", 2},
		"twenty_words":      {"A" + strings.Repeat(" b", 19) + ".", 0},
		"twenty-one_words":  {"A" + strings.Repeat(" b", 20) + ".", 1},
		"question_in_words": {"What? That one.", 1},
	} {
		if got := sentenceFaults(c.text); len(got) != c.want {
			t.Errorf("%s: %q has the faults %q, want %d", name, c.text, got, c.want)
		}
	}
	choice := Setting{Kind: Choice, Default: "warn", Values: []string{"warn", "fail", ""}}
	for text, want := range map[string]int{
		"What to do: warn (name them) or fail.": 0,
		"What to do: fail or warn.":             1, // the default is not first
		"What to do: warn or failure.":          1,
		"What to do.":                           3,
	} {
		if got := choice.inputFaults(text); len(got) != want {
			t.Errorf("%q has the faults %q, want %d", text, got, want)
		}
	}
}
