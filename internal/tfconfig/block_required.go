package tfconfig

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

type requiredBlock struct {
	Place   problem.Place
	entries []requiredProvider
}

// requiredProvider is an entry of a required_providers block.
type requiredProvider struct {
	Place   problem.Place
	name    string // the local name
	addr    provider.Addr
	version *VersionText
	// source and constraint are expressions that need a scope. As long as there is either,
	// addr and version do not count.
	source, constraint scoped
	// unclear says that the entry has no source, but an unknown key that may mean one in a
	// newer release.
	unclear bool
	// expression is the written expression of the address, if it was evaluated.
	expression string
}

// scoped is an expression that needs a scope, with its text. The zero value is none.
type scoped struct {
	expr    hcl.Expression
	written string
}

// early reports whether the entry must be evaluated.
func (r requiredProvider) early() bool { return r.source.expr != nil || r.constraint.expr != nil }

// misplacedRequired reports a required_providers block at the top of a file.
func misplacedRequired(d *decoder, _ *file, block *hcl.Block) {
	d.errorf(block.DefRange, "invalid required_providers block: it must be in a terraform block")
}

// decodeRequired reads a required_providers block. Entries are in the order of the file.
func decodeRequired(d *decoder, block *hcl.Block) requiredBlock {
	found := requiredBlock{Place: d.placeOf(block.DefRange)}
	attrs, diags := block.Body.JustAttributes()
	if d.hcl(diags) {
		return found
	}
	written := slices.SortedFunc(maps.Values(attrs), func(a, b *hcl.Attribute) int {
		return cmp.Compare(a.NameRange.Start.Byte, b.NameRange.Start.Byte)
	})
	for _, attr := range written {
		if entry, ok := decodeEntry(d, attr); ok {
			found.entries = append(found.entries, entry)
		}
	}
	return found
}

// decodeEntry reads an entry in one of its two forms: an object, or the legacy form, which
// is only a version constraint. If an object has a key twice, the last one counts. The
// tools stop reading at an unknown key [terraform 1.11
// internal/configs/provider_requirements.go]. relock notes it as a doubt, and reads only
// the known source and version.
func decodeEntry(d *decoder, attr *hcl.Attribute) (requiredProvider, bool) {
	entry := requiredProvider{Place: d.placeOf(attr.NameRange), name: attr.Name}
	pairs, diags := hcl.ExprMap(attr.Expr)
	if diags.HasErrors() {
		ok := decodeLegacy(d, &entry, attr.Expr)
		return entry, ok
	}
	if !provider.NormalisedName(attr.Name) {
		d.errorf(attr.NameRange, badName)
		return entry, false
	}
	before, unknown := len(d.Diags), -1
	for _, pair := range pairs {
		name := keyText(pair.Key)
		switch evaluated := d.tool.Has(provider.ConstRequirements); {
		case name == "version" && evaluated:
			entry.constraint = d.scoped(pair.Value)
		case name == "source" && evaluated:
			entry.source = d.scoped(pair.Value)
		case name == "version":
			if isString(d, pair.Value, "version") {
				entry.version = d.constraint(pair.Value)
			}
		case name == "source":
			if isString(d, pair.Value, "source") {
				text, _ := d.text(pair.Value)
				decodeAddr(d, &entry, pair.Value, text)
			}
		case name == "configuration_aliases":
			checkAliases(d, attr.Name, pair.Value)
		default:
			d.doubt(pair.Key.Range(), attr.Name, pair.Value, "invalid required_providers entry: only source, version and configuration_aliases may be set")
			if unknown < 0 {
				unknown = len(d.Diags)
			}
		}
	}
	if entry.early() {
		decodeConstant(d, &entry)
	}
	if unknown >= 0 { // the key may change the meaning of the rest
		d.Diags, entry.source, entry.constraint = d.Diags[:unknown], scoped{}, scoped{}
		entry.unclear = entry.addr == provider.Addr{}
	}
	if len(d.Diags) > before {
		return entry, false
	}
	return entry, entry.source.expr != nil || entry.addr != provider.Addr{} || implyAddr(d, &entry)
}

// decodeLegacy reads an entry in the legacy form.
func decodeLegacy(d *decoder, entry *requiredProvider, expr hcl.Expression) bool {
	// The keyword null has no type and is refused. A null string, which only an operator
	// can produce, is an entry without a constraint.
	v, diags := constant(expr)
	if diags.HasErrors() || !v.Type().IsPrimitiveType() {
		d.errorf(expr.Range(), "invalid required_providers entry: it must be a string or an object")
		return false
	}
	entry.version = d.constraint(expr)
	// Only in this form does the case of the local name not matter.
	return implyAddr(d, entry)
}

// keyText is a key of an object. It is empty if the key is no string, as no known key is.
func keyText(expr hcl.Expression) string {
	key, diags := constant(expr)
	if diags.HasErrors() || key.Type() != cty.String || key.IsNull() {
		return ""
	}
	return key.AsString()
}

// isString reports whether an expression is a string without conversion. If not, it reports
// an error.
func isString(d *decoder, expr hcl.Expression, what string) bool {
	v, diags := constant(expr)
	if diags.HasErrors() || v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
		d.errorf(expr.Range(), "invalid %s: it must be a string, without variables and functions", what)
		return false
	}
	return true
}

// decodeAddr reads the source address of a provider.
func decodeAddr(d *decoder, entry *requiredProvider, expr hcl.Expression, text argument) {
	if !text.set {
		d.errorf(expr.Range(), "invalid source: it must not be null")
		return
	}
	addr, err := provider.ParseAddr(text.text, d.tool.Name)
	_, typ, qualified := strings.Cut(text.text, "/")
	switch {
	case err == nil && d.tool.Refusal(addr) != "":
		d.errorf(expr.Range(), "invalid provider source address: %s", d.tool.Refusal(addr))
	case err == nil:
		entry.addr = addr
	case qualified && strings.HasPrefix(path.Base(typ), "terraform-"):
		d.errorf(expr.Range(), badType)
	default:
		d.errorf(expr.Range(), badAddr)
	}
}

// checkAliases checks configuration_aliases, which by themselves require nothing.
func checkAliases(d *decoder, name string, expr hcl.Expression) {
	exprs, diags := hcl.ExprList(expr)
	d.hcl(diags)
	for _, e := range exprs {
		traversal, diags := hcl.AbsTraversalForExpr(e)
		if d.hcl(diags) {
			continue
		}
		if ref, ok := refOf(traversal); !ok || ref.name != name {
			d.errorf(e.Range(), "invalid configuration_aliases: each must be like %s.ALIAS", name)
		}
	}
}

// implyAddr gives an entry without a source the provider of its name.
func implyAddr(d *decoder, entry *requiredProvider) bool {
	addr, err := provider.ImpliedAddr(entry.name, d.tool.Name)
	if err != nil {
		d.Add(entry.Place, badName)
		return false
	}
	entry.addr = addr
	return true
}
