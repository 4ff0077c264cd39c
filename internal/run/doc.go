// Package run is the corridor that every verb walks: a Request becomes a report.
//
// It knows where files come from (a checkout on disk, or a commit on GitHub) and
// where they go (to disk, or into a pull request), and puts the rooms in order:
// scan finds root modules, upgrade plans their lock files, diff says what
// changes, report keeps it all as one value, pr proposes it. The command line,
// the Action and the demonstration are three doors to the same corridor; none of
// them has logic of its own.
package run
