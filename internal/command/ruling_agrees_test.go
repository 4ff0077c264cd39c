package command

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/sandbox/random"
	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

var ruled = flag.Int("ruled", 6, "random worlds in which TestRulesAgree holds what relock has written against the rules")

// TestRulesAgree makes random configurations, lock files, registries and rules, lets relock write
// the lock file, and asks what check says of that by the same rules, against the commit before:
// nothing that relock itself proposes may be refused.
//
//	go test ./internal/command -run RulesAgree -ruled 2000
func TestRulesAgree(t *testing.T) {
	t.Parallel()
	for i := range *ruled {
		seed := *seed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rulesAgree(t, seed)
		})
	}
}

func rulesAgree(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 75))
	w := random.New(seed)
	for i, f := range w.Archive.Files {
		w.Archive.Files[i].Data = dated(r, f.Data)
	}
	as := []string{"--tool", "terraform"}
	if r.IntN(3) == 0 {
		as = []string{"--tool", "opentofu"}
	}
	s := startRandom(t, w)
	repository := filepath.Join(t.TempDir(), "repository")
	root := filepath.Join(repository, "root")
	writeRandom(t, w, s, root, as)
	rules := randomRules(r, w)
	if err := os.MkdirAll(filepath.Join(repository, ".github"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(repository, ".github", "relock.yml"), rules)
	worktreetest.Commit(t, repository)
	before := readLock(t, root)
	verb := pickOne(r, "upgrade --create", "upgrade --create", "upgrade --create --exact", "lock", "upgrade --allow-downgrade", "upgrade --provider */alpha")
	_, wrote := runIn(t, s, root, slices.Concat(strings.Fields(verb), as, []string{"."})...)
	_, said := runIn(t, s, root, slices.Concat([]string{"check", "--touched", "HEAD", "--format", "json", "."}, as)...)
	for _, f := range ruleErrors(t, said) {
		t.Errorf("relock %s writes what check refuses: %s\n%s\nrules:\n%sbefore:\n%s\nafter:\n%s\n%s", verb, f, w, rules, before, readLock(t, root), wrote)
	}
}

// ruleErrors are what a report has of errors by rules.
func ruleErrors(t *testing.T, said string) []string {
	t.Helper()
	var report struct {
		Modules []struct {
			Findings []struct {
				Code              problem.Code
				Severity, Message string
			}
			Errors []struct{ Message string }
		}
	}
	_, body, ok := strings.Cut(said, "{")
	if err := json.NewDecoder(strings.NewReader("{" + body)).Decode(&report); !ok || err != nil {
		t.Fatalf("check says no JSON: %v\n%s", err, said)
	}
	judged := []problem.Code{problem.CodeProviderRefused, problem.CodeVersionRefused, problem.CodeTooYoung, problem.CodeSignerRefused}
	var all []string
	for _, m := range report.Modules {
		for _, f := range m.Findings {
			if f.Severity == "error" && slices.Contains(judged, f.Code) {
				all = append(all, f.Message)
			}
		}
		for _, e := range m.Errors {
			if strings.Contains(e.Message, "not judged") {
				all = append(all, e.Message)
			}
		}
	}
	return all
}

var versionList = regexp.MustCompile(`versions: \[(.*)\]`)

// dated gives most of the releases a date: the registry's, or that of the package.
func dated(r *rand.Rand, provider []byte) []byte {
	list := versionList.FindSubmatch(provider)
	if list == nil {
		return provider
	}
	var versions []string
	for _, v := range strings.Split(string(list[1]), ", ") {
		day := time.Now().AddDate(0, 0, 1-r.IntN(10)).UTC().Format(time.RFC3339)
		versions = append(versions, fmt.Sprintf("%s: %s", v, pickOne(r, "{published: "+day+"}", "{published: "+day+"}", "{modified: "+day+"}", "{}")))
	}
	return []byte(strings.Replace(string(provider), string(list[0]), "versions: {"+strings.Join(versions, ", ")+"}", 1))
}

// randomRules is a configuration file.
func randomRules(r *rand.Rand, w *random.World) string {
	var b strings.Builder
	b.WriteString("version: 1\nplatforms: [linux_amd64]\n")
	if r.IntN(4) == 0 {
		b.WriteString("downgrades: allow\n")
	}
	if r.IntN(5) == 0 {
		b.WriteString("verify:\n  signers: {\"*/" + pickOne(r, "alpha", "beta") + "\": [C874011F0AB405110D02105534365D9472D7468F]}\n")
	}
	b.WriteString("rules:\n")
	for range 1 + r.IntN(4) {
		version := fmt.Sprintf("%d.%d.0", r.IntN(3), r.IntN(12))
		says := pickOne(r,
			"minimum-age: "+pickOne(r, "3d", "1w", "0d"), "minimum-age: 4d, age-unknown: hold", "age-unknown: hold", "ignore: "+pickOne(r, "true", "false"),
			"allow-versions: \""+pickOne(r, "< ", ">= ", "~> ")+version+"\"", "ignore-versions: \""+pickOne(r, "< ", ">= ", "~> ")+version+"\"",
			"hold-until: "+time.Now().AddDate(0, 0, 3-r.IntN(6)).Format(time.DateOnly), "permitted: false")
		if strings.HasPrefix(says, "permitted") {
			fmt.Fprintf(&b, "  - {providers: [\"*/%s\"], %s}\n", pickOne(r, "alpha", "beta", "*"), says)
			if r.IntN(2) == 0 {
				fmt.Fprintf(&b, "  - {providers: [\"registry.terraform.io/%s/*\"], permitted: true}\n", pickOne(r, "hashicorp", "acme"))
			}
			continue
		}
		about := pickOne(r, "", "providers: [alpha], ", "providers: [\"acme/*\"], ", "directories: [root], ", "directories: [elsewhere], ")
		kinds := pickOne(r, "", "", "update-types: [major], ", "update-types: [minor, patch], ", "update-types: [patch], ")
		fmt.Fprintf(&b, "  - {%s%s%s}\n", about, kinds, says)
	}
	return b.String()
}

func pickOne[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }
