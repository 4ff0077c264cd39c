package action

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/safe"
)

const leftOut = "\n> The rest is left out.\n"

func TestAddSummaryAppends(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "summary")
	if err := os.WriteFile(file, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := New(env{"GITHUB_STEP_SUMMARY": file}.get, &strings.Builder{})
	for _, text := range []safe.Markdown{safe.Const("# One\n"), safe.Const("two")} {
		if err := r.AddSummary(text, safe.Const(leftOut)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if want := "before\n# One\ntwo\n"; string(got) != want || err != nil {
		t.Errorf("summary = %q, %v; want %q", got, err, want)
	}
	if err := New(env{}.get, &strings.Builder{}).AddSummary(safe.Const("x"), safe.Const(leftOut)); err == nil {
		t.Error("AddSummary without a file succeeded")
	}
}

func TestAddSummaryStaysBelowTheLimit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "summary")
	r := New(env{"GITHUB_STEP_SUMMARY": file}.get, &strings.Builder{})
	section := "## Section\n" + strings.Repeat("x", 300<<10) + "\n"
	for range 3 {
		if err := r.AddSummary(safe.Ours(section+section), safe.Const(leftOut)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) > 1<<20 {
		t.Errorf("summary has %d bytes, want at most 1 MiB", len(got))
	}
	rest := strings.ReplaceAll(string(got), section, "")
	if n := strings.Count(string(got), section); n != 3 || !strings.HasPrefix(rest, leftOut) {
		t.Errorf("summary has %d whole sections and ends with %.100q, want 3 and a line that says so", n, rest)
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	const text = "# A\na\n## B\nb\n"
	tests := []struct {
		name string
		room int
		want string
	}{
		{"all", len(text), text},
		{"first_section", len("# A\na\n") + len(leftOut), "# A\na\n" + leftOut},
		{"nothing_but_the_note", len(leftOut), leftOut},
		{"nothing", 3, ""},
		{"less_than_nothing", -5, ""},
	}
	// The sections are short beside the note, so repeat the last one.
	long := text + strings.Repeat("b\n", len(leftOut))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := long
			if tt.name == "all" {
				in = text
			}
			if got := fit(in, leftOut, tt.room); got != tt.want {
				t.Errorf("fit(%d) = %q, want %q", tt.room, got, tt.want)
			}
		})
	}
}

func TestSections(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		want []string
	}{
		{"headings", []string{"intro\n", "# A\na\n", "###### B\nb\n"}},
		{"no_headings", []string{"#a\n####### b\n x # c\n"}},
		{"collapsed_block", []string{"# A\n", "<details><summary>s</summary>\n\n# inside\n\n</details>\nafter\n", "# B\n"}},
		{"nested_blocks", []string{"<details>\n<details>\n</details>\n# inside\n</details>\n", "# B\n"}},
		{"block_on_one_line", []string{"<details>x</details>\n", "# B\n"}},
		{"fenced_code", []string{"# A\n```\n# inside\n<details>\n```\n", "# B\n"}},
		{"longer_fence", []string{"````\n```\n# inside\n````\n", "# B\n"}},
		{"other_fence", []string{"~~~ hcl\n```\n# inside\n~~~\n", "# B\n"}},
		{"fence_with_words_closes_nothing", []string{"```\n``` x\n# inside\n"}},
		{"end_of_a_block_that_never_began", []string{"</details>\n", "# B\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, sections(strings.Join(tt.want, ""))); diff != "" {
				t.Errorf("sections (-want +got):\n%s", diff)
			}
		})
	}
}
