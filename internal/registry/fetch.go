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
	patience  time.Duration // how long to wait for the size of an archive

	// archives has the result of each link, also the failures. sums has the hashes of
	// archives by zh, which identifies an archive at any URL.
	archives memo.Memo[reference, hash.Hashed]
	sums     memo.Memo[provider.Hash, hash.Hashed]

	fresh              sync.Map // zh of the downloaded archives
	had                sync.Map // the archives that were hashed
	contents           sync.Map // content.Inside by the zh of the archive, with Options.Content
	downloaded, cached atomic.Int64
}

// reference is a file that a registry or mirror refers to. It includes the referring
// server, which decides whether the file may be on this machine.
type reference struct {
	url, referrer string
	zh            provider.Hash // of an archive, if it is known before the download
}

func referenceTo(u, referrer *url.URL) reference {
	return reference{url: u.String(), referrer: transport.HostPort(referrer)}
}

// archiveLink says where an archive is and how to get it.
type archiveLink struct {
	url, from *url.URL      // nil url: only the known hashes are needed
	name      string        // the name of the file
	zh        provider.Hash // the required zh; empty if it is not known before the download
	retries   int           // as in cliconfig.Limits
	size      int64         // from the registry; 0 or less: not known
	limit     int64         // the most bytes to download; 0: hash.MaxSize
	// fits reports whether the archive may be the wanted one, if the zh is not known before
	// the download. nil accepts every archive.
	fits func(provider.Sum) bool
}

// admits reports whether an archive may be the wanted one.
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

// errNotKnown is the error for hashes that are not known and must not cost a download.
var errNotKnown = errors.New("not known")

// archive downloads and hashes an archive, without the token, unless the hashes of its zh
// are known. The zh is from the checksum list. It is an error if the archive's bytes are
// others.
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
		// From here on this zh needs no download.
		return f.sums.Do(ctx, hashed.Sum.ZH, func() (hash.Hashed, error) { return hashed, nil })
	})
}

// sizeTimeout is how long a server may take to say how large an archive is. Some servers
// never answer HEAD, although they work. So the question has a context of its own, and the
// host's state does not change.
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

// sum returns the hashes of the archive with this zh: from this run, from the cache, or
// from read. The zh must be sure.
func (f *fetcher) sum(ctx context.Context, zh provider.Hash, read func() (hash.Hashed, error)) (hash.Hashed, error) {
	return f.sums.Do(ctx, zh, func() (hash.Hashed, error) {
		if hashed, ok := f.computed(zh); ok {
			f.cached.Add(1)
			return hashed, nil
		}
		return read()
	})
}

// known returns the hashes of the archive with this zh, if this run or the cache has them.
func (f *fetcher) known(ctx context.Context, zh provider.Hash) (hash.Hashed, error) {
	if hashed, ok := f.computed(zh); ok {
		return hashed, nil
	}
	return f.sums.Do(ctx, zh, func() (hash.Hashed, error) { return hash.Hashed{}, errNotKnown })
}

// computed asks the cache for the hashes of an archive. Only hashes that relock has
// computed count.
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
			body.Close() // no byte was read, so its error does not matter
			return nil, statusError("downloading "+transport.Redact(l.url), resp.URL, resp.Status)
		}
		return f.opts.watch(l.name, max(resp.Size, l.size), body), nil
	})
}

// read waits for its turn, hashes an archive, and adds the hashes to the cache. If the link
// has a limit, the archive is requested once and copied to a temporary file.
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
		body.Close() // everything needed was read
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

// stream hashes an archive without a copy. If it is not the expected archive, it is
// requested again: a bit may have flipped on the way, and a cache may have kept the fault.
// So every request after the first bypasses caches.
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

// whole hashes an archive by way of a temporary file. With Options.Content it also inspects
// the files in it.
func (f *fetcher) whole(body io.Reader) (hash.Hashed, error) {
	copied, err := file.NewTemporary()
	if err != nil {
		return hash.Hashed{}, err
	}
	defer copied.Remove() // the file is no longer needed
	hashed, err := hash.Copied(body, copied)
	if f.opts.Content && (err == nil || errors.Is(err, hash.ErrUnpack)) {
		f.contents.Store(hashed.Sum.ZH, content.Inspect(copied, hashed.Sum.Size))
	}
	return hashed, err
}

// remember adds an entry to the cache. If the cache cannot be written, later runs download
// again, and this run goes on.
func (f *fetcher) remember(name string, e hash.Entry) {
	if err := f.opts.Cache.Add(e); err != nil {
		f.opts.Log.Warn("the hashes of a package could not be remembered", "package", name, "error", err)
	}
}

// hashesOf are the hashes of a package. It refuses a package without the provider's
// program: the tools do not install it, so they do not lock it [terraform 1.11
// internal/providercache/cached_provider.go].
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
