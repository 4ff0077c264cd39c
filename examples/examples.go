// Package examples has the workflows that relock setup writes: those that people copy and
// that the tests run.
package examples

import _ "embed"

// The workflows. The first line of each is a comment with the path to copy it to. They must
// not be changed.
var (
	// ProposeWorkflow opens pull requests on a schedule.
	//
	//go:embed workflows/relock.yml
	ProposeWorkflow string
	// CheckWorkflow checks pull requests.
	//
	//go:embed workflows/check.yml
	CheckWorkflow string
	// CommentsWorkflow answers commands in comments.
	//
	//go:embed workflows/comments.yml
	CommentsWorkflow string
)
