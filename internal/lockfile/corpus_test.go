package lockfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
)

// corpus returns a folder of public lock files, each with Terraform's recorded result for
// it. The folder is not part of the repository.
func corpus(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("RELOCK_CORPUS")
	if dir == "" {
		t.Skip("set RELOCK_CORPUS to a folder that holds lockfiles/index.tsv to read recorded lock files")
	}
	return filepath.Join(dir, "lockfiles")
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	dir := corpus(t)
	seen := map[string]int{}
	rows := bufio.NewScanner(bytes.NewReader(read(t, filepath.Join(dir, "index.tsv"))))
	rows.Scan() // the names of the columns
	for rows.Scan() {
		columns := strings.Split(rows.Text(), "\t")
		number, state := columns[0], columns[3]
		src := read(t, filepath.Join(dir, number+".hcl"))
		seen[state]++
		switch state {
		case "canonical":
			checkPrinted(t, number, src, src)
		case "differs":
			checkPrinted(t, number, src, read(t, filepath.Join(dir, number+".canon.hcl")))
		case "rejected":
			checkRefused(t, number, src)
		default:
			t.Errorf("%s: unknown state %q", number, state)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"canonical", "differs", "rejected"} {
		if seen[state] == 0 {
			t.Errorf("index.tsv lists no file that is %s", state)
		}
	}
	t.Logf("lock files read: %v", seen)
}

func checkPrinted(t *testing.T, number string, src, want []byte) {
	t.Helper()
	f, diags := Parse(src, number+".hcl")
	if f == nil {
		t.Errorf("%s was refused:\n%s", number, listing(diags))
		return
	}
	if diff := cmp.Diff(string(want), string(f.Print())); diff != "" {
		t.Errorf("%s: Print (-want +got):\n%s", number, diff)
	}
	if got, want := f.Canonical(), bytes.Equal(src, want); got != want {
		t.Errorf("%s: Canonical() = %v, want %v", number, got, want)
	}
}

func checkRefused(t *testing.T, number string, src []byte) {
	t.Helper()
	f, diags := Parse(src, number+".hcl")
	if f != nil {
		t.Errorf("%s was accepted, want it refused", number)
	}
	for _, d := range diags {
		if d.Place.Path != number+".hcl" || d.Place.Line == 0 {
			t.Errorf("%s: diagnostic without a place: %+v", number, d)
		}
	}
}

func TestCorpusConstraints(t *testing.T) {
	t.Parallel()
	var count map[string]int
	if err := json.Unmarshal(read(t, filepath.Join(corpus(t), "constraints.json")), &count); err != nil {
		t.Fatal(err)
	}
	if len(count) == 0 {
		t.Error("constraints.json holds no constraints")
	}
	for text := range count {
		c, err := provider.ParseConstraints(text)
		if err != nil {
			t.Errorf("ParseConstraints(%q): %v", text, err)
		} else if got := c.String(); got != text {
			t.Errorf("ParseConstraints(%q) prints %q, want it unchanged", text, got)
		}
	}
	t.Logf("constraints read: %d", len(count))
}
