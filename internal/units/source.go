package units

import (
	"cmp"
	"net/url"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/staticeval"
)

// Source is the place of a unit's module. The zero value is the unit's own directory.
type Source struct {
	// Text is the evaluated source, without credentials, query and the path of the
	// repository. It is empty for the unit's own directory.
	Text string
	// Local says that the module is in the file tree. Package is copied whole, and init
	// runs in its directory Subdir.
	Local           bool
	Package, Subdir string

	// From is the origin that the source is relative to; nil if it is relative to the unit.
	From     *Origin
	registry *registryModule
	Full     string // the whole evaluated source; not for messages
	Place    problem.Place
}

// registryModule is a module of a module registry.
type registryModule struct{ host, module, subdir, version string }

// ParseSource reads a source. It is relative to the unit's directory.
func ParseSource(text, version, dir string) (Source, *staticeval.Unknown) {
	if text == "" {
		return Source{}, nil
	}
	text = spelledOut(text)
	s := Source{Full: text, Text: moduleaddr.Shown(strings.ReplaceAll(text, repositoryTop, "."))}
	if rest, ok := strings.CutPrefix(text, "tfr://"); ok {
		return s.fromRegistry(rest, version)
	}
	if isFetched(text) {
		if strings.Contains(withoutTop(text), path.Base(repositoryTop)) {
			return s, &staticeval.Unknown{Reason: "it depends on where the repository is"}
		}
		return s, nil
	}
	pkg, subdir, _ := strings.Cut(text, "//")
	if strings.HasPrefix(text, "//") {
		return s, &staticeval.Unknown{Reason: "it leads out of the repository"}
	}
	name, why := PathIn(dir, pkg)
	if why != nil {
		return s, why
	}
	s.Subdir = path.Clean("./" + strings.ReplaceAll(subdir, "//", "/"))
	if s.Subdir == ".." || strings.HasPrefix(s.Subdir, "../") {
		return s, &staticeval.Unknown{Reason: "its subdirectory leads out of the module package"}
	}
	if strings.Contains(name+"/"+s.Subdir, path.Base(repositoryTop)) {
		return s, &staticeval.Unknown{Reason: "it depends on where the repository is"}
	}
	s.Local, s.Package = true, name
	return s, nil
}

// spelledOut writes out the short forms of repositories at GitLab, which Terraform does not
// have [docs: pkg.go.dev/github.com/hashicorp/go-getter/v2].
func spelledOut(text string) string {
	pkg, query, hasQuery := strings.Cut(text, "?")
	pkg, subdir, hasSubdir := strings.Cut(pkg, "//")
	parts := strings.SplitN(pkg, "/", 4)
	if parts[0] != "gitlab.com" || len(parts) < 3 {
		return text
	}
	parts[2] = strings.TrimSuffix(parts[2], ".git") + ".git"
	spelled := "git::https://" + strings.Join(parts, "/")
	if hasSubdir {
		spelled += "//" + subdir
	}
	if hasQuery {
		spelled += "?" + query
	}
	return spelled
}

// withoutTop removes the path of the repository.
func withoutTop(text string) string {
	before, after, _ := strings.Cut(text, "file://"+repositoryTop)
	return before + after
}

// isFetched reports whether a source is fetched. A source that is neither a URL nor a short
// form is a path, even if it looks like the address of a registry.
func isFetched(text string) bool {
	if moduleaddr.Forced(text) || strings.Contains(text, "://") {
		return true
	}
	a, _ := moduleaddr.Parse(text, provider.Terraform)
	return a.Kind == moduleaddr.Remote && !path.IsAbs(text)
}

// fromRegistry reads tfr://HOST/NAMESPACE/NAME/SYSTEM[//SUBDIR]?version=VERSION
// [case source-tfr].
func (s Source) fromRegistry(rest, version string) (Source, *staticeval.Unknown) {
	rest, query, _ := strings.Cut(rest, "?")
	host, module, _ := strings.Cut(rest, "/")
	module, subdir, _ := strings.Cut(module, "//")
	values, err := url.ParseQuery(query)
	if err != nil || strings.Count(module, "/") != 2 {
		return s, &staticeval.Unknown{Refused: true, Reason: "it is no address of a module registry"}
	}
	if exact := values.Get("version"); exact != "" {
		version = exact
	}
	if version == "" {
		return s, &staticeval.Unknown{Refused: true, Reason: "the module of a registry has no version"}
	}
	s.registry = &registryModule{host, module, subdir, version}
	return s, nil
}

// in is the file tree with a local package: the unit's, or another one.
func (s Source) in(tree *Files) *Files {
	if s.From != nil {
		return s.From.Tree
	}
	return tree
}

// places is layer.places for a local package.
func (s Source) places() func(name string) problem.Place {
	if s.From != nil {
		return s.From.places
	}
	return nil
}

// own reports whether the unit has no source.
func (s Source) own() bool { return s.Full == "" }

// Fetched reports whether the module comes from outside the file tree.
func (s Source) Fetched() bool { return !s.own() && !s.Local }

// Origin is the directory of a local module or stack, in the unit's file tree or in the one
// that the source is relative to.
func (s Source) Origin(tree *Files) Origin {
	o := Origin{Tree: tree, top: s.Package}
	if s.From != nil {
		o = *s.From
	}
	o.Dir = path.Join(s.Package, s.Subdir)
	return o
}

// call is the call to give to a module client. repository is the path of the file tree on
// this machine; empty if it is not on disk.
func (s Source) call(tool provider.Tool, repository string) (scan.Call, *staticeval.Unknown) {
	if r := s.registry; r != nil {
		host := r.host
		if host == "" {
			host = tool.Name.DefaultHost().ForDisplay()
		}
		source := host + "/" + r.module
		if r.subdir != "" {
			source += "//" + r.subdir
		}
		return scan.Call{Source: source, Version: r.version, Versioned: true}, nil
	}
	text := s.Full
	if s.Local { // an archive
		text = repositoryTop + "/" + s.Package
		if s.Subdir != "." {
			text += "//" + s.Subdir
		}
	}
	if !strings.Contains(text, repositoryTop) {
		return scan.Call{Source: text}, nil
	}
	if repository == "" {
		return scan.Call{}, &staticeval.Unknown{Reason: "it is an archive or a repository on this machine, which is read only where relock is run by hand"}
	}
	return scan.Call{Source: strings.Replace(text, repositoryTop, repository, 1)}, nil
}

// plainlyWritten reports whether an attribute is a literal text.
func plainlyWritten(attr *hcl.Attribute) bool {
	v := staticeval.Literal(attr.Expr)
	return len(attr.Expr.Variables()) == 0 && v.IsKnown() && !v.IsNull() && v.Type() == cty.String
}

// Within reads a source that is relative to the origin, for update_source_with_cas. It must
// be a literal text that does not lead out of the files that were copied with it
// [case stack-cas-not-literal].
func (o Origin) Within(attr *hcl.Attribute, text string) (Source, *staticeval.Unknown) {
	if !plainlyWritten(attr) {
		return Source{}, &staticeval.Unknown{Refused: true, Reason: "update_source_with_cas takes a source that is written as it is"}
	}
	if isFetched(text) || path.IsAbs(text) {
		return Source{}, &staticeval.Unknown{Refused: true, Reason: "update_source_with_cas takes a relative source"}
	}
	pkg, subdir, _ := strings.Cut(text, "//")
	at := path.Join(o.Dir, pkg)
	whole := path.Join(at, subdir)
	for _, name := range []string{at, whole} {
		if _, inside := RelTo(o.top, name); !inside || name == ".." || strings.HasPrefix(name, "../") {
			return Source{}, &staticeval.Unknown{Refused: true, Reason: "its source leads out of what was copied with the stack file"}
		}
	}
	rel, _ := RelTo(at, whole)
	if _, inside := RelTo(at, whole); !inside {
		return Source{}, &staticeval.Unknown{Refused: true, Reason: "its source leads out of what was copied with the stack file"}
	}
	return Source{Text: text, Full: text, Local: true, Package: at, Subdir: cmp.Or(rel, "."), From: &o}, nil
}
