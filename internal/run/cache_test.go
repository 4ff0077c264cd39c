package run

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// Nobody's head adds to what is remembered, with whatever verb and wherever it
// is looked at.
func TestLearns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		verb     verbs.Verb
		head     Head
		onGitHub bool
		planned  bool
		want     bool
	}{
		{verbs.Upgrade, NoHead, false, false, true},
		{verbs.Check, NoHead, false, false, true},
		{verbs.PR, NoHead, true, false, true},
		{verbs.Check, NoHead, true, false, false},
		{verbs.Upgrade, NoHead, true, false, false},
		{verbs.PR, OwnHead, true, false, false},
		{verbs.PR, ForkHead, true, false, false},
		{verbs.Check, ForkHead, false, false, false},
		{verbs.Upgrade, OwnHead, false, false, false},
		{verbs.Verify, NoHead, false, false, true},
		{verbs.Verify, NoHead, true, true, true},
		{verbs.Verify, NoHead, true, false, false},
		{verbs.Verify, OwnHead, true, true, false},
		{verbs.Check, NoHead, true, true, false},
	} {
		if got := learns(Env{OnGitHub: test.onGitHub, Planned: test.planned}, Ask{verb: test.verb, head: test.head}); got != test.want {
			t.Errorf("%s of head %d, on GitHub %t, planned %t, learns: %t, want %t", test.verb, test.head, test.onGitHub, test.planned, got, test.want)
		}
	}
}

// A cache that whoever wrote a pull request's head may have put there is refused, by
// whatever name it is given.
func TestCacheOfAHead(t *testing.T) {
	t.Parallel()
	top := lay(t, "repo/.git/HEAD", "repo/live/main.tf", "other/.git/HEAD", "kept/file")
	env := Env{WorkDir: filepath.Join(top, "repo", "live"), Getenv: func(string) string { return "" }, Log: slog.New(slog.DiscardHandler)}
	check := func(t *testing.T, name string, refused bool) {
		t.Helper()
		m := Means{Settings: settings.Settings{Cache: filepath.Join(top, name)}, Head: ForkHead}
		dirs := []string{"..", "../../other/..."}
		ask := ToCheck(m, Checkout{}, dirs, JudgedBy{}, upgrade.Upgrade, nil)
		cache, err := openCache(env, ask)
		if (err != nil) != refused || err != nil && problem.Of(err).Hint == "" {
			t.Errorf("openCache(%s) = %v, want a refusal: %t", name, err, refused)
		}
		cache.Close()
		if got := moduleCache(Env{WorkDir: env.WorkDir, Getenv: env.Getenv, ModuleCache: m.Settings.Cache}, ask, ""); (got == "") != refused {
			t.Errorf("moduleCache(%s) = %q, want none: %t", name, got, refused)
		}
		onGitHub := Env{WorkDir: env.WorkDir, Getenv: env.Getenv, OnGitHub: true, ModuleCache: filepath.Join(top, "elsewhere")}
		want := m.Settings.Cache + ".modules"
		if refused {
			want = ""
		}
		if got := moduleCache(onGitHub, ask, m.Settings.Cache); got != want {
			t.Errorf("moduleCache(%s) on GitHub = %q, want %q", name, got, want)
		}
		cache, err = openCache(env, ToCheck(Means{Settings: m.Settings}, Checkout{}, dirs, JudgedBy{}, upgrade.Upgrade, nil))
		if err != nil {
			t.Errorf("openCache(%s) for nobody's head = %v", name, err)
		}
		cache.Close()
	}
	for name, refused := range map[string]bool{
		"kept/hashes": false, "kept/new/hashes": false, "elsewhere": false,
		"repo/hashes": true, "repo/live/hashes": true, "other/hashes": true,
	} {
		check(t, name, refused)
	}
	t.Run("links", func(t *testing.T) {
		for link, to := range map[string]string{"to-repo": "repo", "repo/out": filepath.Join(top, "kept")} {
			if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
				t.Skipf("links are missing on this system: %v", err)
			}
			check(t, link+"/hashes", true)
		}
	})
}

// The cache that somebody names must be usable; the user's own is done without.
func TestCacheThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	dir := lay(t, "file")
	env := Env{WorkDir: dir, Getenv: func(string) string { return "" }, Log: slog.New(slog.DiscardHandler), HashCache: filepath.Join(dir, "file", "hashes")}
	if cache, err := openCache(env, ToUpgrade(Means{}, Checkout{}, nil)); cache != nil || err != nil {
		t.Errorf("openCache(the user's own) = %v, %v, want none", cache, err)
	}
	named := Means{Settings: settings.Settings{Cache: "file/hashes"}}
	if _, err := openCache(env, ToUpgrade(named, Checkout{}, nil)); err == nil || !strings.Contains(err.Error(), "opening the hash cache file/hashes: ") {
		t.Errorf("openCache(below a file) = %v, want an error", err)
	}
	if cache, err := openCache(env, ToScan(named, Checkout{}, nil)); cache != nil || err != nil {
		t.Errorf("openCache(to scan) = %v, %v, want none", cache, err)
	}
}
