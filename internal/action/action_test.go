package action

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/verbs"
)

// env is an environment for tests.
type env map[string]string

func (e env) get(name string) string { return e[name] }

func TestEnvironment(t *testing.T) {
	t.Parallel()
	facts := func(r *Runtime) []string {
		return []string{
			fmt.Sprint(r.Enabled()), r.Event(), r.Repository(), r.Workspace(), r.SHA(), r.APIURL(), r.GraphQLURL(),
		}
	}
	tests := []struct {
		name string
		env  env
		want []string
	}{
		{
			"enterprise_server", env{
				"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "schedule", "GITHUB_REPOSITORY": "octo/infra",
				"GITHUB_WORKSPACE": "/checkout", "GITHUB_SHA": "abc",
				"GITHUB_API_URL": "https://ghe.example/api/v3/", "GITHUB_GRAPHQL_URL": "https://ghe.example/api/graphql",
			},
			[]string{
				"true", "schedule", "octo/infra", "/checkout", "abc",
				"https://ghe.example/api/v3", "https://ghe.example/api/graphql",
			},
		},
		{
			"nothing_set", env{},
			[]string{"false", "", "", "", "", "https://api.github.com", ""},
		},
		{
			"not_quite_true", env{"GITHUB_ACTIONS": "1"},
			[]string{"false", "", "", "", "", "https://api.github.com", ""},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, facts(New(tt.env.get, &strings.Builder{}))); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultBranch(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"schedule": "17 5 * * *", "repository": {"default_branch": "trunk"}}`: "trunk",
		`{"repository": {}}`: "",
		`{"repository":`:     "",
		``:                   "",
	} {
		name := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(name, []byte(payload), 0o644); err != nil {
			t.Fatal(err)
		}
		r := New(env{"GITHUB_EVENT_PATH": name}.get, &strings.Builder{})
		if got := r.DefaultBranch(); got != want {
			t.Errorf("DefaultBranch of %s = %q, want %q", payload, got, want)
		}
	}
	if got := New(env{}.get, &strings.Builder{}).DefaultBranch(); got != "" {
		t.Errorf("DefaultBranch without an event = %q, want nothing", got)
	}
}

func TestInputsAreThoseOfAWorkflowDispatch(t *testing.T) {
	t.Parallel()
	const payload = `{"inputs": {"tool": "opentofu", "dry-run": true, "limit": 12345678, "x": null, "y": ["z"]}}`
	tests := []struct {
		event, payload string
		want           map[string]string
	}{
		{"workflow_dispatch", payload, map[string]string{"tool": "opentofu", "dry-run": "true", "limit": "12345678"}},
		{"workflow_dispatch", `{"inputs": null}`, map[string]string{}},
		{"workflow_dispatch", ``, map[string]string{}},
		{"repository_dispatch", payload, nil},
		{"pull_request", payload, nil},
	}
	for _, tt := range tests {
		name := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(name, []byte(tt.payload), 0o644); err != nil {
			t.Fatal(err)
		}
		r := New(env{"GITHUB_EVENT_NAME": tt.event, "GITHUB_EVENT_PATH": name}.get, &strings.Builder{})
		if diff := cmp.Diff(tt.want, r.Inputs()); diff != "" {
			t.Errorf("Inputs of %s %s (-want +got):\n%s", tt.event, tt.payload, diff)
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		event, payload string
		head, fork     bool
	}{
		{"schedule", `{"repository": {"default_branch": "main"}}`, false, false},
		{"push", `{}`, false, false},
		{"merge_group", `{}`, true, false},
		{"pull_request", `{"pull_request": {"head": {"repo": {"full_name": "a/b"}}, "base": {"repo": {"full_name": "a/b"}}}}`, true, false},
		{"pull_request", `{"pull_request": {"head": {"repo": {"full_name": "c/b"}}, "base": {"repo": {"full_name": "a/b"}}}}`, true, true},
		{"pull_request", `{"pull_request": {"head": {"repo": null}, "base": {"repo": {"full_name": "a/b"}}}}`, true, true},
		{"pull_request", ``, true, true},
		{"workflow_dispatch", `{}`, false, false},
		{"repository_dispatch", `{}`, false, false},
		{"issue_comment", `{}`, false, false},
		// Who may have checked out what on another event, nobody knows.
		{"pull_request_target", `{"pull_request": {"head": {"repo": {"full_name": "a/b"}}, "base": {"repo": {"full_name": "a/b"}}}}`, true, true},
		{"pull_request_review", `{"pull_request": {"head": {"repo": {"full_name": "a/b"}}, "base": {"repo": {"full_name": "a/b"}}}}`, true, true},
		{"workflow_run", `{"workflow_run": {"event": "push", "head_repository": {"full_name": "a/b"}}}`, true, true},
		{"discussion", `{}`, true, true},
		{"discussion_comment", `{}`, true, true},
		{"release", `{}`, true, true},
		{"of_tomorrow", `{}`, true, true},
		{"", `{}`, true, true},
	}
	for _, tt := range tests {
		name := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(name, []byte(tt.payload), 0o644); err != nil {
			t.Fatal(err)
		}
		r := New(env{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": tt.event, "GITHUB_EVENT_PATH": name, "GITHUB_REPOSITORY": "a/b"}.get, &strings.Builder{})
		if head, fork := r.Head(); head != tt.head || fork != tt.fork {
			t.Errorf("Head of %s %s = %v, %v, want %v, %v", tt.event, tt.payload, head, fork, tt.head, tt.fork)
		}
	}
}

// On a person's machine nothing is a head.
func TestNoHeadOutsideOfWorkflows(t *testing.T) {
	t.Parallel()
	if head, fork := New(env{}.get, &strings.Builder{}).Head(); head || fork {
		t.Errorf("Head = %v, %v outside of a workflow", head, fork)
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	tests := []struct{ event, payload, want string }{
		{"pull_request", `{"pull_request": {"base": {"sha": "b0b"}}, "merge_group": {"base_sha": "e0e"}}`, "b0b"},
		{"merge_group", `{"pull_request": {"base": {"sha": "b0b"}}, "merge_group": {"base_sha": "e0e"}}`, "e0e"},
		{"pull_request", `{}`, ""},
		{"pull_request", ``, ""},
	}
	for _, tt := range tests {
		name := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(name, []byte(tt.payload), 0o644); err != nil {
			t.Fatal(err)
		}
		r := New(env{"GITHUB_EVENT_NAME": tt.event, "GITHUB_EVENT_PATH": name}.get, &strings.Builder{})
		if got := r.Base(); got != tt.want {
			t.Errorf("Base of %s %s = %q, want %q", tt.event, tt.payload, got, tt.want)
		}
	}
}

// The test merge of a pull request says for which base it was made, unless it is another
// commit or may be that of another base.
func TestTested(t *testing.T) {
	t.Parallel()
	const pull = `{"pull_request": {"head": {"sha": "a0a"}, "base": {"sha": "b0b"}}}`
	const retargeted = `{"changes": {"base": {"ref": {"from": "old"}}}, "pull_request": {"head": {"sha": "a0a"}, "base": {"sha": "b0b"}}}`
	tests := []struct {
		name, event, payload string
		parents              []string
		want                 string
		tested               bool
	}{
		{"a newer base", "pull_request", pull, []string{"c0c", "a0a"}, "c0c", true},
		{"a merge of the head's own", "pull_request", pull, []string{"d0d", "b0b"}, "b0b", false},
		{"no merge", "pull_request", pull, []string{"c0c"}, "b0b", false},
		{"an unknown commit", "pull_request", pull, nil, "b0b", false},
		{"of the old base", "pull_request", retargeted, []string{"c0c", "a0a"}, "b0b", false},
		{"of the new base", "pull_request", retargeted, []string{"b0b", "a0a"}, "b0b", true},
		{"a title", "pull_request", `{"changes": {"title": {"from": "old"}}, ` + pull[1:], []string{"c0c", "a0a"}, "c0c", true},
		{"a merge queue", "merge_group", `{"merge_group": {"base_sha": "e0e"}}`, []string{"c0c", "a0a"}, "e0e", false},
		{"an empty event", "pull_request", `{}`, []string{"c0c", ""}, "", false},
	}
	for _, tt := range tests {
		name := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(name, []byte(tt.payload), 0o644); err != nil {
			t.Fatal(err)
		}
		r := New(env{"GITHUB_EVENT_NAME": tt.event, "GITHUB_EVENT_PATH": name}.get, &strings.Builder{})
		if got, tested := r.Tested(tt.parents); got != tt.want || tested != tt.tested {
			t.Errorf("%s: Tested(%q) = %q, %t, want %q, %t", tt.name, tt.parents, got, tested, tt.want, tt.tested)
		}
	}
}

func TestVerb(t *testing.T) {
	t.Parallel()
	tests := []struct {
		event   string
		want    verbs.Verb
		refusal string
	}{
		{"schedule", verbs.PR, ""},
		{"workflow_dispatch", verbs.PR, ""},
		{"repository_dispatch", verbs.PR, ""},
		{"pull_request", verbs.Check, ""},
		{"merge_group", verbs.Check, ""},
		{"push", verbs.Check, ""},
		{"issue_comment", verbs.Comment, ""},
		{"pull_request_target", "", "secrets to code from outside"},
		{"workflow_run", "", "secrets"},
		{"", "", "GITHUB_EVENT_NAME is not set"},
		{"fork", "", `relock does not answer the event "fork"`},
		{"x\n::error::y", "", `"x\n::error::y"`},
	}
	for _, tt := range tests {
		got, err := Verb(tt.event)
		if got != tt.want || (err == nil) != (tt.refusal == "") {
			t.Errorf("Verb(%q) = %q, %v, want %q", tt.event, got, err, tt.want)
		}
		if err != nil && !strings.Contains(err.Error(), tt.refusal) {
			t.Errorf("Verb(%q) fails with %q, want %q in it", tt.event, err, tt.refusal)
		}
	}
}

// runnerCommands finds the commands in a step's output as a runner does:
// after trimmed white space in the lines that .NET's ReadLine reads, or, in the
// older form, anywhere.
func runnerCommands(output string) []string {
	var commands []string
	for _, line := range strings.FieldsFunc(output, func(c rune) bool { return c == '\n' || c == '\r' }) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "::") || strings.Contains(line, "##[") {
			commands = append(commands, line)
		}
	}
	return commands
}

func TestCommands(t *testing.T) {
	t.Parallel()
	annotate := func(a Annotation) func(*Runtime) error {
		return func(r *Runtime) error { return r.Annotate(a) }
	}
	tests := []struct {
		name string
		act  func(*Runtime) error
		want []string
	}{
		{"notice", annotate(Annotation{Level: Notice, Message: "all good"}), []string{"::notice::all good"}},
		{
			"warning_at_a_line", annotate(Annotation{Level: Warning, Message: "old", Title: "Held back", File: "prod/main.tf", Line: 12}),
			[]string{"::warning file=prod/main.tf,line=12,title=Held back::old"},
		},
		{
			"error_in_a_file", annotate(Annotation{Level: Error, Message: "first\nsecond", File: "a.tf"}),
			[]string{"::error file=a.tf::first%0Asecond"},
		},
		{
			"columns", annotate(Annotation{Level: Error, Message: "m", File: "a", Line: 3, From: 5, To: 16}),
			[]string{"::error col=5,endColumn=16,file=a,line=3::m"},
		},
		{"first_column_alone", annotate(Annotation{Level: Error, Message: "m", File: "a", Line: 3, From: 5}), []string{"::error col=5,file=a,line=3::m"}},
		{"columns_without_line_are_none", annotate(Annotation{Level: Error, Message: "m", File: "a", From: 5, To: 16}), []string{"::error file=a::m"}},
		{"line_without_file_is_none", annotate(Annotation{Level: Error, Message: "m", Line: 3}), []string{"::error::m"}},
		{
			"injection_by_message", annotate(Annotation{Level: Error, Message: "x\r\n::set-output name=a::b\r::stop-commands::t"}),
			[]string{"::error::x%0D%0A::set-output name=a::b%0D::stop-commands::t"},
		},
		{
			"injection_by_file", annotate(Annotation{Level: Error, Message: "m", File: "a,line=1::injected\n::error::x", Line: 1}),
			[]string{"::error file=a%2Cline=1%3A%3Ainjected%0A%3A%3Aerror%3A%3Ax,line=1::m"},
		},
		{
			"injection_by_title", annotate(Annotation{Level: Notice, Message: "m", Title: "t::x\n::warning::y,file=z"}),
			[]string{"::notice title=t%3A%3Ax%0A%3A%3Awarning%3A%3Ay%2Cfile=z::m"},
		},
		{"escapes_are_escaped", annotate(Annotation{Level: Notice, Message: "50%0A::error::x"}), []string{"::notice::50%250A::error::x"}},
		{"mask", func(r *Runtime) error { return r.Mask("s3cret") }, []string{"::add-mask::s3cret"}},
		{"mask_of_lines", func(r *Runtime) error { return r.Mask("one\n::error::two") }, []string{"::add-mask::one%0A::error::two"}},
		{"mask_of_blank_text", func(r *Runtime) error { return r.Mask(" \n") }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			if err := tt.act(New(env{}.get, &out)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, runnerCommands(out.String())); diff != "" {
				t.Errorf("commands in %q (-want +got):\n%s", out.String(), diff)
			}
		})
	}
}

func TestStdoutIsInert(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"plain", "one: two\nstd::string [x] # y\n", "one: two\nstd::string [x] # y\n"},
		{"command", "x\n::error::y\n", "x\n: :error::y\n"},
		{"first_line", "::error::y", ": :error::y"},
		{"indented", " \t::error::y", " \t: :error::y"},
		{"after_unicode_space", "\u2003\u0085::error::y", "\u2003\u0085: :error::y"},
		{"after_a_carriage_return", "x\r::error::y", "x\r: :error::y"},
		{"three_colons", ":::", ": ::"},
		{"older_form", "x ##[error]y ###[debug]", "x ## [error]y ### [debug]"},
		{"headings", "## [link](x)\n#[a] ##b[c]", "## [link](x)\n#[a] ##b[c]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for size := 1; size <= len(tt.text); size++ { // writes may end anywhere
				var out strings.Builder
				w := New(env{}.get, &out).Stdout()
				for at := 0; at < len(tt.text); at += size {
					part := tt.text[at:min(at+size, len(tt.text))]
					if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
						t.Fatalf("Write(%q) = %d, %v", part, n, err)
					}
				}
				if out.String() != tt.want {
					t.Fatalf("written in parts of %d bytes: %q, want %q", size, out.String(), tt.want)
				}
				if c := runnerCommands(out.String()); c != nil {
					t.Fatalf("a runner finds the commands %q", c)
				}
			}
		})
	}
}

func FuzzInert(f *testing.F) {
	f.Add("x\n::error::y", " ##[group]z")
	f.Add("\u00a0:", ":x")
	f.Fuzz(func(t *testing.T, a, b string) {
		var out strings.Builder
		w := Inert(&out)
		for _, text := range []string{a, b} {
			if _, err := w.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if c := runnerCommands(out.String()); c != nil {
			t.Errorf("a runner finds the commands %q", c)
		}
	})
}

func TestCommandsBeginLines(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := New(env{}.get, &out)
	if _, err := fmt.Fprint(r.Stdout(), "half a line"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Annotate(Annotation{Level: Notice, Message: "m"}), r.Mask("s3cret")); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(r.Stdout(), "::x"); err != nil {
		t.Fatal(err)
	}
	if want := "half a line\n::notice::m\n::add-mask::s3cret\n: :x"; out.String() != want {
		t.Errorf("output = %q, want %q", out.String(), want)
	}
}

// failing is a writer that is full.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestFailedWritesAreErrors(t *testing.T) {
	t.Parallel()
	r := New(env{}.get, failing{})
	if err := r.Annotate(Annotation{Level: Error, Message: "m"}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("Annotate = %v, want the writer's error", err)
	}
	if _, err := r.Stdout().Write([]byte("x")); err == nil {
		t.Error("Write succeeded")
	}
}

// parseOutputs reads GITHUB_OUTPUT as a runner does: NAME=VALUE, or
// NAME<<DELIMITER and lines up to the delimiter.
func parseOutputs(t *testing.T, text string) map[string]string {
	t.Helper()
	outputs := map[string]string{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for len(lines) > 0 {
		line := lines[0]
		lines = lines[1:]
		name, delimiter, ok := strings.Cut(line, "<<")
		if !ok {
			name, value, _ := strings.Cut(line, "=")
			outputs[name] = value
			continue
		}
		var value []string
		for len(lines) > 0 && lines[0] != delimiter {
			value = append(value, lines[0])
			lines = lines[1:]
		}
		if len(lines) == 0 {
			t.Fatalf("output %s has no end", name)
		}
		lines = lines[1:]
		outputs[name] = strings.Join(value, "\n")
	}
	return outputs
}

func TestSetOutput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "output")
	r := New(env{"GITHUB_OUTPUT": file}.get, &strings.Builder{})
	want := map[string]string{
		"changed":               "true",
		"empty":                 "",
		"pull-requests":         `[{"number": 1}]`,
		"lines":                 "one\n\ntwo\n",
		"by-name":               "x\ninjected=1\ninjected<<EOF\n1\nEOF",
		"by-library-delimiter":  "x\n_GitHubActionsFileCommandDelimeter_\ninjected<<_GitHubActionsFileCommandDelimeter_\n1",
		"by-toolkit-delimiter":  "x\nghadelimiter_0\ninjected=1",
		"by-carriage-return":    "x\r\ninjected=1\r",
		"by-relocks-delimiter":  "relock_\ninjected=1",
		"pull-request-head-sha": "abc",
	}
	for name, value := range want {
		if err := r.SetOutput(name, value); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, parseOutputs(t, string(text))); diff != "" {
		t.Errorf("outputs that a runner reads (-want +got):\n%s", diff)
	}

	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if _, delimiter, ok := strings.Cut(line, "<<relock_"); ok {
			if seen[delimiter] || len(delimiter) < 26 {
				t.Errorf("delimiter %q can be foreseen", delimiter)
			}
			seen[delimiter] = true
		}
	}
	if len(seen) != len(want) {
		t.Errorf("%d delimiters for %d outputs", len(seen), len(want))
	}
}

func TestSetOutputRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := New(env{"GITHUB_OUTPUT": filepath.Join(dir, "output")}.get, &strings.Builder{})
	for _, name := range []string{"", "a b", "a=b", "a\nb", "a<<b", "-a", "1a"} {
		if err := r.SetOutput(name, "x"); err == nil {
			t.Errorf("SetOutput(%q) succeeded", name)
		}
	}
	if err := r.SetOutput("big", strings.Repeat("x", maxOutput+1)); err == nil {
		t.Error("SetOutput of more than 1 MiB succeeded")
	}
	if _, err := os.Stat(filepath.Join(dir, "output")); err == nil {
		t.Error("a refused output made the file")
	}
	if err := New(env{}.get, &strings.Builder{}).SetOutput("a", "x"); err == nil || !strings.Contains(err.Error(), "GITHUB_OUTPUT is not set") {
		t.Errorf("SetOutput without a file = %v", err)
	}
	if err := New(env{"GITHUB_OUTPUT": dir}.get, &strings.Builder{}).SetOutput("a", "x"); err == nil {
		t.Error("SetOutput to a directory succeeded")
	}
}

func TestSetOutputConcurrently(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "output")
	r := New(env{"GITHUB_OUTPUT": file}.get, &strings.Builder{})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := r.SetOutput(fmt.Sprintf("o%d", i), fmt.Sprintf("%d\n%d", i, i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := parseOutputs(t, string(text)); len(got) != 20 || got["o7"] != "7\n7" {
		t.Errorf("outputs = %v", got)
	}
}

func TestAPIURL(t *testing.T) {
	t.Parallel()
	tests := []struct{ api, server, want string }{
		{"", "", "https://api.github.com"},
		{"", "https://github.com", "https://api.github.com"},
		{"", "https://github.com/", "https://api.github.com"},
		{"", "https://git.acme.example", "https://git.acme.example/api/v3"},
		{"", "https://git.acme.example:8443/", "https://git.acme.example:8443/api/v3"},
		{"", "https://acme.ghe.com", "https://api.acme.ghe.com"},
		{"", "git.acme.example", "https://api.github.com"}, // no address
		{"https://git.acme.example/api/v3/", "https://github.com", "https://git.acme.example/api/v3"},
	}
	for _, tt := range tests {
		r := New(env{"GITHUB_API_URL": tt.api, "GITHUB_SERVER_URL": tt.server}.get, &strings.Builder{})
		if got := r.APIURL(); got != tt.want {
			t.Errorf("APIURL() with the API %q and the server %q = %q, want %q", tt.api, tt.server, got, tt.want)
		}
	}
}
