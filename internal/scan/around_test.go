package scan

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// watchedFS is a file tree that notes which directories are listed.
type watchedFS struct {
	fs.ReadLinkFS
	listed *[]string
}

// ReadDir implements fs.ReadDirFS. Directories called closed cannot be read.
func (w watchedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	*w.listed = append(*w.listed, name)
	if path.Base(name) == "closed" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return fs.ReadDir(w.ReadLinkFS, name)
}

// Outside of a repository, what leads out of the tree is read, and nothing else.
func TestModulesReadWhatLeadsOutOfTheTreeOneByOne(t *testing.T) {
	t.Parallel()
	const provider = `resource "%_x" "x" {}`
	disk := func(links map[string]string, files ...string) fs.ReadLinkFS {
		texts := map[string]string{"proc/1/main.tf": "", "src/acme/other/huge/main.tf": ""}
		for i := 0; i < len(files); i += 2 {
			texts[files[i]] = files[i+1]
		}
		return fileTree(texts, links)
	}
	call := func(source string) string { return `module "m" { source = "` + source + `" }` }
	const lock = "src/acme/work/.terraform.lock.hcl"
	tests := []struct {
		name   string
		disk   fs.ReadLinkFS
		want   []string // requirements with the file of their term, problems
		listed []string // besides what is in the tree
	}{
		{
			"a module beside the tree, and what it calls",
			disk(nil, "src/acme/work/main.tf", call("../shared/a"), lock, "",
				"src/acme/shared/a/main.tf", call("../b"), "src/acme/shared/b/main.tf", strings.ReplaceAll(provider, "%", "null")),
			[]string{"null at ../shared/b/main.tf"}, []string{"src/acme/shared/a", "src/acme/shared/b"},
		},
		{
			"a module that leads back in is the same one",
			disk(nil, "src/acme/work/main.tf", call("../shared"), lock, "", "src/acme/shared/main.tf", call("../work/sub"),
				"src/acme/work/sub/main.tf", strings.ReplaceAll(provider, "%", "null")),
			[]string{"null at sub/main.tf"}, []string{"src/acme/shared"},
		},
		{
			"a circle ends",
			disk(nil, "src/acme/work/main.tf", call("../shared"), lock, "", "src/acme/shared/main.tf", call("../work")),
			[]string{"error at ../shared/main.tf: endless module tree: . is called from within itself"}, []string{"src/acme/shared"},
		},
		{
			"a directory and a file behind links",
			disk(map[string]string{"src/acme/work/sub": "../shared", "src/acme/work/versions.tf": "../versions.tf"},
				"src/acme/work/main.tf", call("./sub"), lock, "", "src/acme/shared/main.tf", strings.ReplaceAll(provider, "%", "null"),
				"src/acme/versions.tf", strings.ReplaceAll(provider, "%", "aws")),
			[]string{"aws at versions.tf", "null at ../shared/main.tf"}, []string{"src/acme/shared"},
		},
		{
			// The tools read a link as what it leads to, and name the files by the link [terraform 1.11 internal/configs/parser_config_dir.go].
			"a tests directory behind a link, whose runs are relative to the root module",
			disk(map[string]string{"src/acme/work/tests": "../shared/tests"},
				"src/acme/work/main.tf", "", lock, "", "src/acme/shared/tests/a.tftest.hcl", `run "a" {
					module {
						source = "./sub"
					}
				}`,
				"src/acme/work/sub/main.tf", strings.ReplaceAll(provider, "%", "null")),
			[]string{"null at sub/main.tf"}, []string{"src/acme/shared/tests"},
		},
		{
			"links that go round in circles outside",
			disk(map[string]string{"src/acme/loop": "loop", "src/acme/work/versions.tf": "../loop"}, "src/acme/work/main.tf", call("../loop"), lock, ""),
			[]string{
				"error at main.tf: unreadable module directory: its links go round in circles",
				"error at versions.tf: the file could not be read: its links go round in circles",
			}, nil,
		},
		{
			"what is not there",
			disk(nil, "src/acme/work/main.tf", call("../gone"), lock, ""),
			[]string{"error at main.tf: unreadable module directory: it does not exist"}, nil,
		},
		{
			"a directory that cannot be read",
			disk(nil, "src/acme/work/main.tf", call("../closed"), lock, "", "src/acme/closed/main.tf", ""),
			[]string{"error at ../closed: the directory could not be read: permission denied"}, []string{"src/acme/closed"},
		},
		{
			"above the top of the disk",
			disk(nil, "src/acme/work/main.tf", call("../../../../x"), lock, ""),
			[]string{"unread at main.tf: it leads out of the repository"}, nil,
		},
		{
			"a link that names its target from the top of the disk",
			disk(map[string]string{"src/acme/work/sub": "/src/acme/shared"}, "src/acme/work/main.tf", call("./sub"), lock, "", "src/acme/shared/main.tf", ""),
			[]string{"unread at main.tf: it leads out of the repository"}, nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inner, err := fs.Sub(tt.disk, "src/acme/work")
			if err != nil {
				t.Fatal(err)
			}
			var listed []string
			modules, diags, err := scanned(t.Context(), inner, nil, Options{
				Around: watchedFS{tt.disk, &listed}, Within: "src/acme/work", Create: true,
			})
			if err != nil || len(diags) > 0 || len(modules) != 1 {
				t.Fatalf("scanned = %v, %v, %v, want one root module", modules, diags, err)
			}
			var got []string
			for _, r := range modules[0].All().Requirements {
				got = append(got, r.Addr.Type+" at "+r.Terms[0].Place.Path)
			}
			for _, u := range modules[0].All().Unread {
				got = append(got, "unread at "+u.Place.Path+": "+u.Reason)
			}
			for _, d := range modules[0].All().Diagnostics {
				got = append(got, "error at "+d.Place.Path+": "+d.Message)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("what was found (-want +got):\n%s", diff)
			}
			slices.Sort(listed)
			if diff := cmp.Diff(tt.listed, slices.Compact(listed)); diff != "" {
				t.Errorf("directories listed around the tree (-want +got):\n%s", diff)
			}
			for _, dir := range modules[0].All().Dirs {
				if path.IsAbs(dir) || strings.HasPrefix(dir, "..") || strings.HasPrefix(dir, "home") {
					t.Errorf("Dirs holds %s, which is not in the tree", dir)
				}
			}
		})
	}
}

// A directory that cannot be searched may hold root modules; only where nobody wants to
// know of them nothing is said.
func TestSearchTellsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	var listed []string
	disk := watchedFS{fstest.MapFS{
		"root/main.tf": {}, "root/.terraform.lock.hcl": {}, "root/caf\xe9.txt": {}, "docs/caf\xe9/x.txt": {}, "closed/x.txt": {},
	}, &listed}
	for exclude, want := range map[string][]string{
		"none": {
			"error at closed: the directory could not be read: permission denied",
			"warning at docs/caf\xe9: the directory was not searched: its name is not UTF-8",
		},
		"docs":   {"error at closed: the directory could not be read: permission denied"},
		"docs/*": {"error at closed: the directory could not be read: permission denied"},
		"closed": {"warning at docs/caf\xe9: the directory was not searched: its name is not UTF-8"},
	} {
		modules, diags, err := scanned(t.Context(), disk, nil, Options{Exclude: []string{exclude}})
		if err != nil || len(modules) != 1 {
			t.Fatalf("without %q scanned = %v, %v, want one root module", exclude, modules, err)
		}
		var got []string
		for _, d := range diags {
			got = append(got, fmt.Sprintf("%s at %s: %s", d.Severity, d.Place.Path, d.Message))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("without %q it says (-want +got):\n%s", exclude, diff)
		}
	}
}
