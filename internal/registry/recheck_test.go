package registry

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/problem"
)

// TestListThatIsGoneIsToldApart holds that a missing list is not reported as a server that
// does not answer.
func TestListThatIsGoneIsToldApart(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"/SHA256SUMS", "/SHA256SUMS.sig"} {
		for status, found := range map[int]problem.Code{404: problem.CodeListGone, 410: problem.CodeListGone, 403: "", 503: ""} {
			f := newFixture(t)
			f.status[file] = status
			_, err := f.client(t, Options{}, "").Listing(t.Context(), terraform, want(privateHost, linux))
			e, ok := err.(*problem.Error)
			if !ok || e.Finding != found {
				t.Errorf("%s with status %d: %v, want the finding %q", file, status, err, found)
			}
		}
	}
}

// TestOriginIsAskedWhereTheMethodsAdmitIt holds that a configured mirror does not prevent
// reading the registry's list. If the methods do not allow the registry, nothing reads it.
func TestOriginIsAskedWhereTheMethodsAdmitIt(t *testing.T) {
	t.Parallel()
	dir := filepath.ToSlash(t.TempDir())
	for config, listed := range map[string]bool{
		"": true,
		`provider_installation { filesystem_mirror { path = "` + dir + `" } direct {} }`:                      true,
		`provider_installation { filesystem_mirror { path = "` + dir + `" } }`:                                false,
		`provider_installation { filesystem_mirror { path = "` + dir + `" } direct { exclude = ["*/*/*"] } }`: false,
	} {
		f, asked := newFixture(t), want(privateHost, linux)
		asked.Origin = true
		got, err := f.client(t, Options{}, config).Listing(t.Context(), terraform, asked)
		if err != nil || len(got.Files) > 0 != listed {
			t.Errorf("%s\nlists %d files, error %v; want some: %t", config, len(got.Files), err, listed)
		}
	}
}

func TestRecheckFindsAWrongCache(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	hashed := f.sum(t, linux)
	for name, tt := range map[string]struct {
		edit  func(*hash.Hashed)
		limit int64
		code  problem.Code // empty: no error
	}{
		"right":            {edit: func(*hash.Hashed) {}, limit: 1 << 20},
		"wrong_h1":         {edit: func(s *hash.Hashed) { s.Sum.H1 = f.sum(t, darwin).Sum.H1 }, limit: 1 << 20, code: problem.CodeBadChecksum},
		"wrong_h1_of_zip":  {edit: func(s *hash.Hashed) { s.Sum.H1Zip = f.sum(t, darwin).Sum.H1Zip }, limit: 1 << 20, code: problem.CodeBadChecksum},
		"longer_than_said": {edit: func(*hash.Hashed) {}, limit: 1, code: problem.CodeBadAnswer},
	} {
		cache := openCache(t, filepath.Join(t.TempDir(), "hashes"))
		known := hashed
		tt.edit(&known)
		if err := cache.Add(hash.Entry{Hashed: known, Origin: hash.FromPackage}); err != nil {
			t.Fatal(err)
		}
		_, err := f.client(t, Options{Cache: cache}, "").Recheck(t.Context(), terraform, want(privateHost, linux), tt.limit)
		if tt.code == "" && err != nil || tt.code != "" && !problem.Coded(err, tt.code) {
			t.Errorf("%s: error %v, want code %q", name, err, tt.code)
		}
		if tt.code == problem.CodeBadChecksum && !strings.Contains(err.Error(), "the hash cache is wrong") {
			t.Errorf("%s: %v does not say that the cache is wrong", name, err)
		}
	}
}
