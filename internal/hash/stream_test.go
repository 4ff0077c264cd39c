package hash

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/provider"
)

// raw is an entry with data as it stands in the archive.
type raw struct {
	zip.FileHeader
	data string
}

func rawArchive(t testing.TB, entries ...raw) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, e := range entries {
		e.CompressedSize64 = uint64(len(e.data))
		f, err := w.CreateRaw(&e.FileHeader)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// deflated is an entry without descriptor, as programs write it that can go
// back and fill in sizes.
func deflated(t testing.TB, name, content string) raw {
	t.Helper()
	var buf bytes.Buffer
	w, err := flate.NewWriter(&buf, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return raw{zip.FileHeader{
		Name: name, Method: zip.Deflate, CRC32: crc32.ChecksumIEEE([]byte(content)), UncompressedSize64: uint64(len(content)),
	}, buf.String()}
}

func stored(name, content string) raw {
	return raw{zip.FileHeader{Name: name, CRC32: crc32.ChecksumIEEE([]byte(content)), UncompressedSize64: uint64(len(content))}, content}
}

// opener counts how often the data is opened.
func opener(data []byte) (open func() (io.ReadCloser, error), opened *int) {
	opened = new(int)
	return func() (io.ReadCloser, error) {
		*opened++
		return io.NopCloser(bytes.NewReader(data)), nil
	}, opened
}

// TestOnePassSuffices holds that archives as the usual programs write them are
// read once.
func TestOnePassSuffices(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("some content of a file; ", 10_000)
	commented := deflated(t, "a", long)
	commented.Comment = "a comment of an entry"
	commented.Extra = []byte("\xca\xfe\x04\x00java")
	commented.Modified = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	utf8 := deflated(t, "ä", "")
	utf8.Flags |= 1 << 11
	for name, data := range map[string][]byte{
		"with_descriptors":    archive(t, entry{"terraform-provider-x", long, 0o755}, entry{"LICENSE", "MIT", 0o644}),
		"without_descriptors": rawArchive(t, deflated(t, "a", long), deflated(t, "b", ""), deflated(t, "c/d", "x")),
		"stored":              rawArchive(t, stored("a", long), stored("b", "")),
		"directories":         archive(t, entry{"d/", "", 0}, entry{"d/a", "1", 0}),
		"same_name_twice":     archive(t, entry{"a", "1", 0}, entry{"a", "2", 0}),
		"extra_and_comment":   rawArchive(t, commented),
		"utf8":                rawArchive(t, utf8),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := sumOf(t, data)
			if err != nil {
				t.Fatal(err)
			}
			open, opened := opener(data)
			got, err := Stream(open, "")
			if err != nil || got.Sum.H1 != want.Sum.H1 || *opened != 1 {
				t.Errorf("Stream = %v, %v after opening %d times, want %v after once", got, err, *opened, want)
			}
		})
	}
}

type oddArchive struct {
	name string
	zip  []byte
	why  string
}

// odds are archives that are not what they seem from their beginning on, or
// that take more care than one pass takes.
func odds(t testing.TB) []oddArchive {
	t.Helper()
	le := binary.LittleEndian
	good := archive(t, entry{"a", "content of a", 0}, entry{"b", "content of b", 0})
	plain := rawArchive(t, deflated(t, "a", "content of a"), deflated(t, "b", "content of b"))
	table := bytes.Index(good, []byte(entrySignature))
	second := table + bytes.Index(good[table+1:], []byte(entrySignature)) + 1
	end := bytes.LastIndex(good, []byte(endSignature))
	descriptor := bytes.Index(good, []byte(descriptorSignature))
	edit := func(data []byte, at int, b ...byte) []byte {
		data = bytes.Clone(data)
		copy(data[at:], b)
		return data
	}
	// moved replaces good[from:to], and moves the table of the end record along.
	moved := func(from, to int, with string) []byte {
		data := bytes.Join([][]byte{good[:from], []byte(with), good[to:]}, nil)
		at := len(data) - endSize + 16
		le.PutUint32(data[at:], uint32(len(with)-(to-from))+le.Uint32(data[at:]))
		return data
	}
	// listing ends good with these entries of the table.
	listing := func(n uint16, entries ...[]byte) []byte {
		list := bytes.Join(entries, nil)
		data := bytes.Join([][]byte{good[:table], list, good[end:]}, nil)
		le.PutUint16(data[len(data)-endSize+8:], n)
		le.PutUint16(data[len(data)-endSize+10:], n)
		le.PutUint32(data[len(data)-endSize+12:], uint32(len(list)))
		return data
	}
	streamed := stored("a", "content")
	streamed.Flags = flagDescriptor
	bzip := stored("a", "content")
	bzip.Method = 12
	// archive/zip writes no content to names with a slash at the end.
	directory := bytes.ReplaceAll(rawArchive(t, stored("d_", "content")), []byte("d_"), []byte("d/"))
	padded := deflated(t, "a", "content")
	padded.data += "padding"
	wide := deflated(t, "a", "content")
	wide.Comment = strings.Repeat("x", max16-entrySize-1)
	first, last := good[table:second], good[second:end]
	return []oddArchive{
		{"no_archive", []byte("<html>not found</html>, said at a length that no end record has"), "end record"},
		{"truncated", good[:len(good)-1], "it ends too early"},
		{"truncated_in_data", good[:40], "it ends too early"},
		{"prefix", append([]byte("#!/bin/sh\n"), good...), "end record"},
		{"trailing", append(bytes.Clone(good), 0), "bytes behind its end"},
		{"second_archive", append(bytes.Clone(good), plain...), "bytes behind its end"},
		{"comment", append(edit(good, len(good)-2, 3), "abc"...), "end record"},
		{"comment_with_an_end_record", append(edit(good, len(good)-2, endSize), good[end:]...), "end record"},
		{"gap", moved(table, table, "gap"), "a table that lacks an entry"},
		{"encrypted", edit(good, 6, 9), "flags"},
		{"strong_encryption", edit(good, 6, 0x48), "flags"},
		{"stored_with_descriptor", rawArchive(t, streamed), "method"},
		{"other_method", rawArchive(t, bzip), "method"},
		{"zip64_sizes", edit(plain, 18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "header unlike the data"},
		{"zip64_stored", edit(rawArchive(t, stored("a", "")), 18, 0xff, 0xff, 0xff, 0xff), "method"},
		{"size_of_the_table_like_zip64", rawArchive(t, wide), "zip64"},
		{"block_type", edit(good, memberSize+1, 7), "deflate: block type"},
		{"data_then_padding", rawArchive(t, padded), "header unlike the data"},
		{"checksum", edit(plain, 14, 1, 2, 3, 4), "header unlike the data"},
		{"checksum_before_a_descriptor", edit(good, 14, 1, 2, 3, 4), "header or descriptor"},
		{"checksum_in_the_descriptor", edit(good, descriptor+4, 1, 2, 3, 4), "header or descriptor"},
		{"size_in_the_descriptor", edit(good, descriptor+12, 1), "header or descriptor"},
		{"descriptor_without_signature", edit(good, descriptor, 'p'), "descriptor without signature"},
		{"short_descriptor", moved(descriptor, descriptor+4, ""), "header or descriptor"},
		{"entry_not_listed", listing(1, first), "it ends too early"},
		{"entries_in_another_order", listing(2, last, first), "table unlike the entries"},
		{"entry_listed_twice", listing(3, first, last, last), "end record"},
		{"other_name_listed", edit(good, table+entrySize, 'c'), "table unlike the entries"},
		{"other_flags_listed", edit(good, table+8, 0), "table unlike the entries"},
		{"other_checksum_listed", edit(good, table+16, 1), "table unlike the entries"},
		{"other_size_listed", edit(good, table+24, 1), "table unlike the entries"},
		{"other_disk_listed", edit(good, table+34, 1), "table unlike the entries"},
		{"other_offset_listed", edit(good, second+42, 0), "table unlike the entries"},
		{"number_of_entries", edit(good, end+10, 1), "end record"},
		{"number_of_disks", edit(good, end+4, 1), "end record"},
		{"offset_of_the_table", edit(good, end+16, 0), "end record"},
		{"entries_before_the_beginning", edit(good, end+16, 0xff), "end record"},
		{"directory_with_content", directory, "a directory with content"},
		{"newline", archive(t, entry{"a\nb", "", 0}), "a name with a newline"},
		{"long_name", archive(t, entry{strings.Repeat("x/", maxPath), "", 0}), "long names"},
	}
}

// TestOddArchivesAreReadAgain holds that one pass gives up on an archive for
// the reason that it was made for, and that the library then decides.
func TestOddArchivesAreReadAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range odds(t) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := onePass(bytes.NewReader(tt.zip))
			if !isOdd(err) || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("onePass = %v, want odd: %s", err, tt.why)
			}
			sumOf(t, tt.zip)
			open, opened := opener(tt.zip)
			if _, err := Stream(open, ""); isOdd(err) || *opened != 2 {
				t.Errorf("Stream = %v after opening %d times, want the library's answer after 2", err, *opened)
			}
		})
	}
}

// An odd archive that is not the wanted one is not fetched again to find out what
// it holds.
func TestStreamFetchesAnotherArchiveOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range odds(t) {
		open, opened := opener(tt.zip)
		want, _ := onePass(bytes.NewReader(tt.zip))
		hashed, err := Stream(open, provider.ZH(strings.Repeat("0", 64)))
		if err == nil || hashed.Sum.ZH != want.Sum.ZH || hashed.Sum.ZH == "" || *opened != 1 {
			t.Errorf("Stream of an archive with %s = %v, %v after opening %d times, want its zh and an error after once", tt.name, hashed.Sum.ZH, err, *opened)
		}
	}
}

func TestOnePassIsBounded(t *testing.T) {
	t.Parallel()
	names := make([]entry, maxNames/4000+1)
	for i := range names {
		names[i] = entry{strings.Repeat("abcdefg/", 500), "", 0}
	}
	for name, data := range map[string][]byte{
		"names":   archive(t, names...),
		"entries": archive(t, make([]entry, maxEntries+1)...),
	} {
		if _, err := onePass(bytes.NewReader(data)); !isOdd(err) {
			t.Errorf("onePass with many %s = %v, want that it gives up", name, err)
		}
	}
	data := archive(t, entry{"a", "12345", 0}, entry{"b", "67890", 0})
	for left, enough := range map[int64]bool{9: false, 10: true} {
		p := pass{left: left, leftNames: maxNames}
		p.src.reset(bytes.NewReader(data))
		if err := p.readMembers(); (err == nil) != enough {
			t.Errorf("readMembers of 10 bytes where %d are left = %v", left, err)
		}
	}
}

func TestStreamReturnsWhatOpenFailsWith(t *testing.T) {
	t.Parallel()
	refused := errors.New("401")
	opened := 0
	_, err := Stream(func() (io.ReadCloser, error) {
		if opened++; opened == 2 {
			return nil, refused
		}
		return io.NopCloser(strings.NewReader("odd")), nil
	}, "")
	if err != refused || opened != 2 {
		t.Errorf("Stream = %v after opening %d times, want the second answer, %v", err, opened, refused)
	}
}

// FuzzBuiltPackage holds what FuzzPackage does, for archives that are sound in
// most of their parts.
func FuzzBuiltPackage(f *testing.F) {
	f.Add([]byte{0, 1, 3, 'a', 'b', 'c'}, uint16(0), byte(0))
	f.Add([]byte{1, 0, 9, 2, 3, 200, 3, 2, 1}, uint16(26), byte(1))
	f.Fuzz(func(t *testing.T, recipe []byte, at uint16, with byte) {
		sumOf(t, cook(t, recipe, at, with))
	})
}

// cook builds an archive after a recipe, and changes one byte of it.
func cook(t *testing.T, recipe []byte, at uint16, with byte) []byte {
	next := func() byte {
		if len(recipe) == 0 {
			return 0
		}
		b := recipe[0]
		recipe = recipe[1:]
		return b
	}
	var entries []raw
	for len(recipe) > 0 && len(entries) < 8 {
		kind := next()
		name := []string{"a", "b", "a/b", "d_", "./a", "terraform-provider-x", "d", "../a"}[next()%8]
		n := min(int(next()), len(recipe))
		content := strings.Repeat(string(recipe[:n]), 1+int(kind>>5))
		recipe = recipe[n:]
		e := deflated(t, name, content)
		if kind&1 != 0 {
			e = stored(name, content)
		}
		if kind&2 != 0 {
			e.Flags |= flagDescriptor
		}
		if kind&4 != 0 {
			e.ExternalAttrs, e.CreatorVersion = uint32(next())<<24|uint32(next())<<16|0x10, uint16(next()%4)<<8
		}
		if kind&8 != 0 {
			e.Extra = recipe[:min(len(recipe), 9)]
		}
		entries = append(entries, e)
	}
	data := bytes.ReplaceAll(rawArchive(t, entries...), []byte("d_"), []byte("d/"))
	data[int(at)%len(data)] ^= with
	return data
}
