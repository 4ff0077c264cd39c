package scan

import (
	"cmp"
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// defaultFetches is how many calls are followed at once. Most are small questions to
// registries. The source bounds how many packages are fetched at once.
const defaultFetches = 32

// remoteCall is a call of a module that must be fetched, by the rules of a tool.
type remoteCall struct {
	tool provider.Tool
	Call
}

// packages are the module packages of one run. Walkers read them. Between their walks,
// missing packages are fetched.
type packages struct {
	source Source // nil if there is none
	jobs   int
	known  map[remoteCall]fetched
	// trees are shared by all calls with the same name for people and the same content, so
	// that each file is read once. The content alone is not enough, since the names of
	// places must not depend on the first caller.
	trees map[treeKey]*tfconfig.Tree
	inits memo.Once[tfconfig.Directory, *tfconfig.Tree]
}

type treeKey struct{ source, id string }

// fetched is the module of a call.
type fetched struct {
	at               tfconfig.Directory
	base             string // for the module's local sources
	version, id      string
	versions         *ModuleVersions
	hash, repository string // as in Package, like the next two
	reference        Reference
	published        time.Time
	err              error
}

// fetch asks for the modules of calls, each once and several at a time.
func (p *packages) fetch(ctx context.Context, calls []remoteCall) {
	type answer struct {
		Package
		err error
	}
	answers := ask.Each(p.jobs, calls, func(c remoteCall) (got answer) {
		got.Package, got.err = p.source.Fetch(ctx, c.tool, c.Call)
		return got
	})
	for c, got := range answers {
		pkg, err := got.Package, got.err
		if err != nil {
			p.known[c] = fetched{err: err}
			continue
		}
		key := treeKey{moduleaddr.ShownPackage(c.Source), pkg.ID}
		t, ok := p.trees[key]
		if !ok || pkg.ID == "" {
			t = tfconfig.PackageTree(pkg.FS, key.source)
			p.trees[key] = t
		}
		at, err := t.Dir(pkg.Dir)
		if _, told := errors.AsType[*problem.Error](err); err != nil && !told {
			err = &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreadModule, Message: "the module's directory in its package could not be read"}, Err: file.Cause(err)}
		}
		answer := answerOf(pkg, err)
		answer.at, answer.base = at, path.Clean(pkg.Dir)
		p.known[c] = answer
		if e, ok := entryOf(c.Call, answer, c.tool.Name); ok && c.Hash {
			c.Pin, c.Dated = pinOf(e), false // the same package
			p.known[c] = answer
		}
	}
}

// answerOf is what a source says of a package, without where its files are.
func answerOf(p Package, err error) fetched {
	return fetched{version: p.Version, versions: p.Versions, id: p.ID, hash: p.Hash, repository: p.Repository, reference: p.Reference, published: p.Published, err: err}
}

// stored is a module that the tool has installed below a root module.
func (p *packages) stored(root tfconfig.Directory, record Record) fetched {
	top, err := root.Dir(record.top())
	if err != nil {
		return fetched{err: err}
	}
	base := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(record.Dir, record.top()), "/"), ".")
	at, err := p.inits.Get(top, top.Below).Dir(base)
	return fetched{at: at, base: base, version: record.Version, err: err}
}
