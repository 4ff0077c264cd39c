package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
)

// Origin returns the repository on a GitHub server, as OWNER/NAME, that the working
// tree at root is a clone of: that of the remote origin, else the only one that its
// remotes name there. Where another remote names another repository, the
// notices say which one is taken. server is the host name of the server.
func Origin(root, server string) (repository string, notices []problem.Problem, err error) {
	repo, err := OpenClone(root)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNoRepository) {
		return "", nil, unnamed("this is no clone of a git repository, so that nothing says which repository on GitHub it is",
			"run it in a clone, or name the repository with --repo OWNER/NAME")
	}
	if err != nil {
		return "", nil, err
	}
	all, err := remotesOf(repo)
	if err != nil {
		return "", nil, err
	}
	there := collect.Those(all, func(r remote) bool { return r.host == server && r.repository != "" })
	if len(there) == 0 {
		return "", nil, noneOn(all, server)
	}
	return chooseRemote(there)
}

// mainRemote is the remote that git clone makes.
const mainRemote = "origin"

type remote struct {
	name       string
	host       string // of its server; empty if there is none
	repository string // OWNER/NAME; empty if the address is of another form
}

// remotesOf are the remotes of a clone, sorted by name.
func remotesOf(c Clone) ([]remote, error) {
	cfg, err := c.stored.Config()
	if err != nil {
		return nil, fmt.Errorf("reading the remotes of the git repository at %s: %w", c.root, err)
	}
	var all []remote
	for _, name := range slices.Sorted(maps.Keys(cfg.Remotes)) {
		if addresses := cfg.Remotes[name].URLs; len(addresses) > 0 { // beyond the first they are pushed to alone
			all = append(all, remoteAt(name, addresses[0]))
		}
	}
	return all, nil
}

// chosen is the remote that counts among several: origin, or else the first.
func chosen(there []remote) remote {
	if i := slices.IndexFunc(there, func(r remote) bool { return r.name == mainRemote }); i >= 0 {
		return there[i]
	}
	return there[0]
}

// chooseRemote picks the remote that counts among those on the server.
func chooseRemote(there []remote) (string, []problem.Problem, error) {
	chosen := chosen(there)
	others := collect.Those(there, func(r remote) bool { return !strings.EqualFold(r.repository, chosen.repository) })
	if len(others) == 0 {
		return chosen.repository, nil, nil
	}
	const hint = "to take another one, set GITHUB_REPOSITORY to OWNER/NAME"
	if chosen.name != mainRemote {
		return "", nil, unnamed("the remotes of this clone name several repositories: "+remoteList(there), "set GITHUB_REPOSITORY to the OWNER/NAME that is meant")
	}
	return chosen.repository, []problem.Problem{{
		Code: problem.CodeSettings, Severity: problem.SeverityWarning,
		Message: fmt.Sprintf("the repository is that of the remote %s, %s; there are also %s", chosen.name, chosen.repository, remoteList(others)),
		Hint:    hint,
	}}, nil
}

// noneOn says that no remote is on the server.
func noneOn(all []remote, server string) error {
	const hint = "set GITHUB_REPOSITORY to OWNER/NAME"
	if len(all) == 0 {
		return unnamed("this clone has no remote, so that nothing says which repository on GitHub it is", hint)
	}
	var lines, servers []string
	for _, r := range all {
		switch {
		case r.host == "":
			lines = append(lines, r.name+" is on no server")
		case r.host == server:
			lines = append(lines, r.name+" names no OWNER/NAME")
		default:
			lines = append(lines, r.name+" is on "+r.host)
			if strings.Contains(r.host, ".") { // else it is an alias of the ssh configuration
				servers = append(servers, r.host)
			}
		}
	}
	message := fmt.Sprintf("no remote of this clone is a repository on %s: %s", server, strings.Join(lines, ", "))
	if len(servers) == 0 {
		return unnamed(message, hint)
	}
	return unnamed(message, fmt.Sprintf("if %s is a GitHub server, set GITHUB_SERVER_URL to https://%[1]s; else %s", servers[0], hint))
}

// unnamed is the error where nothing says which repository it is.
func unnamed(message, hint string) error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeSettings, Message: message, Hint: hint}}
}

// remoteList names remotes and their repositories in one line.
func remoteList(remotes []remote) string {
	all := collect.Mapped(remotes, func(r remote) string { return fmt.Sprintf("%s (%s)", r.repository, r.name) })
	return strings.Join(all, ", ")
}

// sshHost is where github.com answers ssh for those whose networks let only
// https through [docs.github.com, "Using SSH over the HTTPS port"].
const sshHost = "ssh.github.com"

// ownerName is a repository on a GitHub server, by the characters that its names
// have. Neither . nor .. is a name.
var ownerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*/(\.{0,2}[A-Za-z0-9_-][A-Za-z0-9._-]*|\.{3}[A-Za-z0-9._-]*)$`)

// NamesRepository reports whether a text is OWNER/NAME by the characters that GitHub's names
// have. A shell takes such a text as it is.
func NamesRepository(text string) bool { return ownerName.MatchString(text) }

// hostName is what is repeated of an address: nothing else of it, which may hold a
// password.
var hostName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// remoteAt reads the address of a remote in the forms that git knows [git-fetch,
// "GIT URLS"]: https, ssh, and git@HOST:OWNER/NAME.
func remoteAt(name, address string) remote {
	r := remote{name: name}
	at, err := transport.NewEndpoint(address)
	if err != nil || at.Protocol == "file" || !hostName.MatchString(at.Host) {
		return r
	}
	r.host = strings.ToLower(at.Host)
	if r.host == sshHost {
		r.host = "github.com"
	}
	path := strings.TrimSuffix(strings.Trim(at.Path, "/"), ".git")
	if ownerName.MatchString(path) {
		r.repository = path
	}
	return r
}
