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
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// directoryMirror is a filesystem mirror: a directory of packages, as zips or
// unpacked. It has neither checksum lists nor signatures; the tools record of it
// what they compute [terraform 1.11 internal/getproviders/filesystem_mirror_source.go].
type directoryMirror struct {
	fetch    *fetcher
	shown    string // the directory's name, for people
	fsys     fs.FS
	packages func() (map[provider.Addr][]localPackage, error) // in order of the names of files
	sums     memo.Memo[string, hash.Hashed]                   // by the path
}

// localPackage is one package in a directory.
type localPackage struct {
	version  provider.Version
	platform provider.Platform
	path     string // of the zip, or of the directory that was one
	packed   bool
}

// openDirectory makes a directory of a path. The path itself may be a link, but
// no directory below it may: only then is it sure that a search ends.
func openDirectory(f *fetcher, dir string) *directoryMirror {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		resolved = dir // and the search says what is wrong
	}
	return newDirectory(f, os.DirFS(resolved), filepath.ToSlash(dir))
}

func newDirectory(f *fetcher, fsys fs.FS, shown string) *directoryMirror {
	d := &directoryMirror{fetch: f, shown: shown, fsys: file.Tree(fsys)}
	d.packages = sync.OnceValues(d.search)
	return d
}

func (d *directoryMirror) host(provider.Addr) svchost.Hostname { return "" }
func (d *directoryMirror) name(provider.Addr) string           { return "filesystem mirror " + d.shown }

// has reports whether any package of the provider is in the directory. One that
// cannot be searched has nothing, and fails when it is asked.
func (d *directoryMirror) has(addr provider.Addr) bool {
	packages, err := d.packages()
	return err == nil && len(packages[addr]) > 0
}

func (d *directoryMirror) releases(_ context.Context, _ provider.Tool, addr provider.Addr) ([]provider.Release, error) {
	packages, err := d.packages()
	if err != nil {
		return nil, err
	}
	if len(packages[addr]) == 0 {
		return nil, &problem.Error{
			Problem: problem.Problem{
				Code: problem.CodeUnknownProvider, Subject: problem.Subject{Addr: addr},
				Message: fmt.Sprintf("provider %s was not found in the %s", addr, d.name(addr)),
				Hint:    "put its packages there, or allow another installation method in the CLI configuration",
			},
		}
	}
	var all joinedReleases
	for _, p := range packages[addr] {
		all.add(provider.Release{Version: p.version, Platforms: []provider.Platform{p.platform}})
	}
	return all.sorted(), nil
}

// hashes takes a zip before an unpacked copy, since more can be said of it. The
// tools take any [terraform 1.11 internal/getproviders/filesystem_mirror_source.go].
func (d *directoryMirror) hashes(ctx context.Context, _ provider.Tool, want provider.Want, _ int64) (provider.Hashes, error) {
	copies, err := d.copies(want)
	if err != nil {
		return provider.Hashes{}, err
	}
	found := copies[max(0, slices.IndexFunc(copies, func(p localPackage) bool { return p.packed }))]
	hashed, err := d.sums.Do(ctx, found.path, func() (hash.Hashed, error) { return d.sum(ctx, want, found) })
	if err != nil {
		return provider.Hashes{}, err
	}
	h, err := hashesOf(hashed, want)
	h.Mirror = d.name(want.Addr)
	return h, err
}

func (d *directoryMirror) size(_ context.Context, _ provider.Tool, want provider.Want) (int64, error) {
	_, err := d.copies(want)
	return provider.AtHand, err
}

// copies are the packages of the release for the platform: at least one, or an error.
func (d *directoryMirror) copies(want provider.Want) ([]localPackage, error) {
	packages, err := d.packages()
	if err != nil {
		return nil, err
	}
	copies := slices.DeleteFunc(slices.Clone(packages[want.Addr]), func(p localPackage) bool {
		return p.version != want.Version || p.platform != want.Platform
	})
	if len(copies) == 0 {
		return nil, noPackage(want)
	}
	return copies, nil
}

// sum hashes a package. A link in place of an unpacked one is followed.
func (d *directoryMirror) sum(ctx context.Context, want provider.Want, p localPackage) (hash.Hashed, error) {
	var hashed hash.Hashed
	var err error
	if p.packed {
		hashed, err = d.sumZip(ctx, p.path)
	} else if unpacked, subErr := fs.Sub(d.fsys, p.path); subErr != nil {
		err = subErr
	} else {
		hashed, err = hash.Dir(unpacked)
	}
	if err == nil || problem.Coded(err, problem.CodeCancelled) {
		return hashed, err
	}
	e := &problem.Error{
		Problem: problem.Problem{
			Code:    problem.CodeUnreadable,
			Message: fmt.Sprintf("hashing %s in the filesystem mirror %s", p.path, d.shown),
		}, Err: err,
	}
	if errors.Is(err, hash.ErrUnpack) {
		e.Problem.Code = problem.CodeBadPackage
	}
	return hash.Hashed{}, naming(want, e)
}

// sumZip computes the zh of a zip first, which takes a small part of the time
// that its content does: that may be known.
func (d *directoryMirror) sumZip(ctx context.Context, name string) (hash.Hashed, error) {
	open := func() (io.ReadCloser, error) { return d.fsys.Open(name) }
	zh, err := hash.ZH(open)
	if err != nil {
		return hash.Hashed{}, err
	}
	return d.fetch.sum(ctx, zh, func() (hash.Hashed, error) {
		hashed, err := hash.Stream(open, "")
		if err == nil && hashed.Sum.ZH != zh {
			err = errors.New("it changed while it was read")
		}
		if err != nil {
			return hash.Hashed{}, err
		}
		d.fetch.remember(path.Base(name), hash.Entry{Hashed: hashed, Origin: hash.FromPackage})
		return hashed, nil
	})
}

// search lists all packages. What does not follow the layout is passed over;
// what cannot be read makes the whole directory unusable, as with the tools
// [terraform 1.11 internal/getproviders/filesystem_search.go].
//
// The layout is HOST/NAMESPACE/TYPE/ and then either
// terraform-provider-TYPE_VERSION_OS_ARCH.zip or VERSION/OS_ARCH/. Links to
// directories above those are not followed.
func (d *directoryMirror) search() (map[provider.Addr][]localPackage, error) {
	packages := map[provider.Addr][]localPackage{}
	err := fs.WalkDir(d.fsys, ".", func(name string, e fs.DirEntry, err error) error {
		parts := strings.Split(name, "/")
		isPackage := err == nil && (len(parts) == 4 && !e.IsDir() || len(parts) == 5)
		if !isPackage {
			return err
		}
		if addr, p, ok := d.find(name, parts); ok {
			packages[addr] = append(packages[addr], p)
		}
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == "." {
			err = e.Err // a file tree has a name of its own for its root
		}
		return nil, &problem.Error{
			Problem: problem.Problem{
				Code:    problem.CodeCLIConfig,
				Message: fmt.Sprintf("the %s cannot be searched", d.name(provider.Addr{})),
				Hint:    "check its path in the CLI configuration, and its permissions",
			}, Err: err,
		}
	}
	return packages, nil
}

// find reads the package at a path of four parts, a zip, or of five, a directory;
// either may be a link. In the name of a zip case does not count.
func (d *directoryMirror) find(name string, parts []string) (provider.Addr, localPackage, bool) {
	addr, err := provider.ParseFullAddr(path.Join(parts[:3]...))
	if err != nil {
		return addr, localPackage{}, false
	}
	p := localPackage{path: name, packed: len(parts) == 4}
	var version, platform string
	if p.packed {
		rest, isPackage := strings.CutPrefix(strings.ToLower(parts[3]), "terraform-provider-"+addr.Type+"_")
		rest, isZip := strings.CutSuffix(rest, ".zip")
		fields := strings.Split(rest, "_")
		if !isPackage || !isZip || len(fields) < 3 {
			return addr, p, false
		}
		version, platform = fields[0], fields[1]+"_"+fields[2]
	} else {
		version, platform = parts[3], parts[4]
	}
	info, err := fs.Stat(d.fsys, name)
	if err != nil || info.IsDir() == p.packed {
		return addr, p, false
	}
	p.version, err = provider.ParseVersion(version)
	if err != nil {
		return addr, p, false
	}
	p.platform, err = provider.ParsePlatform(platform)
	return addr, p, err == nil
}
