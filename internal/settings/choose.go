package settings

import (
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/verbs"
)

// Facts are what decides which configuration files make the settings of a run.
type Facts struct {
	Verb verbs.Verb // empty: none that is known
	// Head says that the checkout is the head of a pull request, and BaseKnown that the
	// files of its base can be read.
	Head, BaseKnown bool
	// OthersNamed says that the run is about repositories that are not checked out. No verb
	// about the checkout is: see GivenTo.
	OthersNamed bool
	// Path is where the configuration file lies that is named, and ByLink says that its path
	// leads into a repository by a link alone.
	Path   Path
	ByLink bool
}

// Path is where a configuration file lies that is named.
type Path int

// The places of a configuration file.
const (
	PathNone      Path = iota // no file is named: it is searched for by FileNames
	PathOutside               // in no repository: it is the operator's
	PathUnread                // in the repository at hand, of which the run reads nothing
	PathAtHand                // in the repository at hand
	PathElsewhere             // in another repository that the run reads from disk
)

// Layers says where a run reads its configuration files. The repository's own file
// overrides the operator's. A named file is the operator's, if there is one, and otherwise
// the repository's own.
type Layers struct{ Operator, Own From }

// From is from where a configuration file is read.
type From int

// The places from where a configuration file is read.
const (
	FromNowhere From = iota // there is none, or it is read for each repository by Sources.In
	FromDisk
	FromBase    // of the pull request
	BaseUnknown // it is read from the base alone, which cannot be read
	BaseByLink  // it is read from the base alone, and its path there is not known
)

// othersNamed are the settings that name repositories that are not checked out.
var othersNamed = []string{"repo", "org", "plan"}

// OthersNamed reports whether values name repositories that are not checked out.
func OthersNamed(values Values) bool {
	return slices.ContainsFunc(othersNamed, func(name string) bool { return strings.Join(values[name].Items, "") != "" })
}

// GivenTo is what is given to a verb. One that is about the checkout gets no other
// repositories: inputs may name some for another step. The file of the checkout must not
// count as the operator's then.
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

// Choose says which files make the settings of a run. It reads nothing.
func Choose(f Facts) Layers {
	for _, row := range fileTable {
		if row.holds(f) {
			return row.Layers
		}
	}
	panic("settings: the table of files has no row for the verb " + string(f.Verb))
}

// when says for which values of a fact a row holds.
type when int

const (
	either when = iota
	yes
	no
)

func (w when) holds(fact bool) bool { return w == either || (w == yes) == fact }

// fileRow is a row of the table of files: what must hold, and the files.
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
	fleetVerbs     = []verbs.Verb{verbs.Shards, verbs.MergeReports, ""} // "" is refused after the settings are read
	fileVerbs      = []verbs.Verb{verbs.Diff, verbs.MergeDriver, verbs.ConfigValidate}
	showingVerbs   = []verbs.Verb{verbs.ConfigShow}
	proposingVerbs = []verbs.Verb{verbs.PR}
	answeringVerbs = []verbs.Verb{verbs.Comment}

	workingVerbs = slices.Concat(checkoutVerbs, fleetVerbs)
	headVerbs    = slices.Concat(workingVerbs, proposingVerbs)
	othersVerbs  = slices.Concat(fleetVerbs, proposingVerbs)
	readingVerbs = slices.Concat(answeringVerbs, showingVerbs)

	ownPaths      = []Path{PathNone, PathAtHand, PathElsewhere}
	operatorPaths = []Path{PathOutside, PathUnread}
	insidePaths   = []Path{PathUnread, PathAtHand, PathElsewhere}
	handPaths     = []Path{PathUnread, PathAtHand}
)

// fileTable is the table of files. For all facts that there can be, one row holds. Its
// columns are the verbs, OthersNamed, Head, Path, ByLink and BaseKnown.
var fileTable = []fileRow{
	// Nothing is judged or written: the files on disk decide, on a head, too.
	{fileVerbs, either, either, ownPaths, either, either, Layers{FromNowhere, FromDisk}},
	// An operator's file replaces the repository's own.
	{fileVerbs, either, either, operatorPaths, either, either, Layers{FromDisk, FromNowhere}},
	// The settings are shown by which pr proposes the checkout.
	{showingVerbs, no, either, ownPaths, either, either, Layers{FromNowhere, FromDisk}},
	// As for pr, the repository's own file overrides the operator's.
	{showingVerbs, no, either, operatorPaths, either, either, Layers{FromDisk, FromDisk}},

	// The checkout of a branch goes by its own file.
	{headVerbs, no, no, ownPaths, either, either, Layers{FromNowhere, FromDisk}},
	// The operator's file replaces it: nothing in a repository decides how it is judged.
	{workingVerbs, no, no, operatorPaths, either, either, Layers{FromDisk, FromNowhere}},
	// For proposals, the repository's own file overrides the operator's.
	{proposingVerbs, no, no, operatorPaths, either, either, Layers{FromDisk, FromDisk}},

	// A pull request's head cannot change a file outside of the repositories.
	{workingVerbs, no, yes, []Path{PathOutside}, either, either, Layers{FromDisk, FromNowhere}},
	// A head chooses nothing: the repository's own file over the operator's is the base's.
	{proposingVerbs, no, yes, []Path{PathOutside}, either, yes, Layers{FromDisk, FromBase}},
	// So it is without an operator's.
	{headVerbs, no, yes, []Path{PathNone}, either, yes, Layers{FromNowhere, FromBase}},
	// A file that is named in a repository is the base's, too, and never the operator's.
	{headVerbs, no, yes, insidePaths, no, yes, Layers{FromNowhere, FromBase}},
	// Without the base, the operator's file is all there is, and the report says so.
	{proposingVerbs, no, yes, []Path{PathOutside}, either, no, Layers{FromDisk, BaseUnknown}},
	// Without the base and an operator's there is none, and the report says so.
	{headVerbs, no, yes, []Path{PathNone}, either, no, Layers{FromNowhere, BaseUnknown}},
	// So it is with a file that is named.
	{headVerbs, no, yes, insidePaths, no, no, Layers{FromNowhere, BaseUnknown}},
	// A link of the disk does not say what the file is called in the base.
	{headVerbs, no, yes, insidePaths, yes, either, Layers{FromNowhere, BaseByLink}},

	// Other repositories have files of their own, and the one that is checked out is not theirs.
	{slices.Concat(othersVerbs, readingVerbs), yes, either, []Path{PathNone}, either, either, Layers{FromNowhere, FromNowhere}},
	// A file that is named is the operator's for them.
	{othersVerbs, yes, either, []Path{PathOutside}, either, either, Layers{FromDisk, FromNowhere}},
	// It may lie in a repository that is checked out, which none of them is.
	{othersVerbs, yes, no, []Path{PathUnread}, either, either, Layers{FromDisk, FromNowhere}},
	// Both hold where nothing is proposed, on a head, too.
	{readingVerbs, yes, either, operatorPaths, either, either, Layers{FromDisk, FromNowhere}},
	// In a directory that is named, too, a file counts as a repository's own.
	{othersVerbs, yes, either, []Path{PathElsewhere}, either, either, Layers{FromNowhere, FromDisk}},
	// So it does in the repository at hand, but not on a head.
	{othersVerbs, yes, no, []Path{PathAtHand}, either, either, Layers{FromNowhere, FromDisk}},
	// Both hold where nothing is proposed.
	{readingVerbs, yes, either, []Path{PathAtHand, PathElsewhere}, either, either, Layers{FromNowhere, FromDisk}},
	// A head does not choose what is enforced for others: the operator's file is the base's.
	{othersVerbs, yes, yes, handPaths, no, yes, Layers{FromBase, FromNowhere}},
	// Without the base nothing may go on, since nothing would be enforced.
	{othersVerbs, yes, yes, handPaths, no, no, Layers{BaseUnknown, FromNowhere}},
	// A link of the disk does not say what the file is called in the base.
	{othersVerbs, yes, yes, handPaths, yes, either, Layers{BaseByLink, FromNowhere}},

	// A comment goes by the file on the base of its pull request, which Sources.In reads.
	{answeringVerbs, no, either, ownPaths, either, either, Layers{FromNowhere, FromNowhere}},
	// That file overrides the operator's.
	{answeringVerbs, no, either, operatorPaths, either, either, Layers{FromDisk, FromNowhere}},
}
