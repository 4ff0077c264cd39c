package units

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

// maxWays is how many ways may lead through the open directives of a unit's generated
// files, or of one file.
const maxWays = 32

// further are the contents of a generated file for the ways after the first; false if they
// are not all texts.
func (r result) further() ([]string, bool) {
	var texts []string
	for _, v := range r.ways {
		text, ok := textOf(v)
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

// textOf is a known text without its marks; false for any other value.
func textOf(v cty.Value) (string, bool) {
	plain, _ := v.Unmark()
	if plain.IsNull() || !plain.IsKnown() || plain.Type() != cty.String {
		return "", false
	}
	return plain.AsString(), true
}

// goWays reads the requirements of a unit for each way through the open directives of its
// written files. It writes the first valid way. If another way requires something else, the
// unit is not known: the condition decides.
func (made *Assembly) goWays(a *Assembler, w *workingCopy, dir string, files []Generated, tool provider.Tool) {
	ways := 1
	for _, f := range files {
		ways *= 1 + len(f.Ways)
	}
	switch {
	case len(files) == 0:
		return
	case ways > maxWays:
		made.decides(files[0], fmt.Sprintf("there are more than %d ways through the generated files", maxWays))
		return
	}
	first, valid, known := 0, false, ""
	for way := range ways {
		if !made.writeWay(w, dir, files, way, tool) {
			return
		}
		required, ok := requiredBy(a, w, made.Unit.Dir, dir, tool)
		switch {
		case !ok: // init refuses this way
		case !valid:
			first, valid, known = way, true, required
		case required != known:
			made.decides(files[0], "what is required depends on it")
			return
		}
	}
	made.writeWay(w, dir, files, first, tool)
}

// writeWay writes the generated files of one way. It returns false if an unknown part may
// change the requirements there.
func (made *Assembly) writeWay(w *workingCopy, dir string, files []Generated, way int, tool provider.Tool) bool {
	for _, f := range files {
		name, contents := path.Join(dir, f.Path), f.Contents
		if n := way % (1 + len(f.Ways)); n > 0 {
			contents = f.Ways[n-1]
		}
		way /= 1 + len(f.Ways)
		if misplaced(name, contents, tool) {
			made.decides(f, "a part that is not known may change what is required")
			return false
		}
		w.written[name] = []byte(contents)
	}
	return true
}

// decides notes that an open directive of a generated file decides about the requirements.
func (made *Assembly) decides(f Generated, how string) {
	why := f.Open.Unknown
	why.Reason = fmt.Sprintf("a directive in the generated file %q has a condition that is not known, and %s: %s", PlainLabel(f.Label), how, why.Reason)
	made.Hinder(f.Open.Place, why)
}

// earlyBlock is the beginning of a block that module sources may depend on.
var earlyBlock = regexp.MustCompile(`(?m)^\s*(locals|variable)\b`)

// holeNumber is the number of a hole, which differs each time.
var holeNumber = regexp.MustCompile(`[0-9]+_`)

// requiredBy is a text with the requirements of the configuration in a directory of the
// copy and with the modules that it calls; false if it is not valid.
func requiredBy(a *Assembler, w *workingCopy, unit, dir string, tool provider.Tool) (string, bool) {
	at, err := a.treeOf(w, unit, dir).Dir(dir)
	if err != nil {
		return "", false
	}
	c, open, diags := at.Configuration(tool).Evaluated(new(staticeval.Scope).Value)
	if problem.AnyError(c.Diagnostics) || problem.AnyError(diags) {
		return "", false
	}
	var facts []string
	for _, n := range c.Needs {
		facts = append(facts, fmt.Sprint("provider ", n.Addr, " ", n.Term))
	}
	for _, o := range open {
		facts = append(facts, fmt.Sprint("open ", o.Name, " ", o.Expression))
	}
	for _, call := range c.Calls {
		facts = append(facts, fmt.Sprint("module ", call.Name, " ", call.Module.Kind, " ", call.Module.Text, " ", call.Module.Version))
	}
	for _, v := range c.Versions {
		facts = append(facts, "tool "+v.Text)
	}
	for _, d := range c.Doubts {
		facts = append(facts, "doubt "+d.Name)
	}
	if tool.Has(provider.EarlyEvaluation) || tool.Has(provider.ConstEvaluation) {
		for _, src := range w.written {
			if earlyBlock.Match(src) {
				facts = append(facts, holeNumber.ReplaceAllString(string(src), ""))
			}
		}
	}
	slices.Sort(facts)
	return strings.Join(slices.Compact(facts), "\n"), true
}
