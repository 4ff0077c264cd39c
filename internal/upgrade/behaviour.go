package upgrade

// Mode says whether versions may move.
type Mode int

const (
	// Upgrade selects the newest version that the module tree allows and drops
	// entries that nothing requires, as init -upgrade does.
	Upgrade Mode = iota
	// Complete keeps locked versions and unreferenced entries, as providers
	// lock does. A required provider without an entry gets its newest version.
	Complete
)

// behaviour is the options of a plan, with the effects of the mode, Exact, Strict and
// Prune. No other code reads these four.
type behaviour struct {
	options Options

	// Which providers are required.
	readsTests       bool // also in tool releases whose providers lock does not read tests
	settlesConflicts bool // the two sides of a merge become one lock file
	leavesGenerated  bool // if a program generates the root module, that program writes its lock file
	takesRecorded    bool // recorded constraints may replace unread modules
	twoCommands      bool // init writes first, and then providers lock
	skipsOverridden  bool // an entry that the CLI configuration overrides keeps its bytes, or is left out

	// Which version is selected.
	keepsVersions  bool // a locked version stays, or that is an error
	keepsWithdrawn bool // a locked version stays even if it is no longer offered
	lowers         bool // a version may go down without --allow-downgrade
	carriesAll     bool // OpenTofu's registry takes over the entries of every namespace
	reselects      bool // a version that cannot be taken over is selected again
	tellsHeld      bool // the result says what holds newer releases
	spares         bool // if the rules let no release in: a complete entry raises no question,
	forgives       bool // and no failure

	// Which packages are asked for, and what they must be.
	packagesFrom   packagesFrom
	skipsPlatforms bool // a platform that a release does not serve is left out with a notice
	provenOnly     bool // a signature must cover every hash
	refuses        refusal
	refusesAltered bool // a mirror's package must equal the registry's

	// What a plan writes.
	keepsUnknown      bool // hashes of unknown schemes stay
	keepsHashes       bool // hashes that no package has stay
	keepsUnreferenced bool // entries that nothing requires stay
	allOrNothing      bool // one failure leaves the root module as it is
	allBytes          bool // entries and files are as the tools write them, even if they say the same already [case 15]
}

// packagesFrom says whose packages are asked for.
type packagesFrom int

const (
	fromChosen       packagesFrom = iota // as HashesFrom says
	fromMethodsFirst                     // the first platform by the methods, as init does, and every platform from its origin
	fromOrigins                          // every platform from its origin, as providers lock does
)

// refusal says which packages are refused because they match no recorded hash of their
// version.
type refusal int

const (
	refuseReplaced refusal = iota // each package that replaced a recorded one
	refuseFirst                   // the package of the platform that init runs on
	refuseNone
)

// behaviour is the table of what these options mean. The brackets name recorded cases of
// the tools in which a row shows. docs/decisions/deviations.md says why relock departs from
// them.
func (o Options) behaviour() behaviour {
	upgrade, complete := o.Mode == Upgrade, o.Mode == Complete
	exact, strict, prune := o.Exact, o.Strict, o.Prune
	b := behaviour{
		options: o,

		readsTests:       upgrade,
		settlesConflicts: complete,
		leavesGenerated:  upgrade,
		takesRecorded:    !exact,
		twoCommands:      upgrade && exact,  // [case 08]
		skipsOverridden:  upgrade && !exact, // [case dev-override-lock-upgrade]

		keepsVersions:  complete, // [case 75]
		keepsWithdrawn: !exact,   // [case 48]
		lowers:         exact,    // [case 57d]
		carriesAll:     !exact,   // [case 81c]
		reselects:      !exact,   // [case 81c]
		tellsHeld:      upgrade,
		spares:         upgrade && !exact,
		forgives:       complete && !exact,

		skipsPlatforms: !exact && !strict, // [case 25]
		provenOnly:     strict,            // [case 38]
		refusesAltered: !exact,            // [case 49b]

		keepsUnknown:      complete || !exact,             // [cases 11, 12]
		keepsHashes:       upgrade || !prune,              // [case 68]
		keepsUnreferenced: complete || o.KeepUnreferenced, // [case 66]
		allOrNothing:      exact || strict,                // [case 25]
		allBytes:          exact,                          // [cases 07b, 14]
	}
	switch {
	case exact && upgrade:
		b.packagesFrom, b.refuses = fromMethodsFirst, refuseFirst // [cases 49b, 05]
	case exact && complete:
		b.packagesFrom, b.refuses = fromOrigins, refuseNone // [cases 49b, 06]
	}
	return b
}
