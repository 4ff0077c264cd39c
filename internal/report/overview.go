package report

// Profile is the knowledge about a repository that only a run has which reads it.
// Texts are plain and not trusted.
type Profile struct {
	// Day is the day of that run, if a memory has the profile.
	Day     string        `json:"day,omitempty"`
	Uses    []ProviderUse `json:"uses,omitempty"`
	Behind  BehindBy      `json:"behind,omitzero"`
	Held    []Remark      `json:"held,omitempty"`    // what holds its providers
	Majors  []Remark      `json:"majors,omitempty"`  // proposed major upgrades
	Moved   []Remark      `json:"moved,omitempty"`   // modules that have moved
	Failing []Remark      `json:"failing,omitempty"` // causes
}

// BehindBy counts the providers of a repository whose locked version is behind the
// newest known release, by the largest number that differs.
type BehindBy struct {
	Major int `json:"major,omitzero"`
	Minor int `json:"minor,omitzero"`
	Patch int `json:"patch,omitzero"`
}

// Remark is a sentence, or the rest of one that begins with a provider.
type Remark struct {
	Provider string `json:"provider,omitempty"`
	Text     string `json:"text,omitempty"`
}

// ProviderUse counts the root modules that lock a provider, by major version.
type ProviderUse struct {
	Provider string        `json:"provider"`
	Newest   string        `json:"newest"` // known release
	Majors   map[int64]int `json:"majors"`
}

// Overview is what people see first of a run over the repositories of an owner, or
// over a shard of them. The overviews of all shards add up to that of the owner
// (outline.Merge).
type Overview struct {
	Owner string `json:"owner"`
	Shard string `json:"shard,omitempty"` // like 2/3; empty for all of them
	Day   string `json:"day"`             // of the run
	// Visibility is that of the repository that the fewest people see.
	Visibility string           `json:"visibility,omitempty"`
	States     map[Standing]int `json:"states"`
	Needing    int              `json:"needing,omitzero"` // repositories that need a person
	// Needs are the lines about them. Further counts lines that are left out.
	Needs   map[Need][]NeedLine `json:"needs,omitempty"`
	Further map[Need]int        `json:"further,omitempty"`
	Uses    []ProviderUse       `json:"uses,omitempty"`
	Rows    []OverviewRow       `json:"rows,omitempty"` // repositories that are not quiet, the worst first
	// Since are the earlier counts that States is compared with.
	Since Baseline `json:"-"`
	// Parts are the shards that it was made of.
	Parts []ShardPart `json:"-"`
	// Server is the address of the GitHub server, for links.
	Server string `json:"-"`
}

// Standing is the state of a repository on the overview, in a word.
type Standing string

// The standings. A repository has the last of these that fits, except that nothing is
// said of one that was not looked at.
const (
	StandingUpToDate   Standing = "up to date"
	StandingNoLockFile Standing = "without lock files"
	StandingHeld       Standing = "held"        // a newer release is not taken
	StandingTurnedDown Standing = "turned down" // a person has closed a pull request
	StandingProposed   Standing = "proposed"    // a pull request is open
	StandingWaiting    Standing = "waiting"     // for room
	StandingFailing    Standing = "failing"
	StandingUnseen     Standing = "not looked at" // in whole or in part
)

// Standings are all of them, in the order of the texts.
var Standings = []Standing{StandingUpToDate, StandingProposed, StandingWaiting, StandingHeld, StandingFailing, StandingTurnedDown, StandingNoLockFile, StandingUnseen}

// Quiet reports whether nobody must know more than the number of such repositories.
func (s Standing) Quiet() bool { return s == StandingUpToDate || s == StandingNoLockFile }

// Need is why a repository needs a person.
type Need string

// The needs, the worst first.
const (
	NeedRepair Need = "failing"
	NeedMerge  Need = "open"   // a pull request has been open for long
	NeedMajor  Need = "majors" // a major upgrade waits
	NeedModule Need = "moved"  // a module has moved
)

// Needs are all needs, in the order of the texts.
var Needs = []Need{NeedRepair, NeedMerge, NeedMajor, NeedModule}

// NeedLine is one need of one or several repositories.
type NeedLine struct {
	Remark
	Repositories []string `json:"repositories"`
	Further      int      `json:"further,omitzero"` // repositories that are not named
	Number       int      `json:"number,omitzero"`  // of the pull request
	// Day is the day on which the pull request was opened, or the oldest day on which
	// one of the repositories was read.
	Day string `json:"day,omitempty"`
}

// OverviewRow is a repository that is not quiet.
type OverviewRow struct {
	Name     string   `json:"name"`
	Standing Standing `json:"state"`
	Pulls    []int    `json:"pulls,omitempty"` // open ones
	Waits    int      `json:"waits,omitzero"`  // proposals that wait for room
	Behind   BehindBy `json:"behind,omitzero"`
	Held     []Remark `json:"held,omitempty"`
	Day      string   `json:"day,omitempty"` // on which it was read
}

// Baseline is the counts of the first run of a week, which begins on a Monday.
type Baseline struct {
	Week   string           `json:"week,omitempty"`
	Counts map[Standing]int `json:"counts,omitempty"`
}

// ShardPart is one shard of an overview. Without a day nothing is known of it.
type ShardPart struct{ Shard, Day string }
