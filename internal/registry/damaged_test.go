package registry

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// flipped is an archive with one bit flipped in the middle.
func flipped(archive []byte) []byte {
	other := slices.Clone(archive)
	other[len(other)/2] ^= 1
	return other
}

// damagedBy answers as a cache with a damaged copy of an archive. Only requests that bypass
// caches get the archive itself, if it heals. It counts the requests.
func damagedBy(asked *atomic.Int64, archive []byte, heals bool) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if heals && r.Header.Get("Cache-Control") == "no-cache" && r.Header.Get("Pragma") == "no-cache" {
			w.Write(archive)
			return
		}
		w.Write(flipped(archive))
	}
}

// TestDamagedArchiveIsAskedForOnceMore serves packages with a flipped bit, from each kind
// of source.
func TestDamagedArchiveIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	// The flipped bit is in the middle of the program, not in the table at the end.
	long := pack(program(fmt.Sprint(rand.New(rand.NewPCG(1, 2)).Perm(1000))))
	direct := func(t *testing.T, asked *atomic.Int64, heals bool) *Client {
		f := newFixture(t)
		f.list = strings.Replace(f.list, sha256Hex(f.zips[linux]), sha256Hex(long), 1)
		f.zips[linux] = long
		f.hook = func(w http.ResponseWriter, r *http.Request) bool {
			archive := r.URL.Path == "/files/"+linux.String()
			if archive {
				damagedBy(asked, f.zips[linux], heals)(w, r)
			}
			return archive
		}
		return f.client(t, Options{}, "")
	}
	mirrored := func(named func(m *mirror) []provider.Hash) func(*testing.T, *atomic.Int64, bool) *Client {
		return func(t *testing.T, asked *atomic.Int64, heals bool) *Client {
			m := newMirror(t)
			m.zips[linux] = long
			m.name(linux, named(m)...)
			m.hook = func(w http.ResponseWriter, r *http.Request) bool {
				archive := r.URL.Path == "/m/"+string(opentofuHost)+"/hashicorp/alpha/packages/"+linux.String()+".zip"
				if archive {
					damagedBy(asked, m.zips[linux], heals)(w, r)
				}
				return archive
			}
			return m.client(t, Options{}, "", "")
		}
	}
	fromOCI := func(t *testing.T, asked *atomic.Int64, heals bool) *Client {
		o := newOCIRegistry(t)
		o.tag("1.1.0", o.target(linux, long))
		o.hook = func(w http.ResponseWriter, r *http.Request) bool {
			archive := r.URL.Path == "/v2/providers/alpha/blobs/"+digest.FromBytes(long).String()
			if archive {
				damagedBy(asked, long, heals)(w, r)
			}
			return archive
		}
		return o.client(t, "")
	}
	for name, tt := range map[string]struct {
		client func(*testing.T, *atomic.Int64, bool) *Client
		tool   provider.Tool
		code   problem.Code // if it is damaged again
		asked  int64        // then
	}{
		"registry":             {direct, terraform, problem.CodeBadChecksum, 2},
		"mirror_that_names_zh": {mirrored(func(m *mirror) []provider.Hash { return []provider.Hash{m.sum(t, linux).Sum.ZH} }), terraform, problem.CodeBadPackage, 2},
		"mirror_that_names_h1": {mirrored(func(m *mirror) []provider.Hash { return []provider.Hash{m.sum(t, linux).Sum.H1Zip} }), terraform, problem.CodeBadPackage, 2},
		"mirror":               {mirrored(func(*mirror) []provider.Hash { return nil }), terraform, problem.CodeBadPackage, 2},
		"OCI_mirror":           {fromOCI, opentofu, problem.CodeBadChecksum, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var once, twice atomic.Int64
			if _, err := tt.client(t, &once, true).Hashes(t.Context(), tt.tool, want(opentofuHost, linux)); err != nil || once.Load() != 2 {
				t.Errorf("a package that comes damaged once: %v after %d questions, want none after 2", err, once.Load())
			}
			_, err := tt.client(t, &twice, false).Hashes(t.Context(), tt.tool, want(opentofuHost, linux))
			if !problem.Coded(err, tt.code) || twice.Load() != tt.asked {
				t.Errorf("a package that stays damaged: %v after %d questions, want %s after %d", err, twice.Load(), tt.code, tt.asked)
			}
		})
	}
}

// TestCountedArchiveIsAskedForOnce holds that a download stays within its limit.
func TestCountedArchiveIsAskedForOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var asked atomic.Int64
	f.hook = func(w http.ResponseWriter, r *http.Request) bool {
		archive := r.URL.Path == "/files/"+linux.String()
		if archive {
			asked.Add(1)
			w.Write(flipped(f.zips[linux]))
		}
		return archive
	}
	_, err := f.client(t, Options{}, "").Package(t.Context(), terraform, want(opentofuHost, linux), 1<<20)
	if !problem.Coded(err, problem.CodeBadChecksum) || asked.Load() != 1 {
		t.Errorf("error %v after %d questions, want %s after 1", err, asked.Load(), problem.CodeBadChecksum)
	}
}
