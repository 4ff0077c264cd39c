// Package run carries out asks: what every verb does, from files to a report.
//
// Run makes a job for each repository and each base branch of an Ask. A job has a file tree
// (a checkout on disk, or a commit on GitHub) and its settings. The steps of a job have a
// fixed order: scan finds root modules, upgrade plans their lock files, diff lists the
// changes, and report keeps everything as one value. Then lock files go to disk, to a
// branch, or into pull requests. The command line, the Action and comments make asks, and
// have no such logic themselves.
package run
