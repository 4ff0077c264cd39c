package setup

import (
	"net/url"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/worktree"
)

// Nameless is the error where GITHUB_REPOSITORY names no repository; nil if it does.
func Nameless(repository string) error {
	if worktree.NamesRepository(repository) {
		return nil
	}
	return declined("GITHUB_REPOSITORY is no OWNER/NAME", "set it to the repository, as in acme/infra, or unset it in a clone")
}

// Serverless is the error where GITHUB_SERVER_URL is no address of a server; nil if it is.
func Serverless(address string) error {
	u, err := url.Parse(address)
	if err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" {
		return nil
	}
	return declined("GITHUB_SERVER_URL is no address of a server", "set it to an address with https, as in https://github.com, or unset it")
}

// Taken is the error where files are there already, or what is no directory is in their way.
// Paths are as a person names them.
func Taken(paths []string) error {
	is := "is there already; nothing was written"
	if len(paths) > 1 {
		is = "are there already; nothing was written"
	}
	return declined(strings.Join(paths, " and ")+" "+is,
		"rename or remove what is there, or compare it with what relock setup --stdout prints, with the same flags")
}

// InTheWay is the error where a link or a file has the name of a directory of the workflows:
// through a link relock would write elsewhere.
func InTheWay(path string) error {
	return declined(path+" is no directory of this repository; nothing was written", "make it a directory, or write what relock setup --stdout prints")
}

// Elsewhere is the error where nothing says which repository on GitHub it is: what is known
// of that, and the ways out. GitLab has an example of its own.
func Elsewhere(about problem.Problem) error {
	const gitLab = "https://github.com/relock-dev/relock/blob/main/examples/workflows/gitlab-ci.yml"
	hint := about.Hint
	if strings.Contains(hint, "--repo") { // a flag of relock pr
		hint = "run it in a clone, or set GITHUB_REPOSITORY to OWNER/NAME"
	}
	return declined(about.Message, hint+"; relock setup is for GitHub: for GitLab copy "+gitLab+", elsewhere run relock upgrade as a job")
}

func declined(message, hint string) error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeSettings, Message: message, Hint: hint}}
}
