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

// behaviour is the options of a plan, with what the mode, Exact, Strict and Prune mean
// for it. Nothing else looks at these four.
type behaviour struct {
	options Options

	// What is required.
	readsTests       bool // in releases whose providers lock does not, too
	settlesConflicts bool // the sides of a merge become one lock file
	leavesGenerated  bool // the lock file of what a program makes is left to that program
	takesRecorded    bool // recorded constraints may stand in for unread modules
	twoCommands      bool // init writes first, and then providers lock
	skipsOverridden  bool // what the CLI configuration overrides keeps its bytes, or is left out

	// Which version is selected.
	keepsVersions  bool // a locked version stays, or that is an error
	keepsWithdrawn bool // also one that is not offered any more
	lowers         bool // a version may go down without being asked to
	carriesAll     bool // OpenTofu's registry takes over the entries of every namespace
	reselects      bool // what cannot be taken over is selected anew
	tellsHeld      bool // people hear what holds newer releases
	spares         bool // what the rules let nothing in for raises no question if its entry is complete,
	forgives       bool // or no failure

	// Which packages are asked for, and what they must be.
	packagesFrom   packagesFrom
	skipsPlatforms bool // what a release does not serve is left out with a notice
	provenOnly     bool // a signature must cover every hash
	refuses        refusal
	refusesAltered bool // a mirror must not have other content than the registry

	// What is written.
	keepsUnknown      bool // hashes of unknown schemes stay
	keepsHashes       bool // and so do those that no package has
	keepsUnreferenced bool // and so do entries that nothing requires
	allOrNothing      bool // one failure leaves the root module as it is
	allBytes          bool // entries and files are as the tools write them, also where that says the same [case 15]
}

// packagesFrom says whose packages are asked for.
type packagesFrom int

const (
	fromChosen       packagesFrom = iota // as HashesFrom has it
	fromMethodsFirst                     // the first platform's by the methods, as init does, and every one from its origin
	fromOrigins                          // every one from its origin, as providers lock does
)

// refusal says which packages are refused for matching no recorded hash of their
// version.
type refusal int

const (
	refuseReplaced refusal = iota // each that took the place of a recorded one
	refuseFirst                   // that of the platform that init runs on
	refuseNone
)

// behaviour is the table of what these options mean. In brackets stand recorded
// cases of the tools in which a row shows; where relock departs from them,
// docs/decisions/deviations.md says why.
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
