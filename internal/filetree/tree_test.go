package filetree

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// fill adds paths. A name that ends in / is a directory, "a -> b" is a link, "a !" is a
// missing file and "a/ !" a missing directory. Any other file contains its own path.
func fill(t testing.TB, b *Builder, paths ...string) error {
	t.Helper()
	for _, p := range paths {
		var err error
		name, target, isLink := strings.Cut(p, " -> ")
		name, missing := strings.CutSuffix(name, " !")
		dir, isDir := strings.CutSuffix(name, "/")
		switch {
		case isLink:
			err = b.AddLink(name, target)
		case missing && isDir:
			err = b.AddMissing(dir, fs.ModeDir|0o755, 0, errGone)
		case missing:
			err = b.AddMissing(name, 0o644, 7, errGone)
		case isDir:
			err = b.AddDir(dir)
		default:
			err = b.AddFile(name, 0o644, []byte(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var errGone = errors.New("it is gone")

func tree(t testing.TB, paths ...string) *Tree {
	t.Helper()
	var b Builder
	if err := fill(t, &b, paths...); err != nil {
		t.Fatal(err)
	}
	return b.Tree()
}

// list are the arguments with which fill makes the tree.
func list(t testing.TB, made *Tree) []string {
	t.Helper()
	var found []string
	for _, name := range made.Names()[1:] {
		info, err := made.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			name += "/"
		}
		if target, err := made.ReadLink(name); err == nil {
			name += " -> " + target
		}
		found = append(found, name)
	}
	return found
}

func TestTreeIsAFileSystem(t *testing.T) {
	t.Parallel()
	made := tree(t, "main.tf", "a/b/c.tf", "a/empty/", "link -> a/b", "a/b/up.tf -> ../../main.tf")
	if err := fstest.TestFS(made, "main.tf", "a/b/c.tf", "a/empty", "link", "a/b/up.tf"); err != nil {
		t.Error(err)
	}
	var _ fs.ReadLinkFS = made
}

func TestTreeFollowsLinks(t *testing.T) {
	t.Parallel()
	made := tree(t, "main.tf", "a/b/c.tf", "link -> a/b", "a/b/up.tf -> ../../main.tf", "twice -> link", "dot -> .",
		"out -> ../x", "back -> ../x/main.tf", "abs -> /main.tf", "loop -> loop2", "loop2 -> loop", "a/back -> ../a/b/../../link",
		"dangling.tf -> none", "nothing -> ", "through -> main.tf/../a", "slash -> main.tf/")
	for name, want := range map[string]string{
		"link/c.tf": "a/b/c.tf", "link/up.tf": "main.tf", "twice/c.tf": "a/b/c.tf", "dot/dot/main.tf": "main.tf", "a/back/c.tf": "a/b/c.tf",
	} {
		if got, err := fs.ReadFile(made, name); err != nil || string(got) != want {
			t.Errorf("ReadFile(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]error{
		"out": fs.ErrNotExist, "back": fs.ErrNotExist, "abs": fs.ErrNotExist, "loop": ErrLoop, "dangling.tf": fs.ErrNotExist, "nothing": fs.ErrNotExist,
		"through": fs.ErrNotExist, "slash": fs.ErrNotExist, "main.tf/x": fs.ErrNotExist, "none": fs.ErrNotExist, "../main.tf": fs.ErrInvalid, "/main.tf": fs.ErrInvalid,
	} {
		if _, err := made.Open(name); !errors.Is(err, want) {
			t.Errorf("Open(%q) = %v, want %v", name, err, want)
		}
		if _, err := Resolve(made, name); err == nil {
			t.Errorf("Resolve(%q) has no error", name)
		}
	}
	for _, name := range []string{"out", "back", "abs", "../main.tf"} {
		if _, err := Resolve(made, name); !errors.Is(err, ErrLeadsOut) {
			t.Errorf("Resolve(%q) = %v, want that it leads out", name, err)
		}
	}
	if target, err := made.ReadLink("a/back"); err != nil || target != "../a/b/../../link" {
		t.Errorf("ReadLink = %q, %v", target, err)
	}
	if _, err := made.ReadLink("main.tf"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("ReadLink of a file = %v", err)
	}
	if info, err := made.Lstat("link"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("Lstat of a link = %v, %v", info, err)
	}
	if info, err := made.Stat("link"); err != nil || !info.IsDir() || info.Name() != "link" {
		t.Errorf("Stat of a link = %v, %v", info, err)
	}
}

func TestResolveThroughManyLinks(t *testing.T) {
	t.Parallel()
	paths := []string{"0"}
	for i := range maxLinks + 1 {
		paths = append(paths, name(i+1)+" -> "+name(i))
	}
	made := tree(t, paths...)
	if got, err := Resolve(made, name(maxLinks)); err != nil || got != "0" {
		t.Errorf("Resolve through %d links = %q, %v", maxLinks, got, err)
	}
	if _, err := Resolve(made, name(maxLinks+1)); !errors.Is(err, ErrLoop) {
		t.Errorf("Resolve through one more = %v", err)
	}
}

func name(i int) string { return strings.Repeat("l", i) + "0"[min(i, 1):] }

func TestTreeSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	made := tree(t, "a/", "a/sub/ !", "big.tf !", "a/x.tf", "to -> big.tf")
	for _, open := range []string{"a/sub/x.tf", "a/sub/deep/x", "big.tf", "to"} {
		if _, err := made.Open(open); !errors.Is(err, errGone) {
			t.Errorf("Open(%q) = %v, want the reason", open, err)
		}
	}
	for _, dir := range []string{"a/sub", "a/sub/deep"} {
		if _, err := fs.ReadDir(made, dir); !errors.Is(err, errGone) {
			t.Errorf("ReadDir(%q) = %v, want the reason", dir, err)
		}
	}
	if info, err := made.Stat("big.tf"); err != nil || info.Size() != 7 {
		t.Errorf("Stat = %v, %v", info, err)
	}
	if err := made.Missing(); !errors.Is(err, errGone) {
		t.Errorf("Missing = %v", err)
	}
	if err := tree(t, "a/x.tf").Missing(); err != nil {
		t.Errorf("Missing of a whole tree = %v", err)
	}
	var b Builder
	if err := fill(t, &b, "big.tf !", "big.tf", "a/ !", "a/x.tf"); err != nil {
		t.Fatal(err)
	}
	later := b.Tree()
	if _, err := fs.ReadFile(later, "big.tf"); err != nil {
		t.Errorf("what was missing and is added = %v", err)
	}
	if _, err := fs.ReadDir(later, "a"); !errors.Is(err, errGone) {
		t.Errorf("a directory that is missing but for a file = %v", err)
	}
}

func TestBuilderMakesOneTreeAfterTheOther(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Grow(1) // less than needed
	if err := fill(t, &b, "a/b", "a/c", "d"); err != nil {
		t.Fatal(err)
	}
	first := b.Tree()
	if err := fill(t, &b, "a/e"); err != nil {
		t.Fatal(err)
	}
	second := b.Tree()
	if diff := cmp.Diff([]string{"a/", "a/b", "a/c", "d"}, list(t, first)); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a/", "a/e"}, list(t, second)); diff != "" {
		t.Errorf("second (-want +got):\n%s", diff)
	}
	var none Builder
	if entries, err := fs.ReadDir(none.Tree(), "."); err != nil || len(entries) != 0 {
		t.Errorf("a tree of nothing has %v, %v", entries, err)
	}
}

func TestBuilderRefusesContradictions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		first, second string
		want          error
	}{
		{"a", "a/b", ErrConflict}, {"a/b", "a", ErrConflict}, {"a/", "a", ErrConflict}, {"a -> b", "a/c", ErrConflict},
		{"x", "../y", ErrName}, {"x", "/y", ErrName}, {"x", "a//y", ErrName}, {"x", "a\x00b", ErrName}, {"x", "", ErrName},
	} {
		var b Builder
		if err := fill(t, &b, tt.first); err != nil {
			t.Fatal(err)
		}
		if err := fill(t, &b, tt.second); !errors.Is(err, tt.want) {
			t.Errorf("a tree with %q took %q: %v, want %v", tt.first, tt.second, err, tt.want)
		}
	}
}

func TestBuilderReplacesFiles(t *testing.T) {
	t.Parallel()
	made := tree(t, "a.tf -> b", "b.tf -> c", "a.tf", "b.tf -> d")
	if diff := cmp.Diff([]string{"a.tf", "b.tf -> d"}, list(t, made)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if entries, err := fs.ReadDir(made, "."); err != nil || len(entries) != 2 {
		t.Errorf("ReadDir = %v, %v", entries, err)
	}
}

func TestBuilderLimits(t *testing.T) {
	t.Parallel()
	b := Builder{Limits: Limits{Nodes: 4, Bytes: 4}}
	for _, step := range []struct {
		name, data string
		ok         bool
	}{
		{"a", "123", true}, {"a", "1234", false}, {"b", "1", false},
	} {
		if err := b.AddFile(step.name, 0o644, []byte(step.data)); (err == nil) != step.ok {
			t.Errorf("AddFile(%q, %q) = %v", step.name, step.data, err)
		}
	}
	b = Builder{Limits: Limits{Nodes: 4}}
	if err := fill(t, &b, "a/b/c", "d"); err != nil {
		t.Errorf("four nodes: %v", err)
	}
	if err := fill(t, &b, "e"); err == nil || err.Error() != "it has more than 4 files and directories" {
		t.Errorf("a fifth node: %v", err)
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	made := tree(t, "a/b/c.tf", "a/b/in.tf -> c.tf", "a/b/out.tf -> ../d.tf", "a/d.tf", "ab/no.tf", "link -> a/b", "gone/ !")
	below, err := Below(made, "link")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c.tf", "in.tf -> c.tf", "out.tf -> ../d.tf"}, list(t, below)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := below.Open("out.tf"); err == nil {
		t.Error("a link leads out of the part")
	}
	if err := fstest.TestFS(tree(t, "x/y/z"), "x"); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{"none", "gone/x"} {
		if _, err := Below(made, dir); err == nil {
			t.Errorf("Below(%q) has no error", dir)
		}
	}
	if got, err := Below(made, "gone"); err != nil || !errors.Is(got.Missing(), errGone) {
		t.Errorf("Below of a directory that is missing = %v, %v", got, err)
	}
}

func TestOverlay(t *testing.T) {
	t.Parallel()
	var b Builder
	if err := errors.Join(fill(t, &b, "a/x.tf", "a/y.tf", "file", "dir/z.tf", "link -> a", "gone/ !"), b.AddFile("run.sh", 0o755, nil)); err != nil {
		t.Fatal(err)
	}
	made := b.Tree()
	over, err := Overlay(made, map[string][]byte{"a/x.tf": []byte("new"), "b/c.tf": []byte("made"), "file/x": nil, "dir": nil, "link/x.tf": nil, "run.sh": []byte("new")})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a/", "a/x.tf", "a/y.tf", "b/", "b/c.tf", "dir", "file/", "file/x", "gone/", "link/", "link/x.tf", "run.sh"}
	if diff := cmp.Diff(want, list(t, over)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, _ := fs.ReadFile(over, "a/x.tf"); string(got) != "new" {
		t.Errorf("a/x.tf = %q", got)
	}
	if info, err := over.Stat("run.sh"); err != nil || info.Mode() != 0o755 {
		t.Errorf("Stat of a program = %v, %v", info, err)
	}
	if got, _ := fs.ReadFile(made, "a/x.tf"); string(got) != "a/x.tf" {
		t.Errorf("the tree below has changed: %q", got)
	}
	if err := over.Missing(); !errors.Is(err, errGone) {
		t.Errorf("Missing = %v", err)
	}
	if _, err := Overlay(made, map[string][]byte{"../x": nil}); !errors.Is(err, ErrName) {
		t.Errorf("Overlay beside the tree = %v", err)
	}
}

// TestPart holds that a part of a tree has the selected nodes, unchanged, the directories
// above them, and nothing else.
func TestPart(t *testing.T) {
	t.Parallel()
	var b Builder
	for _, err := range []error{
		b.AddFile("live/a.lock", 0o644, []byte("a")), b.AddFile("live/main.tf", 0o644, []byte("b")), b.AddLink("link", "live"),
		b.AddDir("empty"), b.AddDir("other"), b.AddMissing("far/b.lock", 0o755, 7, fs.ErrPermission),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	part := b.Tree().Part(func(name string) bool { return strings.HasSuffix(name, ".lock") || name == "link" || name == "empty" })
	if got, want := part.Names(), []string{".", "empty", "far", "far/b.lock", "link", "live", "live/a.lock"}; !slices.Equal(got, want) {
		t.Errorf("the part has %v, want %v", got, want)
	}
	if got, err := fs.ReadFile(part, "link/a.lock"); err != nil || string(got) != "a" {
		t.Errorf("through the link it has %q, %v, want a", got, err)
	}
	if _, err := fs.ReadFile(part, "far/b.lock"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("what was missing = %v, want why", err)
	}
	if entries, err := part.ReadDir("live"); err != nil || len(entries) != 1 {
		t.Errorf("live has %d entries, %v, want one", len(entries), err)
	}
}
