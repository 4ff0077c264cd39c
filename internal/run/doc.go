// Package run carries out asks: what every verb does, from files to a report.
//
// Run makes a job for each repository and each base branch that an Ask is about. A job has
// the file tree (a checkout on disk, or a commit on GitHub) and the settings for it. Its
// steps are in order: scan finds root modules, upgrade plans their lock files, diff says
// what changes, report keeps it all as one value. Then lock files go to disk, to a branch,
// or into pull requests. The command line, the Action and comments make asks; none of them
// has logic of its own.
package run
