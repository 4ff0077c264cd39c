package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relock-dev/relock/internal/content"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// fetcher downloads archives and hashes them, each once in a run. All sources of
// a run share one.
type fetcher struct {
	transport *transport.Client
	opts      Options
	queue     *queue
	patience  time.Duration // with a server that does not say how large an archive is

	// archives has what happened to each link, failures too, and sums what archives
	// hash to by their zh, which identifies an archive whatever its URL.
	archives memo.Memo[reference, hash.Hashed]
	sums     memo.Memo[provider.Hash, hash.Hashed]

	fresh              sync.Map // zh of the archives that were downloaded
	had                sync.Map // those of archives that were hashed
	contents           sync.Map // content.Inside by the zh of the archive, with Options.Content
	downloaded, cached atomic.Int64
}

// reference is a file that a registry or mirror refers to. The referring server is
// part of it because it decides whether the file may be on this machine.
type reference struct {
	url, referrer string
	zh            provider.Hash // of an archive, if it is known before
}

func referenceTo(u, referrer *url.URL) reference {
	return reference{url: u.String(), referrer: transport.HostPort(referrer)}
}

// archiveLink says where an archive is and how to get it.
type archiveLink struct {
	url, from *url.URL      // no url where it is enough to know what the archive hashes to
	name      string        // of the file
	zh        provider.Hash // that it must have; empty if it is not known before
	retries   int           // as in cliconfig.Limits
	size      int64         // as the registry says; not above zero if it does not
	limit     int64         // of what may be downloaded for it; 0: hash.MaxSize
	// fits reports whether the archive is one that its server may mean, where the zh
	// is not known before; nil: any is.
	fits func(provider.Sum) bool
}

// admits reports whether an archive may be the one that is meant.
func (l archiveLink) admits(sum provider.Sum) bool {
	return (l.zh == "" || sum.ZH == l.zh) && (l.fits == nil || l.fits(sum))
}

func (l archiveLink) reference() reference {
	r := referenceTo(l.url, l.from)
	r.zh = l.zh
	return r
}

func newFetcher(t *transport.Client, opts Options) *fetcher {
	f := &fetcher{transport: t, opts: opts, queue: newQueue(opts.MaxDownloads), patience: sizeTimeout}
	f.sums.ForgetErrors = true
	return f
}

// errNotKnown is what happens to a sum that must not cost a download.
var errNotKnown = errors.New("not known")

// archive downloads and hashes an archive, without the token, unless an archive of
// that zh has been: the zh is of the checksum list, and the error says so where
// the bytes are others.
func (f *fetcher) archive(ctx context.Context, l archiveLink) (hash.Hashed, error) {
	if l.url == nil {
		return f.sum(ctx, l.zh, func() (hash.Hashed, error) { return hash.Hashed{}, errNotKnown })
	}
	return f.archives.Do(ctx, l.reference(), func() (hash.Hashed, error) {
		if l.zh != "" {
			return f.sum(ctx, l.zh, func() (hash.Hashed, error) { return f.download(ctx, l) })
		}
		hashed, err := f.download(ctx, l)
		if err != nil {
			return hashed, err
		}
		f.had.Store(l.reference(), true)
		// From here on nobody needs to download an archive of that zh.
		return f.sums.Do(ctx, hashed.Sum.ZH, func() (hash.Hashed, error) { return hashed, nil })
	})
}

// sizeTimeout is how long a server has to say how large an archive is. There are
// some that never answer HEAD; that says nothing about how they are, so that the
// context of the question ends, and not its time.
const sizeTimeout = 10 * time.Second

// size asks how large an archive is; 0 if its server does not say.
func (f *fetcher) size(ctx context.Context, at, from *url.URL) int64 {
	ctx, cancel := context.WithTimeout(ctx, f.patience)
	defer cancel()
	resp, err := f.transport.Do(ctx, transport.Request{Method: http.MethodHead, URL: at, Referrer: from, Limit: hash.MaxSize, NoRetry: true})
	if err != nil || resp.Status != http.StatusOK {
		return 0
	}
	return max(resp.Size, 0)
}

// sum returns what the archive with a zh hashes to: as was found in this run, as
// the cache knows, or as read computes. The zh must be sure.
func (f *fetcher) sum(ctx context.Context, zh provider.Hash, read func() (hash.Hashed, error)) (hash.Hashed, error) {
	return f.sums.Do(ctx, zh, func() (hash.Hashed, error) {
		if hashed, ok := f.computed(zh); ok {
			f.cached.Add(1)
			return hashed, nil
		}
		return read()
	})
}

// known is what the archive with a zh hashes to, as far as this run or the cache
// knows without asking for it.
func (f *fetcher) known(ctx context.Context, zh provider.Hash) (hash.Hashed, error) {
	if hashed, ok := f.computed(zh); ok {
		return hashed, nil
	}
	return f.sums.Do(ctx, zh, func() (hash.Hashed, error) { return hash.Hashed{}, errNotKnown })
}

// computed asks the cache what an archive hashes to. Only what relock has
// computed counts.
func (f *fetcher) computed(zh provider.Hash) (hash.Hashed, bool) {
	e, ok := f.opts.Cache.Lookup(zh)
	if !ok || e.Origin != hash.FromPackage {
		return hash.Hashed{}, false
	}
	return e.Hashed, true
}

// download downloads and hashes the archive of a link.
func (f *fetcher) download(ctx context.Context, l archiveLink) (hash.Hashed, error) {
	turn := f.queue.turn(l.url.Host, l.size)
	return f.read(ctx, turn, l, func(ctx context.Context) (io.ReadCloser, error) {
		resp, body, err := f.transport.Stream(ctx, transport.Request{
			URL: l.url, Referrer: l.from, Limit: cmp.Or(l.limit, hash.MaxSize), Retries: l.retries, Turn: turn,
		})
		if err != nil {
			return nil, err
		}
		if resp.Status != http.StatusOK {
			body.Close() // nothing of it has been read that an error could concern
			return nil, statusError("downloading "+transport.Redact(l.url), resp.URL, resp.Status)
		}
		return watch(f.opts.Watch, l.name, max(resp.Size, l.size), body), nil
	})
}

// read waits for its turn, hashes an archive, and adds that to the cache. An
// archive whose bytes are counted is asked for once, and is on disk meanwhile.
func (f *fetcher) read(ctx context.Context, turn *turn, l archiveLink, open func(context.Context) (io.ReadCloser, error)) (hashed hash.Hashed, err error) {
	if err := turn.Enter(ctx); err != nil {
		return hash.Hashed{}, err
	}
	defer turn.Leave()
	if l.limit == 0 {
		hashed, err = f.stream(ctx, l, open)
	} else if body, opened := open(ctx); opened != nil {
		err = opened
	} else {
		hashed, err = f.whole(body)
		body.Close() // all that matters of it has been read
	}
	switch {
	case hashed.Sum.ZH != "" && l.zh != "" && hashed.Sum.ZH != l.zh:
		return hash.Hashed{}, badChecksum("archive has incorrect checksum %s (expected %s)", hashed.Sum.ZH, l.zh)
	case hashed.Sum.ZH != "" && err != nil:
		return hash.Hashed{}, &problem.Error{Problem: problem.Problem{Code: problem.CodeBadPackage, Message: "archive " + l.name}, Err: err}
	case err != nil:
		return hash.Hashed{}, err
	}
	f.downloaded.Add(1)
	f.fresh.Store(hashed.Sum.ZH, true)
	f.remember(l.name, hash.Entry{Hashed: hashed, Origin: hash.FromPackage})
	return hashed, nil
}

// stream hashes an archive without a copy of it. One that is not what it should be is
// asked for again: a bit of it may have been flipped on the way, and a cache may
// have kept that. So every answer but the first comes past caches.
func (f *fetcher) stream(ctx context.Context, l archiveLink, open func(context.Context) (io.ReadCloser, error)) (hash.Hashed, error) {
	opened := 0
	next := func() (io.ReadCloser, error) {
		opened++
		if opened > 1 {
			return open(transport.PastCaches(ctx))
		}
		return open(ctx)
	}
	hashed, err := hash.Stream(next, l.zh)
	if hashed.Sum.ZH == "" || opened > 1 || l.admits(hashed.Sum) {
		return hashed, err
	}
	f.opts.Log.InfoContext(ctx, "an archive is not the expected one: asking again, past caches", "archive", l.name, "zh", hashed.Sum.ZH)
	return hash.Stream(next, l.zh)
}

// whole hashes an archive that is on disk meanwhile, and looks into it if anybody wants
// to know what it holds.
func (f *fetcher) whole(body io.Reader) (hash.Hashed, error) {
	copied, err := file.NewTemporary()
	if err != nil {
		return hash.Hashed{}, err
	}
	defer copied.Remove() // nothing of it is needed any more
	hashed, err := hash.Copied(body, copied)
	if f.opts.Content && (err == nil || errors.Is(err, hash.ErrUnpack)) {
		f.contents.Store(hashed.Sum.ZH, content.Inspect(copied, hashed.Sum.Size))
	}
	return hashed, err
}

// remember adds an entry to the cache. A cache that cannot be written costs
// later runs a download, and this one nothing.
func (f *fetcher) remember(name string, e hash.Entry) {
	if err := f.opts.Cache.Add(e); err != nil {
		f.opts.Log.Warn("the hashes of a package could not be remembered", "package", name, "error", err)
	}
}

// hashesOf says what a package hashes to. It refuses one that lacks the program of
// the provider: the tools install none such, and so lock none
// [terraform 1.11 internal/providercache/cached_provider.go].
func hashesOf(hashed hash.Hashed, want provider.Want) (provider.Hashes, error) {
	if !hashed.Runs(want.Addr.Type) {
		return provider.Hashes{}, naming(want, &problem.Error{
			Problem: problem.Problem{
				Code:    problem.CodeBadPackage,
				Message: fmt.Sprintf("%s: provider binary not found: no file whose name starts with terraform-provider-%s", subject(want), want.Addr.Type),
			},
		})
	}
	return provider.Hashes{Sum: hashed.Sum, Platform: want.Platform}, nil
}
