package hash

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/provider"
)

// A cache's file is text that runs append to, and that prune replaces as a whole,
// a record a line:
//
//	relock hash cache 1.
//	package zh:… h1:… h1:… 12345 terraform-provider-x_v1.0.0 0123456789abcdef
//
// A record is written at once, begins with its newline, and ends with a
// checksum. So runs may append at the same time, and a record that is cut off
// or damaged spoils no other. A line that is no record is passed over.
const (
	// cacheHeader ends with the version and a full stop, so that none begins
	// another. It is there twice if two runs create the file at once.
	cacheHeader = anyHeader + "1."
	// anyHeader begins that of every version.
	anyHeader = "relock hash cache "
	// maxCache bounds what is read of a file: some 70,000 packages. Of a longer
	// one it is the end, where the newest are.
	maxCache = 16 << 20
	// maxRecord bounds a record; most have about 250 bytes.
	maxRecord = 4 << 10
	// noField is a field without value.
	noField = "-"
)

// record returns the entry as it is appended to a file.
func (e Entry) record() (string, error) {
	if err := e.Check(); err != nil {
		return "", fmt.Errorf("entry of the hash cache for %q: %w", e.Hashed.Sum.ZH, err)
	}
	h1zip, names := string(e.Hashed.Sum.H1Zip), noField
	if h1zip == "" {
		h1zip = noField
	}
	if len(e.Hashed.Programs) > 0 {
		names = strings.Join(collect.Mapped(e.Hashed.Programs, url.QueryEscape), ",") // names of files may hold any byte
	}
	record := fmt.Sprintf("\n%s %s %s %s %d %s ", e.Origin, e.Hashed.Sum.ZH, e.Hashed.Sum.H1, h1zip, e.Hashed.Sum.Size, names)
	digest := sha256.Sum256([]byte(record))
	record += hex.EncodeToString(digest[:8])
	if len(record) > maxRecord {
		return "", fmt.Errorf("entry of the hash cache for %q: it is longer than %d bytes", e.Hashed.Sum.ZH, maxRecord)
	}
	return record, nil
}

// Check returns an error unless the entry is whole, as Add demands it.
func (e Entry) Check() error {
	fromPackage := e.Origin == FromPackage
	zh, err := hex.DecodeString(e.Hashed.Sum.ZH.Value())
	switch {
	case !fromPackage && e.Origin != FromRegistry:
		return fmt.Errorf("origin %q", e.Origin)
	case err != nil || len(zh) != sha256.Size || e.Hashed.Sum.ZH != provider.ZH(hex.EncodeToString(zh)):
		return fmt.Errorf("zh %q", e.Hashed.Sum.ZH)
	case !isH1(e.Hashed.Sum.H1):
		return fmt.Errorf("h1 %q", e.Hashed.Sum.H1)
	case !isH1(e.Hashed.Sum.H1Zip) && (fromPackage || e.Hashed.Sum.H1Zip != ""):
		return fmt.Errorf("h1 of the zip %q", e.Hashed.Sum.H1Zip)
	case e.Hashed.Sum.Size < 0 || fromPackage && e.Hashed.Sum.Size == 0:
		return fmt.Errorf("size %d", e.Hashed.Sum.Size)
	case !fromPackage && len(e.Hashed.Programs) > 0:
		return fmt.Errorf("programs %q that no registry reports", e.Hashed.Programs)
	}
	for _, name := range e.Hashed.Programs {
		if !strings.HasPrefix(name, programPrefix) {
			return fmt.Errorf("program %q", name)
		}
	}
	return nil
}

func isH1(h provider.Hash) bool {
	b, err := base64.StdEncoding.Strict().DecodeString(h.Value())
	return err == nil && len(b) == sha256.Size && h == newH1(b)
}

// parseRecord reads a line. It takes nothing that record does not write, so
// that the fields and the checksum need no checks of their own.
func parseRecord(line string) (Entry, bool) {
	f := strings.Split(line, " ")
	if len(f) != 7 {
		return Entry{}, false
	}
	e := Entry{
		Origin: Origin(f[0]),
		Hashed: Hashed{Sum: provider.Sum{ZH: provider.Hash(f[1]), H1: provider.Hash(f[2]), H1Zip: provider.Hash(f[3])}},
	}
	if f[3] == noField {
		e.Hashed.Sum.H1Zip = ""
	}
	if f[5] != noField {
		e.Hashed.Programs = strings.Split(f[5], ",")
	}
	for i, name := range e.Hashed.Programs {
		e.Hashed.Programs[i], _ = url.QueryUnescape(name) // what is no escape is unlike the record
	}
	e.Hashed.Sum.Size, _ = strconv.ParseInt(f[4], 10, 64)
	record, err := e.record()
	return e, err == nil && record == "\n"+line
}

// appendTo appends a record to a cache's file, which is opened for that record
// alone: another run may have replaced it by a shorter one. A file that is
// missing or empty gets the header.
func appendTo(path, record string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, readableFile)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() == 0 {
		_, err = f.WriteString(cacheHeader)
	}
	if err == nil {
		_, err = f.WriteString(record)
	}
	return errors.Join(err, f.Close())
}

// readEntries calls add with the entries of a cache's file in their order.
func readEntries(path string, add func(Entry)) error {
	f, err := file.Open(path)
	if errors.Is(err, file.ErrIrregular) {
		return fmt.Errorf("%s: %w", path, ErrNoCache)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err := f.Seek(max(0, info.Size()-maxCache), io.SeekStart); err != nil {
		return err
	}
	ours, err := scanRecords(io.LimitReader(f, maxCache), add)
	if err == nil && !ours {
		err = fmt.Errorf("%s: %w", path, ErrNoCache)
	}
	return err
}

// scanRecords calls add with the entries in a file, and reports whether that is
// a cache's: it is empty or the beginning of a header, or has a header or a
// record in it.
func scanRecords(file io.Reader, add func(Entry)) (ours bool, err error) {
	r := bufio.NewReaderSize(file, maxRecord)
	for n := 0; err == nil; n++ {
		var text []byte
		text, err = r.ReadSlice('\n')
		for err == bufio.ErrBufferFull { // longer than any record: a part that is no record replaces it
			_, err = r.ReadSlice('\n')
		}
		line := string(bytes.TrimSuffix(text, []byte("\n")))
		e, ok := parseRecord(line)
		if ok {
			add(e)
		}
		cut := n == 0 && err == io.EOF && strings.HasPrefix(cacheHeader, line)
		ours = ours || ok || cut || strings.HasPrefix(line, cacheHeader)
	}
	if err == io.EOF {
		err = nil
	}
	return ours, err
}
