// Package action is the runtime of GitHub Actions. A runner gives a step its event and the
// place of the repository. A step gives the runner outputs, the step summary, annotations
// and masks. Inputs are settings: package settings reads them.
//
// A runner reads commands from everything that a step prints: any line that begins with
// "::". Text from outside must never become a command, such as provider names, release
// notes or error messages of servers. So this package escapes all such text, and Stdout and
// Inert make plain output harmless.
//
// sethvargo/go-githubactions writes the commands, and escapes them as GitHub's own toolkit
// does. This package itself writes outputs and the summary. The library ends an output's
// value with a fixed delimiter, so a value with that delimiter could set other outputs. It
// also panics if it cannot write a file.
package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/verbs"
)

// Runtime is one step of a workflow. Its methods are safe for concurrent use.
type Runtime struct {
	getenv func(string) string

	out   *inert
	files sync.Mutex // held while a file of the runner grows
}

// New returns the runtime that the environment describes. Commands and what
// is written to Stdout go to stdout.
func New(getenv func(string) string, stdout io.Writer) *Runtime {
	return &Runtime{
		getenv: getenv,
		out:    newInert(stdout),
	}
}

// Enabled reports whether this is a step of a workflow.
func (r *Runtime) Enabled() bool { return r.getenv("GITHUB_ACTIONS") == "true" }

// Event returns the name of the event that started the workflow.
func (r *Runtime) Event() string { return r.getenv("GITHUB_EVENT_NAME") }

// Repository returns OWNER/NAME of the workflow's repository.
func (r *Runtime) Repository() string { return r.getenv("GITHUB_REPOSITORY") }

// Repeated reports whether the run is a new attempt: a person has run its jobs again, with
// the same event.
func (r *Runtime) Repeated() bool {
	attempt, err := strconv.Atoi(r.getenv("GITHUB_RUN_ATTEMPT"))
	return err == nil && attempt > 1
}

// RunURL returns the address of the workflow's run; empty if it is not known.
func (r *Runtime) RunURL() string {
	id := r.getenv("GITHUB_RUN_ID")
	if id == "" || r.Repository() == "" {
		return ""
	}
	return r.ServerURL() + "/" + r.Repository() + "/actions/runs/" + id
}

// Workspace returns the directory of the checkout.
func (r *Runtime) Workspace() string { return r.getenv("GITHUB_WORKSPACE") }

// Temp returns the folder for files of the job; empty if there is none that this
// step sees: older runners name their own to container actions, and do not
// mount it: https://github.com/actions/runner/pull/4011
func (r *Runtime) Temp() string {
	dir := r.getenv("RUNNER_TEMP")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// The folders of a job as container actions see them.
const (
	mountedTemp      = "/github/runner_temp"
	mountedWorkspace = "/github/workspace"
)

// Outside returns how later steps know a file of the job's folders: a container
// action sees those under names of its own. RUNNER_WORKSPACE is not translated for
// it, the folder in which a runner keeps the workspace, beside _temp:
// https://docs.github.com/en/actions/reference/workflows-and-actions/dockerfile-support
func (r *Runtime) Outside(name string) string {
	top := r.getenv("RUNNER_WORKSPACE")
	if !path.IsAbs(top) {
		return name
	}
	for mounted, folder := range map[string]string{
		mountedTemp:      path.Join(path.Dir(top), "_temp"),
		mountedWorkspace: path.Join(top, path.Base(r.Repository())),
	} {
		if rest, ok := strings.CutPrefix(name, mounted+"/"); ok {
			return path.Join(folder, rest)
		}
	}
	return name
}

// SHA returns the commit that started the workflow.
func (r *Runtime) SHA() string { return r.getenv("GITHUB_SHA") }

// APIURL returns the root of the REST API: if unset, that of the GitHub server, as
// it is for github.com, for a tenant at ghe.com and for GitHub Enterprise Server
// [docs.github.com, "Getting started with the REST API"].
func (r *Runtime) APIURL() string {
	server, err := url.Parse(r.ServerURL())
	otherwise := "https://api.github.com"
	switch {
	case err != nil || server.Host == "" || server.Hostname() == "github.com":
	case strings.HasSuffix(server.Hostname(), ".ghe.com"):
		otherwise = "https://api." + server.Host
	default:
		otherwise = server.Scheme + "://" + server.Host + "/api/v3"
	}
	return r.orDefault("GITHUB_API_URL", otherwise)
}

// GraphQLURL returns the address of the GraphQL API; empty if unset, since it
// follows from that of the REST API then.
func (r *Runtime) GraphQLURL() string { return r.orDefault("GITHUB_GRAPHQL_URL", "") }

// maxEvent bounds the event's payload; GitHub's own are at most 25 MB.
const maxEvent = 32 << 20

// payload is the part of an event that is read here.
type payload struct {
	Inputs     map[string]any `json:"inputs"` // of workflow_dispatch
	Repository struct {
		DefaultBranch string `json:"default_branch"`
	} `json:"repository"`
	Changes struct {
		Base *struct{} `json:"base"` // of a pull request that was retargeted
	} `json:"changes"`
	PullRequest struct {
		Head, Base struct {
			SHA  string
			Repo struct {
				FullName string `json:"full_name"`
			} `json:"repo"`
		}
	} `json:"pull_request"`
	MergeGroup struct {
		BaseSHA string `json:"base_sha"`
		HeadSHA string `json:"head_sha"`
	} `json:"merge_group"`
	Before, After   string // of push
	Created, Forced bool
}

// payload returns the event's payload, or nothing if it cannot be read.
func (r *Runtime) payload() payload {
	var p payload
	text, err := r.Payload()
	if err != nil {
		return payload{}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // an input that is a number keeps its digits
	if err := d.Decode(&p); err != nil {
		return payload{}
	}
	return p
}

// Payload returns the event's payload as the runner has it: JSON from outside.
func (r *Runtime) Payload() ([]byte, error) {
	f, err := file.Open(r.getenv("GITHUB_EVENT_PATH"))
	if err != nil {
		return nil, errors.New("the event's payload, which GITHUB_EVENT_PATH names, cannot be read")
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxEvent+1))
	if err != nil || len(text) > maxEvent {
		return nil, errors.New("the event's payload cannot be read, or is too large")
	}
	return text, nil
}

// Branch returns the branch that the workflow runs on; empty if it runs on
// something else, such as a tag or a pull request's merge.
func (r *Runtime) Branch() string {
	if r.getenv("GITHUB_REF_TYPE") != "branch" || !strings.HasPrefix(r.getenv("GITHUB_REF"), "refs/heads/") {
		return ""
	}
	return r.getenv("GITHUB_REF_NAME")
}

// DefaultBranch returns the default branch as the event's payload names it, or
// nothing if the payload cannot be read or names none.
func (r *Runtime) DefaultBranch() string { return r.payload().Repository.DefaultBranch }

// Inputs returns the inputs that a person or a program gave with a
// workflow_dispatch event, as texts; none for other events. They are not the
// inputs of the step: a workflow may pass them on, or leave that to relock.
func (r *Runtime) Inputs() map[string]string {
	if r.Event() != "workflow_dispatch" {
		return nil
	}
	texts := map[string]string{}
	for name, value := range r.payload().Inputs {
		switch v := value.(type) {
		case string:
			texts[name] = v
		case bool, json.Number:
			texts[name] = fmt.Sprint(v)
		}
	}
	return texts
}

// ServerURL returns the address of the GitHub server, that of github.com if
// unset.
func (r *Runtime) ServerURL() string { return r.orDefault("GITHUB_SERVER_URL", "https://github.com") }

// baseEvents are those on which a checkout is taken for the base branch's. Every other
// event may come with a head that somebody has checked out
// [docs: docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows].
var baseEvents = []string{"schedule", "workflow_dispatch", "repository_dispatch", "push", "issue_comment", Issues}

// Issues is the event of an issue that is opened, edited or closed. Its workflow is that of
// the default branch.
const Issues = "issues"

// Head reports whether the checkout is the head of a pull request, and whether that comes
// from a fork. A payload of pull_request that does not say counts as a fork's, and so does
// every event that is not known to be the base's. Outside of a workflow there is no head.
func (r *Runtime) Head() (head, fork bool) {
	switch event := r.Event(); {
	case event == "" && !r.Enabled(), slices.Contains(baseEvents, event):
		return false, false
	case event == "merge_group":
		return true, false // GitHub made it of branches that may be merged
	case event == "pull_request":
		p := r.payload().PullRequest
		return true, p.Head.Repo.FullName == "" || p.Head.Repo.FullName != p.Base.Repo.FullName
	}
	return true, true
}

// Base returns the commit of the base branch for which a Head was made, as the payload names
// it; empty if it does not. That of a pull request lags behind the base branch: GitHub sets
// it when the head moves. See Tested.
func (r *Runtime) Base() string {
	p := r.payload()
	if r.Event() == "merge_group" {
		return p.MergeGroup.BaseSHA
	}
	return p.PullRequest.Base.SHA
}

// Tested returns the base for which a commit with these parents was made, if it is the test
// merge of the pull request; else the base that the payload names. GitHub makes the test
// merge of the base branch and the head, in this order. One that was made before the
// pull request was retargeted does not count.
func (r *Runtime) Tested(parents []string) (base string, tested bool) {
	p := r.payload()
	head, named := p.PullRequest.Head.SHA, p.PullRequest.Base.SHA
	if len(parents) != 2 || head == "" || parents[1] != head || p.Changes.Base != nil && parents[0] != named {
		return r.Base(), false
	}
	return parents[0], true
}

// Change is the pair of commits between which an event changed files.
type Change struct {
	// Base and Head are commits. What changed is what Head has since it left Base.
	Base, Head string
	// Straight says that Head must descend from Base.
	Straight bool
	// Replaced says that Head has replaced Base by force, or a branch is new and there is no
	// Base. Then Unknown is set, too.
	Replaced bool
	// Unknown is why the event does not say what changed; empty if it does.
	Unknown string
}

// noCommit is how events name the commit of a branch that is not there.
const noCommit = "0000000000000000000000000000000000000000"

// Change returns what changed before the event, and false for an event that comes
// without a change.
func (r *Runtime) Change() (Change, bool) {
	p := r.payload()
	var c Change
	switch r.Event() {
	case "pull_request":
		c = Change{Base: p.PullRequest.Base.SHA, Head: p.PullRequest.Head.SHA}
	case "merge_group":
		c = Change{Base: p.MergeGroup.BaseSHA, Head: p.MergeGroup.HeadSHA}
	case "push":
		c = Change{Base: p.Before, Head: p.After, Straight: true}
		switch {
		case p.Created || p.Before == noCommit:
			c.Base, c.Replaced, c.Unknown = "", true, "the branch is new"
		case p.Forced:
			c.Replaced, c.Unknown = true, "the push was forced"
		}
	default:
		return Change{}, false
	}
	if c.Head == noCommit || c.Head == "" || c.Base == "" && !c.Replaced {
		c.Replaced, c.Unknown = false, "the event does not name the commits"
	}
	return c, true
}

func (r *Runtime) orDefault(name, otherwise string) string {
	if v := r.getenv(name); v != "" {
		return strings.TrimSuffix(v, "/")
	}
	return otherwise
}

// Planned reports whether a schedule or a person has started the run, and not a
// change that somebody makes.
func (r *Runtime) Planned() bool {
	verb, err := Verb(r.Event())
	return err == nil && verb == verbs.PR
}

// RefusedEvent is why the Action does nothing on an event, whatever it is asked to do; nil
// if it may. It is a usage error.
func RefusedEvent(event string) error {
	switch event {
	case "pull_request_target":
		return noEvent("the event pull_request_target is refused: it hands this repository's secrets to code from outside", "use pull_request")
	case "workflow_run":
		return noEvent("the event workflow_run is refused: it hands this repository's secrets to what a workflow without them made", "use pull_request or schedule")
	}
	return nil
}

// noEvent returns the error of an event that relock does not answer.
func noEvent(message, hint string) error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeEvent, Message: message, Hint: hint}}
}

// Verb returns the verb that answers an event. Its errors are for people who
// write workflows: all of them are usage errors.
func Verb(event string) (verbs.Verb, error) {
	switch event {
	case "schedule", "workflow_dispatch", "repository_dispatch", Issues:
		return verbs.PR, nil
	case "pull_request", "merge_group", "push":
		return verbs.Check, nil
	case "issue_comment":
		return verbs.Comment, nil
	case "":
		return "", noEvent("GITHUB_EVENT_NAME is not set", "run this command in GitHub Actions")
	}
	if err := RefusedEvent(event); err != nil {
		return "", err
	}
	return "", noEvent(fmt.Sprintf("relock does not answer the event %q", event),
		"use schedule, workflow_dispatch, repository_dispatch, issues, issue_comment, pull_request, merge_group or push")
}
