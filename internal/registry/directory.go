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

// directoryMirror is a filesystem mirror: a directory of packages, as zips or unpacked. It
// has neither checksum lists nor signatures. The tools record the hashes that they compute
// [terraform 1.11 internal/getproviders/filesystem_mirror_source.go].
type directoryMirror struct {
	fetch    *fetcher
	shown    string // the directory's name, for people
	fsys     fs.FS
	packages func() (map[provider.Addr][]localPackage, error) // sorted by the names of files
	sums     memo.Memo[string, hash.Hashed]                   // by the path
}

type localPackage struct {
	version  provider.Version
	platform provider.Platform
	path     string // of the zip, or of the unpacked directory
	packed   bool
}

// openDirectory opens a directory. The path itself may be a link. Directories below it may
// not: so the search always ends.
func openDirectory(f *fetcher, dir string) *directoryMirror {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		resolved = dir // the search reports the error
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

// has reports whether the directory has a package of the provider. If the directory cannot
// be searched, the result is false, and asking for a package fails.
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

// hashes prefers a zip to an unpacked copy, as its zh is known, too. The tools take either
// [terraform 1.11 internal/getproviders/filesystem_mirror_source.go].
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

// sum hashes a package. An unpacked package may be a link.
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

// sumZip computes the zh of a zip first. If that zh is known, so is the content, which
// takes much longer to hash.
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

// search lists all packages. Files outside the layout are skipped. A file that cannot be
// read makes the whole directory unusable, as in the tools [terraform 1.11
// internal/getproviders/filesystem_search.go].
//
// The layout is HOST/NAMESPACE/TYPE/, then either
// terraform-provider-TYPE_VERSION_OS_ARCH.zip or VERSION/OS_ARCH/. Links to directories
// above those are not followed.
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
			err = e.Err // a file tree has another name for its root
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

// find reads the package at a path: a zip has four parts, a directory five. Either may be a
// link. The case of a zip's name does not matter.
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
