// Package setup decides how to set up relock in a repository: which workflows to write, what
// to say about the repository, and what its people do next.
//
// It reads and writes nothing. Its input is Discovered, and its result is Guidance. The
// workflows are those of package examples, which the tests run.
package setup

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"

	"github.com/relock-dev/relock/examples"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/worktree"
)

// Discovered holds the facts about a repository.
type Discovered struct {
	Server     string // host name of the GitHub server
	Repository string // OWNER/NAME
	// Others says that the remotes of the clone may name other repositories, too.
	Others   bool
	Branches worktree.Branches
	Roots    settings.Found
	Bots     []Bot
	Atlantis bool // it has a configuration file of Atlantis
	// Running holds the paths of workflows that run relock already.
	Running []string
	Release OwnRelease
	// Check and Comments ask for these workflows beside the one that proposes.
	Check, Comments bool
	// Up leads from the working directory to the top of the repository: ../.. or nothing.
	Up string
}

// OwnRelease is the release of this program.
type OwnRelease struct {
	Version string // as in 1.2.3; empty for a build that is none
	Commit  string // the commit of the release's tag, or of the build; empty if unknown
}

// Guidance is what to write, what to say before that, and what to do afterwards.
type Guidance struct {
	Files []Workflow
	Found []string
	Next  []string // three lines for a shell
}

// Workflow is a file of .github/workflows.
type Workflow struct {
	Path    string // slash-separated, from the top of the repository
	Content string
}

// Advise decides what a repository gets.
func Advise(d Discovered) Guidance {
	texts := []string{examples.ProposeWorkflow}
	if d.Check {
		texts = append(texts, examples.CheckWorkflow)
	}
	if d.Comments {
		texts = append(texts, examples.CommentsWorkflow)
	}
	var a Guidance
	for _, text := range texts {
		first, _, _ := strings.Cut(text, "\n")
		a.Files = append(a.Files, Workflow{strings.TrimPrefix(first, "# "), d.adapted(text)})
	}
	a.Found = append([]string{"Repository: " + d.Repository + " on " + d.Server, "Default branch: " + d.defaultBranch()}, d.roots()...)
	for _, bot := range d.Bots {
		a.Found = append(a.Found, bot.advice())
	}
	if d.Atlantis {
		a.Found = append(a.Found, atlantisLines...)
	}
	if len(d.Running) > 0 {
		a.Found = append(a.Found, "Workflows: relock runs already in "+strings.Join(d.Running, ", ")+". Check that no two of them open pull requests.")
	}
	a.Next = []string{d.commit(a.Files), d.start(), d.allow()}
	return a
}

// The parts of an example that differ by repository: the release, and the minute of the hour.
const latest = "relock-dev/relock@v1\n"

var cronMinute = regexp.MustCompile(`(cron: ")\d+( )`)

// adapted is an example with the program's own release, at a minute of the repository's own:
// that of all who copy the example would be the same. The first minute of an hour is the
// one in which GitHub is late [docs.github.com, "Events that trigger workflows", schedule].
func (d Discovered) adapted(text string) string {
	switch r := d.Release; {
	case r.Commit != "" && r.Version == "":
		text = strings.ReplaceAll(text, latest, "relock-dev/relock@"+r.Commit+"\n")
	case r.Commit != "":
		text = strings.ReplaceAll(text, latest, "relock-dev/relock@"+r.Commit+" # v"+r.Version+"\n")
	case r.Version != "":
		text = strings.ReplaceAll(text, latest, "relock-dev/relock@v"+r.Version+"\n")
	}
	sum := fnv.New32a()
	sum.Write([]byte(strings.ToLower(d.Server + "/" + d.Repository)))
	return cronMinute.ReplaceAllString(text, fmt.Sprintf("${1}%d${2}", 1+sum.Sum32()%59))
}

func (d Discovered) defaultBranch() string {
	b := d.Branches
	switch {
	case b.From != "":
		return b.Default + ", by " + b.From
	case b.Default != "":
		return b.Default + " is taken for it: it is checked out, and nothing was fetched from the remote " + b.Remote
	case b.Remote != "":
		return "not known here; git remote set-head " + b.Remote + " --auto asks GitHub"
	}
	return "not known here, since no remote of this clone is that repository"
}

// roots say what there is to keep fresh. A workflow that finds nothing does no harm, and
// the person asked for it: so it is written all the same.
func (d Discovered) roots() []string {
	if d.Roots.Notes["tool"] == "" {
		return []string{"Lock files: none yet. The workflow proposes nothing before one is committed; relock upgrade --create writes them."}
	}
	lines := []string{"Lock files: " + d.Roots.Notes["include"], "Tools: " + d.Roots.Notes["tool"]}
	if unpinned := d.Roots.Notes["module-lock"]; unpinned != "" {
		lines = append(lines, "Modules: "+strings.TrimSuffix(unpinned, ".")+": module-lock: write does.")
	}
	return lines
}

// commit is the command line that commits and pushes files. On another branch than the
// default one, and before anything was fetched, git may not know where to push to.
func (d Discovered) commit(files []Workflow) string {
	line := "git add"
	for _, f := range files {
		line += " " + d.Named(f.Path)
	}
	line += ` && git commit -m "Keep lock files fresh with relock" && git push`
	switch b := d.Branches; {
	case b.Remote == "":
		return line
	case b.Current == "":
		return "git switch --create add-relock && " + line + " --set-upstream " + shellWord(b.Remote) + " HEAD"
	case b.Current != b.Default || b.From == "":
		return line + " --set-upstream " + shellWord(b.Remote) + " HEAD"
	}
	return line
}

// Named is a path of the repository as a person in the working directory writes it.
func (d Discovered) Named(path string) string {
	return strings.TrimPrefix(strings.TrimSuffix(d.Up, "/")+"/"+path, "/")
}

// plainWord is what means itself to every shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)

// shellWord is a word for a shell.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// start is the command line that starts the first run. GitHub knows a workflow by its file
// on the default branch [docs.github.com, "Events that trigger workflows", workflow_dispatch].
func (d Discovered) start() string {
	line := "gh workflow run relock.yml"
	if d.Others || d.Branches.Remote == "" { // gh might take another one
		line += " --repo " + d.Server + "/" + d.Repository
	}
	if b := d.Branches; b.Default == "" || b.Current != b.Default {
		line += "   # once the workflow is on the default branch" + strings.TrimSuffix(", "+b.Default, ", ")
	}
	return line
}

// allow is the page of the one switch that no file can set.
func (d Discovered) allow() string {
	owner, _, _ := strings.Cut(d.Repository, "/")
	site := "https://" + cmp.Or(d.Server, "github.com")
	return site + "/" + d.Repository + `/settings/actions   # tick "Allow GitHub Actions to create and approve pull requests"; ` +
		"greyed out? First in the organisation: " + site + "/organizations/" + owner + "/settings/actions"
}
