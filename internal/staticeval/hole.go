package staticeval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// hole begins the text that stands for a part that is not known: an identifier, so
// that it can be in a string or in place of a value. Nobody writes it but to have
// less known of what is theirs.
const hole = "relock_not_known_"

// Holes are the parts of texts that are not known. What a template interpolates
// without it having a value is a hole in the text; a directive that has none
// leaves nothing known of the text. Functions carry such texts on, or do without;
// nothing is decided by them.
type Holes struct {
	// Through are the functions that take such texts, and whose results have the
	// holes of their arguments and depend on nothing else of them.
	Through []string

	reasons []*Unknown
	way     *branching // that is gone through open directives; nil: they leave nothing known
}

// Text is the text of another hole.
func (h *Holes) Text(why *Unknown) string {
	h.reasons = append(h.reasons, why)
	return fmt.Sprintf("%s%d_", hole, len(h.reasons))
}

// Has reports whether a text has a hole.
func Has(text string) bool { return strings.Contains(text, hole) }

// Reason is that of the first hole in a text, or nil.
func (h *Holes) Reason(text string) *Unknown {
	_, after, found := strings.Cut(text, hole)
	if !found {
		return nil
	}
	digits, _, _ := strings.Cut(after, "_")
	if n, err := strconv.Atoi(digits); err == nil && n > 0 && n <= len(h.reasons) {
		return h.reasons[n-1]
	}
	return nowhere // the text is that of a file
}

// Whole returns a value in which texts with holes are not known.
func (h *Holes) Whole(v cty.Value) cty.Value {
	if h == nil || !holed(v) {
		return v
	}
	plain, marks := v.UnmarkDeepWithPaths()
	whole, err := cty.Transform(plain, func(_ cty.Path, part cty.Value) (cty.Value, error) {
		if why := h.Reason(text(part)); why != nil {
			return cty.UnknownVal(cty.String).Mark(why), nil
		}
		return part, nil
	})
	if err != nil {
		return cty.DynamicVal
	}
	for _, m := range marks {
		if len(m.Path) == 0 {
			whole = whole.WithMarks(m.Marks)
		}
	}
	return whole
}

// holed reports whether a text in a value has a hole.
func holed(v cty.Value) bool {
	plain, _ := v.UnmarkDeep()
	for _, part := range cty.DeepValues(plain) {
		if Has(text(part)) {
			return true
		}
	}
	return false
}

// ReasonFor is the reason for which a value, or the first part of it, is not known; nil
// if that is not marked.
func ReasonFor(v cty.Value) *Unknown {
	if v.IsWhollyKnown() {
		return nil
	}
	for _, part := range cty.DeepValues(v) {
		if part.IsKnown() {
			continue
		}
		if why := reasonOf(part.Marks()); why != nil {
			return why
		}
	}
	_, marks := v.UnmarkDeep()
	return reasonOf(marks)
}

// reasonOf is the first reason among marks, in the order of their texts.
func reasonOf(marks cty.ValueMarks) *Unknown {
	var all []*Unknown
	for mark := range marks {
		if why, ok := mark.(*Unknown); ok {
			all = append(all, why)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b *Unknown) int { return strings.Compare(a.Reason, b.Reason) })
}

// HolesIn counts the holes in a text.
func HolesIn(text string) int { return strings.Count(text, hole) }
