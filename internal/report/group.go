package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/provider"
)

// concern is why an alert wants a reviewer's eye, as its first words.
type concern string

// The concerns, in the order in which they are listed.
const (
	concernFailed     concern = "Failed"
	concernCarried    concern = "Carried over"
	concernHash       concern = "Unaccounted hash"
	concernReReleased concern = "Re-released"
	concernSigner     concern = "Signer"
	concernDowngrade  concern = "Downgrade"
	concernMajor      concern = "Major upgrade"
	concernBreaking   concern = "Breaking changes"
	concernMoved      concern = "Other registry"
	concernRemoved    concern = "Removed"
	concernRegistry   concern = "Registry warning"
	concernPlatform   concern = "Missing platform"
	concernUnread     concern = "Not read"
	concernWarning    concern = "Warning"
)

var concerns = []concern{
	concernFailed, concernCarried, concernHash, concernReReleased, concernSigner, concernDowngrade, concernMajor, concernBreaking, concernMoved,
	concernRemoved, concernRegistry, concernPlatform, concernUnread, concernWarning,
}

// alert is one thing that needs a reviewer's eye, with the root modules that it
// concerns; none if it concerns the run.
type alert struct {
	concern concern
	text    string
	dirs    []string
}

// alerts collects what needs a reviewer's eye, equal ones of several root
// modules once.
func (r Report) alerts(d dialect) []alert {
	var all alerts
	for _, p := range r.Diagnostics {
		all.diagnostic(d, p)
	}
	for _, m := range r.Modules {
		dir := r.title(m)
		for _, p := range m.Diagnostics {
			all.diagnostic(d, p, dir)
		}
		for _, f := range m.Brief() {
			all.finding(d, f, dir)
		}
		for _, u := range m.missingUnread() {
			all.add(concernUnread, d.unread(u), dir)
		}
		for _, c := range m.Changes {
			all.change(d, c, dir)
		}
		for _, k := range m.facts() {
			all.facts(d, k, dir)
		}
	}
	r.breakingNotes(&all, d)
	slices.SortStableFunc(all, func(a, b alert) int {
		return cmp.Compare(slices.Index(concerns, a.concern), slices.Index(concerns, b.concern))
	})
	return all
}

type alerts []alert

func (all *alerts) add(c concern, text string, dirs ...string) {
	for i, a := range *all {
		if a.concern == c && a.text == text {
			(*all)[i].dirs = append(a.dirs, dirs...)
			return
		}
	}
	*all = append(*all, alert{c, text, dirs})
}

func (all *alerts) diagnostic(d dialect, p provider.Diagnostic, dirs ...string) {
	c := concernFailed
	if p.Severity == provider.SeverityWarning {
		c = concernWarning
	}
	all.problem(c, d, p, dirs...)
}

// problem adds a problem and what to do next.
func (all *alerts) problem(c concern, d dialect, p provider.Diagnostic, dirs ...string) {
	text := d.diagnostic(p)
	if p.Hint != "" {
		text = strings.TrimSuffix(text, ".") + ". Next: " + d.text(p.Hint)
	}
	all.add(c, text, dirs...)
}

func (all *alerts) change(d dialect, c Change, dir string) {
	what := d.name(c.Addr) + " " + d.move(c)
	if c.Carried {
		all.add(concernCarried, what+" is as this pull request proposed it before: this run could not look at it", dir)
	}
	switch {
	case c.Kind == diff.ReReleased:
		all.add(concernReReleased, what+": no package is as it was when the lock file was written", dir)
	case c.Kind == diff.Signer && c.Signer.Label == unsigned:
		all.add(concernSigner, what+" is no longer signed", dir)
	case c.Kind == diff.Signer:
		all.add(concernSigner, what+" is now "+cmp.Or(d.signer(c.Signer), "signed by another key"), dir)
	case c.resigned():
		all.add(concernSigner, what+" is "+d.signer(c.Signer)+" now; before it was "+d.signer(c.SignerFrom), dir)
	case c.Signer.Label == unsigned && c.Kind != diff.Removed:
		all.add(concernSigner, what+" has a checksum list that nobody signed", dir)
	}
	switch {
	case c.Kind == diff.Downgraded, c.Kind == diff.Moved && c.To.Compare(c.From) < 0:
		all.add(concernDowngrade, what, dir)
	case c.Bump == provider.BumpMajor && c.To.Compare(c.From) > 0:
		all.add(concernMajor, what+d.documentation(c), dir)
	}
	switch c.Kind {
	case diff.Removed:
		all.add(concernRemoved, what+": no configuration requires it any more", dir)
	case diff.Moved:
		all.add(concernMoved, what+" was "+d.code(c.AddrFrom.String()), dir)
	}
}

// documentation links to what Terraform's public registry has on a release, the
// publisher's guides among it; empty for other registries.
func (d dialect) documentation(c Change) string {
	if c.Addr.Host != provider.Terraform.DefaultHost() {
		return ""
	}
	page := fmt.Sprintf("https://%s/providers/%s/%s/%s/docs", c.Addr.Host, c.Addr.Namespace, c.Addr.Type, c.To)
	return " (" + d.link("documentation", page) + ")"
}

func (all *alerts) facts(d dialect, k Kept, dir string) {
	for _, w := range k.Warnings {
		all.add(concernRegistry, d.name(k.Addr)+": "+d.text(w), dir)
	}
	if len(k.Missing) > 0 {
		all.add(concernPlatform, d.missing(k), dir)
	}
}

// heldBack joins what holds providers back over root modules.
func (r Report) heldBack(d dialect) []alert {
	var all alerts
	for _, m := range r.Modules {
		for _, h := range m.held() {
			if text := d.held(h.Addr, h.Version, h.Held); text != "" {
				all.add("", text, r.title(m))
			}
		}
	}
	return all
}
