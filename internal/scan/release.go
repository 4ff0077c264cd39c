package scan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
	"github.com/relock-dev/relock/internal/versionfile"
)

// choice is the release of a tool that all required_version constraints allow.
type choice struct {
	version provider.Version // the newest whose rules are known
	exact   bool             // a constraint names the release itself
	newer   bool             // the constraints allow only releases newer than the known ones
	none    bool             // the constraints exclude each other
	open    bool             // the constraints also allow newer releases
}

// choose returns the newest release of a tool that all constraints and the pin allow, or
// the oldest one if the pin asks for it. The pin may be nil. It tries only the last release
// of each minor version and releases at bounds: between two rows of the table of features,
// all releases have the same rules.
func choose(name provider.ToolName, texts []tfconfig.VersionText, pin *versionfile.Pin) choice {
	newest := provider.Newest(name).Version
	first := provider.First(name).Version
	candidates := append(pin.Candidates(name), first, provider.Version{Minor: 14}, provider.Version{Patch: 1})
	demands := slices.Clone(texts)
	if pin != nil && pin.Constraint != "" {
		demands = append(demands, tfconfig.VersionText{Text: pin.Constraint})
	}
	var all goversion.Constraints
	exact := false
	for _, text := range demands {
		constraints, err := goversion.NewConstraint(text.Text)
		if err != nil || slices.ContainsFunc(constraints, (*goversion.Constraint).Prerelease) {
			continue // the tool refuses these in every release [terraform 1.11 internal/configs/module.go]
		}
		for _, c := range constraints {
			term := strings.TrimSpace(c.String())
			operand := strings.TrimLeft(term, "=!<>~")
			operator := strings.TrimSuffix(term, operand)
			exact = exact || operator == "" || operator == "="
			candidates = append(candidates, beside(operator, strings.TrimSpace(operand))...)
		}
		all = append(all, constraints...)
	}
	admits := func(v provider.Version) bool {
		return pin.Admits(v) && (len(all) == 0 || all.Check(goversion.Must(goversion.NewVersion(v.String()))))
	}
	allowed := slices.DeleteFunc(candidates, func(v provider.Version) bool { return v.Compare(first) < 0 || !admits(v) })
	if len(allowed) == 0 {
		return choice{none: true}
	}
	open := slices.ContainsFunc([]provider.Version{
		{Major: newest.Major, Minor: newest.Minor, Patch: newest.Patch + 1}, {Major: newest.Major, Minor: newest.Minor + 1}, {Major: newest.Major + 1},
	}, admits)
	known := slices.DeleteFunc(slices.Clone(allowed), func(v provider.Version) bool { return v.Compare(newest) > 0 })
	if len(known) == 0 {
		return choice{version: newest, newer: true}
	}
	lasts := name.Lasts()
	released := slices.DeleteFunc(slices.Clone(known), func(v provider.Version) bool {
		return !slices.ContainsFunc(lasts, func(last provider.Version) bool {
			return v.Major == last.Major && v.Minor == last.Minor && v.Patch <= last.Patch
		})
	})
	if len(released) > 0 {
		known = released
	}
	if pin != nil && pin.Kind == versionfile.Oldest && len(texts) > 0 {
		return choice{version: slices.MinFunc(known, provider.Version.Compare), exact: exact, open: open}
	}
	return choice{version: slices.MaxFunc(known, provider.Version.Compare), exact: exact, open: open}
}

// beside are the releases at and next to the bound of a constraint, and the first of the
// minor version below.
func beside(operator, bound string) []provider.Version {
	parsed, err := goversion.NewVersion(bound)
	if err != nil {
		return nil
	}
	s := parsed.Core().Segments64()
	v := provider.Version{Major: s[0], Minor: s[1], Patch: s[2]}
	found := []provider.Version{v}
	if operator == ">" || operator == "!=" {
		found = append(found, provider.Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch + 1})
	}
	if v.Patch > 0 {
		found = append(found, provider.Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch - 1})
	}
	if v.Minor > 0 {
		found = append(found, provider.Version{Major: v.Major, Minor: v.Minor - 1})
	}
	return found
}

// conflict reports the constraint that excludes every release allowed by the earlier ones
// and by the pin.
func (w *walker) conflict(pin *versionfile.Pin) {
	for i, text := range w.versions {
		if !choose(w.tool.Name, w.versions[:i+1], pin).none {
			continue
		}
		with := ""
		for _, other := range w.versions[:i] {
			if choose(w.tool.Name, []tfconfig.VersionText{other, text}, nil).none {
				with = fmt.Sprintf(" together with that at %s", other.Place)
				break
			}
		}
		if with == "" && pin != nil && !choose(w.tool.Name, w.versions[:i+1], nil).none {
			with = fmt.Sprintf(" together with what is pinned at %s", pin.Place)
		}
		w.Add(text.Place, "unsupported release: no release of %s meets the constraint%s", w.tool.Name.Title(), with)
		return
	}
}

// maxReleases bounds how often a module tree is read by the rules of another release. The
// requirements read by one release's rules may exclude that release.
const maxReleases = 5

// walk reads the module tree by the rules of the known release, or of the newest one that
// its modules allow.
func (l *loading) walk(packages *packages, opts *Options) *walker {
	pinned := !l.Assumed
	for tries := 1; ; tries++ {
		w := l.walkOnce(packages, opts)
		if pinned {
			l.newer = l.Tool.Version.Core().Compare(provider.Newest(l.Tool.Name).Version) > 0
			if l.newer {
				w.readers = onlyNewer
			}
			return w
		}
		c := choose(l.Tool.Name, w.versions, l.Pin)
		if c.none {
			w.conflict(l.Pin)
			return w
		}
		next := provider.Tool{Name: l.Tool.Name, Version: c.version}
		same := next.Rules() == l.Tool.Rules()
		if !same && !l.at().Configured(next) {
			w.Add(w.versions[0].Place, "unsupported release: %s reads none of the files here", next)
			return w
		}
		// A release may stay if the tree, read by its rules, does not exclude it. By the
		// rules of a newer release other files may count.
		if same || tries > 1 && c.version.Compare(l.Tool.Version) > 0 || tries == maxReleases {
			if same {
				l.Tool, l.newer, l.exact = next, c.newer, c.exact
			}
			if c.newer {
				w.readers = onlyNewer
			} else if c.open {
				w.readers = anyNewer
			}
			return w
		}
		l.Tool = next
	}
}

// maxInstalls bounds how often a module tree is read to find out what its calls install. A
// module in the package of another call may call further such modules.
const maxInstalls = 100

// walkOnce reads the module tree by the rules of one release. If a module is in the package
// of a later call, it reads the tree again.
func (l *loading) walkOnce(packages *packages, opts *Options) *walker {
	known := newInstalls()
	for tries := 1; ; tries++ {
		w := &walker{packages: packages, lock: l.lock, tool: l.Tool, pinned: !l.Assumed, asked: l.asked, installs: known}
		w.root(l.config(), opts, &l.given)
		again := len(w.found.packages) != len(known.packages) || !maps.Equal(w.found.unread, known.unread)
		if !w.missed || !again || tries == maxInstalls {
			return w
		}
		known = w.found
	}
}

// Newer warns once for each tool of which a release newer than the known ones is required,
// and for each block and argument that no known release has.
func Newer(modules []RootModule) []problem.Problem {
	var diags []problem.Problem
	said := map[string]bool{}
	for _, m := range modules {
		for _, d := range m.Unfamiliar {
			text := fmt.Sprintf("%s: %s, the newest release that relock knows, does not support it; a newer one may", d.Message, provider.Newest(m.Tool.Name))
			if said[text] {
				continue
			}
			said[text] = true
			d.Severity, d.Code, d.Message = problem.SeverityWarning, problem.CodeUnknownRelease, text
			d.Hint = "correct it if it is a mistake; if another tool or release is used, set --tool and --tool-version"
			diags = append(diags, d)
		}
	}
	for _, name := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
		if slices.ContainsFunc(modules, func(m RootModule) bool { return m.Newer && m.Tool.Name == name }) {
			diags = append(diags, problem.Problem{
				Severity: problem.SeverityWarning, Code: problem.CodeUnknownRelease,
				Message: fmt.Sprintf(
					"relock knows no release of %s that is new enough: it uses the rules of %s", name.Title(), provider.Newest(name),
				),
				Hint: "update relock, if there is a newer release of it",
			})
		}
	}
	return diags
}
