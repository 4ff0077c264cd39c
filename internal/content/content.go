// Package content looks into the packages of providers: whether each holds one
// program, for the platform that it is said to be for, and nothing that leads out of
// it. The hashes of a package say nothing of that.
//
// A program is recognised by its own header, of which a bounded part is read. Nothing
// is unpacked, and nothing is run.
package content

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/zipfile"
)

// Inside are what an archive holds, whatever it is said to be.
type Inside struct {
	programs []candidate
	// odd says in words what no package should hold.
	odd []string
}

// candidate is a file at the top whose name may be that of a provider's program.
type candidate struct {
	name  string
	image image
}

const (
	executablePrefix = "terraform-provider-"
	// mostPrograms bounds the files whose headers are read, and mostOdd the entries
	// that are named.
	mostPrograms, mostOdd = 16, 10
	// longestName bounds the names that are repeated.
	longestName = 100
)

// Inspect looks into an archive. That nobody could unpack it is a fact, too.
func Inspect(archive io.ReaderAt, size int64) Inside {
	z, err := zipfile.Open(archive, size)
	if err != nil {
		return Inside{odd: []string{"it is no zip archive: " + err.Error()}}
	}
	var f Inside
	for _, e := range z.File {
		f.look(e)
	}
	return f
}

// look notes what must be said of one entry.
func (f *Inside) look(e *zip.File) {
	switch mode := e.Mode(); {
	case escapes(e.Name):
		f.note("the entry %s leads out of the directory that it is unpacked in", e.Name)
	case mode&fs.ModeSymlink != 0:
		f.note("the entry %s is a link", e.Name)
	case !mode.IsRegular() && !mode.IsDir():
		f.note("the entry %s is no file", e.Name)
	case mode.IsDir(), strings.Contains(e.Name, "/"), !strings.HasPrefix(e.Name, executablePrefix):
	case len(f.programs) < mostPrograms:
		f.programs = append(f.programs, candidate{e.Name, headerOf(e)})
	}
}

func (f *Inside) note(format, name string) {
	if text := fmt.Sprintf(format, quoted(name)); len(f.odd) < mostOdd && !slices.Contains(f.odd, text) {
		f.odd = append(f.odd, text)
	}
}

// quoted is the name of an entry as a message repeats it: anyone who made the archive
// may have written anything.
func quoted(name string) string {
	if len(name) > longestName {
		name = name[:longestName] + "…"
	}
	return fmt.Sprintf("%q", name)
}

// escapes reports whether a name means a place elsewhere on any system. The tools
// unpack below a directory whatever the name is, and refuse "..": no package has a
// reason for either [go-getter 1.7 decompress_zip.go].
func escapes(name string) bool {
	slashed := strings.ReplaceAll(name, `\`, "/")
	drive := len(name) > 1 && name[1] == ':'
	return name == "" || drive || path.IsAbs(slashed) || strings.ContainsRune(name, 0) || slices.Contains(strings.Split(slashed, "/"), "..")
}

// Problems says in words what is wrong with a package of a provider for a platform;
// nil if nothing is. The tools look for a file at the top whose name is that of the
// provider, alone or followed by _ or a dot, and run it
// [terraform 1.11 internal/providercache/cached_provider.go].
func (f Inside) Problems(providerType string, p provider.Platform) []string {
	problems := slices.Clone(f.odd)
	var own []candidate
	for _, one := range f.programs {
		if rest, ok := strings.CutPrefix(one.name, executablePrefix+providerType); ok && (rest == "" || rest[0] == '_' || rest[0] == '.') {
			own = append(own, one)
		}
	}
	switch len(own) {
	case 0:
		return append(problems, fmt.Sprintf("it has no program %s%s", executablePrefix, providerType))
	case 1:
	default:
		problems = append(problems, fmt.Sprintf("it has %s %s%s, and the tools may run any", collect.Count(len(own), "program", "programs"), executablePrefix, providerType))
	}
	for _, one := range own {
		if !one.image.fits(p) {
			problems = append(problems, fmt.Sprintf("%s is %s, and none for %s", quoted(one.name), one.image, p))
		}
	}
	return problems
}

func headerOf(e *zip.File) image {
	r, err := e.Open()
	if err != nil {
		return image{kind: closed}
	}
	defer r.Close()
	head := make([]byte, maxHeader)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return image{kind: closed}
	}
	return imageOf(head[:n])
}
