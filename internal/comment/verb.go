package comment

import (
	"fmt"
	"strings"

	"github.com/relock-dev/relock/internal/safe"
)

// Verb is the first word of a command, behind /relock.
type Verb string

// The verbs. There is none that merges: GitHub's own auto-merge serves.
const (
	Upgrade  Verb = "upgrade"
	Lock     Verb = "lock"
	Check    Verb = "check"
	Verify   Verb = "verify"
	Diff     Verb = "diff"
	Rebase   Verb = "rebase"
	Recreate Verb = "recreate"
	Ignore   Verb = "ignore"
	Unignore Verb = "unignore"
	Show     Verb = "show"
	Close    Verb = "close"
	Reopen   Verb = "reopen"
	Why      Verb = "why"
	Help     Verb = "help"
)

// Thread is what a comment is written under.
type Thread int

// The threads. A row of the language may be for both.
const (
	UnderPull Thread = 1 << iota // a pull request
	UnderPage                    // relock's issue
)

// String names the threads, as the table of commands does.
func (t Thread) String() string {
	return [...]string{UnderPull: "pull requests", UnderPage: "the issue", UnderPull | UnderPage: "both"}[t]
}

// Usage is a verb's row in the table of commands.
type Usage struct {
	Verb Verb
	// Where says under what the verb works as the row has it.
	Where Thread
	// Args is what may follow the verb, as manuals write it.
	Args string
	// Doc says what the verb does, in Markdown.
	Doc string
	// Own says that the verb is for pull requests that relock opened.
	Own bool
	// Closed says that the verb is also for pull requests that are closed.
	Closed bool
	// Pushes says that the verb writes to the branch of the pull request.
	Pushes bool

	// rebuilds says that the verb rebuilds a pull request of ours and spares what
	// others have pushed to it.
	rebuilds                 bool
	dirs, platforms, modules bool
	providers                arity
	group                    bool // the name of a group follows
}

// arity says how a verb takes patterns of providers.
type arity int

const (
	noProvider  arity = iota
	byFlag            // --provider PATTERN, any number
	asFirstWord       // PROVIDER, required
)

const planArgs = "[DIR…] [--provider PATTERN] [--platform OS_ARCH] [--sha PREFIX]"

// Verbs is the language, in the order in which people read it. It must not be
// changed.
var Verbs = []Usage{
	{
		Verb: Upgrade, Where: UnderPull, Args: planArgs + " [--module PATTERN]", Pushes: true, rebuilds: true, dirs: true, platforms: true, modules: true, providers: byFlag,
		Doc: "Upgrades the lock files of the root modules that this pull request touches, or of those named, and pushes to it. On a pull request of relock's it is `rebase`. With `--module`, these locked modules move alone.",
	},
	{
		Verb: Lock, Where: UnderPull, Args: planArgs, Pushes: true, rebuilds: true, dirs: true, platforms: true, providers: byFlag,
		Doc: "Completes and repairs lock files; versions stay. Where lock files conflict with the base, it merges the base.",
	},
	{
		Verb: Check, Where: UnderPull, Args: planArgs, dirs: true, platforms: true, providers: byFlag,
		Doc: "Says what `upgrade` would change, and changes nothing.",
	},
	{
		Verb: Verify, Where: UnderPull, Args: planArgs, dirs: true, platforms: true, providers: byFlag,
		Doc: "Says of every hash what proves it, and changes nothing.",
	},
	{Verb: Diff, Where: UnderPull, Doc: "Shows what this pull request changes in lock files, in words."},
	{Verb: Rebase, Where: UnderPull, Own: true, Pushes: true, rebuilds: true, Args: "[--sha PREFIX]", Doc: "Rebuilds the pull request on its base as it is now, unless other people have pushed to it."},
	{Verb: Recreate, Where: UnderPull, Own: true, Pushes: true, Args: "[--sha PREFIX]", Doc: "Rebuilds it anyway, and discards other people's commits."},
	{
		Verb: Ignore, Where: UnderPull, Own: true, Closed: true, Args: "PROVIDER|MODULE [major|minor|patch|commit|CONSTRAINT] [until YYYY-MM-DD]", providers: asFirstWord,
		Doc: "Stops proposing a provider or a locked module in this group: all updates, one kind of update, or some versions.",
	},
	{Verb: Unignore, Where: UnderPull, Own: true, Closed: true, Args: "PROVIDER|MODULE", providers: asFirstWord, Doc: "Proposes what is ignored again."},
	{Verb: Show, Where: UnderPull | UnderPage, Closed: true, Doc: "Lists the ignores, rules and groups in force."},
	{Verb: Close, Where: UnderPull, Own: true, Doc: "Closes the pull request. Only a new release, or a root module that joins, opens another."},
	{Verb: Reopen, Where: UnderPull, Own: true, Closed: true, Doc: "Opens the closed pull request again."},
	{Verb: Reopen, Where: UnderPage, Args: "GROUP", group: true, Doc: "Opens the newest closed pull request of a group again."},
	{Verb: Why, Where: UnderPull | UnderPage, Args: "PROVIDER|MODULE [DIR…]", providers: asFirstWord, dirs: true, Doc: "Says why this version is used: every constraint with its place, and what would allow a newer one. Of a module it names the calls."},
	{Verb: Help, Where: UnderPull | UnderPage, Closed: true, Doc: "Shows this table."},
}

// usageOf returns the row of a verb under something; the row that it has elsewhere, if it
// has none there.
func usageOf(v Verb, under Thread) (u Usage, known bool) {
	for _, row := range Verbs {
		if row.Verb == v && (!known || row.Where&under != 0) {
			u, known = row, true
		}
	}
	return u, known
}

// elsewhere says where to give a command that does not work on relock's issue.
func (u Usage) elsewhere() error {
	whose := safe.Const("under the pull request that it is about")
	if u.Own {
		whose = safe.Const("under the pull request of relock's that it is about")
	}
	return Refuse(safe.Format("this does not work on the issue; comment %s %s", u.code(), whose))
}

// String returns the command as people type it.
func (u Usage) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", prefix, u.Verb, u.Args))
}

// code is String as inline code. The rows of Verbs are all that it holds.
func (u Usage) code() safe.Markdown { return safe.Ours("`" + u.String() + "`") }

// Table returns as a table what works under something. Of both it says which.
func Table(under Thread) safe.Markdown {
	var b strings.Builder
	both := under == UnderPull|UnderPage
	if both {
		b.WriteString("| command | where | does |\n|---|---|---|\n")
	} else {
		b.WriteString("| command | does |\n|---|---|\n")
	}
	for _, u := range Verbs {
		if u.Where&under == 0 {
			continue
		}
		fmt.Fprintf(&b, "| `%s` | ", strings.ReplaceAll(u.String(), "|", `\|`))
		if both {
			fmt.Fprintf(&b, "%s | ", u.Where)
		}
		fmt.Fprintf(&b, "%s |\n", u.Doc)
	}
	return safe.Ours(b.String())
}
