package module

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/moduleaddr"
)

// member is an entry of an archive in a test.
type member struct {
	name, data string
	link       string // target; then no data
	dir        bool
}

func zipOf(t *testing.T, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		header := &zip.FileHeader{Name: m.name}
		header.SetMode(0o644)
		if len(m.data) > 1<<10 { // compressing it would cost more than the rest of the test
			header.Method = zip.Deflate
		}
		switch {
		case m.dir:
			header.Name += "/"
			header.SetMode(fs.ModeDir | 0o755)
		case m.link != "":
			header.SetMode(fs.ModeSymlink | 0o777)
			m.data = m.link
		}
		f, err := w.CreateHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, m.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t *testing.T, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		header := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.data)), Typeflag: tar.TypeReg}
		switch {
		case m.dir:
			header.Typeflag = tar.TypeDir
		case m.link != "":
			header.Typeflag, header.Linkname = tar.TypeSymlink, m.link
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipOf(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unpackBytes(kind string, data []byte) (*filetree.Tree, error) {
	got, err := unpack(context.Background(), io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), archiveForm{kind: kind})
	return got.tree, err
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	members := []member{
		{name: "main.tf", data: "# old"}, {name: "./main.tf", data: "# new"}, {name: "docs/README.md", data: "text"},
		{name: "empty", dir: true}, {name: "/rooted/a.tf", data: "# rooted"}, {name: "a\\b.tf", data: "# one name"},
		{name: "caf\xe9.md", data: "latin"}, {name: "caf\xe9/a.tf", data: "latin"},
		{name: "link.tf", link: "main.tf"}, {name: "out.tf", link: "/etc/passwd"}, {name: "dir", link: "docs"},
	}
	want := []string{"a\\b.tf", "docs/", "empty/", "link.tf", "main.tf", "out.tf", "rooted/", "rooted/a.tf"}
	for _, tt := range []struct {
		kind string
		data []byte
		link string // content of the file that a link becomes
	}{
		{"zip", zipOf(t, members...), "main.tf"},
		{"tar", tarOf(t, members...), ""},
		{"tar.gz", gzipOf(t, tarOf(t, members...)), ""},
		{"tgz", gzipOf(t, tarOf(t, members...)), ""},
	} {
		made, err := unpackBytes(tt.kind, tt.data)
		if err != nil {
			t.Errorf("unpack %s: %v", tt.kind, err)
			continue
		}
		if diff := cmp.Diff(want, names(t, made)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.kind, diff)
		}
		for name, text := range map[string]string{"main.tf": "# new", "rooted/a.tf": "# rooted", "link.tf": tt.link} {
			if got, err := fs.ReadFile(made, name); err != nil || string(got) != text {
				t.Errorf("%s: %s = %q, %v; want %q", tt.kind, name, got, err, text)
			}
		}
	}
}

func TestUnpackBzip2(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/module.tar.bz2")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"tar.bz2", "tbz2"} {
		made, err := unpackBytes(kind, data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"main.tf", "sub/", "sub/main.tf"}, names(t, made)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestUnpackRefusesHostileArchives(t *testing.T) {
	t.Parallel()
	many := func(n int) []member {
		members := make([]member, n)
		for i := range members {
			members[i] = member{name: fmt.Sprint(i)}
		}
		return members
	}
	bomb := member{name: "bomb.bin", data: strings.Repeat("\x00", 8<<20)}
	tests := []struct {
		name, kind string
		data       []byte
		reason     string
	}{
		{"climbing_zip", "zip", zipOf(t, member{name: "../evil.tf", data: "x"}), "leads out"},
		{"climbing_tar", "tar", tarOf(t, member{name: "a/../../evil.tf", data: "x"}), "leads out"},
		{"climbing_with_backslash", "zip", zipOf(t, member{name: `a\..\evil.tf`, data: "x"}), "leads out"},
		{"empty_zip", "zip", zipOf(t), "empty"},
		{"empty_tar", "tar", tarOf(t), "empty"},
		{"many_entries", "zip", zipOf(t, many(maxEntries+1)...), "more than"},
		{"file_as_directory", "tar", tarOf(t, member{name: "a.tf", data: "x"}, member{name: "a.tf/b.tf", data: "x"}), "same name"},
		{"no_zip", "zip", []byte("text"), "not a valid zip"},
		{"no_tar", "tar.gz", []byte("text"), "cannot be unpacked"},
		{"cut_tar", "tar.gz", gzipOf(t, tarOf(t, member{name: "a.tf", data: "x"}))[:60], "EOF"},
		{"xz", "tar.xz", []byte("\xfd7zXZ\x00"), "not supported"},
		{"configuration_without_a_name", "tar", tarOf(t, member{name: "a\xff.tf", data: "x"}), "no path"},
		{"name_with_zero", "zip", zipOf(t, member{name: "a\x00.tf", data: "x"}), "no path"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if made, err := unpackBytes(tt.kind, tt.data); err == nil || !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("unpack = %v, %v; want an error that says %q", made, err, tt.reason)
			}
		})
	}
	t.Run("bomb_that_is_not_kept", func(t *testing.T) {
		t.Parallel()
		made, err := unpackBytes("zip", zipOf(t, bomb))
		if err != nil || bytesIn(t, made) != 0 {
			t.Errorf("unpack = %v, %v; want nothing to be unpacked", made, err)
		}
	})
	t.Run("bomb_in_a_kept_file", func(t *testing.T) {
		t.Parallel()
		bomb := member{name: "bomb.tf", data: strings.Repeat("\x00", maxFile+1)}
		made, err := unpackBytes("zip", zipOf(t, bomb))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := made.Open("bomb.tf"); err == nil || !strings.Contains(err.Error(), "larger than") || bytesIn(t, made) != 0 {
			t.Errorf("Open = %v with %d bytes kept, want an error and none", err, bytesIn(t, made))
		}
	})
}

func TestUnpackBoundsWhatIsRead(t *testing.T) {
	t.Parallel()
	r := &capped{strings.NewReader("abcdef"), 5, errUnpacked}
	if _, err := io.ReadAll(r); err != errUnpacked {
		t.Errorf("reading beyond the limit: %v", err)
	}
	if got, err := io.ReadAll(&capped{strings.NewReader("abcde"), 5, errUnpacked}); err != nil || string(got) != "abcde" {
		t.Errorf("reading up to the limit: %q, %v", got, err)
	}
}

func FuzzUnpack(f *testing.F) {
	t := new(testing.T)
	members := []member{{name: "a/main.tf", data: "#"}, {name: "b", dir: true}, {name: "c.tf", link: "/x"}}
	f.Add(zipOf(t, members...))
	f.Add(tarOf(t, members...))
	f.Add(gzipOf(t, tarOf(t, members...)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for kind := range formats {
			made, err := unpackBytes(kind, data)
			if err != nil {
				continue
			}
			for _, name := range made.Names() {
				if info, err := made.Lstat(name); err != nil || info.Mode().Type() == fs.ModeSymlink {
					t.Errorf("%s unpacks %q, %v, %v", kind, name, info, err)
				}
			}
		}
	})
}

func TestArchiveFormat(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"https://example.com/a.zip":                  "zip",
		"https://example.com/a.tar.gz?x=1":           "tar.gz",
		"https://example.com/a.tgz":                  "tgz",
		"https://example.com/a.tar.bz2":              "tar.bz2",
		"https://example.com/a.gz":                   "",
		"https://example.com/zip":                    "",
		"https://example.com/a":                      "",
		"https://example.com/a?archive=zip":          "zip",
		"https://example.com/a.zip?archive=tar.gz":   "tar.gz",
		"https://example.com/a.zip?archive=false":    "",
		"https://example.com/a.zip?archive=0":        "",
		"https://example.com/a.zip?archive=nonsense": "",
	} {
		u, err := url.Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		a, got := archiveFormat(moduleaddr.Package{Getter: "https", URL: u})
		if got != want || a.URL.Query().Has("archive") {
			t.Errorf("archiveFormat(%q) = %q of %v, want %q", source, got, a.URL, want)
		}
	}
}

// shared is a zip archive of n entries that share the data of the first.
func shared(t *testing.T, n int) []byte {
	t.Helper()
	const end = 22 // bytes of the end record
	one := zipOf(t, member{name: "a.tf", data: strings.Repeat(" ", 1<<20)})
	table := binary.LittleEndian.Uint32(one[len(one)-6:])
	entry := one[table : len(one)-end]
	all := slices.Concat(one[:table], bytes.Repeat(entry, n), one[len(one)-end:])
	record := all[len(all)-end:]
	binary.LittleEndian.PutUint16(record[8:], uint16(n))
	binary.LittleEndian.PutUint16(record[10:], uint16(n))
	binary.LittleEndian.PutUint32(record[12:], uint32(n*len(entry)))
	return all
}

// TestUnpackRefusesSharedData refuses archives whose entries share their data: a few
// megabytes could unpack to terabytes.
func TestUnpackRefusesSharedData(t *testing.T) {
	t.Parallel()
	if _, err := unpackBytes("zip", shared(t, 1)); err != nil {
		t.Errorf("unpack of one entry: %v", err)
	}
	if _, err := unpackBytes("zip", shared(t, 2)); err == nil || !strings.Contains(err.Error(), "share their data") {
		t.Errorf("unpack of two entries with the same data = %v, want an error", err)
	}
}

// TestUnpackCountsWhatIsReplaced holds that an archive has one bound, even if an entry
// replaces another one of the same name.
func TestUnpackCountsWhatIsReplaced(t *testing.T) {
	t.Parallel()
	full := newFilling(archiveForm{})
	full.files = maxFiles - 1
	if err := full.file("a.tf", strings.NewReader("")); err != nil {
		t.Errorf("the last file that is kept: %v", err)
	}
	if err := full.file("a.tf", strings.NewReader("")); !errors.Is(err, errTooManyKept) {
		t.Errorf("file beyond the number = %v, want %v", err, errTooManyKept)
	}
	made := newFilling(archiveForm{})
	made.unpacked = maxUnpacked - 3
	if err := made.file("a.tf", strings.NewReader("12")); err != nil {
		t.Errorf("file within the budget: %v", err)
	}
	if err := made.file("a.tf", strings.NewReader("12")); !errors.Is(err, errUnpacked) {
		t.Errorf("file beyond the budget = %v, want %v", err, errUnpacked)
	}
}

func TestFillingIsBounded(t *testing.T) {
	t.Parallel()
	made := newFilling(archiveForm{})
	for i := range maxKept / maxFile {
		if err := made.file(fmt.Sprintf("%d.tf", i), io.LimitReader(zeros{}, maxFile)); err != nil {
			t.Errorf("file up to the limit: %v", err)
		}
	}
	if err := made.file("more.tf", strings.NewReader("a")); err == nil || err.Error() != "its configuration is larger than 32 MiB" {
		t.Errorf("file beyond the limit: %v", err)
	}
	made.entries = maxEntries
	if err := made.count(); !errors.Is(err, errTooMany) {
		t.Errorf("entry beyond the limit: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// bytesIn is the size of all files in a tree.
func bytesIn(t *testing.T, made *filetree.Tree) (sum int64) {
	t.Helper()
	for _, name := range made.Names() {
		if info, err := made.Lstat(name); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum
}

func TestUnpackEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for kind, data := range map[string][]byte{"zip": zipOf(t, member{name: "a.tf"}), "tar": tarOf(t, member{name: "a.tf"})} {
		if _, err := unpack(ctx, io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), archiveForm{kind: kind}); !errors.Is(err, context.Canceled) {
			t.Errorf("unpack of a %s = %v, want %v", kind, err, context.Canceled)
		}
	}
}
