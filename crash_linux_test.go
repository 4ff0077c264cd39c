package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/command"
)

var (
	kills    = flag.Int("kills", 6, "how often TestKilled kills a run")
	killSeed = flag.Uint64("kill-seed", 1, "seed of the first of them")
)

// lockedRoots is how many root modules a run writes that is killed: enough
// to be hit between two of them.
const lockedRoots = 8

// TestKilled kills the program where it may not clean up: before or after the answer
// to a request, or when it has renamed some of the lock files into their place. Caches
// are cold or warm. Each lock file, or branch on GitHub, must be whole: as it was, or
// as it will be. The next run must complete all of them, and remove what the killed run
// left beside them.
//
// To kill a hundred times, and to repeat a failure:
//
//	go test -run Killed -kills 100 -v .
//	go test -run Killed -kills 1 -kill-seed 4711 -v .
func TestKilled(t *testing.T) {
	t.Parallel()
	scenes := []*kind{{name: "upgrade", staged: moduleScene.alone(), all: true}, {name: "git", staged: gitScene.alone(), all: true}, {name: "pr", staged: githubScene, all: true}}
	for _, k := range scenes {
		k.prepare(t)
	}
	var mu sync.Mutex
	points := map[string]int{}
	t.Run("points", func(t *testing.T) {
		for i := range *kills {
			seed := *killSeed + uint64(i)
			k := scenes[i%len(scenes)]
			t.Run(fmt.Sprintf("%s/%d", k.name, seed), func(t *testing.T) {
				t.Parallel()
				v := newVictim(t, k, rand.New(rand.NewPCG(seed, 13)))
				point := v.kill(t)
				left := v.check(t)
				mu.Lock()
				defer mu.Unlock()
				points[point]++
				points[fmt.Sprintf("with %s beside", map[bool]string{true: "files", false: "nothing"}[left > 0])]++
			})
		}
	})
	t.Logf("points: %v", points)
}

// unusedPackages is how many module packages a run finds that nobody has used for years:
// enough to be hit between two of them.
const unusedPackages = 400

// TestKilledWhilePruning kills the program while it removes module packages that nobody
// uses any more. Whatever is left of them is whole, and so is what the run itself has
// added, which the next one takes.
func TestKilledWhilePruning(t *testing.T) {
	t.Parallel()
	k := &kind{name: "git", staged: gitScene.alone(), all: true}
	k.prepare(t)
	for i := range max(1, *kills/6) {
		random := rand.New(rand.NewPCG(*killSeed+uint64(i), 14))
		v := newVictim(t, k, random)
		if v.warm {
			if err := os.RemoveAll(filepath.Join(v.home, "cache")); err != nil {
				t.Fatal(err)
			}
		}
		kept := filepath.Join(v.home, "cache", "relock", "modules")
		names := make([]string, unusedPackages)
		for n := range names {
			names[n] = fmt.Sprintf("%064x.tree", n)
			mustWrite(t, filepath.Join(kept, names[n]), []byte(names[n]))
			if err := os.Chtimes(filepath.Join(kept, names[n]), time.Time{}, time.Unix(int64(n+1), 0)); err != nil {
				t.Fatal(err)
			}
		}
		last := filepath.Join(kept, names[random.IntN(len(names))]) // that must be gone: the oldest go first
		killed := v.strike(t, func() bool { _, err := os.Lstat(last); return err != nil }, nil)
		left, added := 0, 0
		for name, content := range filesIn(t, kept) {
			switch {
			case slices.Contains(names, name) && content != name:
				t.Errorf("of %s there is %q left", name, content)
			case slices.Contains(names, name):
				left++
			case strings.Contains(name, ".relock-"): // which Replace sweeps
			case strings.HasSuffix(name, ".note"): // replaced in one step, and maybe empty
				added++
			case !summed(content):
				t.Errorf("%s, which the run has added, is not whole", name)
			default:
				added++
			}
		}
		t.Logf("killed: %v; %d of %d packages are left, and %d were added", killed, left, unusedPackages, added)
		v.check(t)
	}
}

// filesIn are the contents of the files in a directory, by their names.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(content)
	}
	return files
}

// summed reports whether a package of the cache is whole: its checksum is at the end.
func summed(content string) bool {
	archive := len(content) - sha256.Size
	if archive < 0 {
		return false
	}
	sum := sha256.Sum256([]byte(content[:archive]))
	return content[archive:] == string(sum[:])
}

// victim is a run that is killed.
type victim struct {
	*running
	kind *kind
	rand *rand.Rand
	warm bool
}

func newVictim(t *testing.T, k *kind, random *rand.Rand) *victim {
	t.Helper()
	v := &victim{running: k.begin(t), kind: k, rand: random, warm: random.IntN(2) == 0}
	if k.github {
		if v.warm {
			v.whole(t, append(v.args, "--dry-run"))
		}
		return v
	}
	config := filepath.Join(v.dir, "main.tf")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{config, filepath.Join(v.dir, ".terraform.lock.hcl")} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range v.roots() {
		mustWrite(t, filepath.Join(dir, "main.tf"), text)
	}
	v.args = append([]string{"upgrade", "./..."}, k.args...)
	v.reset(t)
	if v.warm {
		v.whole(t, v.args)
		v.reset(t)
	}
	return v
}

// roots are the directories of the root modules.
func (v *victim) roots() []string {
	var dirs []string
	for i := range lockedRoots {
		dirs = append(dirs, filepath.Join(v.dir, fmt.Sprintf("root%d", i)))
	}
	return dirs
}

// reset puts the old lock files back.
func (v *victim) reset(t *testing.T) {
	t.Helper()
	for _, dir := range v.roots() {
		mustWrite(t, filepath.Join(dir, ".terraform.lock.hcl"), []byte(v.was.root))
	}
}

// whole is a run that nobody kills.
func (v *victim) whole(t *testing.T, args []string) {
	t.Helper()
	cmd := exec.Command("relock", args...)
	cmd.Dir, cmd.Env = v.dir, v.environ
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("relock %q: %v\n%s", args, err, out)
	}
}

// kill starts a run and kills it at a random point, which it describes.
func (v *victim) kill(t *testing.T) string {
	t.Helper()
	point, cache := "", map[bool]string{true: "warm", false: "cold"}[v.warm]
	killed := false
	switch way := v.rand.IntN(3); {
	case way == 0 && !v.kind.github:
		point = "between renames, " + cache
		renamed := 1 + v.rand.IntN(lockedRoots-1)
		killed = v.strike(t, func() bool { return v.renamed() >= renamed }, nil)
	default:
		n := int64(1 + v.rand.IntN(v.requests()))
		var asked atomic.Int64
		hooked := v.sandbox.After
		if point = "after an answer, " + cache; v.rand.IntN(2) == 0 {
			point, hooked = "at a request, "+cache, v.sandbox.Before
		}
		killed = v.strike(t, nil, func(end func()) {
			hooked(func(*http.Request) {
				if asked.Add(1) == n {
					end()
				}
			})
		})
	}
	if !killed {
		return "never, " + cache // the run was shorter
	}
	return point
}

// strike starts a run and kills it as soon as something holds, or when what hook is
// given is called. It reports whether the run did not end before.
func (v *victim) strike(t *testing.T, holds func() bool, hook func(end func())) bool {
	t.Helper()
	cmd := exec.Command("relock", v.args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = v.dir, v.environ, &out, &out
	started := make(chan struct{})
	end := func() {
		<-started
		_ = cmd.Process.Kill() // it may have ended
	}
	done := make(chan struct{})
	var watching sync.WaitGroup
	if hook != nil {
		hook(end)
	} else {
		watching.Go(func() { watch(holds, done, end) })
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	close(started)
	err := cmd.Wait()
	close(done)
	watching.Wait()
	return err != nil && !cmd.ProcessState.Exited()
}

// requests is about how many requests a run makes.
func (v *victim) requests() int {
	switch {
	case v.kind.github:
		return 25
	case v.warm:
		return 6
	}
	return 14
}

// watch calls end as soon as something holds.
func watch(holds func() bool, done <-chan struct{}, end func()) {
	for {
		select {
		case <-done:
			return
		default:
		}
		if holds() {
			end()
			return
		}
	}
}

// renamed counts the lock files that are new.
func (v *victim) renamed() int {
	n := 0
	for _, dir := range v.roots() {
		if text, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl")); err == nil && string(text) == v.is.root {
			n++
		}
	}
	return n
}

// check judges what the killed run has left, runs again, and judges that. It
// returns how many temporary files were left.
func (v *victim) check(t *testing.T) int {
	t.Helper()
	for _, state := range v.states() {
		if state != stateOld && state != stateNew {
			t.Errorf("the killed run left what is neither old nor new: %s", state)
		}
	}
	left := v.temporary(t)
	// It may be about what lasts as long as a run: branches that GitHub was about to
	// make are there after the answer that nobody heard.
	v.whole(t, v.args)
	for _, state := range v.states() {
		if state != stateNew {
			t.Errorf("the run after the killed one left: %s", state)
		}
	}
	if again := v.temporary(t); len(again) > 0 {
		t.Errorf("the run after the killed one left %q, of which the killed one %q", again, left)
	}
	if c := v.here(t); c.Status != command.ExitOK {
		t.Errorf("the third run ended with status %d:\n%s", c.Status, c.Output)
	}
	return len(left)
}

// states says of each lock file, or of what is on GitHub, whether it is old or new.
func (v *victim) states() []string {
	if v.kind.github {
		return []string{v.proposed()}
	}
	var states []string
	for _, dir := range v.roots() {
		text, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
		switch {
		case err != nil:
			states = append(states, err.Error())
		case string(text) == v.is.root:
			states = append(states, stateNew)
		case string(text) == v.was.root:
			states = append(states, stateOld)
		default:
			states = append(states, string(text))
		}
	}
	return states
}

// temporary are the names of what is temporary in all that the runs may write.
func (v *victim) temporary(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(v.home, func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), ".relock-") {
			found = append(found, strings.TrimPrefix(name, v.home))
			if d.IsDir() {
				return fs.SkipDir
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return found
}
