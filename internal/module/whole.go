package module

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/relock-dev/relock/internal/moduleaddr"
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
		err := w.cache.saveWhole(pin, func(into *packageWriter) error {
			now, err := w.get(ctx, tool, at, archiveForm{hashed: true, whole: into})
			if err == nil && now.hash != pin {
				return moved(pin, now.hash)
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
