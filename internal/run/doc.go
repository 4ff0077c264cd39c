// Package run carries out asks: what every verb does, from files to a report.
//
// Run makes a job for each repository and each base branch of an Ask. A job has a file tree
// (a checkout on disk, or a commit on GitHub) and its settings. The steps of a job have a
// fixed order: scan finds root modules, upgrade plans their lock files, diff lists the
// changes, and report keeps everything as one value. Then lock files go to disk, to a
// branch, or into pull requests. The command line, the Action and comments make asks, and
// have no such logic themselves. To read a run, begin with run.go, repository.go and plan.go.
//
// Values of a job are made once and not changed. A Session has what all jobs of an Ask
// share: the HTTP client, the answers of registries, and the caches.
//
// The end of the time and an interrupt only end the context in which scan and plan ask
// (bounds.go). What was not finished has failed, like anything else that fails, and what
// acts on the results has a context of its own.
//
// A lock file that a run did not look at is unknown, and not gone (unseen.go). Only
// upgrade.Carrier decides what an open pull request loses.
//
// What is planned from modules that move is in one pull request with their lock file: the
// plan of such a root module is not divided by group. It goes to the group of the first
// provider that changes (share.go).
package run
