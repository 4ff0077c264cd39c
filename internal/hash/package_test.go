package hash

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/relock-dev/relock/internal/provider"
)

// TestPackageAsTheToolsRecord checks archives that Terraform and OpenTofu
// locked: H1 is what they recorded, H1Zip what they accept.
func TestPackageAsTheToolsRecord(t *testing.T) {
	t.Parallel()
	programs := []string{"terraform-provider-alpha_v1.1.0"}
	for name, want := range map[string]Hashed{
		"dir-entries": {
			Sum: provider.Sum{
				ZH:    "zh:f7f26767b9fed793185c470144cf341c231761875c5d9d31d4ee7048b97d4c75",
				H1:    "h1:Q5uWu3v2txTWDkJ4UUFGx/pek/mCWdwdXSQX0ZJpkOw=",
				H1Zip: "h1:6PCkPUzdGBsY0SnZHmvd2OW04is7pThyMcbtZ5yi4So=",
				Size:  445,
			},
			Programs: programs,
		},
		"duplicate-names": {
			Sum: provider.Sum{
				ZH:    "zh:dad4766084ddc67f4c987df2533e03e654d4cad840cbb889395db8a5b6ed44b8",
				H1:    "h1:FRlGoci8a5NTVZaloOZEjgRkgop8k55obgJUqxIEpSk=",
				H1Zip: "h1:F3/czrBQCcHIxI962PmVzCfiu5+I9Ehuazxi0f8LFDA=",
				Size:  447,
			},
			Programs: programs,
		},
		"duplicate-shorter": {
			Sum: provider.Sum{
				ZH:    "zh:b26d1dfe18a0ac40c5c696eea810c1a4934c2df14d9954bbf5a4b9df481ae026",
				H1:    "h1:aBaY+cEEbddhqsaDFUM7AuSCEM2PN2W98wVYHXykZNA=",
				H1Zip: "h1:edSkpR9tDBfmPgu62Ld8RHK+inXavlChavELcQ9rpYc=",
				Size:  454,
			},
			Programs: programs,
		},
		"symlink": {
			Sum: provider.Sum{
				ZH:    "zh:c98f63d1864bd7b195171c801b661226da79f2b98f6188f11a931de607d318a6",
				H1:    "h1:WxQqqufJuCSI0YAr0X5flFbRkCHbspzMSAAkwoGEnUE=",
				H1Zip: "h1:WxQqqufJuCSI0YAr0X5flFbRkCHbspzMSAAkwoGEnUE=",
				Size:  359,
			},
			Programs: programs,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join("testdata", name+".zip"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := sumOf(t, data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Package (-want +got):\n%s", diff)
			}
		})
	}
}

// byTable hashes an archive as the library reads it.
func byTable(data []byte) (Hashed, error) {
	hashed := Hashed{Sum: provider.Sum{ZH: provider.ZH(fmt.Sprintf("%x", sha256.Sum256(data))), Size: int64(len(data))}}
	if err := hashed.addContent(io.NewSectionReader(bytes.NewReader(data), 0, hashed.Sum.Size)); err != nil {
		return hashed, fmt.Errorf("%w: %w", ErrUnpack, err)
	}
	return hashed, nil
}

// sumOf hashes the archive in all ways, which must agree.
func sumOf(t testing.TB, data []byte) (Hashed, error) {
	t.Helper()
	want, wantErr := byTable(data)
	same := func(how string, got Hashed, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-byTable +got):\n%s", how, diff)
		}
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || errors.Is(err, ErrUnpack) != errors.Is(wantErr, ErrUnpack) {
			t.Errorf("%s = %v, want %v", how, err, wantErr)
		}
	}
	got, err := Package(bytes.NewReader(data))
	same("Package", got, err)
	got, err = Stream(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, "")
	same("Stream", got, err)
	if zh, err := ZH(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }); zh != want.Sum.ZH || err != nil {
		t.Errorf("ZH = %s, %v, want %s", zh, err, want.Sum.ZH)
	}
	got, err = onePass(iotest.OneByteReader(bytes.NewReader(data)))
	if !isOdd(err) {
		same("onePass of one byte at a time", got, err)
	}
	return want, wantErr
}

// entry is one entry of an archive; a mode of 0 leaves it unset.
type entry struct {
	name, content string
	mode          fs.FileMode
}

func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.mode != 0 {
			h.SetMode(e.mode)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// h1 computes the hash of files by name and content.
func h1(t *testing.T, files map[string]string) provider.Hash {
	t.Helper()
	var names []string
	for name := range files {
		names = append(names, name)
	}
	h, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(files[name])), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return provider.Hash(h)
}

func TestUnpackedNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		entries []entry
		dir     map[string]string // what lies in the directory
		same    bool              // H1Zip equals H1
	}{
		{"plain", []entry{{"a", "1", 0o644}, {"b/c", "2", 0o755}}, map[string]string{"a": "1", "b/c": "2"}, true},
		{"dot", []entry{{"./a", "1", 0o644}}, map[string]string{"a": "1"}, false},
		{"absolute", []entry{{"/a", "1", 0o644}}, map[string]string{"a": "1"}, false},
		{"double_slash", []entry{{"a//b", "1", 0o644}}, map[string]string{"a/b": "1"}, false},
		{"two_names_of_one_path", []entry{{"./a", "1", 0o644}, {"a", "2", 0o644}}, map[string]string{"a": "2"}, false},
		{"backslash", []entry{{`a\b`, "1", 0o644}}, map[string]string{`a\b`: "1"}, true},
		{"dots_in_names", []entry{{"a..b/...", "1", 0o644}}, map[string]string{"a..b/...": "1"}, true},
		{"directory_by_mode", []entry{{"d", "", fs.ModeDir | 0o755}, {"d/a", "1", 0o644}}, map[string]string{"d/a": "1"}, false},
		{"directory_twice", []entry{{"d/", "", 0}, {"d/", "", 0}, {"/", "", 0}, {"d/a", "1", 0}}, map[string]string{"d/a": "1"}, false},
		{"symbolic_link", []entry{{"l", "target", fs.ModeSymlink | 0o777}}, map[string]string{"l": "target"}, true},
		{"no_mode", []entry{{"a", "1", 0}}, map[string]string{"a": "1"}, true},
		{"directories_only", []entry{{"d/", "", 0}}, map[string]string{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := sumOf(t, archive(t, tt.entries...))
			if err != nil {
				t.Fatal(err)
			}
			if want := h1(t, tt.dir); got.Sum.H1 != want {
				t.Errorf("H1 = %s, want %s of %v", got.Sum.H1, want, tt.dir)
			}
			if (got.Sum.H1 == got.Sum.H1Zip) != tt.same {
				t.Errorf("H1 = %s, H1Zip = %s; want them equal: %v", got.Sum.H1, got.Sum.H1Zip, tt.same)
			}
		})
	}
}

func TestPackageThatCannotBeUnpacked(t *testing.T) {
	t.Parallel()
	good := archive(t, entry{"a", strings.Repeat("content", 100), 0o644})
	corrupt := bytes.Clone(good)
	corrupt[40] ^= 0xff
	many := make([]entry, maxEntries+1)
	for i := range many {
		many[i] = entry{"d/", "", 0}
	}
	tests := []struct {
		name string
		zip  []byte
		want string
	}{
		{"empty_input", nil, "not a valid zip"},
		{"no_zip", []byte("<html>not found</html>"), "not a valid zip"},
		{"truncated", good[:len(good)-10], "not a valid zip"},
		{"corrupt", corrupt, ""},
		{"empty_archive", archive(t), "empty archive"},
		{"parent", archive(t, entry{"a/../../b", "", 0o644}), "'..'"},
		{"parent_by_backslash", archive(t, entry{`a\..\b`, "", 0o644}), "'..'"},
		{"file_then_directory", archive(t, entry{"a", "", 0o644}, entry{"a/b", "", 0o644}), "both a file and a directory"},
		{"directory_then_file", archive(t, entry{"a/", "", 0}, entry{"a", "", 0o644}), "both a file and a directory"},
		{"files_and_directories", archive(t, entry{"a", "", 0}, entry{"b", "", 0}, entry{"a/c", "", 0}, entry{"b/c", "", 0}), `"a" is both`},
		{"file_at_the_top", archive(t, entry{".", "", 0o644}), "both a file and a directory"},
		{"nul", archive(t, entry{"a\x00b", "", 0o644}), "NUL"},
		{"newline", archive(t, entry{"a\nb", "", 0o644}), "newlines"},
		{"long_name", archive(t, entry{strings.Repeat("x", 256), "", 0o644}), "too long"},
		{"long_path", archive(t, entry{strings.Repeat("x/", 2100), "", 0o644}), "too long"},
		{"unreadable", archive(t, entry{"a", "", 0o300}), "no read permission"},
		{"too_many_entries", archive(t, many...), "more than 10000 entries"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := sumOf(t, tt.zip)
			if !errors.Is(err, ErrUnpack) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Package = %v, want that it cannot be unpacked: %q", err, tt.want)
			}
			digest := sha256.Sum256(tt.zip)
			want := Hashed{Sum: provider.Sum{ZH: provider.ZH(hex.EncodeToString(digest[:])), Size: int64(len(tt.zip))}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Sum beside the error (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnpackedSizeIsBounded announces more than the limit in the archive's
// table, which is looked at before anything is read.
func TestUnpackedSizeIsBounded(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, name := range []string{"a", "b"} {
		h := &zip.FileHeader{Name: name, UncompressedSize64: maxUnpacked/2 + 1, CompressedSize64: 1}
		f, err := w.CreateRaw(h)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte{0})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sumOf(t, buf.Bytes()); !errors.Is(err, ErrUnpack) || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("Package = %v, want that the content is too large", err)
	}
}

func TestReadErrorIsNotAboutThePackage(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	good := archive(t, entry{"a", strings.Repeat("content", 100), 0o644}, entry{"b", "", 0o644})
	for n := range good {
		r := func() io.Reader { return io.MultiReader(bytes.NewReader(good[:n]), iotest.ErrReader(broken)) }
		if _, err := Package(r()); err != broken {
			t.Errorf("Package, broken after %d bytes: %v, want the reader's error alone", n, err)
		}
		open := func() (io.ReadCloser, error) { return io.NopCloser(r()), nil }
		if _, err := Stream(open, ""); err != broken {
			t.Errorf("Stream, broken after %d bytes: %v, want the reader's error alone", n, err)
		}
		if zh, err := ZH(open); zh != "" || err != broken {
			t.Errorf("ZH, broken after %d bytes: %q, %v, want the reader's error alone", n, zh, err)
		}
	}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"terraform-provider-alpha":          true,
		"terraform-provider-alpha_v1.1.0":   true,
		"terraform-provider-alpha.exe":      true,
		"terraform-provider-alphabet":       false,
		"terraform-provider-alpha-x":        false,
		"terraform-provider-beta":           false,
		"bin/terraform-provider-alpha":      false,
		"terraform-provider-alpha_v1/inner": false,
		"README.md":                         false,
	} {
		got, err := sumOf(t, archive(t, entry{name, "bin", 0o644}))
		if err != nil {
			t.Fatal(err)
		}
		if got.Runs("alpha") != want {
			t.Errorf("Runs(alpha) with %s = %v, want %v", name, !want, want)
		}
	}
}

// FuzzPackage holds that no archive makes Package panic, that one pass agrees
// with the library wherever it does not give up, and that H1Zip is what the
// tools compute with dirhash.HashZip.
func FuzzPackage(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*.zip")
	if err != nil || len(seeds) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range seeds {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(archive(f, entry{"a", "1", 0}, entry{"a", "2", 0}, entry{"./a", "3", 0}, entry{"d/", "", 0}))
	for _, tt := range odds(f) {
		f.Add(tt.zip)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		hashed, err := sumOf(t, data)
		if err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), "package.zip")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := dirhash.HashZip(path, dirhash.Hash1)
		if err != nil || hashed.Sum.H1Zip != provider.Hash(want) {
			t.Errorf("H1Zip = %s, want %s (%v)", hashed.Sum.H1Zip, want, err)
		}
	})
}
