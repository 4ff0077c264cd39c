package sandbox

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// dataRoutes are the Git Data API: refs, blobs, trees and commits.
var dataRoutes = []route{
	{"GET", "/repos/{owner}/{repo}/git/ref/{ref...}", http.StatusOK, (*apiCall).getRef, readContents},
	{"GET", "/repos/{owner}/{repo}/git/matching-refs/{ref...}", http.StatusOK, (*apiCall).matchingRefs, readContents},
	{"POST", "/repos/{owner}/{repo}/git/refs", http.StatusCreated, (*apiCall).createRef, writeContents},
	{"PATCH", "/repos/{owner}/{repo}/git/refs/{ref...}", http.StatusOK, (*apiCall).moveRef, writeContents},
	{"DELETE", "/repos/{owner}/{repo}/git/refs/{ref...}", http.StatusNoContent, (*apiCall).deleteRef, writeContents},
	{"GET", "/repos/{owner}/{repo}/git/blobs/{sha}", http.StatusOK, (*apiCall).getBlob, readContents},
	{"POST", "/repos/{owner}/{repo}/git/blobs", http.StatusCreated, (*apiCall).createBlob, writeContents},
	{"GET", "/repos/{owner}/{repo}/git/trees/{sha...}", http.StatusOK, (*apiCall).getTree, readContents},
	{"POST", "/repos/{owner}/{repo}/git/trees", http.StatusCreated, (*apiCall).createTree, writeContents},
	{"GET", "/repos/{owner}/{repo}/git/commits/{sha}", http.StatusOK, (*apiCall).getCommit, readContents},
	{"POST", "/repos/{owner}/{repo}/git/commits", http.StatusCreated, (*apiCall).createCommit, writeContents},
}

func (c *apiCall) refName() plumbing.ReferenceName {
	return plumbing.ReferenceName("refs/" + c.PathValue("ref"))
}

func (c *apiCall) getRef() (any, error) {
	name := c.refName()
	hash := c.repo.ref(name)
	if hash.IsZero() {
		return nil, errNotFound
	}
	return c.refDoc(name, hash), nil
}

func (c *apiCall) matchingRefs() (any, error) {
	var names []plumbing.ReferenceName
	for name := range c.repo.git.ReferenceStorage {
		if strings.HasPrefix(name.String(), c.refName().String()) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return each(names, func(n plumbing.ReferenceName) doc { return c.refDoc(n, c.repo.ref(n)) }), nil
}

func (c *apiCall) createRef() (any, error) {
	var in struct{ Ref, SHA string }
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	after, err := parseSHA(in.SHA)
	if err != nil {
		return nil, err
	}
	name := plumbing.ReferenceName(in.Ref)
	return c.updateRef(refUpdate{name: name, after: after, before: new(plumbing.Hash)})
}

func (c *apiCall) moveRef() (any, error) {
	var in struct {
		SHA   string
		Force bool
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	after, err := parseSHA(in.SHA)
	if err != nil {
		return nil, err
	}
	if c.repo.ref(c.refName()).IsZero() {
		return nil, unprocessable("Reference does not exist")
	}
	return c.updateRef(refUpdate{name: c.refName(), after: after, force: in.Force})
}

func (c *apiCall) deleteRef() (any, error) {
	_, err := c.updateRef(refUpdate{name: c.refName()})
	return nil, err
}

func (c *apiCall) updateRef(u refUpdate) (any, error) {
	if !c.mayMove(c.repo, u.name) {
		return nil, c.refuse()
	}
	if err := c.mayHold(c.repo, u); err != nil {
		return nil, err
	}
	if err := c.hub.updateRefs(c.repo, c.who.Login, u); err != nil {
		return nil, err
	}
	return c.refDoc(u.name, u.after), nil
}

var fullSHA = regexp.MustCompile(`^[0-9a-f]{40}$`)

func parseSHA(s string) (plumbing.Hash, error) {
	if !fullSHA.MatchString(s) {
		return plumbing.ZeroHash, unprocessable("The sha parameter must be exactly 40 characters and contain only [0-9a-f].")
	}
	hash := plumbing.NewHash(s)
	if hash.IsZero() {
		return hash, unprocessable("Object does not exist")
	}
	return hash, nil
}

func (c *apiCall) refDoc(name plumbing.ReferenceName, hash plumbing.Hash) doc {
	kind := "commit"
	if o, err := c.repo.git.EncodedObject(plumbing.AnyObject, hash); err == nil {
		kind = o.Type().String()
	}
	short := strings.TrimPrefix(name.String(), "refs/")
	return doc{
		"ref": name.String(), "node_id": refID(c.repo, name),
		"url":    c.api(c.repo, "/git/refs/%s", short),
		"object": doc{"type": kind, "sha": hash.String(), "url": c.api(c.repo, "/git/%ss/%s", kind, hash)},
	}
}

// refID is the ref's name in GraphQL.
func refID(r *gitRepository, name plumbing.ReferenceName) string {
	return "REF_" + base64.RawURLEncoding.EncodeToString([]byte(r.fullName()+":"+name.String()))
}

func (c *apiCall) getBlob() (any, error) {
	hash, err := parseSHA(c.PathValue("sha"))
	if err != nil {
		return nil, err
	}
	content, err := c.repo.readBlob(hash)
	if err != nil {
		return nil, errNotFound
	}
	if c.accepts("raw") || c.accepts("raw+json") {
		return rawAnswer{http.StatusOK, "application/vnd.github.raw", content}, nil
	}
	return doc{
		"sha": hash.String(), "node_id": "B_" + hash.String(), "size": len(content),
		"url":     c.api(c.repo, "/git/blobs/%s", hash),
		"content": base64Lines(content), "encoding": "base64",
	}, nil
}

// base64Lines breaks Base64 after 60 characters, as GitHub does.
func base64Lines(content []byte) string {
	var b strings.Builder
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(content)), 60) {
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

func (c *apiCall) createBlob() (any, error) {
	var in struct {
		Content  *string
		Encoding string
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if in.Content == nil {
		return nil, unprocessable("Invalid request.\n\n\"content\" wasn't supplied.")
	}
	content := []byte(*in.Content)
	switch in.Encoding {
	case "", "utf-8":
	case "base64":
		decoded, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(*in.Content, "\n", ""))
		if err != nil {
			return nil, unprocessable("content is not valid Base64")
		}
		content = decoded
	default:
		return nil, unprocessable("encoding must be either 'utf-8' or 'base64'")
	}
	hash := c.repo.writeBlob(content)
	return doc{"sha": hash.String(), "url": c.api(c.repo, "/git/blobs/%s", hash)}, nil
}

func (c *apiCall) getTree() (any, error) {
	hash, ok := c.repo.treeAt(c.PathValue("sha"))
	if !ok {
		return nil, errNotFound
	}
	return c.treeDoc(hash, c.URL.Query().Has("recursive")) // any value, even 0 and false
}

// treeDoc lists a tree up to GitHub's limit; a recursive one lists the
// directories too.
func (c *apiCall) treeDoc(hash plumbing.Hash, recursive bool) (doc, error) {
	entries := []doc{}
	cut := errors.New("limit reached")
	err := c.repo.walkTree(hash, recursive, func(name string, e gitEntry) error {
		if len(entries) == c.hub.treeLimit {
			return cut
		}
		entries = append(entries, c.treeEntryDoc(name, e))
		return nil
	})
	if err != nil && !errors.Is(err, cut) {
		return nil, err
	}
	return doc{
		"sha": hash.String(), "url": c.api(c.repo, "/git/trees/%s", hash),
		"tree": entries, "truncated": err != nil,
	}, nil
}

func (c *apiCall) treeEntryDoc(name string, e gitEntry) doc {
	d := doc{"path": name, "mode": modeText(e.mode), "sha": e.hash.String()}
	switch e.mode {
	case filemode.Dir:
		d["type"], d["url"] = "tree", c.api(c.repo, "/git/trees/%s", e.hash)
	case filemode.Submodule:
		d["type"] = "commit"
	default:
		d["type"], d["url"] = "blob", c.api(c.repo, "/git/blobs/%s", e.hash)
		if size, err := c.repo.git.EncodedObjectSize(e.hash); err == nil {
			d["size"] = size
		}
	}
	return d
}

// treeChange is one entry of a request to create a tree.
type treeChange struct {
	Path, Mode, Type string
	Content          *string
	SHA              json.RawMessage // null deletes; absent is different from null
}

func (c *apiCall) createTree() (any, error) {
	var in struct {
		BaseTree string `json:"base_tree"`
		Tree     []treeChange
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if len(in.Tree) == 0 {
		return nil, unprocessable("Invalid tree info")
	}
	list := listing{}
	if in.BaseTree != "" {
		base, ok := c.repo.treeAt(in.BaseTree)
		if !ok || !fullSHA.MatchString(in.BaseTree) {
			return nil, unprocessable("base_tree is not a valid tree oid")
		}
		var err error
		list, err = c.repo.readTree(base)
		if err != nil {
			return nil, err
		}
	}
	for _, change := range in.Tree {
		if err := c.applyTreeChange(list, change); err != nil {
			return nil, err
		}
	}
	return c.treeDoc(c.repo.writeTree(list), false)
}

func (c *apiCall) applyTreeChange(list listing, change treeChange) error {
	if !validTreePath(change.Path) {
		return unprocessable("tree.path contains a malformed path component")
	}
	if string(change.SHA) == "null" {
		if !list.remove(change.Path) {
			return unprocessable("GitRPC::BadObjectState")
		}
		return nil
	}
	if change.Mode == modeText(filemode.Dir) {
		return c.graft(list, change)
	}
	mode, err := parseMode(change.Mode)
	if err != nil || change.Mode == "" {
		return unprocessable("Must supply a valid tree.mode")
	}
	hash, err := c.changedObject(change, mode)
	if err != nil {
		return err
	}
	list.remove(change.Path)
	list.set(change.Path, gitEntry{mode, hash})
	return nil
}

// changedObject returns the object that the entry will point to.
func (c *apiCall) changedObject(change treeChange, mode filemode.FileMode) (plumbing.Hash, error) {
	var sha string
	switch {
	case change.SHA != nil && change.Content != nil:
		return plumbing.ZeroHash, unprocessable("Must supply either tree.sha or tree.content, not both.")
	case change.Content != nil && mode != filemode.Submodule:
		return c.repo.writeBlob([]byte(*change.Content)), nil
	case change.SHA == nil || json.Unmarshal(change.SHA, &sha) != nil || !fullSHA.MatchString(sha):
		return plumbing.ZeroHash, unprocessable("Must supply a valid tree.sha or tree.content")
	}
	hash := plumbing.NewHash(sha)
	if mode == filemode.Submodule {
		return hash, nil // the commit is in another repository
	}
	if _, err := object.GetBlob(c.repo.git, hash); err != nil {
		return hash, unprocessable("tree.sha %s is not a valid blob", sha)
	}
	return hash, nil
}

// graft puts an existing tree in as a directory.
func (c *apiCall) graft(list listing, change treeChange) error {
	var sha string
	if json.Unmarshal(change.SHA, &sha) != nil || !fullSHA.MatchString(sha) {
		return unprocessable("Must supply a valid tree.sha or tree.content")
	}
	below, err := c.repo.readTree(plumbing.NewHash(sha))
	if err != nil {
		return unprocessable("tree.sha %s is not a valid tree", sha)
	}
	list.remove(change.Path)
	for name, e := range below {
		list.set(change.Path+"/"+name, e)
	}
	return nil
}

func (c *apiCall) getCommit() (any, error) {
	hash, err := parseSHA(c.PathValue("sha"))
	if err != nil {
		return nil, err
	}
	commit, err := c.repo.commit(hash)
	if err != nil {
		return nil, errNotFound
	}
	return c.commitDoc(commit), nil
}

// person is an author or committer of a request.
type person struct {
	Name, Email string
	Date        *time.Time
}

func (c *apiCall) createCommit() (any, error) {
	var in struct {
		Message, Tree     string
		Parents           []string
		Author, Committer *person
		Signature         string
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if in.Message == "" {
		return nil, unprocessable("Invalid request.\n\n\"message\" wasn't supplied.")
	}
	tree, ok := c.repo.treeAt(in.Tree)
	if !ok || !fullSHA.MatchString(in.Tree) {
		return nil, unprocessable("Tree SHA does not exist")
	}
	commit := object.Commit{Message: in.Message, TreeHash: tree, PGPSignature: in.Signature}
	for _, sha := range in.Parents {
		hash := plumbing.NewHash(sha)
		if !fullSHA.MatchString(sha) || !c.repo.isCommit(hash) {
			return nil, unprocessable("Parent SHA does not exist or is not a commit object")
		}
		commit.ParentHashes = append(commit.ParentHashes, hash)
	}
	now := c.hub.signature(c.who.Login)
	var err error
	commit.Author, err = in.Author.signature(now)
	if err != nil {
		return nil, err
	}
	commit.Committer, err = cmp.Or(in.Committer, in.Author).signature(now)
	if err != nil {
		return nil, err
	}
	hash := c.repo.writeCommit(commit)
	if c.who.Bot && in.Author == nil && in.Committer == nil {
		c.repo.signed[hash] = true
	}
	commit.Hash = hash
	return c.commitDoc(&commit), nil
}

// signature is the person's own, or the token's if p is nil.
func (p *person) signature(token object.Signature) (object.Signature, error) {
	if p == nil {
		return token, nil
	}
	if p.Name == "" || p.Email == "" {
		return token, unprocessable("Invalid request.\n\n\"name\" or \"email\" wasn't supplied.")
	}
	token.Name, token.Email = p.Name, p.Email
	if p.Date != nil {
		token.When = *p.Date
	}
	return token, nil
}

func (c *apiCall) commitDoc(commit *object.Commit) doc {
	return doc{
		"sha": commit.Hash.String(), "node_id": "C_" + commit.Hash.String(),
		"url":          c.api(c.repo, "/git/commits/%s", commit.Hash),
		"html_url":     c.web(c.repo, "/commit/%s", commit.Hash),
		"author":       signatureDoc(commit.Author),
		"committer":    signatureDoc(commit.Committer),
		"message":      commit.Message,
		"tree":         doc{"sha": commit.TreeHash.String(), "url": c.api(c.repo, "/git/trees/%s", commit.TreeHash)},
		"parents":      c.parentDocs(commit, "/git/commits/%s"),
		"verification": c.verificationDoc(commit),
	}
}

func (c *apiCall) parentDocs(commit *object.Commit, path string) []doc {
	return each(commit.ParentHashes, func(h plumbing.Hash) doc {
		return doc{"sha": h.String(), "url": c.api(c.repo, path, h), "html_url": c.web(c.repo, "/commit/%s", h)}
	})
}

// verificationDoc says whether GitHub signed the commit. The sandbox only
// remembers what GitHub would sign: commits of a bot's token that name neither
// author nor committer.
func (c *apiCall) verificationDoc(commit *object.Commit) doc {
	switch {
	case c.repo.signed[commit.Hash]:
		return doc{"verified": true, "reason": "valid", "signature": nil, "payload": nil, "verified_at": timestamp(commit.Committer.When)}
	case commit.PGPSignature != "":
		return doc{"verified": false, "reason": "unknown_key", "signature": commit.PGPSignature, "payload": nil, "verified_at": nil}
	}
	return doc{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil}
}

func signatureDoc(s object.Signature) doc {
	return doc{"name": s.Name, "email": s.Email, "date": timestamp(s.When)}
}
