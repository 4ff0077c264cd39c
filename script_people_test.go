package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/sandbox"
)

// act is what a person does on GitHub, or on this disk. Its arguments are read where it stands
// in a script; what it returns then happens, now or later.
type act struct {
	usage   string
	atLeast int // arguments
	prepare func(p person, args []string) func() error
}

// person is who acts, and where.
type person struct {
	ts    *testscript.TestScript
	hub   *sandbox.GitHub
	login string
}

// acts are commands of scripts. They are monalisa's unless another is named,
// and happen between relock's runs unless they are to come in between:
//
//	as LOGIN ACT…      act as somebody else, who need not have the right to
//	meanwhile METHOD PATH ACT…
//	                   act once, before relock's first request of that method
//	                   whose path ends like that, or matches that pattern; the
//	                   script fails if there is none. Of several at the
//	                   same place, each waits for a request of its own
//
// An act that takes a text takes that of a file if it is given as @FILE. A
// NUMBER is that of a pull request or an issue. The acts on comments, and those on the
// body of an issue, when they do not come in between, leave the event that GitHub would
// make of them in event.json, and point relock at it.
var acts = map[string]act{
	"push": {"push REPO BRANCH [PATH FILE]…: commit files; FILE - removes one, and PATH* is executable", 2, func(p person, args []string) func() error {
		return p.push(args, false)
	}},
	"amend": {"amend REPO BRANCH [PATH FILE]…: the same, in place of the last commit", 2, func(p person, args []string) func() error {
		return p.push(args, true)
	}},
	"save": {"save FILE FROM: save a file on this disk, as an editor does; FROM - removes it", 2, func(p person, args []string) func() error {
		name, content := p.ts.MkAbs(args[0]), ""
		if args[1] == "-" {
			return func() error { return os.Remove(name) }
		}
		content = p.ts.ReadFile(args[1])
		return func() error { return os.WriteFile(name, []byte(content), 0o644) }
	}},
	"pass": {"pass DURATION: let so much time pass for relock, where it is done in this process", 1, func(p person, args []string) func() error {
		d, err := time.ParseDuration(args[0])
		p.ts.Check(err)
		return func() error {
			sceneOf(p.ts).passed.Add(int64(d))
			return nil
		}
	}},
	"spoil": {"spoil METHOD PATH WHAT…: answers from here on, as fault does", 3, func(p person, args []string) func() error {
		f, err := sandbox.ParseFault(strings.Join(args, " "))
		p.ts.Check(err)
		return func() error {
			world(p.ts).Inject(f)
			return nil
		}
	}},
	"job": {"job DIR ARGUMENT…: another job runs relock in a directory, and nothing goes wrong", 2, func(p person, args []string) func() error {
		env := here(p.ts, args[1:])
		env.WorkDir, env.Stdout, env.Stderr = p.ts.MkAbs(args[0]), io.Discard, io.Discard
		return func() error {
			if code := command.Main(sceneOf(p.ts).test.Context(), env); code != command.ExitOK {
				return fmt.Errorf("relock ended with %d", code)
			}
			return nil
		}
	}},
	"delete-branch": {"delete-branch REPO BRANCH", 2, func(p person, args []string) func() error {
		return func() error { return p.hub.DeleteBranch(args[0], args[1]) }
	}},
	"rename-branch": {"rename-branch REPO OLD NEW", 3, func(p person, args []string) func() error {
		return func() error { return p.hub.RenameBranch(args[0], args[1], args[2]) }
	}},
	"queue": {"queue REPO NUMBER: give its base a merge queue, and put a pull request into it", 2, func(p person, args []string) func() error {
		return func() error { return p.queue(args[0], p.number(args[1])) }
	}},
	"protect": {"protect REPO BRANCH [strict|checks|review|stale-reviews|ruleset]…: what the branch demands of pull requests", 2, func(p person, args []string) func() error {
		rules := sandbox.Protection{}
		for _, word := range args[2:] {
			switch word {
			case "strict":
				rules.Strict = true
			case "checks":
				rules.Checks = true
			case "review":
				rules.Reviews = 1
			case "stale-reviews":
				rules.DismissStale = true
			case "ruleset":
				rules.Ruleset = true
			default:
				p.ts.Fatalf("no branch demands %q", word)
			}
		}
		return func() error { return p.hub.Protect(args[0], args[1], &rules) }
	}},
	"merge-states": {"merge-states REPO never|stale|soon: how late GitHub computes the state of a merge", 2, func(p person, args []string) func() error {
		late := strings.TrimSuffix(args[1], "soon")
		return func() error {
			return p.hub.Configure(args[0], func(s *sandbox.Settings) { s.MergeStates = late })
		}
	}},
	"approve": {"approve REPO NUMBER", 2, func(p person, args []string) func() error {
		n := p.number(args[1])
		return func() error { return p.hub.Approve(args[0], n, p.login) }
	}},
	"request-changes": {"request-changes REPO NUMBER", 2, func(p person, args []string) func() error {
		n := p.number(args[1])
		return func() error { return p.hub.RequestChanges(args[0], n, p.login) }
	}},
	"pass-checks": {"pass-checks REPO NUMBER: the checks of the head pass", 2, func(p person, args []string) func() error {
		n := p.number(args[1])
		return func() error { return p.hub.PassChecks(args[0], n) }
	}},
	"auto-merge": {"auto-merge REPO NUMBER: let GitHub merge it", 2, func(p person, args []string) func() error {
		n := p.number(args[1])
		return func() error { return p.hub.EnableAutoMerge(args[0], n, p.login) }
	}},
	"unqueue": {"unqueue REPO NUMBER", 2, func(p person, args []string) func() error {
		return func() error { return p.hub.Dequeue(args[0], p.number(args[1])) }
	}},
	"fork": {"fork REPO: have a copy of it", 1, func(p person, args []string) func() error {
		return func() error { return p.hub.Fork(args[0], p.login) }
	}},
	"open": {"open REPO HEAD BASE TITLE: open a pull request; HEAD may be OWNER:BRANCH of a fork", 4, func(p person, args []string) func() error {
		return func() error {
			_, err := p.hub.Open(args[0], args[1], args[2], args[3], p.login)
			return err
		}
	}},
	"issue": {"issue REPO TITLE: open an issue", 2, func(p person, args []string) func() error {
		return func() error {
			_, err := p.hub.OpenIssue(args[0], args[1], p.login)
			return err
		}
	}},
	"allow-edits": {"allow-edits REPO NUMBER true|false: whether maintainers may push to the branch in the fork", 3, func(p person, args []string) func() error {
		n, allowed := p.number(args[1]), p.bool(args[2])
		return func() error { return p.hub.AllowEdits(args[0], n, allowed) }
	}},
	"retarget": {"retarget REPO NUMBER BASE: change the base of a pull request", 3, func(p person, args []string) func() error {
		n := p.number(args[1])
		return func() error { return p.hub.Retarget(args[0], n, args[2]) }
	}},
	"merge": {"merge REPO NUMBER", 2, func(p person, args []string) func() error {
		n := p.number(args[1])
		return func() error {
			_, err := p.hub.Merge(args[0], n, p.login)
			return err
		}
	}},
	"close": {"close REPO NUMBER", 2, func(p person, args []string) func() error {
		n := p.number(args[1])
		return func() error { return p.hub.Close(args[0], n, p.login) }
	}},
	"reopen": {"reopen REPO NUMBER", 2, func(p person, args []string) func() error {
		n := p.number(args[1])
		return func() error { return p.hub.Reopen(args[0], n) }
	}},
	"rewrite": {"rewrite REPO NUMBER TEXT: replace the body", 3, func(p person, args []string) func() error {
		n, text := p.number(args[1]), p.text(args[2])
		return func() error { return p.hub.EditAs(args[0], n, p.login, "", text) }
	}},
	"retitle": {"retitle REPO NUMBER TITLE: replace the title", 3, func(p person, args []string) func() error {
		n := p.number(args[1])
		return func() error { return p.hub.EditAs(args[0], n, p.login, args[2], "") }
	}},
	"trust": {"trust: refuse no token of an App that has not ended", 0, func(p person, _ []string) func() error {
		return func() error { p.hub.Distrust(sandbox.Distrust{}); return nil }
	}},
	"revoke": {"revoke: end all tokens that Apps were given", 0, func(p person, _ []string) func() error {
		return func() error { p.hub.ExpireTokens(); return nil }
	}},
	"move": {"move REPO TO: give a repository another owner or name, OWNER/NAME", 2, func(p person, args []string) func() error {
		return func() error { return p.hub.Move(args[0], args[1]) }
	}},
	"tick": {"tick REPO NUMBER TEXT: check the box in the body whose line contains the text", 3, func(p person, args []string) func() error {
		n := p.number(args[1])
		return func() error { return p.hub.TickAs(args[0], n, p.login, args[2]) }
	}},
	"delete-issue": {"delete-issue REPO NUMBER", 2, func(p person, args []string) func() error {
		n := p.number(args[1])
		return func() error { return p.hub.DeleteIssue(args[0], n) }
	}},
	"transfer-issue": {"transfer-issue REPO NUMBER TO: move an issue to another repository", 3, func(p person, args []string) func() error {
		n := p.number(args[1])
		return func() error { return p.hub.TransferIssue(args[0], n, args[2]) }
	}},
	"switch-issues": {"switch-issues REPO on|off: switch the issues of a repository on or off", 2, func(p person, args []string) func() error {
		off := args[1] == "off"
		return func() error { return p.hub.Configure(args[0], func(s *sandbox.Settings) { s.NoIssues = off }) }
	}},
	"label": {"label REPO NUMBER NAME", 3, func(p person, args []string) func() error {
		n := p.number(args[1])
		return func() error { return p.hub.Label(args[0], n, args[2]) }
	}},
	"lock": {"lock REPO NUMBER true|false: leave the conversation to those who may write", 3, func(p person, args []string) func() error {
		n, locked := p.number(args[1]), p.bool(args[2])
		return func() error { return p.hub.Lock(args[0], n, locked) }
	}},
	"role": {"role REPO LOGIN ROLE: give a person a role, or withdraw it with none", 3, func(p person, args []string) func() error {
		return func() error { return p.hub.SetRole(args[0], args[1], sandbox.Role(args[2])) }
	}},
	"comment": {"comment REPO NUMBER TEXT", 3, func(p person, args []string) func() error {
		n, text := p.number(args[1]), p.text(args[2])
		return func() error {
			_, err := p.hub.Comment(args[0], n, p.login, text)
			return err
		}
	}},
	"comment-by-app": {"comment-by-app REPO NUMBER TEXT: an App writes it in the person's name", 3, func(p person, args []string) func() error {
		n, text := p.number(args[1]), p.text(args[2])
		return func() error {
			_, err := p.hub.CommentVia(args[0], n, p.login, "assistant", text)
			return err
		}
	}},
	"edit-comment": {"edit-comment REPO NUMBER TEXT: replace the text of the newest comment", 3, func(p person, args []string) func() error {
		n, text := p.number(args[1]), p.text(args[2])
		return func() error {
			id, err := p.hub.NewestComment(args[0], n)
			if err != nil {
				return err
			}
			return p.hub.EditComment(args[0], id, text)
		}
	}},
	"delete-comment": {"delete-comment REPO NUMBER: delete the newest comment", 2, func(p person, args []string) func() error {
		n := p.number(args[1])
		return func() error {
			id, err := p.hub.NewestComment(args[0], n)
			if err != nil {
				return err
			}
			return p.hub.DeleteComment(args[0], id)
		}
	}},
}

// commentActs are those that make an event, by its action.
var commentActs = map[string]string{"comment": "created", "comment-by-app": "created", "edit-comment": "edited", "delete-comment": "deleted"}

func (p person) push(args []string, amend bool) func() error {
	usage(p.ts, false, len(args)%2 == 0, "[PATH FILE]…")
	change := sandbox.Push{Branch: args[1], Author: p.login, Files: map[string]sandbox.File{}, Amend: amend}
	for pair := range slices.Chunk(args[2:], 2) {
		if pair[1] == "-" {
			change.Remove = append(change.Remove, pair[0])
			continue
		}
		file := sandbox.File{Content: []byte(p.ts.ReadFile(pair[1]))}
		name, executable := strings.CutSuffix(pair[0], "*")
		if executable {
			file.Mode = sandbox.ModeExecutable
		}
		change.Files[name] = file
	}
	return func() error {
		_, err := p.hub.Push(args[0], change)
		return err
	}
}

// queue gives the base of a pull request a merge queue, and queues it.
func (p person) queue(repo string, number int) error {
	pulls, err := p.hub.Pulls(repo)
	if err != nil {
		return err
	}
	for _, pull := range pulls {
		if pull.Number == number {
			if err := p.hub.Protect(repo, pull.Base, &sandbox.Protection{Queue: true}); err != nil {
				return err
			}
		}
	}
	return p.hub.Enqueue(repo, number, p.login)
}

func (p person) number(s string) int {
	n, err := strconv.Atoi(s)
	p.ts.Check(err)
	return n
}

func (p person) bool(s string) bool {
	b, err := strconv.ParseBool(s)
	p.ts.Check(err)
	return b
}

func (p person) text(s string) string {
	if name, ok := strings.CutPrefix(s, "@"); ok {
		return p.ts.ReadFile(name)
	}
	return s
}

const firstPerson = "monalisa"

// prepared reads an act with its arguments.
func prepared(ts *testscript.TestScript, login string, args []string) func() error {
	usage(ts, false, len(args) > 0, "ACT…")
	if args[0] == "as" {
		usage(ts, false, len(args) > 2, "as LOGIN ACT…")
		return prepared(ts, args[1], args[2:])
	}
	a, ok := acts[args[0]]
	if !ok {
		ts.Fatalf("no act is named %s", args[0])
	}
	usage(ts, false, len(args) > a.atLeast, a.usage)
	return a.prepare(person{ts, world(ts).GitHub(), login}, args[1:])
}

func perform(ts *testscript.TestScript, neg bool, args []string) {
	performAs(ts, neg, firstPerson, args)
}

func actAs(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) > 1, "as LOGIN ACT…")
	performAs(ts, neg, args[0], args[1:])
}

func performAs(ts *testscript.TestScript, neg bool, login string, args []string) {
	usage(ts, neg, true, acts[args[0]].usage)
	do := prepared(ts, login, args)
	switch action := commentActs[args[0]]; action {
	case "":
		ts.Check(do())
		if args[0] == "tick" || args[0] == "rewrite" {
			writeIssueEvent(ts, login, args)
		}
	case "deleted":
		writeEvent(ts, login, action, args) // of the comment as it was
		ts.Check(do())
	default:
		ts.Check(do())
		writeEvent(ts, login, action, args)
	}
}

// writeEvent leaves what a runner would have of an act on the newest comment.
func writeEvent(ts *testscript.TestScript, login, action string, args []string) {
	hub, number := world(ts).GitHub(), person{ts: ts}.number(args[2])
	id, err := hub.NewestComment(args[1], number)
	ts.Check(err)
	payload, err := hub.CommentEvent(args[1], id, action, login)
	ts.Check(err)
	leaveEvent(ts, "issue_comment", args[1], payload)
}

// writeIssueEvent leaves what a runner would have of an edit, if that was of an issue.
func writeIssueEvent(ts *testscript.TestScript, login string, args []string) {
	hub, number := world(ts).GitHub(), person{ts: ts}.number(args[2])
	issues, err := hub.AllIssues(args[1])
	ts.Check(err)
	if !slices.ContainsFunc(issues, func(i sandbox.Issue) bool { return i.Number == number }) {
		return
	}
	payload, err := hub.IssueEvent(args[1], number, "edited", login)
	ts.Check(err)
	leaveEvent(ts, "issues", args[1], payload)
}

// pullEvent leaves what a runner would have of a pull request: the event, and its test
// merge as GITHUB_SHA.
func pullEvent(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 3 || len(args) == 4, "pull-event REPO NUMBER ACTION [FROM]")
	from := ""
	if len(args) == 4 {
		from = args[3]
	}
	payload, tested, err := world(ts).GitHub().PullEvent(args[0], person{ts: ts}.number(args[1]), args[2], from)
	ts.Check(err)
	leaveEvent(ts, "pull_request", args[0], payload)
	ts.Setenv("GITHUB_SHA", tested)
}

// leaveEvent leaves an event where a runner has it, and points relock at it.
func leaveEvent(ts *testscript.TestScript, name, repo string, payload []byte) {
	file := ts.MkAbs(ts.Getenv("WORK") + "/event.json")
	ts.Check(os.WriteFile(file, payload, 0o644))
	ts.Setenv("GITHUB_EVENT_NAME", name)
	ts.Setenv("GITHUB_EVENT_PATH", file)
	ts.Setenv("GITHUB_REPOSITORY", repo)
}

func meanwhile(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) > 2, "meanwhile METHOD PATH ACT…")
	do := prepared(ts, firstPerson, args[2:])
	at, place, happened := sceneOf(ts), args[0]+" "+args[1], false
	world(ts).Before(func(r *http.Request) {
		if like, _ := path.Match(args[1], r.URL.Path); r.Method != args[0] || !like && !strings.HasSuffix(r.URL.Path, args[1]) {
			return
		}
		at.mu.Lock()
		now := !happened && at.taken[place] != r
		if now {
			happened, at.taken[place] = true, r
		}
		at.mu.Unlock() // what is done may ask for the same
		if !now {
			return
		}
		if err := do(); err != nil {
			sceneOf(ts).test.Errorf("%s: %v", strings.Join(args, " "), err)
		}
	})
	ts.Defer(func() {
		at.mu.Lock()
		defer at.mu.Unlock()
		if !happened {
			sceneOf(ts).test.Errorf("%s: there was no such request", strings.Join(args, " "))
		}
	})
}
