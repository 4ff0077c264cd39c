package github_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/sandbox"
)

// treeOf is the tree of the default branch's head, as the list of an organisation has it.
func (h *hub) treeOf(t *testing.T) string {
	t.Helper()
	all, err := h.client(t, github.Options{Access: github.Access{Token: sandbox.UserToken}}).List(t.Context(), "octo", github.ListOptions{})
	if err != nil || len(all) != 1 {
		t.Fatalf("List = %+v, %v, want octo/infra", all, err)
	}
	return all[0].Tree
}

// TestSnapshotOfATreeThatIsKnown holds which requests a commit takes whose tree somebody
// has listed, beside those that are spoilt, and that the files are those of Snapshot.
func TestSnapshotOfATreeThatIsKnown(t *testing.T) {
	const plain = `
-- github/octo/infra/main/prod/main.tf --
# prod
-- github/octo/infra/main/prod-2/main.tf --
# another
-- github/octo/infra/main/prod.tf --
# sorted between the two
-- github/octo/infra/main/prod/run.sh* --
#!/bin/sh
-- github/octo/infra/main/prod/shared.tf@ -> ../common/all.txt --
-- github/octo/infra/main/prod/modules@ -> ../modules --
-- github/octo/infra/main/README.md --
Words.
-- github/octo/infra/main/empty.tf --
`
	packed, listed := []string{"GET /tarball/", "GET _codeload/"}, []string{"GET /tarball/", "GET _codeload/", "GET /git/trees/"}
	codeload, archive := "/github/_codeload/...", "/github/api/v3/repos/octo/infra/tarball/..."
	submodule := map[string]sandbox.File{"vendored": {Mode: "160000", Content: []byte(strings.Repeat("a", 40))}}
	for name, tt := range map[string]struct {
		world string
		files map[string]sandbox.File
		tree  string // that somebody tells; empty: the commit's
		fault *sandbox.Fault
		want  []string
	}{
		"plain":               {world: plain, want: packed},
		"a_link_to_no_config": {world: plain + "-- github/octo/infra/main/common/all.txt --\n# shared\n", want: append(slices.Clone(packed), "GET /git/blobs/")},
		"altered_and_left_out": {world: snapshotWorld, want: append(slices.Clone(listed),
			"GET /git/blobs/", "GET /git/blobs/", "GET /git/blobs/")},
		"a_submodule":        {world: plain, files: submodule, want: listed},
		"another_tree":       {world: plain, tree: strings.Repeat("b", 40), want: listed},
		"half_an_archive":    {world: plain, fault: &sandbox.Fault{Path: codeload, Truncate: 120, Times: 1}, want: append(slices.Clone(listed), packed...)},
		"no_archive":         {world: plain, fault: &sandbox.Fault{Path: archive, Status: http.StatusNotFound, Times: 1}, want: append([]string{"GET /git/trees/"}, packed...)},
		"what_is_no_archive": {world: plain, fault: &sandbox.Fault{Path: codeload, Wild: "html", Times: 1}, want: append([]string{"GET /tarball/", "GET /git/trees/"}, packed...)},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, tt.world)
			sha, err := h.Push("octo/infra", sandbox.Push{Branch: "main", Files: tt.files})
			if err != nil {
				t.Fatal(err)
			}
			want, err := h.repository(t).Snapshot(t.Context(), sha, configuration)
			if err != nil {
				t.Fatal(err)
			}
			tree := tt.tree
			if tree == "" {
				tree = h.treeOf(t)
			}
			if tt.fault != nil {
				tt.fault.Method = "GET"
				h.box.Inject(*tt.fault)
			}
			h.asked = nil
			got, err := h.repository(t).SnapshotOf(t.Context(), sha, tree, configuration)
			if err != nil {
				t.Fatal(err)
			}
			h.wantAsked(t, tt.want...)
			if diff := cmp.Diff(listing(t, want), listing(t, got)); diff != "" {
				t.Errorf("files (-listed +unpacked):\n%s", diff)
			}
		})
	}
}

// TestSnapshotOfBelievesNoArchive holds that what an archive has besides, twice or
// otherwise is not taken for the commit.
func TestSnapshotOfBelievesNoArchive(t *testing.T) {
	const tree = "2bef1dcfb1320556cf06b46f739b284df336d882" // of a.tf with "a" alone [git mktree]
	for name, archive := range map[string][]tar.Header{
		"besides":         {packed("a.tf", "a"), packed("b.tf", "b")},
		"twice":           {packed("a.tf", "b"), packed("a.tf", "a")},
		"otherwise":       {packed("a.tf", "b")},
		"outside":         {packed("a.tf", "a"), packed("../b.tf", "b")},
		"a_device":        {packed("a.tf", "a"), {Name: "top/b.tf", Typeflag: tar.TypeFifo}},
		"nothing":         {},
		"below_a_file":    {packed("a.tf", "a"), packed("a.tf/b.tf", "b")},
		"a_link_for_file": {{Name: "top/a.tf", Typeflag: tar.TypeSymlink, Linkname: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			repo, asked := served(t, []treeEntry{blob("a.tf", "a")}, archive...)
			s, err := repo.SnapshotOf(t.Context(), "c0", tree, always)
			if err == nil {
				if diff := cmp.Diff([]string{`. drwxr-xr-x ""`, `a.tf -rw-r--r-- "a"`}, listing(t, s)); diff != "" {
					t.Errorf("tree (-want +got):\n%s", diff)
				}
			}
			if proved := !slices.Contains(*asked, "tree Bearer "+token); proved && name != "outside" && name != "below_a_file" {
				t.Errorf("%s: requests = %q, want one for the tree", name, *asked)
			}
		})
	}
	repo, asked := served(t, []treeEntry{blob("a.tf", "1\n"), blob("b.tf", "2\n"), blob("c.tf", "3\n")},
		packed("a.tf", "1\r\n"), packed("b.tf", "2\r\n"), packed("c.tf", "3\r\n")) // .gitattributes says eol=crlf
	if s, err := repo.SnapshotOf(t.Context(), "c0", tree, always); err != nil || contents(s, "b.tf")["b.tf"] != "2\n" || len(*asked) != 3 {
		t.Errorf("other line ends = %v after %q, want one request more, for the tree", err, *asked)
	}
	repo, asked = served(t, nil, packed("a.tf", "a"))
	if _, err := repo.SnapshotOf(t.Context(), "c0", tree, always); err != nil || len(*asked) != 2 {
		t.Errorf("the commit = %v after %q, want no request for the tree", err, *asked)
	}
}

// TestSnapshotOfBoundsWhatItCannotSee holds that an archive of few bytes which stands for
// many is not read: the listed tree and its contents are asked for instead.
func TestSnapshotOfBoundsWhatItCannotSee(t *testing.T) {
	t.Parallel()
	for name, wild := range map[string]tar.Header{
		"a_hole":           sparse(t, "top/z.bin", 300<<20),
		"deep_directories": packed(strings.Repeat("d/", 10_000)+"z.bin", "z"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo, asked := served(t, []treeEntry{blob("a.tf", "a")}, packed("a.tf", "a"), wild)
			s, err := repo.SnapshotOf(t.Context(), "c0", strings.Repeat("b", 40), configuration)
			if err != nil || contents(s, "a.tf")["a.tf"] != "a" {
				t.Errorf("SnapshotOf = %v", err)
			}
			if !slices.ContainsFunc(*asked, func(r string) bool { return strings.HasPrefix(r, "blob ") }) {
				t.Errorf("requests = %q, want one for the content", *asked)
			}
		})
	}
}

// sparse is a file in an archive that is a hole of so many bytes, as GNU tar writes it in
// its PAX format 1.0, which Go reads and does not write.
func sparse(t *testing.T, name string, size int64) tar.Header {
	t.Helper()
	records := ""
	for _, r := range []string{"GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=" + name, fmt.Sprintf("GNU.sparse.realsize=%d", size)} {
		n := len(r) + 4 // two digits, a blank and a line's end
		records += fmt.Sprintf("%d %s\n", n, r)
	}
	var raw bytes.Buffer
	w := tar.NewWriter(&raw)
	for i, content := range []string{records, "0\n" + strings.Repeat("\x00", 510)} {
		at := raw.Len()
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(content)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if header := raw.Bytes()[at:]; i == 0 { // the sum of the bytes, as the type is another one
			header[156] = tar.TypeXHeader
			sum, err := strconv.ParseInt(strings.Trim(string(header[148:156]), " \x00"), 8, 64)
			if err != nil {
				t.Fatal(err)
			}
			copy(header[148:], fmt.Sprintf("%06o\x00 ", sum+tar.TypeXHeader-tar.TypeReg))
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		w.Flush()
	}
	return tar.Header{PAXRecords: map[string]string{"RELOCK.raw": raw.String()}}
}
