// Package run carries out requests: what every verb does, from files to a report.
//
// It knows where files come from (a checkout on disk, or a commit on GitHub) and
// where they go (to disk, to a branch, or into pull requests), which a Target says,
// and puts the steps in order: scan finds root modules, upgrade plans their lock
// files, diff says what changes, report keeps it all as one value, pr proposes it.
// The command line, the Action and comments make requests; none of them has logic
// of its own.
package run
