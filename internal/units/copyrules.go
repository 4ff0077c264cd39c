package units

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
)

// notCopied reports whether Terragrunt leaves out a path when it copies a directory
// [terragrunt 1.1 internal/util/file.go].
func notCopied(rel string) bool {
	if lockfile.Is(rel) {
		return false
	}
	return slices.ContainsFunc(strings.Split(rel, "/"), func(part string) bool { return strings.HasPrefix(part, ".") })
}

// copyList says which files of a directory are copied although they are hidden, and which
// files are not copied.
type copyList struct{ include, exclude []pathPattern }

// copies reports whether a path is copied: exclude wins. A path is excluded if its name
// starts with a path that exists and that a pattern matches: "x" also excludes "x.tf"
// [terragrunt 1.1 internal/util/file.go].
func (l *layer) copies(rel string, dir bool) bool {
	for i := 1; i <= len(rel) && len(l.keep.exclude) > 0; i++ {
		if anyMatches(l.keep.exclude, rel[:i]) {
			if _, _, err := l.tree.Follow(path.Join(l.dir, rel[:i])); err == nil {
				return false
			}
		}
	}
	if !notCopied(rel) || dir && slices.ContainsFunc(l.keep.include, func(p pathPattern) bool { return p.leadsTo(rel) }) {
		return true
	}
	for above := rel; above != "."; above = path.Dir(above) {
		if anyMatches(l.keep.include, above) {
			return true
		}
	}
	return false
}

func anyMatches(patterns []pathPattern, rel string) bool {
	return slices.ContainsFunc(patterns, func(p pathPattern) bool { return p.matches(rel) })
}

// pathPattern is a glob. A star means a part of a name, two stars and a slash mean any
// directories, braces mean one of several texts. A text without these is a path [docs:
// pkg.go.dev/github.com/mattn/go-zglob].
type pathPattern struct {
	text    string
	pattern *regexp.Regexp // nil for a path
}

// patternOf reads a glob.
func patternOf(glob string) (pathPattern, error) {
	p := pathPattern{text: path.Clean(glob)}
	if !strings.ContainsAny(p.text, "*{") {
		return p, nil
	}
	var b strings.Builder
	for rest := p.text; rest != ""; {
		end := strings.IndexAny(rest, "*{[")
		if end < 0 {
			end = len(rest)
		}
		b.WriteString(regexp.QuoteMeta(rest[:end]))
		rest = rest[end:]
		inner, after, closed := strings.Cut(strings.TrimLeft(rest, "{["), bracketEnd(rest))
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(.*/)?")
			rest = rest[3:]
		case strings.HasPrefix(rest, "*"):
			b.WriteString("[^/]*")
			rest = rest[1:]
		case rest == "":
		case closed && inner != "" && rest[0] == '[':
			b.WriteString("[" + inner + "]")
			rest = after
		case closed && inner != "":
			b.WriteString("(" + strings.ReplaceAll(regexp.QuoteMeta(inner), ",", "|") + ")")
			rest = after
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
			rest = rest[1:]
		}
	}
	pattern, err := regexp.Compile("^" + b.String() + "$")
	p.pattern = pattern
	return p, err
}

// bracketEnd is the text that ends a bracket.
func bracketEnd(rest string) string {
	if strings.HasPrefix(rest, "[") {
		return "]"
	}
	return "}"
}

func (p pathPattern) matches(rel string) bool {
	if p.pattern == nil {
		return rel == p.text
	}
	return p.pattern.MatchString(rel)
}

// leadsTo reports whether a pattern may match a path in a directory.
func (p pathPattern) leadsTo(dir string) bool {
	fixed, _, starred := strings.Cut(p.text, "*")
	fixed, _, alternatives := strings.Cut(fixed, "{")
	if !starred && !alternatives {
		return strings.HasPrefix(p.text, dir+"/")
	}
	return strings.HasPrefix(fixed, dir+"/") || strings.HasPrefix(dir+"/", fixed)
}
