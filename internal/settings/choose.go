package settings

import (
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/verbs"
)

// Facts decide which configuration files make the settings of a run.
type Facts struct {
	Verb verbs.Verb // empty: no known verb
	// Head says that the checkout is the head of a pull request, and BaseKnown that the
	// files of its base can be read.
	Head, BaseKnown bool
	// OthersNamed says that the run is about repositories that are not checked out. Verbs
	// about the checkout never have it: see GivenTo.
	OthersNamed bool
	// Path is the place of the named configuration file. ByLink says that only a link leads
	// it into a repository.
	Path   Path
	ByLink bool
}

// Path is the place of a named configuration file.
type Path int

// The places of a configuration file.
const (
	PathNone      Path = iota // no file is named: it is searched for by FileNames
	PathOutside               // in no repository: it is the operator's
	PathUnread                // in the present repository, which the run does not read
	PathAtHand                // in the present repository
	PathElsewhere             // in another repository that the run reads from disk
)

// Layers says where a run reads its configuration files. The repository's own file
// overrides the operator's. A named file is the operator's, if there is one, and otherwise
// the repository's own.
type Layers struct{ Operator, Own From }

// From is the source of a configuration file.
type From int

// The sources of a configuration file.
const (
	FromNowhere From = iota // there is none, or it is read for each repository by Sources.In
	FromDisk
	FromBase    // of the pull request
	BaseUnknown // only the base's file counts, and the base is unreadable
	BaseByLink  // only the base's file counts, and its path there is unknown
)

// othersNamed are the settings that name repositories that are not checked out.
var othersNamed = []string{"repo", "org"}

// OthersNamed reports whether values name repositories that are not checked out.
func OthersNamed(values Values) bool {
	return slices.ContainsFunc(othersNamed, func(name string) bool { return strings.Join(values[name].Items, "") != "" })
}

// GivenTo returns the values for a verb. A verb about the checkout gets no other
// repositories, which inputs may name for another step. Otherwise the checkout's file would
// count as the operator's.
func GivenTo(verb verbs.Verb, given []Values) []Values {
	if !slices.Contains(checkoutVerbs, verb) {
		return given
	}
	var kept []Values
	for _, values := range given {
		values = maps.Clone(values)
		for _, name := range othersNamed {
			delete(values, name)
		}
		kept = append(kept, values)
	}
	return kept
}

// Choose returns the files for the settings of a run. It reads nothing.
func Choose(f Facts) Layers {
	for _, row := range fileTable {
		if row.holds(f) {
			return row.Layers
		}
	}
	panic("settings: the table of files has no row for the verb " + string(f.Verb))
}

// when is the condition of a row on a fact.
type when int

const (
	either when = iota
	yes
	no
)

func (w when) holds(fact bool) bool { return w == either || (w == yes) == fact }

// fileRow is a row of the table of files: the conditions and the files.
type fileRow struct {
	verbs        []verbs.Verb
	others, head when
	paths        []Path
	link, base   when
	Layers
}

func (c fileRow) holds(f Facts) bool {
	return slices.Contains(c.verbs, f.Verb) && c.others.holds(f.OthersNamed) && c.head.holds(f.Head) &&
		slices.Contains(c.paths, f.Path) && c.link.holds(f.ByLink) && c.base.holds(f.BaseKnown)
}

// The verbs and places that are alike here.
var (
	checkoutVerbs  = []verbs.Verb{verbs.Scan, verbs.Why, verbs.Upgrade, verbs.Lock, verbs.Check, verbs.Verify}
	refusedVerbs   = []verbs.Verb{""} // after the settings are read
	fileVerbs      = []verbs.Verb{verbs.Diff, verbs.MergeDriver, verbs.ConfigValidate}
	showingVerbs   = []verbs.Verb{verbs.ConfigShow}
	proposingVerbs = []verbs.Verb{verbs.PR}
	answeringVerbs = []verbs.Verb{verbs.Comment}

	workingVerbs = slices.Concat(checkoutVerbs, refusedVerbs)
	headVerbs    = slices.Concat(workingVerbs, proposingVerbs)
	othersVerbs  = slices.Concat(refusedVerbs, proposingVerbs)
	readingVerbs = slices.Concat(answeringVerbs, showingVerbs)

	ownPaths      = []Path{PathNone, PathAtHand, PathElsewhere}
	operatorPaths = []Path{PathOutside, PathUnread}
	insidePaths   = []Path{PathUnread, PathAtHand, PathElsewhere}
	handPaths     = []Path{PathUnread, PathAtHand}
)

// fileTable is the table of files. Exactly one row matches any facts. Its columns are the
// verbs, OthersNamed, Head, Path, ByLink and BaseKnown.
var fileTable = []fileRow{
	// Nothing is judged or written. So the files on disk decide, also on a head.
	{fileVerbs, either, either, ownPaths, either, either, Layers{FromNowhere, FromDisk}},
	// An operator's file replaces the repository's own.
	{fileVerbs, either, either, operatorPaths, either, either, Layers{FromDisk, FromNowhere}},
	// The settings are those with which pr proposes for the checkout.
	{showingVerbs, no, either, ownPaths, either, either, Layers{FromNowhere, FromDisk}},
	// As for pr, the repository's own file overrides the operator's.
	{showingVerbs, no, either, operatorPaths, either, either, Layers{FromDisk, FromDisk}},

	// A branch's checkout uses its own file.
	{headVerbs, no, no, ownPaths, either, either, Layers{FromNowhere, FromDisk}},
	// The operator's file replaces it: nothing in a repository decides how it is judged.
	{workingVerbs, no, no, operatorPaths, either, either, Layers{FromDisk, FromNowhere}},
	// For proposals, the repository's own file overrides the operator's.
	{proposingVerbs, no, no, operatorPaths, either, either, Layers{FromDisk, FromDisk}},

	// A pull request's head cannot change a file outside of the repositories.
	{workingVerbs, no, yes, []Path{PathOutside}, either, either, Layers{FromDisk, FromNowhere}},
	// A head decides nothing. The base's own file overrides the operator's.
	{proposingVerbs, no, yes, []Path{PathOutside}, either, yes, Layers{FromDisk, FromBase}},
	// The same applies without an operator's file.
	{headVerbs, no, yes, []Path{PathNone}, either, yes, Layers{FromNowhere, FromBase}},
	// A file that is named inside a repository is the base's, too, and never the
	// operator's.
	{headVerbs, no, yes, insidePaths, no, yes, Layers{FromNowhere, FromBase}},
	// Without the base, only the operator's file counts, and the report says so.
	{proposingVerbs, no, yes, []Path{PathOutside}, either, no, Layers{FromDisk, BaseUnknown}},
	// Without the base and an operator's file there is no file, and the report says so.
	{headVerbs, no, yes, []Path{PathNone}, either, no, Layers{FromNowhere, BaseUnknown}},
	// The same applies to a named file.
	{headVerbs, no, yes, insidePaths, no, no, Layers{FromNowhere, BaseUnknown}},
	// A link on disk does not show the file's name in the base.
	{headVerbs, no, yes, insidePaths, yes, either, Layers{FromNowhere, BaseByLink}},

	// Other repositories have their own files. The checkout's file is not theirs.
	{slices.Concat(othersVerbs, readingVerbs), yes, either, []Path{PathNone}, either, either, Layers{FromNowhere, FromNowhere}},
	// For them, a named file is the operator's.
	{othersVerbs, yes, either, []Path{PathOutside}, either, either, Layers{FromDisk, FromNowhere}},
	// The file may be in the checkout, if the run is about other repositories.
	{othersVerbs, yes, no, []Path{PathUnread}, either, either, Layers{FromDisk, FromNowhere}},
	// If nothing is proposed, both apply on a head, too.
	{readingVerbs, yes, either, operatorPaths, either, either, Layers{FromDisk, FromNowhere}},
	// In a named directory, too, a file counts as the repository's own.
	{othersVerbs, yes, either, []Path{PathElsewhere}, either, either, Layers{FromNowhere, FromDisk}},
	// The same applies in the present repository, but not on a head.
	{othersVerbs, yes, no, []Path{PathAtHand}, either, either, Layers{FromNowhere, FromDisk}},
	// If nothing is proposed, both apply.
	{readingVerbs, yes, either, []Path{PathAtHand, PathElsewhere}, either, either, Layers{FromNowhere, FromDisk}},
	// A head must not decide what is enforced for others. The operator's file is the
	// base's.
	{othersVerbs, yes, yes, handPaths, no, yes, Layers{FromBase, FromNowhere}},
	// Without the base the run must stop, since nothing would be enforced.
	{othersVerbs, yes, yes, handPaths, no, no, Layers{BaseUnknown, FromNowhere}},
	// A link on disk does not show the file's name in the base.
	{othersVerbs, yes, yes, handPaths, yes, either, Layers{BaseByLink, FromNowhere}},

	// A comment uses the file on the base of its pull request. Sources.In reads it.
	{answeringVerbs, no, either, ownPaths, either, either, Layers{FromNowhere, FromNowhere}},
	// That file overrides the operator's.
	{answeringVerbs, no, either, operatorPaths, either, either, Layers{FromDisk, FromNowhere}},
}
