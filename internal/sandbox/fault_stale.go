package sandbox

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/storage/memory"
)

// staleReads are two replicas of GitHub: one from before a write, one from after
// it. A read is about the write if their answers differ.
type staleReads struct{ before, after *GitHub }

// writeStale carries a write out, and makes the next answer that shows it stale.
func writeStale(s *Sandbox, w http.ResponseWriter, r *http.Request, write http.Handler) {
	stale := &staleReads{before: replicaOf(s.github)}
	write.ServeHTTP(w, r)
	stale.after = replicaOf(s.github)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = stale
}

// answersStale answers a read of GitHub with the state before a write, if the
// write changes the answer. Only the first such read is stale.
func answersStale(s *Sandbox, w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	stale := s.stale
	s.mu.Unlock()
	if stale == nil || !strings.HasPrefix(r.URL.Path, "/github/") || r.Method != http.MethodGet && !isQuery(r) {
		return false
	}
	asked := peek(r)
	answer := func(replica *GitHub) *httptest.ResponseRecorder {
		hearOfTokens(replica, s.github)
		again := r.Clone(r.Context())
		again.Body = io.NopCloser(bytes.NewReader(asked))
		rec := httptest.NewRecorder()
		replica.ServeHTTP(rec, again)
		return rec
	}
	was, is := answer(stale.before), answer(stale.after)
	if was.Code == is.Code && bytes.Equal(was.Body.Bytes(), is.Body.Bytes()) {
		return false
	}
	s.mu.Lock()
	s.stale = nil
	s.mu.Unlock()
	maps.Copy(w.Header(), was.Header())
	w.WriteHeader(was.Code)
	_, _ = w.Write(was.Body.Bytes())
	return true
}

// hearOfTokens copies tokens that were made later to a replica.
func hearOfTokens(g, from *GitHub) {
	from.mu.Lock()
	tokens := maps.Clone(from.tokens)
	from.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tokens = tokens
}

// replicaOf returns a copy of the present GitHub. The copy later learns only of
// tokens.
func replicaOf(g *GitHub) *GitHub {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &GitHub{
		tokens: maps.Clone(g.tokens), apps: g.apps, rates: map[string]*rate{}, clock: g.clock, lastID: g.lastID, asked: g.asked,
		treeLimit: g.treeLimit, tokenLife: g.tokenLife, machine: g.machine, listing: g.listing, schema: g.schema, host: g.host,
	}
	c.contents.ContentLimit = g.contents.ContentLimit
	copies := map[*gitRepository]*gitRepository{}
	for _, all := range []map[string]*gitRepository{g.repos, g.moved} {
		for _, r := range all {
			if copies[r] == nil {
				copies[r] = repositoryCopy(r)
			}
		}
	}
	of := func(repos map[string]*gitRepository) map[string]*gitRepository {
		out := map[string]*gitRepository{}
		for name, r := range repos {
			out[name] = copies[r]
		}
		return out
	}
	c.repos, c.moved = of(g.repos), of(g.moved)
	for _, r := range copies {
		r.parent = copies[r.parent]
		for _, p := range r.issues {
			p.headRepo = copies[p.headRepo]
		}
	}
	c.handler = c.routes()
	return c
}

// repositoryCopy is a copy that still points to the originals of other
// repositories.
func repositoryCopy(r *gitRepository) *gitRepository {
	c := *r
	objects := r.git.ObjectStorage
	c.git = &memory.Storage{
		ReferenceStorage: maps.Clone(r.git.ReferenceStorage),
		ObjectStorage: memory.ObjectStorage{
			Objects: maps.Clone(objects.Objects), Commits: maps.Clone(objects.Commits), Trees: maps.Clone(objects.Trees),
			Blobs: maps.Clone(objects.Blobs), Tags: maps.Clone(objects.Tags),
		},
		ModuleStorage: memory.ModuleStorage{},
	}
	c.signed, c.labels, c.renamed = maps.Clone(r.signed), maps.Clone(r.labels), maps.Clone(r.renamed)
	c.settings.Protect = maps.Clone(r.settings.Protect)
	c.issues = make([]*pullRequest, len(r.issues))
	for i, p := range r.issues {
		c.issues[i] = pullCopy(p)
	}
	return &c
}

func pullCopy(p *pullRequest) *pullRequest {
	c := *p
	c.labels, c.assignees, c.opinions = slices.Clone(p.labels), slices.Clone(p.assignees), slices.Clone(p.opinions)
	c.reviewers, c.teamReviewers = slices.Clone(p.reviewers), slices.Clone(p.teamReviewers)
	if p.autoMerge != nil {
		merge := *p.autoMerge
		c.autoMerge = &merge
	}
	c.comments = make([]*issueComment, len(p.comments))
	for i, m := range p.comments {
		comment := *m
		comment.reactions = slices.Clone(m.reactions)
		c.comments[i] = &comment
	}
	return &c
}
