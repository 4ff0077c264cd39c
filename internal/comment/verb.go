package comment

import (
	"fmt"
	"strings"

	"github.com/relock-dev/relock/internal/safe"
)

// Verb is what a command asks for.
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

// Usage is one row of the language.
type Usage struct {
	Verb Verb
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
	rebuilds        bool
	dirs, platforms bool
	providers       arity
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
		Verb: Upgrade, Args: planArgs, Pushes: true, rebuilds: true, dirs: true, platforms: true, providers: byFlag,
		Doc: "Upgrades the lock files of the root modules that this pull request touches, or of those named, and pushes to it. On a pull request of relock's it is `rebase`.",
	},
	{
		Verb: Lock, Args: planArgs, Pushes: true, rebuilds: true, dirs: true, platforms: true, providers: byFlag,
		Doc: "Completes and repairs lock files; versions stay. Where lock files conflict with the base, it merges the base.",
	},
	{
		Verb: Check, Args: planArgs, dirs: true, platforms: true, providers: byFlag,
		Doc: "Says what `upgrade` would change, and changes nothing.",
	},
	{
		Verb: Verify, Args: planArgs, dirs: true, platforms: true, providers: byFlag,
		Doc: "Says of every hash what proves it, and changes nothing.",
	},
	{Verb: Diff, Doc: "Shows what this pull request changes in lock files, in words."},
	{Verb: Rebase, Own: true, Pushes: true, rebuilds: true, Args: "[--sha PREFIX]", Doc: "Rebuilds the pull request on its base as it is now, unless other people have pushed to it."},
	{Verb: Recreate, Own: true, Pushes: true, Args: "[--sha PREFIX]", Doc: "Rebuilds it all the same, and discards other people's commits."},
	{
		Verb: Ignore, Own: true, Closed: true, Args: "PROVIDER [major|minor|patch|CONSTRAINT] [until YYYY-MM-DD]", providers: asFirstWord,
		Doc: "Stops proposing a provider in this group: all updates, one kind of update, or some versions.",
	},
	{Verb: Unignore, Own: true, Closed: true, Args: "PROVIDER", providers: asFirstWord, Doc: "Proposes an ignored provider again."},
	{Verb: Show, Closed: true, Doc: "Lists the ignores, rules and groups in force."},
	{Verb: Close, Own: true, Doc: "Closes the pull request. These versions are not proposed again."},
	{Verb: Reopen, Own: true, Closed: true, Doc: "Opens the closed pull request again."},
	{Verb: Why, Args: "PROVIDER [DIR…]", providers: asFirstWord, dirs: true, Doc: "Says why this version: every constraint with its place, and what would let it go on."},
	{Verb: Help, Closed: true, Doc: "Shows this table."},
}

// usageOf returns the row of a verb.
func usageOf(v Verb) (Usage, bool) {
	for _, u := range Verbs {
		if u.Verb == v {
			return u, true
		}
	}
	return Usage{}, false
}

// String returns the command as people type it.
func (u Usage) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", prefix, u.Verb, u.Args))
}

// code is String as inline code. The rows of Verbs are all that it holds.
func (u Usage) code() safe.Markdown { return safe.Ours("`" + u.String() + "`") }

// Table returns the language as a table.
func Table() safe.Markdown {
	var b strings.Builder
	b.WriteString("| command | does |\n|---|---|\n")
	for _, u := range Verbs {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(u.String(), "|", `\|`), u.Doc)
	}
	return safe.Ours(b.String())
}
