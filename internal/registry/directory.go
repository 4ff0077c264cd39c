package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/provider"
)

// directory is a filesystem mirror: a directory of packages, as zips or
// unpacked. It has neither checksum lists nor signatures; the tools record of it
// what they compute.
type directory struct {
	*core
	shown  string // the directory's name, for people
	fsys   fs.FS
	stock  func() (stock, error)
	hashed memo.Memo[string, hash.Sum] // by the path
}

// stock is what a directory holds of each provider, in order of the names of
// files.
type stock map[provider.Addr][]held

// held is one package in a directory.
type held struct {
	version  provider.Version
	platform provider.Platform
	path     string // of the zip, or of the directory that was one
	packed   bool
}

// openDirectory makes a directory of a path. The path itself may be a link, but
// no directory below it may: only then is it sure that a search ends.
func openDirectory(c *core, dir string) *directory {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		resolved = dir // and the search says what is wrong
	}
	return newDirectory(c, os.DirFS(resolved), filepath.ToSlash(dir))
}

func newDirectory(c *core, fsys fs.FS, shown string) *directory {
	d := &directory{core: c, shown: shown, fsys: file.Tree(fsys)}
	d.stock = sync.OnceValues(d.search)
	return d
}

func (d *directory) host(provider.Addr) svchost.Hostname { return "" }
func (d *directory) name(provider.Addr) string           { return "filesystem mirror " + d.shown }

// holds reports whether any package of the provider is in the directory. One
// that cannot be searched holds nothing, and fails when it is asked.
func (d *directory) holds(addr provider.Addr) bool {
	s, err := d.stock()
	return err == nil && len(s[addr]) > 0
}

func (d *directory) releases(_ context.Context, _ provider.Tool, addr provider.Addr) ([]provider.Release, error) {
	s, err := d.stock()
	if err != nil {
		return nil, err
	}
	if len(s[addr]) == 0 {
		return nil, &provider.Error{
			Code:    provider.CodeUnknownProvider,
			Message: fmt.Sprintf("provider %s was not found in the %s", addr, d.name(addr)),
			Hint:    "put its packages there, or allow another installation method in the CLI configuration",
		}
	}
	var all union
	for _, h := range s[addr] {
		all.add([]provider.Release{{Version: h.version, Platforms: []provider.Platform{h.platform}}})
	}
	return all.sorted(), nil
}

func (d *directory) hashes(ctx context.Context, _ provider.Tool, want provider.Want) (provider.Hashes, error) {
	s, err := d.stock()
	if err != nil {
		return provider.Hashes{}, err
	}
	h, ok := choose(s[want.Addr], want)
	if !ok {
		return provider.Hashes{}, noPackage(want)
	}
	sum, err := d.hashed.Do(ctx, h.path, func() (hash.Sum, error) { return d.sum(ctx, h) })
	if err == nil {
		err = checkProgram(sum, want)
	}
	if err != nil {
		return provider.Hashes{}, err
	}
	p := provider.Package{Platform: want.Platform, ZH: sum.ZH, Size: sum.Size}
	if h.packed {
		p.Filename = path.Base(h.path)
	}
	return provider.Hashes{Package: p, H1: sum.H1, H1Zip: sum.H1Zip, Mirror: d.name(want.Addr)}, nil
}

// choose finds the package. Of several copies the tools take any; here a zip
// goes before a directory, since more can be said of it.
func choose(packages []held, want provider.Want) (held, bool) {
	var found []held
	for _, h := range packages {
		if h.version == want.Version && h.platform == want.Platform {
			found = append(found, h)
		}
	}
	if i := slices.IndexFunc(found, func(h held) bool { return h.packed }); i >= 0 {
		return found[i], true
	}
	if len(found) > 0 {
		return found[0], true
	}
	return held{}, false
}

func (d *directory) sum(ctx context.Context, h held) (hash.Sum, error) {
	sum, err := d.read(ctx, h)
	if err == nil || provider.Coded(err, provider.CodeCancelled) {
		return sum, err
	}
	e := &provider.Error{
		Code:    provider.CodeUnreadable,
		Message: fmt.Sprintf("hashing %s in the filesystem mirror %s", h.path, d.shown), Err: err,
	}
	if errors.Is(err, hash.ErrUnpack) {
		e.Code = provider.CodeBadPackage
	}
	return hash.Sum{}, e
}

func (d *directory) read(ctx context.Context, h held) (hash.Sum, error) {
	if h.packed {
		return d.readPacked(ctx, h.path)
	}
	// A link in place of the directory is followed.
	unpacked, err := fs.Sub(d.fsys, h.path)
	if err != nil {
		return hash.Sum{}, err
	}
	return hash.Dir(unpacked)
}

// readPacked computes the zh of a zip first, which takes a small part of the
// time that its content does: that may be known.
func (d *directory) readPacked(ctx context.Context, name string) (hash.Sum, error) {
	open := func() (io.ReadCloser, error) { return d.fsys.Open(name) }
	zh, err := hash.ZH(open)
	if err != nil {
		return hash.Sum{}, err
	}
	return d.fetch.sum(ctx, zh, func() (hash.Sum, error) {
		sum, err := hash.Stream(open, "")
		if err == nil && sum.ZH != zh {
			err = errors.New("it changed while it was read")
		}
		if err != nil {
			return hash.Sum{}, err
		}
		d.fetch.remember(path.Base(name), hash.Entry{Sum: sum, Origin: hash.FromPackage})
		return sum, nil
	})
}

// search lists all packages. What does not follow the layout is passed over;
// what cannot be read makes the whole directory unusable, as with the tools.
func (d *directory) search() (stock, error) {
	s := stock{}
	if err := d.visit(s, ".", 0); err != nil {
		return nil, &provider.Error{
			Code:    provider.CodeCLIConfig,
			Message: fmt.Sprintf("the %s cannot be searched", d.name(provider.Addr{})), Err: withoutRoot(err),
			Hint: "check its path in the CLI configuration, and its permissions",
		}
	}
	return s, nil
}

// withoutRoot drops the name that a file tree gives to its own root.
func withoutRoot(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == "." {
		return e.Err
	}
	return err
}

// The layout is HOST/NAMESPACE/TYPE/ and then either
// terraform-provider-TYPE_VERSION_OS_ARCH.zip or VERSION/OS_ARCH/.
const (
	typeDepth    = 3
	versionDepth = 4
)

// visit goes down to the packages. Links to directories above those are not
// followed.
func (d *directory) visit(s stock, dir string, depth int) error {
	entries, err := fs.ReadDir(d.fsys, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case depth == versionDepth:
			d.addUnpacked(s, name)
		case e.IsDir():
			if err := d.visit(s, name, depth+1); err != nil {
				return err
			}
		case depth == typeDepth:
			d.addPacked(s, name)
		}
	}
	return nil
}

// addUnpacked adds HOST/NAMESPACE/TYPE/VERSION/OS_ARCH if it is a directory or a
// link to one.
func (d *directory) addUnpacked(s stock, name string) {
	parts := strings.Split(name, "/")
	addr, err := provider.ParseFullAddr(path.Join(parts[:3]...))
	info, statErr := fs.Stat(d.fsys, name)
	if err != nil || statErr != nil || !info.IsDir() {
		return
	}
	s.add(addr, held{path: name}, parts[3], parts[4])
}

// addPacked adds HOST/NAMESPACE/TYPE/FILE if the name is that of a zip, in which
// case does not count, and if it is a file or a link to one.
func (d *directory) addPacked(s stock, name string) {
	dir, file := path.Split(name)
	addr, err := provider.ParseFullAddr(strings.TrimSuffix(dir, "/"))
	info, statErr := fs.Stat(d.fsys, name)
	if err != nil || statErr != nil || info.IsDir() {
		return
	}
	rest, isPackage := strings.CutPrefix(strings.ToLower(file), "terraform-provider-"+addr.Type+"_")
	rest, isZip := strings.CutSuffix(rest, ".zip")
	parts := strings.Split(rest, "_")
	if isPackage && isZip && len(parts) >= 3 {
		s.add(addr, held{path: name, packed: true}, parts[0], parts[1]+"_"+parts[2])
	}
}

// add completes the package with its version and platform, if they are such.
func (s stock) add(addr provider.Addr, h held, version, platform string) {
	var err, platformErr error
	h.version, err = provider.ParseVersion(version)
	h.platform, platformErr = provider.ParsePlatform(platform)
	if err == nil && platformErr == nil {
		s[addr] = append(s[addr], h)
	}
}
