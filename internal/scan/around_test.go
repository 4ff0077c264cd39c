package scan

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

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
		texts := map[string]string{"proc/1/main.tf": "", "home/me/other/huge/main.tf": ""}
		for i := 0; i < len(files); i += 2 {
			texts[files[i]] = files[i+1]
		}
		return fileTree(texts, links)
	}
	call := func(source string) string { return `module "m" { source = "` + source + `" }` }
	const lock = "home/me/work/.terraform.lock.hcl"
	tests := []struct {
		name   string
		disk   fs.ReadLinkFS
		want   []string // requirements with the file of their term, problems
		listed []string // besides what is in the tree
	}{
		{
			"a module beside the tree, and what it calls",
			disk(nil, "home/me/work/main.tf", call("../shared/a"), lock, "",
				"home/me/shared/a/main.tf", call("../b"), "home/me/shared/b/main.tf", strings.ReplaceAll(provider, "%", "null")),
			[]string{"null at ../shared/b/main.tf"}, []string{"home/me/shared/a", "home/me/shared/b"},
		},
		{
			"a module that leads back in is the same one",
			disk(nil, "home/me/work/main.tf", call("../shared"), lock, "", "home/me/shared/main.tf", call("../work/sub"),
				"home/me/work/sub/main.tf", strings.ReplaceAll(provider, "%", "null")),
			[]string{"null at sub/main.tf"}, []string{"home/me/shared"},
		},
		{
			"a circle ends",
			disk(nil, "home/me/work/main.tf", call("../shared"), lock, "", "home/me/shared/main.tf", call("../work")),
			[]string{"error at ../shared/main.tf: endless module tree: . is called from within itself"}, []string{"home/me/shared"},
		},
		{
			"a directory and a file behind links",
			disk(map[string]string{"home/me/work/sub": "../shared", "home/me/work/versions.tf": "../versions.tf"},
				"home/me/work/main.tf", call("./sub"), lock, "", "home/me/shared/main.tf", strings.ReplaceAll(provider, "%", "null"),
				"home/me/versions.tf", strings.ReplaceAll(provider, "%", "aws")),
			[]string{"aws at versions.tf", "null at ../shared/main.tf"}, []string{"home/me/shared"},
		},
		{
			// The tools read a link as what it leads to, and name the files by the link [terraform 1.11 internal/configs/parser_config_dir.go].
			"a tests directory behind a link, whose runs are relative to the root module",
			disk(map[string]string{"home/me/work/tests": "../shared/tests"},
				"home/me/work/main.tf", "", lock, "", "home/me/shared/tests/a.tftest.hcl", `run "a" {
					module {
						source = "./sub"
					}
				}`,
				"home/me/work/sub/main.tf", strings.ReplaceAll(provider, "%", "null")),
			[]string{"null at sub/main.tf"}, []string{"home/me/shared/tests"},
		},
		{
			"links that go round in circles outside",
			disk(map[string]string{"home/me/loop": "loop", "home/me/work/versions.tf": "../loop"}, "home/me/work/main.tf", call("../loop"), lock, ""),
			[]string{
				"error at main.tf: unreadable module directory: its links go round in circles",
				"error at versions.tf: the file could not be read: its links go round in circles",
			}, nil,
		},
		{
			"what is not there",
			disk(nil, "home/me/work/main.tf", call("../gone"), lock, ""),
			[]string{"error at main.tf: unreadable module directory: it does not exist"}, nil,
		},
		{
			"a directory that cannot be read",
			disk(nil, "home/me/work/main.tf", call("../closed"), lock, "", "home/me/closed/main.tf", ""),
			[]string{"error at ../closed: the directory could not be read: permission denied"}, []string{"home/me/closed"},
		},
		{
			"above the top of the disk",
			disk(nil, "home/me/work/main.tf", call("../../../../x"), lock, ""),
			[]string{"unread at main.tf: it leads out of the repository"}, nil,
		},
		{
			"a link that names its target from the top of the disk",
			disk(map[string]string{"home/me/work/sub": "/home/me/shared"}, "home/me/work/main.tf", call("./sub"), lock, "", "home/me/shared/main.tf", ""),
			[]string{"unread at main.tf: it leads out of the repository"}, nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inner, err := fs.Sub(tt.disk, "home/me/work")
			if err != nil {
				t.Fatal(err)
			}
			var listed []string
			modules, diags, err := scanned(t.Context(), inner, nil, Options{
				Around: watchedFS{tt.disk, &listed}, Within: "home/me/work", Create: true,
			})
			if err != nil || len(diags) > 0 || len(modules) != 1 {
				t.Fatalf("scanned = %v, %v, %v, want one root module", modules, diags, err)
			}
			var got []string
			for _, r := range modules[0].All().Requirements {
				got = append(got, r.Addr.Type+" at "+r.Terms[0].File)
			}
			for _, u := range modules[0].All().Unread {
				got = append(got, "unread at "+u.File+": "+u.Reason)
			}
			for _, d := range modules[0].All().Diagnostics {
				got = append(got, "error at "+d.File+": "+d.Message)
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
