package sandbox

import (
	"errors"
	"fmt"
	"io"
	"path"
	"sort"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"
)

// gitRepository is one repository: git's objects and refs, and GitHub's own data.
type gitRepository struct {
	id            int64
	owner, name   string
	defaultBranch string
	parent        *gitRepository // of a fork
	created       time.Time
	git           *memory.Storage
	signed        map[plumbing.Hash]bool // commits that GitHub signed
	settings      Settings
	issues        []*pullRequest     // by number, from 1; some are issues only
	releases      map[string]Release // by tag
	labels        map[string]string  // names by lower-case name
	renamed       map[string]string  // branches: their present names
	unlisted      int                // number of lists that could not give it
}

func (g *GitHub) newRepository(owner, name, defaultBranch string) *gitRepository {
	return &gitRepository{
		id: g.nextID(), created: g.clock, owner: owner, name: name, defaultBranch: defaultBranch,
		git:    memory.NewStorage(),
		signed: map[plumbing.Hash]bool{},
		labels: map[string]string{}, renamed: map[string]string{},
	}
}

func (r *gitRepository) fullName() string { return r.owner + "/" + r.name }

// gitEntry is a tree's entry for a path: a file, a link or a submodule.
type gitEntry struct {
	mode filemode.FileMode
	hash plumbing.Hash
}

// listing is a whole tree, flat: entries by slash-separated path.
type listing map[string]gitEntry

// put writes a file into the listing, and replaces entries that are in its way.
func (r *gitRepository) put(list listing, name string, f File) error {
	if !validTreePath(name) {
		return fmt.Errorf("%q is no path of a tree", name)
	}
	mode, err := parseMode(f.Mode)
	if err != nil {
		return err
	}
	hash := plumbing.NewHash(string(f.Content))
	if mode != filemode.Submodule {
		hash = r.writeBlob(f.Content)
	}
	list.remove(name)
	list.set(name, gitEntry{mode, hash})
	return nil
}

// set puts an entry in. It removes files whose names its directories need.
func (l listing) set(name string, e gitEntry) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		delete(l, dir)
	}
	l[name] = e
}

// remove removes a file or a whole directory, and reports whether there was one.
func (l listing) remove(name string) bool {
	_, found := l[name]
	delete(l, name)
	for p := range l {
		if strings.HasPrefix(p, name+"/") {
			delete(l, p)
			found = true
		}
	}
	return found
}

// parseMode reads a mode of a file; an empty one is an ordinary file.
func parseMode(s string) (filemode.FileMode, error) {
	switch s {
	case "", ModeFile:
		return filemode.Regular, nil
	case ModeExecutable:
		return filemode.Executable, nil
	case ModeLink:
		return filemode.Symlink, nil
	case ModeSubmodule:
		return filemode.Submodule, nil
	}
	return 0, fmt.Errorf("%q is no mode of a file", s)
}

// modeText is a mode as the API writes it, with six digits.
func modeText(m filemode.FileMode) string { return fmt.Sprintf("%06o", uint32(m)) }

// validTreePath reports whether git would accept the path in a tree.
func validTreePath(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") || strings.ContainsRune(part, 0) {
			return false
		}
	}
	return true
}

func (r *gitRepository) writeBlob(content []byte) plumbing.Hash {
	o := r.git.NewEncodedObject()
	o.SetType(plumbing.BlobObject)
	w, err := o.Writer()
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("writing a blob to memory: " + err.Error())
	}
	return r.store(o)
}

// store keeps an object. The memory storage refuses no well-formed object.
func (r *gitRepository) store(o plumbing.EncodedObject) plumbing.Hash {
	hash, err := r.git.SetEncodedObject(o)
	if err != nil {
		panic("storing an object in memory: " + err.Error())
	}
	return hash
}

func (r *gitRepository) readBlob(hash plumbing.Hash) ([]byte, error) {
	b, err := object.GetBlob(r.git, hash)
	if err != nil {
		return nil, err
	}
	f, err := b.Reader()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// writeTree writes the trees of all directories and returns the topmost.
func (r *gitRepository) writeTree(list listing) plumbing.Hash {
	var entries []object.TreeEntry
	below := map[string]listing{}
	for name, e := range list {
		dir, rest, nested := strings.Cut(name, "/")
		if !nested {
			entries = append(entries, object.TreeEntry{Name: name, Mode: e.mode, Hash: e.hash})
			continue
		}
		if below[dir] == nil {
			below[dir] = listing{}
		}
		below[dir][rest] = e
	}
	for dir, list := range below {
		entries = append(entries, object.TreeEntry{Name: dir, Mode: filemode.Dir, Hash: r.writeTree(list)})
	}
	sort.Sort(object.TreeEntrySorter(entries))
	o := r.git.NewEncodedObject()
	if err := (&object.Tree{Entries: entries}).Encode(o); err != nil {
		panic("encoding a sorted tree: " + err.Error())
	}
	return r.store(o)
}

// readTree returns everything below a tree.
func (r *gitRepository) readTree(hash plumbing.Hash) (listing, error) {
	list := listing{}
	err := r.walkTree(hash, true, func(name string, e gitEntry) error {
		if e.mode != filemode.Dir {
			list[name] = e
		}
		return nil
	})
	return list, err
}

// walkTree visits the entries of a tree in git's order, directories before their
// content.
func (r *gitRepository) walkTree(hash plumbing.Hash, recursive bool, visit func(string, gitEntry) error) error {
	tree, err := object.GetTree(r.git, hash)
	if err != nil {
		return err
	}
	w := object.NewTreeWalker(tree, recursive, nil)
	defer w.Close()
	for {
		name, e, err := w.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = visit(name, gitEntry{e.Mode, e.Hash})
		}
		if err != nil {
			return err
		}
	}
}

func (r *gitRepository) writeCommit(c object.Commit) plumbing.Hash {
	o := r.git.NewEncodedObject()
	if err := c.Encode(o); err != nil {
		panic("encoding a commit: " + err.Error())
	}
	return r.store(o)
}

func (r *gitRepository) commit(hash plumbing.Hash) (*object.Commit, error) {
	return object.GetCommit(r.git, hash)
}

// branch returns the head of a branch, or the zero hash.
func (r *gitRepository) branch(name string) plumbing.Hash {
	return r.ref(plumbing.NewBranchReferenceName(name))
}

func (r *gitRepository) ref(name plumbing.ReferenceName) plumbing.Hash {
	ref, err := r.git.Reference(name)
	if err != nil {
		return plumbing.ZeroHash
	}
	return ref.Hash()
}

// resolve finds the object of a full SHA, a branch, a tag or a full ref name, in
// the order of git's rev-parse. An empty name is the default branch.
func (r *gitRepository) resolve(name string) (plumbing.Hash, bool) {
	if name == "" || name == "HEAD" {
		name = r.defaultBranch
	}
	if plumbing.IsHash(name) {
		hash := plumbing.NewHash(name)
		return hash, r.git.HasEncodedObject(hash) == nil
	}
	for _, prefix := range []string{"", "refs/", "refs/tags/", "refs/heads/"} {
		if hash := r.ref(plumbing.ReferenceName(prefix + name)); !hash.IsZero() {
			return hash, true
		}
	}
	return plumbing.ZeroHash, false
}

// commitAt returns the commit that resolve finds.
func (r *gitRepository) commitAt(name string) (*object.Commit, bool) {
	hash, ok := r.resolve(name)
	if !ok {
		return nil, false
	}
	c, err := r.commit(hash)
	return c, err == nil
}

// treeAt returns the tree that resolve finds, or that of the commit.
func (r *gitRepository) treeAt(name string) (plumbing.Hash, bool) {
	hash, ok := r.resolve(name)
	if !ok {
		return plumbing.ZeroHash, false
	}
	if c, err := r.commit(hash); err == nil {
		return c.TreeHash, true
	}
	_, err := object.GetTree(r.git, hash)
	return hash, err == nil
}

// contains reports whether the old commit is the new one or an ancestor of it.
func (r *gitRepository) contains(newer, older plumbing.Hash) bool {
	o, err := r.commit(older)
	if err != nil {
		return false
	}
	n, err := r.commit(newer)
	if err != nil {
		return false
	}
	ok, err := o.IsAncestor(n)
	return err == nil && ok
}

// mergeBase returns the best common ancestor of two commits.
func (r *gitRepository) mergeBase(a, b *object.Commit) (*object.Commit, bool) {
	bases, err := a.MergeBase(b)
	if err != nil || len(bases) == 0 {
		return nil, false
	}
	return bases[0], true
}

// log returns the commits that are reachable from one commit but not from the
// other, newest first. A nil other excludes nothing.
func (r *gitRepository) log(from, without *object.Commit) ([]*object.Commit, error) {
	seen := map[plumbing.Hash]bool{}
	if without != nil {
		err := object.NewCommitPreorderIter(without, nil, nil).ForEach(func(c *object.Commit) error {
			seen[c.Hash] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var commits []*object.Commit
	err := object.NewCommitIterCTime(from, seen, nil).ForEach(func(c *object.Commit) error {
		commits = append(commits, c)
		return nil
	})
	return commits, err
}

// refUpdate is one change of a ref. A zero after deletes the ref.
type refUpdate struct {
	name  plumbing.ReferenceName
	after plumbing.Hash
	// before, if not nil, is the value that the ref must have now; zero means
	// that it must not exist.
	before *plumbing.Hash
	force  bool // allows updates that are no fast-forward
}

// update makes all the changes, or none if one of them is refused.
func (r *gitRepository) update(updates ...refUpdate) error {
	for _, u := range updates {
		if err := r.checkUpdate(u); err != nil {
			return err
		}
		if err := r.obeys(u); err != nil {
			return err
		}
	}
	for _, u := range updates {
		if u.after.IsZero() {
			delete(r.git.ReferenceStorage, u.name)
			continue
		}
		r.git.ReferenceStorage[u.name] = plumbing.NewHashReference(u.name, u.after)
	}
	return nil
}

// checkUpdate says why GitHub would refuse the change.
func (r *gitRepository) checkUpdate(u refUpdate) error {
	now := r.ref(u.name)
	switch {
	case !validRef(u.name):
		return unprocessable("%s is not a valid ref name.", u.name)
	case u.before != nil && u.before.IsZero() && !now.IsZero():
		return unprocessable("Reference already exists")
	case u.before != nil && *u.before != now:
		return unprocessable("%s is at %s but expected %s", u.name, now, *u.before)
	case u.after.IsZero() && now.IsZero():
		return unprocessable("Reference does not exist")
	case u.after.IsZero() && u.name == plumbing.NewBranchReferenceName(r.defaultBranch):
		return unprocessable("Cannot delete the default branch")
	case u.after.IsZero():
		return nil
	case r.git.HasEncodedObject(u.after) != nil:
		return unprocessable("Object does not exist")
	case u.name.IsBranch() && !r.isCommit(u.after):
		return unprocessable("Object is not a commit")
	case now.IsZero() && r.collides(u.name):
		return unprocessable("Reference update failed")
	case !now.IsZero() && !u.force && !r.contains(u.after, now):
		return unprocessable("Update is not a fast forward")
	}
	return nil
}

func (r *gitRepository) isCommit(hash plumbing.Hash) bool {
	_, err := r.commit(hash)
	return err == nil
}

// validRef reports whether GitHub lets clients write the name: by git's rules,
// and with at least two slashes.
func validRef(name plumbing.ReferenceName) bool {
	return strings.HasPrefix(name.String(), "refs/") && strings.Count(name.String(), "/") >= 2 && name.Validate() == nil
}

// collides reports whether one of two refs has the name of a directory of the
// other. git's files cannot hold both.
func (r *gitRepository) collides(name plumbing.ReferenceName) bool {
	for other := range r.git.ReferenceStorage {
		if strings.HasPrefix(other.String(), name.String()+"/") || strings.HasPrefix(name.String(), other.String()+"/") {
			return true
		}
	}
	return false
}
