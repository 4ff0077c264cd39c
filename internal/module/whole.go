package module

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/url"
	"path"
	"strings"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/oci"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// wholes fetches whole packages for a client, and keeps them in its cache.
type wholes struct{ *Client }

// proven is the whole package at a location, from the cache if that has it.
func (w wholes) proven(ctx context.Context, tool provider.Tool, at location, pin string) (contents, error) {
	if err := w.mayRead(at); err != nil {
		return contents{}, err
	}
	if err := w.prove(ctx, at, pin); err != nil {
		return contents{}, err
	}
	return w.saved.Do(ctx, savedQuestion{at.origin(), pin}, func() (contents, error) {
		if got, err := w.cache.whole(pin); err == nil {
			return got, nil
		}
		if err := w.opts.mayAsk(); err != nil {
			return contents{}, err
		}
		if w.slots.Acquire(ctx, 1) != nil {
			return contents{}, ended(ctx)
		}
		defer w.slots.Release(1)
		err := w.cache.saveWhole(pin, func(into *packageWriter) error {
			now, err := w.getWhole(ctx, tool, at, into)
			if err == nil && now != pin {
				return moved(pin, now)
			}
			return err
		})
		if err != nil {
			return contents{}, err
		}
		return w.cache.whole(pin)
	})
}

// savedQuestion is a package that must have a hash.
type savedQuestion struct {
	packageOrigin
	hash string
}

// prove returns an error unless a hash can be that of the package at a location. A commit must
// be on a branch or a tag of its repository.
func (w wholes) prove(ctx context.Context, at location, pin string) error {
	commit, isCommit := strings.CutPrefix(pin, gitHash)
	if (at.address.Package.Getter == "git") != isCommit {
		return moved(pin, "")
	}
	if !isCommit {
		return nil
	}
	r, _, err := w.gits.named(ctx, at.address.Package, at.from)
	if err != nil {
		return err
	}
	if w.opts.Silent && r.url.Scheme == "ssh" { // a run with a token asks over https
		over := url.URL{Scheme: "https", Host: r.url.Hostname(), Path: r.url.Path, RawQuery: r.url.RawQuery}
		if w.cache.reachable(gitID(&over, commit)) {
			return nil
		}
	}
	return w.gits.prove(ctx, r, commit)
}

// getWhole fetches all files of a package, and returns their hash.
func (w wholes) getWhole(ctx context.Context, tool provider.Tool, at location, into *packageWriter) (string, error) {
	a, from := at.address.Package, at.from
	w.opts.Log.DebugContext(ctx, "fetching a whole module package", "getter", a.Getter, "url", redact(a.URL))
	want := archiveForm{hashed: true, whole: into}
	var got contents
	var err error
	switch {
	case at.archive != nil:
		got, err = w.web.download(ctx, *at.archive, want, checksum{})
	case a.Getter == "git":
		return into.addNamed(ctx, &w.gits, a, from)
	case a.Getter == "http" || a.Getter == "https":
		got, err = w.web.fetch(ctx, a, from, want)
	case a.Getter == "s3" || a.Getter == "gcs":
		got, err = w.stores.fetch(ctx, a, from, want)
	case a.Getter == "oci" && tool.Has(provider.OCIModules):
		got, err = fromOCI(ctx, oci.Client{Transport: w.transport, Ambient: w.opts.Ambient}, w.tools[tool.Name].config, w.cache, a, want)
	default:
		return "", invalidAddress("invalid module source address: %s fetches no package of the kind %q that can be locked", tool, a.Getter)
	}
	return got.hash, err
}

// addNamed adds all files of the commit that an address names, and returns their hash. git
// has checked its objects when it got them.
func (w *packageWriter) addNamed(ctx context.Context, g *gits, a moduleaddr.Package, from *url.URL) (string, error) {
	r, ref, err := g.named(ctx, a, from)
	if err != nil {
		return "", err
	}
	g.cache.fetched.Add(1)
	return inRepository(ctx, g, r, func(repository *gitRepository) (string, error) {
		return gitHash + ref.name, w.addCommit(ctx, g, repository, ref.name, "", 0)
	})
}

// addCommit adds all files of a commit, as they were committed, and those of its submodules.
// The tools stop at the first submodule that cannot be fetched [go-getter 1.7 get_git.go].
func (w *packageWriter) addCommit(ctx context.Context, g *gits, r *gitRepository, commit, dir string, depth int) error {
	if err := r.fetchCommit(ctx, commit); err != nil {
		return err
	}
	var blobs, modules []gitEntry
	err := r.list(ctx, commit, func(e gitEntry) error {
		switch e.mode {
		case modeDir:
		case modeModule:
			modules = append(modules, e)
		default:
			blobs = append(blobs, e)
		}
		if len(blobs)+len(modules) > maxEntries {
			return errTooMany
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = r.readBlobs(ctx, blobs, func(b gitEntry, size int64, content io.Reader) error {
		mode := fs.FileMode(0o644)
		switch b.mode {
		case modeLink:
			mode = fs.ModeSymlink
		case modeExec:
			mode = 0o755
		}
		return w.add(path.Join(dir, b.name), mode, size, content)
	})
	if err != nil || len(modules) == 0 {
		return err
	}
	config, err := r.gitmodules(ctx, commit)
	if err != nil {
		return err
	}
	for i, link := range modules {
		at := path.Join(dir, link.name)
		settings, ok := config[link.name]
		switch {
		case settings.update == "none": // the tools leave the directory empty, too [go-getter 1.7 get_git.go]
			err = w.addDir(at)
		case !ok:
			err = unread(".gitmodules has no URL for it")
		case i >= maxSubmodules || depth >= maxSubmoduleDepth:
			err = unread("the git repository has too many submodules")
		default:
			err = w.addSubmodule(ctx, g, r, link.id, settings.url, at, depth)
		}
		if err != nil {
			return attempting("fetching the git submodule "+link.name, err)
		}
	}
	return nil
}

func (w *packageWriter) addSubmodule(ctx context.Context, g *gits, parent *gitRepository, commit, text, dir string, depth int) error {
	child, err := g.openSubmodule(ctx, parent, text)
	if err != nil {
		return err
	}
	defer child.close()
	return w.addCommit(ctx, g, child, commit, dir, depth+1)
}

// place is where the module of a pinned call is in its package, as servers have said. A later
// run that has the package need not ask again.
type place struct {
	Dir string `json:"dir,omitempty"`
	// Parts are the directories that the servers have cut out, outermost last.
	Parts []string `json:"parts,omitempty"`
}

// placeKey identifies a pinned call of an address.
func placeKey(a moduleaddr.Address, pin scan.Pin) string {
	label, _ := a.Label()
	return strings.Join([]string{"place", label, a.Subdir, pin.Version, pin.Hash}, "\n")
}

// remembered is the module of a pinned call whose place servers have named in an earlier run.
func (w wholes) remembered(ctx context.Context, a moduleaddr.Address, call scan.Call) (answer, bool) {
	if !w.opts.Whole || call.Pin.Hash == "" {
		return answer{}, false
	}
	var p place
	text, ok := w.cache.note(placeKey(a, call.Pin))
	if !ok || json.Unmarshal([]byte(text), &p) != nil {
		return answer{}, false
	}
	whole, err := w.saved.Do(ctx, savedQuestion{hash: call.Pin.Hash}, func() (contents, error) { return w.cache.whole(call.Pin.Hash) })
	if err != nil {
		return answer{}, false
	}
	got, err := w.within(ctx, whole, p.Parts, p.Dir)
	got.version = call.Pin.Version
	return got, err == nil
}

// remember notes the place of a pinned call's module, if servers have said where it is.
func (w wholes) remember(a moduleaddr.Address, pin scan.Pin, p place) {
	told := len(p.Parts) > 0 || a.Kind == moduleaddr.Registry && pin.Package == ""
	if !w.opts.Whole || pin.Hash == "" || !told {
		return
	}
	text, err := json.Marshal(p)
	if err == nil {
		w.cache.setNote(placeKey(a, pin), string(text))
	}
}
