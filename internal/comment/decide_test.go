package comment_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/comment"
)

// world answers what a decision asks, and notes it.
type world struct {
	permission string
	state      string // open, closed or merged
	owner      string // others, ours or touched
	writable   bool
	fails      string // the question that has no answer
	asked      []string
}

var errOutage = errors.New("an outage")

// ask notes a question.
func (w *world) ask(question string) error {
	w.asked = append(w.asked, question)
	if w.fails == question {
		return errOutage
	}
	return nil
}

// Permission implements comment.Source.
func (w *world) Permission(context.Context) (string, error) {
	return w.permission, w.ask("permission")
}

// Pull implements comment.Source.
func (w *world) Pull(context.Context) (comment.Pull, error) {
	p := comment.Pull{Open: w.state == "open", Merged: w.state == "merged", Head: "0123abcd", Writable: w.writable}
	return p, w.ask("pull request")
}

// Ownership implements comment.Source.
func (w *world) Ownership(context.Context) (comment.Ownership, error) {
	return comment.Ownership{Ours: w.owner != "others", Touched: w.owner == "touched"}, w.ask("owner")
}

// outcomes are what a decision can come to, by words of the refusal, and the questions that
// it takes. A refusal that needs no settings costs none.
var outcomes = map[string]struct{ refusal, asked string }{
	"writers": {"for people who may write to this repository", "permission"},
	"no-verb": {"there is no such command", "permission"},
	"help":    {"", "permission"},
	"merged":  {"the pull request is merged", "permission, pull request"},
	"closed":  {"the pull request is closed", "permission, pull request"},
	"open":    {"the pull request is open", "permission, pull request"},
	"sha":     {"not at the commit that --sha names", "permission, pull request"},
	"own":     {"pull requests that relock opened", "permission, pull request, owner"},
	"touched": {"somebody else has pushed", "permission, pull request, owner"},
	"done":    {"", "permission, pull request, owner"},
	"report":  {"", "permission, pull request, owner"},
}

// decisions are what becomes of each command, by the state of the pull request and by who has
// opened it; touched is one of ours to which others have pushed. With --fork the branch is of
// a fork to which we may not push.
const decisions = `
command                         open:others open:ours open:touched closed:others closed:ours closed:touched merged:others merged:ours merged:touched
upgrade                         done        done      touched      closed        closed      closed         merged        merged      merged
upgrade --fork                  report      report    touched      closed        closed      closed         merged        merged      merged
upgrade --sha 0123abc           done        done      touched      closed        closed      closed         merged        merged      merged
upgrade --sha 0123abe           sha         sha       sha          closed        closed      closed         merged        merged      merged
lock                            done        done      touched      closed        closed      closed         merged        merged      merged
lock --fork                     report      report    touched      closed        closed      closed         merged        merged      merged
lock --sha 0123abe              sha         sha       sha          closed        closed      closed         merged        merged      merged
check                           done        done      done         closed        closed      closed         merged        merged      merged
check --fork                    done        done      done         closed        closed      closed         merged        merged      merged
check --sha 0123abe             sha         sha       sha          closed        closed      closed         merged        merged      merged
verify                          done        done      done         closed        closed      closed         merged        merged      merged
verify --fork                   done        done      done         closed        closed      closed         merged        merged      merged
verify --sha 0123abe            sha         sha       sha          closed        closed      closed         merged        merged      merged
diff                            done        done      done         closed        closed      closed         merged        merged      merged
diff --fork                     done        done      done         closed        closed      closed         merged        merged      merged
rebase                          own         done      touched      closed        closed      closed         merged        merged      merged
rebase --fork                   own         done      touched      closed        closed      closed         merged        merged      merged
rebase --sha 0123abe            sha         sha       sha          closed        closed      closed         merged        merged      merged
recreate                        own         done      done         closed        closed      closed         merged        merged      merged
recreate --fork                 own         done      done         closed        closed      closed         merged        merged      merged
recreate --sha 0123abe          sha         sha       sha          closed        closed      closed         merged        merged      merged
ignore */aws                    own         done      done         own           done        done           own           done        done
ignore */aws --fork             own         done      done         own           done        done           own           done        done
unignore */aws                  own         done      done         own           done        done           own           done        done
unignore */aws --fork           own         done      done         own           done        done           own           done        done
show                            done        done      done         done          done        done           done          done        done
show --fork                     done        done      done         done          done        done           done          done        done
close                           own         done      done         closed        closed      closed         merged        merged      merged
close --fork                    own         done      done         closed        closed      closed         merged        merged      merged
reopen                          open        open      open         own           done        done           merged        merged      merged
reopen --fork                   open        open      open         own           done        done           merged        merged      merged
why */aws                       done        done      done         closed        closed      closed         merged        merged      merged
why */aws --fork                done        done      done         closed        closed      closed         merged        merged      merged
help                            help        help      help         help          help        help           help          help        help
help --fork                     help        help      help         help          help        help           help          help        help
merge                           no-verb     no-verb   no-verb      no-verb       no-verb     no-verb        no-verb       no-verb     no-verb
`

// decisionRows are the rows of decisions as a command, whether we may push, and a cell for
// each column.
func decisionRows(t *testing.T, each func(text string, writable bool, column, want string)) {
	t.Helper()
	var columns []string
	for line := range strings.Lines(strings.TrimSpace(decisions)) {
		words := strings.Fields(line)
		if columns == nil {
			columns = words[1:]
			continue
		}
		command, cells := words[:len(words)-len(columns)], words[len(words)-len(columns):]
		own := slices.DeleteFunc(slices.Clone(command), func(word string) bool { return word == "--fork" })
		for i, want := range cells {
			each("/relock "+strings.Join(own, " "), len(own) == len(command), columns[i], want)
		}
	}
}

// Every command is decided for every person, every state of a pull request and everybody who
// may have opened it, and each fact is asked for when what is known before does not refuse.
func TestDecisions(t *testing.T) {
	t.Parallel()
	decided := map[comment.Verb]bool{}
	decisionRows(t, func(text string, writable bool, column, want string) {
		state, owner, _ := strings.Cut(column, ":")
		for _, permission := range []string{"admin", "write", "read", "triage", "none", ""} {
			wanted := want
			if permission != "admin" && permission != "write" {
				wanted = "writers"
			}
			w := &world{permission: permission, state: state, owner: owner, writable: writable}
			got, err := comment.Decide(t.Context(), text, comment.UnderPull, w)
			what := outcomes[wanted]
			var no *comment.Refusal
			switch {
			case what.refusal == "" && (err != nil || got.ReportOnly != (wanted == "report")):
				t.Errorf("%s by %q, %s, writable %t: %+v, %v, want %s", text, permission, column, writable, got, err, wanted)
			case what.refusal != "" && (!errors.As(err, &no) || !strings.Contains(err.Error(), what.refusal) || no.NoVerb != (wanted == "no-verb")):
				t.Errorf("%s by %q, %s, writable %t: %v, want a refusal with %q", text, permission, column, writable, err, what.refusal)
			}
			if asked := strings.Join(w.asked, ", "); asked != what.asked {
				t.Errorf("%s by %q, %s, writable %t: it asked for %s, want %s", text, permission, column, writable, asked, what.asked)
			}
		}
		if c, err := comment.Parse(text, comment.UnderPull); err == nil {
			decided[c.Verb] = true
		}
	})
	for _, u := range comment.Verbs {
		if !decided[u.Verb] {
			t.Errorf("no row decides %s", u.Verb)
		}
	}
}

// What GitHub does not say decides nothing, and nothing is asked after that.
func TestDecisionWithoutAFact(t *testing.T) {
	t.Parallel()
	questions := []string{"permission", "pull request", "owner"}
	for i, question := range questions {
		w := &world{permission: "write", state: "open", owner: "ours", writable: true, fails: question}
		if _, err := comment.Decide(t.Context(), "/relock rebase", comment.UnderPull, w); !errors.Is(err, errOutage) || !slices.Equal(w.asked, questions[:i+1]) {
			t.Errorf("without %s: %v after %q", question, err, w.asked)
		}
	}
}

// Each verb has at most one row for each thread, its example parses there, and elsewhere the
// answer says where it belongs.
func TestTableListsEveryVerb(t *testing.T) {
	t.Parallel()
	works := map[comment.Verb]comment.Thread{}
	for _, u := range comment.Verbs {
		if works[u.Verb]&u.Where != 0 || u.Where == 0 || u.Doc == "" {
			t.Errorf("%s has two rows for the same, or lacks a word", u.Verb)
		}
		works[u.Verb] |= u.Where
	}
	for _, u := range comment.Verbs {
		words := string(u.Verb)
		if u.Args != "" && u.Args[0] != '[' {
			words += " hashicorp/aws"
		}
		for _, under := range []comment.Thread{comment.UnderPull, comment.UnderPage} {
			there := u.Where&under != 0
			if row := strings.ReplaceAll("| `"+u.String()+"` | "+u.Doc, "|", ""); strings.Contains(strings.NewReplacer("|", "", `\`, "").Replace(comment.Table(under).String()), row) != there {
				t.Errorf("the table for %s has %s or lacks it", under, u)
			}
			c, err := comment.Parse("/relock "+words, under)
			switch {
			case there && (err != nil || c.Verb != u.Verb):
				t.Errorf("Parse(/relock %s) = %v, %v under %s", words, c.Verb, err, under)
			case works[u.Verb]&under == 0 && (err == nil || !strings.Contains(err.Error(), "comment `"+u.String()+"` under the pull request")):
				t.Errorf("Parse(/relock %s) = %v under %s, want where it belongs", words, err, under)
			}
		}
	}
}

// Under relock's issue the right decides, and nothing else is asked.
func TestDecisionUnderTheIssue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/relock":                                    "",
		"/relock help":                               "",
		"/relock show":                               "",
		"/relock why hashicorp/aws live":             "",
		"/relock reopen 'lock files'":                "",
		"/relock reopen":                             "the group is missing",
		"/relock reopen a b":                         "too many words",
		"/relock reopen ''":                          "the group is missing",
		"/relock reopen " + strings.Repeat("a", 401): "such a long name",
		"/relock close":                              "under the pull request of relock's",
		"/relock upgrade":                            "under the pull request that it is about",
		"/relock merge":                              "no such command",
	} {
		w := &world{permission: "write"}
		got, err := comment.Decide(t.Context(), text, comment.UnderPage, w)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || got.ReportOnly {
			t.Errorf("%.40s: %+v, %v, want %q", text, got, err, want)
		}
		if !slices.Equal(w.asked, []string{"permission"}) {
			t.Errorf("%.40s: it asked for %q", text, w.asked)
		}
		if _, err := comment.Decide(t.Context(), text, comment.UnderPage, &world{permission: "read"}); err == nil || !strings.Contains(err.Error(), "who may write") {
			t.Errorf("%.40s by a reader: %v", text, err)
		}
	}
}
