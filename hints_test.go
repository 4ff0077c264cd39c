package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/relock-dev/relock/internal/command"
)

// hintless are the codes whose problems have no hint, and why.
var hintless = map[string]string{
	"module-on-disk":   "a person knows whether the module belongs into a repository",
	"internal":         "it is none of the known problems: its message says what relock attempted",
	"invalid-lock":     "the message names the line, and a person knows which entry is right",
	"module-order":     "a note about init, which relock does not run",
	"policy":           "the message names the rule, and a person decides between it and the constraints",
	"registry-warning": "relock repeats what a registry says",
}

// TestEveryHintHelps types what relock says is to be done next, and looks whether that
// helps. The worlds of testdata/hints are scripts, with these commands beside those of
// TestScript:
//
//	problem CODE REGEXP ARGUMENT…
//	                   run relock, which must report such a problem, with a hint. With a
//	                   hold, relock is interrupted where it waits
//	follow [N]… [NAME=TEXT]… [-- COMMAND…]
//	                   do what the hint says, and run relock as before: the problem must be
//	                   gone, and no other may be in its place. N are the parts of the hint to
//	                   follow; without, it is the first. TEXT, which only the person knows,
//	                   replaces NAME in the hint, or is the value of the variable NAME.
//	                   COMMAND is what the hint says without backquotes, such as a commit
//	look REGEXP        type what the hint says. It changes nothing, and its output is what a
//	                   person needs to decide
//	person WHY         a person must decide: the hint has no part that can be followed
//	gone WHAT [ARGUMENT]…
//	                   the script has done what the hint says, in these words, or does it by
//	                   more arguments, or by those behind the word relock; as follow
//
// These parts of a hint can be followed, where they are between backquotes: a command of
// relock or git, a flag (without it after "leave out"), a variable, a key of the configuration file with its value, and a
// rule in braces. So can "change `A` to `B` at FILE:LINE", "remove `A` at FILE:LINE" and
// "remove the line FILE:LINE". Where the hint has no place, the message has it for "A", or the
// problem.
//
// Every code needs a world or a reason. testdata/hints.md has all hints, with what was typed
// and what came of it.
func TestEveryHintHelps(t *testing.T) {
	tried := hintTable{shown: map[*scene]*shownHint{}}
	t.Run("worlds", func(t *testing.T) {
		params := scripts(t)
		params.Dir = filepath.Join("testdata", "hints")
		maps.Copy(params.Cmds, map[string]func(*testscript.TestScript, bool, []string){
			"problem": tried.problem, "follow": tried.follow, "look": tried.look, "person": tried.person, "gone": tried.gone,
		})
		testscript.Run(t, params)
	})
	if t.Failed() {
		return
	}
	codes, source := problemCodes(t)
	for _, m := range hintLiteral.FindAllStringSubmatch(source, -1) {
		if !saysWhatToDo(m[1]) {
			t.Errorf("a hint does not begin with what to do: %s", m[1])
		}
	}
	for code := range codes {
		if tried.has(code) == (hintless[code] != "") {
			t.Errorf("the code %s must have a world in testdata/hints or a reason to have no hint, and not both", code)
		}
	}
	const name = "testdata/hints.md"
	if *update {
		if err := os.WriteFile(name, []byte(tried.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(name); err != nil || string(want) != tried.String() {
		t.Errorf("%s is not what was tried (%v): go test -run TestEveryHintHelps -update . writes it:\n%s", name, err, tried.String())
	}
}

// hintTable is what was tried of all hints.
type hintTable struct {
	mu    sync.Mutex
	shown map[*scene]*shownHint // the last of each script
	rows  []hintRow
}

// hintRow is one hint: where it was shown, what was typed, and what came of that.
type hintRow struct{ code, world, hint, typed, came string }

// shownHint is a problem that relock has reported, with how it was asked.
type shownHint struct {
	code   string
	about  *regexp.Regexp
	args   []string
	hint   string
	of     reportedProblem
	before map[string]bool // the codes of all problems beside it
}

func (h *hintTable) has(code string) bool {
	return slices.ContainsFunc(h.rows, func(r hintRow) bool { return r.code == code })
}

func (h *hintTable) add(ts *testscript.TestScript, typed, came string) {
	at := h.of(ts)
	inert := strings.NewReplacer(ts.MkAbs("."), "$WORK", ts.Getenv("WORK"), "$WORK", cmp.Or(ts.Getenv("SANDBOX"), "\x00"), "$SANDBOX", "|", `\|`, "\n", " ")
	world := strings.TrimPrefix(sceneOf(ts).test.script, "script-")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows = append(h.rows, hintRow{at.code, world, inert.Replace(at.hint), inert.Replace(typed), inert.Replace(came)})
}

func (h *hintTable) of(ts *testscript.TestScript) *shownHint {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.shown[sceneOf(ts)]
	if at == nil {
		ts.Fatalf("no problem has been shown")
	}
	return at
}

func (h *hintTable) String() string {
	slices.SortFunc(h.rows, func(a, b hintRow) int {
		return cmp.Or(strings.Compare(a.code, b.code), strings.Compare(a.world, b.world), strings.Compare(a.hint, b.hint), strings.Compare(a.typed, b.typed))
	})
	var b strings.Builder
	b.WriteString("# Hints\n\n`go test -run TestEveryHintHelps -update .` writes this table. A world is a script in `testdata/hints`.\n\n" +
		"| code | world | hint | typed | what came of it |\n|---|---|---|---|---|\n")
	for _, r := range h.rows {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.code, r.world, r.hint, r.typed, r.came)
	}
	b.WriteString("\nThese have no hint:\n\n| code | why |\n|---|---|\n")
	for _, code := range slices.Sorted(maps.Keys(hintless)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", code, hintless[code])
	}
	return b.String()
}

// problem runs relock, and remembers the hint of a problem.
func (h *hintTable) problem(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) > 2, "problem CODE REGEXP ARGUMENT…")
	about, err := regexp.Compile(args[1])
	ts.Check(err)
	at := &shownHint{code: args[0], about: about, args: args[2:], before: map[string]bool{}}
	all, _ := reported(ts, at.args)
	for _, p := range all {
		if at.is(p) {
			if at.hint == "" {
				at.hint, at.of = p.Hint, p
			}
			continue
		}
		at.before[p.Code] = true
	}
	if at.hint == "" {
		ts.Fatalf("no problem %s with a hint matches %q: %+v", at.code, about, all)
	}
	if !saysWhatToDo(at.hint) {
		ts.Fatalf("the hint does not begin with what to do: %s", at.hint)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shown[sceneOf(ts)] = at
}

// is reports whether a problem is the one that was shown. What is printed on standard error
// has no code.
func (at *shownHint) is(p reportedProblem) bool {
	return (p.Code == at.code || p.Code == "") && at.about.MatchString(p.Message)
}

// solved runs relock as before, and says how it ended without the problem.
func (at *shownHint) solved(ts *testscript.TestScript, again []string) string {
	all, status := reported(ts, again)
	for _, p := range all {
		if at.is(p) {
			ts.Fatalf("after that there is still: %s", p.Message)
		}
		if !at.before[p.Code] && p.Code != at.code {
			ts.Fatalf("after that there is %s: %s", p.Code, p.Message)
		}
	}
	return fmt.Sprintf("gone; status %d", status)
}

func (h *hintTable) follow(ts *testscript.TestScript, neg bool, args []string) {
	at := h.of(ts)
	hint, chosen := at.hint, []int{}
	args, last := cutAt(args, "--")
	for _, arg := range args {
		if n, err := strconv.Atoi(arg); err == nil {
			chosen = append(chosen, n)
			continue
		}
		name, text, ok := strings.Cut(arg, "=")
		usage(ts, neg, ok && strings.Contains(hint, name), "follow [N]… [NAME=TEXT]…, where NAME is in the hint")
		if strings.Contains(hint, "set "+name) {
			text = "`" + name + "=" + text + "`"
		}
		hint = strings.ReplaceAll(hint, name, text)
	}
	all := at.parts(hint)
	if len(chosen) == 0 {
		chosen = []int{1}
	}
	var typed []string
	again := slices.Clone(at.args)
	for _, n := range chosen {
		usage(ts, neg, n <= len(all), fmt.Sprintf("follow N, where N is one of %d parts of %q", len(all), hint))
		p := all[n-1]
		typed = append(typed, "`"+strings.ReplaceAll(p.text, "`", "")+"`")
		switch words := wordsOf(p.text); p.kind {
		case "flag":
			again = append(again, words...)
			continue
		case "no flag":
			again = slices.DeleteFunc(again, func(arg string) bool { return arg == words[0] })
			continue
		}
		output, status := p.do(ts)
		if status == command.ExitUsage {
			ts.Fatalf("%s is refused:\n%s", p.text, output)
		}
	}
	if len(last) > 0 {
		ts.Check(ts.Exec(last[0], last[1:]...))
		typed = append(typed, "`"+strings.Join(last, " ")+"`")
	}
	h.add(ts, strings.Join(typed, ", then "), at.solved(ts, again))
}

// cutAt are the words before and behind a separator.
func cutAt(words []string, separator string) (before, behind []string) {
	if i := slices.Index(words, separator); i >= 0 {
		return words[:i], words[i+1:]
	}
	return words, nil
}

func (h *hintTable) look(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "look REGEXP")
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	parts := h.of(ts).parts(h.of(ts).hint)
	usage(ts, neg, len(parts) > 0, "look, where the hint has a command")
	output, status := parts[0].do(ts)
	if status != command.ExitOK || !want.MatchString(output) {
		ts.Fatalf("%s ends with status %d, and says:\n%s", parts[0].text, status, output)
	}
	h.add(ts, "`"+parts[0].text+"`", "it shows "+args[0]+"; a person decides")
}

func (h *hintTable) person(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "person WHY")
	if all := h.of(ts).parts(h.of(ts).hint); len(all) > 0 {
		ts.Fatalf("the hint has %q, which can be followed", all[0].text)
	}
	h.add(ts, "", "a person must decide: "+args[0])
}

func (h *hintTable) gone(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) > 0, "gone WHAT [ARGUMENT]…")
	at := h.of(ts)
	if all := at.parts(at.hint); len(all) > 0 {
		ts.Fatalf("the hint has %q, which can be followed", all[0].text)
	}
	again := slices.Concat(at.args, args[1:])
	if len(args) > 1 && args[1] == "relock" {
		again = args[2:]
	}
	h.add(ts, args[0], at.solved(ts, again))
}

// reportedProblem is a problem in the output of a run.
type reportedProblem struct {
	Code, Message, Hint string
	file                string
	line                int
}

// formatted are the commands that have --format json.
var formatted = []string{"check", "diff", "lock", "pr", "scan", "upgrade", "verify", "why", "comment"}

// reported runs relock, and returns what it reports as JSON, as SARIF, in annotations and on
// standard error, where problems have no code.
func reported(ts *testscript.TestScript, args []string) (all []reportedProblem, status int) {
	if slices.Contains(formatted, args[0]) && !slices.Contains(args, "--format") {
		args = append(slices.Clone(args), "--format", "json")
	}
	stdout, stderr, status := runInside(ts, args)
	var document any
	if json.Unmarshal([]byte(stdout), &document) == nil {
		all = collectProblems(document, all)
	}
	for line := range strings.Lines(stdout) {
		if m := annotated.FindStringSubmatch(line); m != nil {
			message, hint, _ := strings.Cut(strings.TrimSpace(m[2]), "%0A")
			all = append(all, reportedProblem{Code: m[1], Message: message, Hint: hint})
		}
	}
	for line := range strings.Lines(stderr) {
		line = strings.TrimSuffix(line, "\n")
		if hint, ok := strings.CutPrefix(line, "  next: "); ok && len(all) > 0 {
			all[len(all)-1].Hint = hint
		} else if message, ok := strings.CutPrefix(line, "relock: "); ok {
			all = append(all, reportedProblem{Message: message})
		}
	}
	ts.Logf("[exit status %d] %s", status, stderr)
	for _, p := range all {
		ts.Logf("  %s: %s\n    hint: %s", p.Code, p.Message, p.Hint)
	}
	return all, status
}

var annotated = regexp.MustCompile(`^::(?:error|warning|notice) .*title=([a-z0-9-]+)[^:]*::(.*)`)

// collectProblems finds the problems in a document of JSON or SARIF.
func collectProblems(document any, all []reportedProblem) []reportedProblem {
	switch d := document.(type) {
	case []any:
		for _, element := range d {
			all = collectProblems(element, all)
		}
	case map[string]any:
		p := reportedProblem{}
		p.Code, _ = d["code"].(string)
		p.Message, _ = d["message"].(string)
		p.Hint, _ = d["hint"].(string)
		p.file, _ = d["file"].(string)
		line, _ := d["line"].(float64)
		p.line = int(line)
		if rule, ok := d["ruleId"].(string); ok {
			text, _ := d["message"].(map[string]any)["text"].(string)
			p.Code = rule
			p.Message, p.Hint, _ = strings.Cut(text, "\nNext: ")
		}
		if p.Code != "" && p.Message != "" {
			all = append(all, p)
		}
		for _, name := range slices.Sorted(maps.Keys(d)) {
			all = collectProblems(d[name], all)
		}
	}
	return all
}

// runInside runs relock in this process, and interrupts it once it waits for what is held.
func runInside(ts *testscript.TestScript, args []string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	env := here(ts, args)
	env.Stdout, env.Stderr = &out, &errs
	ctx, cancel := context.WithCancel(sceneOf(ts).test.Context())
	defer cancel()
	if at := sceneOf(ts); at.waits != nil {
		waits, release := at.waits, at.release
		at.waits = nil
		go func() {
			<-waits
			cancel()
			release()
		}()
	}
	status = command.Main(ctx, env)
	return out.String(), errs.String(), status
}

// hintPart is a part of a hint that can be followed.
type hintPart struct {
	kind, text string
	from, to   string // of an edit
	file       string
	line       int
}

// partKinds are the kinds of parts between backquotes, by how they begin.
var partKinds = []struct {
	kind   string
	begins *regexp.Regexp
}{
	{"command", regexp.MustCompile(`^(relock|git) `)},
	{"flag", regexp.MustCompile(`^--?[a-z]`)},
	{"variable", regexp.MustCompile(`^[A-Z][A-Z0-9_a-z]*=`)},
	{"rule", regexp.MustCompile(`^\{.*\}$`)},
	{"setting", regexp.MustCompile(`^[a-z][a-z.-]*: `)},
}

var (
	edited  = regexp.MustCompile("(change|remove) [`\"]([^`\"]+)[`\"](?: to [`\"]([^`\"]+)[`\"])?(?: in the value of `[^`]+`)?(?: at ([^ ,;]+):(\\d+))?")
	taken   = regexp.MustCompile(`remove the line ([^ ,;]+):(\d+)`)
	dropped = regexp.MustCompile("leave out `(--[^`]+)`")
	quoted  = regexp.MustCompile("`([^`]+)`")
)

// parts are the parts of a hint that can be followed.
func (at *shownHint) parts(hint string) []hintPart {
	var all []hintPart
	for _, m := range edited.FindAllStringSubmatch(hint, -1) {
		p := hintPart{kind: "edit", text: m[0], from: m[2], to: m[3], file: m[4]}
		p.line, _ = strconv.Atoi(m[5])
		if p.file == "" {
			p.file, p.line = at.placeOf(p.from)
		}
		all = append(all, p)
	}
	for _, m := range taken.FindAllStringSubmatch(hint, -1) {
		line, _ := strconv.Atoi(m[2])
		all = append(all, hintPart{kind: "line", text: m[0], file: m[1], line: line})
	}
	for _, m := range dropped.FindAllStringSubmatch(hint, -1) {
		all = append(all, hintPart{kind: "no flag", text: m[1]})
	}
	for _, m := range quoted.FindAllStringSubmatch(dropped.ReplaceAllString(hint, ""), -1) {
		for _, k := range partKinds {
			if k.begins.MatchString(m[1]) {
				all = append(all, hintPart{kind: k.kind, text: m[1]})
				break
			}
		}
	}
	return all
}

// placeOf is the place of a text that the hint changes without a place.
func (at *shownHint) placeOf(text string) (file string, line int) {
	named := regexp.MustCompile(regexp.QuoteMeta(strconv.Quote(text)) + ` at ([^ ,;]+):(\d+)`).FindStringSubmatch(at.of.Message)
	if named == nil {
		return at.of.file, at.of.line
	}
	line, _ = strconv.Atoi(named[2])
	return named[1], line
}

// do does what the part says.
func (p hintPart) do(ts *testscript.TestScript) (output string, status int) {
	const settings = ".github/relock.yml"
	switch p.kind {
	case "command":
		words := wordsOf(p.text)
		if words[0] == "git" {
			ts.Check(ts.Exec(words[0], words[1:]...))
			return ts.ReadFile("stdout"), command.ExitOK
		}
		stdout, stderr, status := runInside(ts, words[1:])
		ts.Logf("> %s\n%s%s", p.text, stdout, stderr)
		return stdout + stderr, status
	case "variable":
		name, value, _ := strings.Cut(p.text, "=")
		ts.Setenv(name, wordsOf(value)[0])
	case "setting":
		had, err := os.ReadFile(ts.MkAbs(settings))
		if err != nil {
			had = []byte("version: 1\n")
		}
		ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(settings)), 0o755))
		ts.Check(os.WriteFile(ts.MkAbs(settings), append(had, p.text+"\n"...), 0o644))
	case "rule":
		ts.Check(os.WriteFile(ts.MkAbs(settings), []byte(ts.ReadFile(settings)+"  - "+p.text+"\n"), 0o644))
	case "edit", "line":
		lines := strings.SplitAfter(ts.ReadFile(p.file), "\n")
		was := lines[p.line-1]
		lines[p.line-1] = strings.Replace(was, p.from, p.to, 1)
		if p.kind == "line" {
			lines[p.line-1] = ""
		}
		if lines[p.line-1] == was {
			ts.Fatalf("%s: the line is %q", p.text, was)
		}
		ts.Check(os.WriteFile(ts.MkAbs(p.file), []byte(strings.Join(lines, "")), 0o644))
	}
	return "", command.ExitOK
}

// wordsOf are the words of a command, as a shell reads them.
func wordsOf(command string) []string {
	var words []string
	for _, m := range shellWord.FindAllString(command, -1) {
		words = append(words, strings.NewReplacer("'", "", `"`, "").Replace(m))
	}
	return words
}

var shellWord = regexp.MustCompile(`(?:[^\s'"]|'[^']*'|"[^"]*")+`)

// toDo are the words with which a hint begins: what to do, perhaps after a condition, or the
// question "did you mean".
var toDo = strings.Fields(`
	add allow ask begin change check choose clone commit compare correct decide delete did divide do fetch find finish give go grant
	keep leave let list lock look make move name post push put raise remove rename replace report resolve restore run say set split
	take try update upgrade use wait write`)

// hintLiteral is the beginning of a hint in the source.
var hintLiteral = regexp.MustCompile(`\bHint(?: =|:) +(?:fmt\.Sprintf\()?"([^"]+)`)

var condition = regexp.MustCompile(`^(if|to|in|on|as|for|until|after|for each) [^,:]*[,:] `)

// saysWhatToDo reports whether a text begins with a verb that tells people what to do.
func saysWhatToDo(hint string) bool {
	first, _, _ := strings.Cut(condition.ReplaceAllString(hint, ""), " ")
	return slices.Contains(toDo, strings.TrimRight(first, ",;"))
}
