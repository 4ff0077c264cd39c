package module

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
)

// gitRepository is a bare repository for commits of one remote.
type gitRepository struct{ gitProgram }

// openRepository prepares to ask a remote, after checking its host as transport does. git
// gets the URL from a file: every user of the machine can see git's arguments, so they have
// no credentials.
func openRepository(ctx context.Context, g *gits, of gitRemote) (_ *gitRepository, err error) {
	if err := g.opts.mayAsk(); err != nil {
		return nil, err
	}
	dir, err := file.NewTemporaryDir("git")
	if err != nil {
		return nil, unread("making a temporary directory: %v", err)
	}
	r := &gitRepository{gitProgram{means: g.means, remote: of, dir: dir}}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if of.key != nil { // other users must not read it
		if err := os.WriteFile(r.path("key"), of.key, 0o600); err != nil {
			return nil, unread("writing the key for ssh: %v", file.Cause(err))
		}
	}
	if err := os.Mkdir(r.path("home"), 0o700); err != nil {
		return nil, unread("making a temporary directory: %v", file.Cause(err))
	}
	if err := r.configure(of); err != nil {
		return nil, err
	}
	if err := r.reset(ctx); err != nil {
		return nil, err
	}
	if of.url.Scheme == "file" {
		return r, nil
	}
	return r, (&route{&r.gitProgram}).open(ctx)
}

func (r *gitRepository) close() { os.RemoveAll(r.dir) }

// inRepository asks a remote something in a repository for it.
func inRepository[T any](ctx context.Context, g *gits, of gitRemote, ask func(*gitRepository) (T, error)) (T, error) {
	r, err := openRepository(ctx, g, of)
	if err != nil {
		return *new(T), err
	}
	defer r.close()
	return ask(r)
}

// fullCommit is the name of a commit that git takes for no branch or tag.
var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// plainName is a branch or tag that git can ask for by name.
var plainName = regexp.MustCompile(`^[^ ~^:?*\[\\]+$`)

// resolve finds the commit of a reference in a clone, since the tools clone the repository
// and then check the reference out. So the commit is reachable.
func (r *gitRepository) resolve(ctx context.Context, ref reference) (scan.Reference, error) {
	if ref.name == "" || plainName.MatchString(ref.name) && !strings.Contains(ref.name, "@{") {
		heads, err := r.advertised(ctx, ref.name)
		if err != nil {
			return scan.Reference{}, err
		}
		switch named := heads.choose(ref); {
		case fullCommit.MatchString(named.Commit):
			return named, nil
		case named.Commit != "":
			return scan.Reference{}, unread("the git repository does not name its objects by SHA-1")
		case ref.name == "":
			return scan.Reference{}, unread("the git repository has no default branch")
		}
	}
	if ref.shallow {
		return scan.Reference{}, unread("the git repository has no branch or tag %q; with depth, the ref must be one", ref.name)
	}
	// Only a clone can resolve other names: an abbreviated commit, HEAD~1, or origin/main.
	if err := r.cloneCommits(ctx); err != nil {
		return scan.Reference{}, err
	}
	for _, candidate := range []string{ref.name, "refs/remotes/origin/" + ref.name} {
		out, err := r.run(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", candidate+"^{commit}")
		if commit := strings.TrimSpace(string(out)); err == nil && fullCommit.MatchString(commit) {
			return scan.Reference{Kind: scan.RefOther, Commit: commit}, r.reset(ctx)
		}
	}
	if err := ended(ctx); err != nil {
		return scan.Reference{}, err
	}
	return scan.Reference{}, unread("the git repository has nothing that the ref %q names", ref.name)
}

// heads are the commits that a repository advertises for a name.
type heads struct {
	main, mainName string // the default branch
	branch, tag    string // commits with that name
}

// choose prefers as git does. In a clone, a branch of this name exists only if it is the
// default one; otherwise the tag comes first. A shallow clone prefers a branch to a tag.
func (h heads) choose(ref reference) scan.Reference {
	both := h.branch != "" && h.tag != ""
	switch {
	case ref.name == "":
		return scan.Reference{Kind: scan.RefDefault, Commit: h.main}
	case h.branch != "" && (ref.shallow || ref.name == h.mainName || !both):
		return scan.Reference{Kind: scan.RefBranch, Commit: h.branch, Ambiguous: both}
	}
	return scan.Reference{Kind: scan.RefTag, Commit: h.tag, Ambiguous: both}
}

// advertised asks the remote for its default branch and for a name.
func (r *gitRepository) advertised(ctx context.Context, name string) (heads, error) {
	const branches, tags = "refs/heads/", "refs/tags/"
	args := []string{"ls-remote", "--symref", "origin", "HEAD"}
	if name != "" {
		args = append(args, branches+name, tags+name, tags+name+"^{}")
	}
	out, err := r.run(ctx, nil, args...)
	if err != nil {
		return heads{}, err
	}
	var h heads
	for line := range strings.Lines(string(out)) {
		value, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		target, symbolic := strings.CutPrefix(value, "ref: ")
		switch {
		case ref == "HEAD" && symbolic && plainName.MatchString(target):
			h.mainName = strings.TrimPrefix(target, branches)
		case symbolic:
		case ref == "HEAD":
			h.main = value
		case ref == branches+name:
			h.branch = value
		case ref == tags+name && h.tag == "", ref == tags+name+"^{}":
			h.tag = value // peeled, for an annotated tag
		}
	}
	return h, nil
}

// tips are the commits of the remote's branches and tags, and of its HEAD.
func (r *gitRepository) tips(ctx context.Context) (commits, error) {
	return r.commits(ctx, "ls-remote", "origin", "HEAD", "refs/heads/*", "refs/tags/*")
}

// history lists commits: see gits.history. Most servers send them without files.
func (r *gitRepository) history(ctx context.Context, of string) (commits, error) {
	if err := r.cloneCommits(ctx); err != nil {
		return nil, err
	}
	return r.commits(ctx, "rev-list", of)
}

// commits runs git, which prints lines that begin with commits.
func (r *gitRepository) commits(ctx context.Context, args ...string) (commits, error) {
	var found commits
	err := r.records(ctx, '\n', found.add, args...)
	slices.SortFunc(found, commitID.compare)
	return found, err
}

// clone fetches all branches and tags to the places that they have in a clone.
func (r *gitRepository) clone(ctx context.Context, options ...string) error {
	heads, err := r.advertised(ctx, "")
	if err != nil {
		return err
	}
	args := append([]string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"}, options...)
	args = append(args, "origin", "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
	if heads.mainName != "" && heads.main != "" {
		args = append(args, "+refs/heads/"+heads.mainName+":refs/heads/"+heads.mainName)
	}
	if err := r.bounded(ctx, nil, args...); err != nil {
		return err
	}
	if heads.mainName == "" {
		return nil
	}
	_, err = r.run(ctx, nil, "symbolic-ref", "HEAD", "refs/heads/"+heads.mainName)
	return err
}

// cloneCommits is clone without files, if the server supports that. git refuses such a clone
// if a tag names a directory.
func (r *gitRepository) cloneCommits(ctx context.Context) error {
	return r.orClone(ctx, r.clone(ctx, "--filter=tree:0"))
}

// orClone fetches everything after a smaller fetch has failed, unless the server refused or
// gave no answer.
func (r *gitRepository) orClone(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	_, silent := errors.AsType[noReply](err)
	if over := ended(ctx); over != nil || silent || problem.Coded(err, problem.CodeUnauthorized) {
		return cmp.Or(over, err)
	}
	if err := r.reset(ctx); err != nil {
		return err
	}
	return r.clone(ctx)
}

// reset makes the repository, or makes it again. If it has a commit without its files, a
// server would send nothing: it assumes that the commit is complete. A failed fetch may
// also leave settings that make git look for objects at the remote.
func (r *gitRepository) reset(ctx context.Context) error {
	if err := os.RemoveAll(r.gitDir()); err != nil {
		return unread("emptying a temporary directory: %v", file.Cause(err))
	}
	if err := os.Mkdir(r.gitDir(), 0o700); err != nil {
		return unread("making a temporary directory: %v", file.Cause(err))
	}
	_, err := r.run(ctx, nil, "init", "--quiet", "--bare", "--template=", ".")
	return err
}

// fetch gets one commit without its history. Unless it is wanted whole, files are left out
// that are too large for configuration: see fetchMissing. Some servers do not give a commit
// that they do not advertise. A server with plain files over HTTP can leave nothing out. Then
// all is fetched.
func (r *gitRepository) fetch(ctx context.Context, commit string, whole bool) error {
	args := []string{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"}
	if !whole {
		args = append(args, "--filter=blob:limit=1m")
	}
	err := r.bounded(ctx, nil, append(args, "origin", commit)...)
	if err == nil {
		return nil
	}
	if err := r.orClone(ctx, err); err != nil {
		return err
	}
	if _, missing := r.run(ctx, nil, "cat-file", "-e", commit+"^{commit}"); missing != nil {
		return unread("the git repository has no commit %s", commit)
	}
	return nil
}

// gitEntry is a path in a commit.
type gitEntry struct{ mode, id, name string }

const (
	modeDir    = "040000"
	modeExec   = "100755"
	modeLink   = "120000"
	modeModule = "160000" // a submodule; the ID is its commit
)

// maxListing bounds the list of a commit's files.
const maxListing = 64 << 20

// records runs git and passes its output to take, record by record, without the end mark.
// An error of take ends git.
func (r *gitRepository) records(ctx context.Context, end byte, take func(record string) error, args ...string) error {
	return r.stream(ctx, nil, func(stdout io.Reader) error {
		lines := bufio.NewReader(&capped{stdout, maxListing, errors.New("git prints too much")})
		for {
			record, err := lines.ReadString(end)
			if record != "" {
				if err := take(strings.TrimSuffix(record, string(end))); err != nil {
					return err
				}
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}, args...)
}

// read adds the files of a commit below a directory, and returns its submodules.
func (r *gitRepository) read(ctx context.Context, into *filling, dir, commit string) (submodules []gitEntry, _ error) {
	var blobs []gitEntry
	err := r.list(ctx, commit, func(entry gitEntry) error {
		err := into.count()
		switch {
		case err != nil || into.whole == nil && nameless(entry.name):
		case entry.mode == modeModule:
			submodules = append(submodules, entry)
		case entry.mode == modeDir && into.whole != nil: // its files make it
		case entry.mode == modeDir:
			err = into.dir(path.Join(dir, entry.name))
		case entry.mode == modeLink || into.opens(entry.name):
			blobs = append(blobs, entry)
		}
		return err
	})
	if err != nil || len(blobs) == 0 {
		return submodules, err
	}
	if into.whole == nil {
		if err := r.fetchMissing(ctx, commit, blobs); err != nil {
			return nil, err
		}
	}
	return submodules, r.readBlobs(ctx, blobs, func(b gitEntry, size int64, content io.Reader) error {
		return into.blob(path.Join(dir, b.name), b.mode, size, content)
	})
}

// list passes the paths of a commit to take.
func (r *gitRepository) list(ctx context.Context, commit string, take func(gitEntry) error) error {
	var excess error // an error of the repository, not of git
	err := r.records(ctx, '\x00', func(record string) error {
		meta, name, _ := strings.Cut(record, "\t")
		fields := strings.Fields(meta) // MODE TYPE ID
		if len(fields) != 3 {
			return nil // an empty tree has one empty record
		}
		excess = take(gitEntry{fields[0], fields[2], name})
		return excess
	}, "ls-tree", "-r", "-t", "-z", "--full-tree", commit)
	if excess != nil {
		return unread("the git repository cannot be read: %v", excess)
	}
	return err
}

// readBlobs passes files with their sizes and contents to take, with one run of git.
func (r *gitRepository) readBlobs(ctx context.Context, blobs []gitEntry, take func(gitEntry, int64, io.Reader) error) error {
	var ids strings.Builder
	for _, b := range blobs {
		ids.WriteString(b.id + "\n")
	}
	return r.stream(ctx, strings.NewReader(ids.String()), func(stdout io.Reader) error {
		out := bufio.NewReader(stdout)
		for _, b := range blobs {
			if err := readBlob(out, b, take); err != nil {
				return err
			}
		}
		return nil
	}, "cat-file", "--batch", "--buffer")
}

// fetchMissing fetches the needed files that were left out as too large, all at once.
func (r *gitRepository) fetchMissing(ctx context.Context, commit string, blobs []gitEntry) error {
	lacks := map[string]bool{}
	err := r.records(ctx, '\n', func(line string) error {
		if id, ok := strings.CutPrefix(line, "?"); ok {
			lacks[id] = true
		}
		return nil
	}, "rev-list", "--objects", "--no-object-names", "--no-walk", "--missing=print", commit)
	if err != nil {
		return err
	}
	var missing strings.Builder
	for _, b := range blobs {
		if lacks[b.id] {
			missing.WriteString(b.id + "\n")
			delete(lacks, b.id)
		}
	}
	if missing.Len() == 0 {
		return nil
	}
	return r.bounded(ctx, strings.NewReader(missing.String()), "-c", "fetch.negotiationAlgorithm=noop",
		"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--filter=blob:none", "--stdin", "origin")
}

// readBlob passes the next file in git's output to take. For each file git prints a line "ID TYPE
// SIZE", its bytes, and a line feed.
func readBlob(out *bufio.Reader, b gitEntry, take func(gitEntry, int64, io.Reader) error) error {
	line, err := out.ReadString('\n')
	if err != nil {
		return err
	}
	fields := strings.Fields(line)
	if len(fields) != 3 || fields[1] != "blob" {
		return fmt.Errorf("the file %q is not in the repository", b.name)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return err
	}
	content := io.LimitReader(out, size)
	if err := take(b, size, content); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	_, err = out.Discard(1)
	return err
}
