package staticeval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// hole begins the text for an unknown part. It is an identifier, so it can be in
// a string or replace a value. If an author writes it, only their own parts
// become unknown.
const hole = "relock_not_known_"

// Holes are the unknown parts of texts. An interpolation without a value is a
// hole in its template; a directive without a value makes the whole text unknown.
// Functions pass such texts on or refuse them. No decision depends on them.
type Holes struct {
	// Through are the functions that accept texts with holes. Their results have
	// the holes of their arguments, and depend on nothing else of them.
	Through []string

	reasons []*Unknown
	way     *branching // the way through open directives; nil: they make the text unknown
}

// Text is the text of a new hole.
func (h *Holes) Text(why *Unknown) string {
	h.reasons = append(h.reasons, why)
	return fmt.Sprintf("%s%d_", hole, len(h.reasons))
}

// Has reports whether a text has a hole.
func Has(text string) bool { return strings.Contains(text, hole) }

// Reason is the reason of the first hole in a text, or nil.
func (h *Holes) Reason(text string) *Unknown {
	_, after, found := strings.Cut(text, hole)
	if !found {
		return nil
	}
	digits, _, _ := strings.Cut(after, "_")
	if n, err := strconv.Atoi(digits); err == nil && n > 0 && n <= len(h.reasons) {
		return h.reasons[n-1]
	}
	return nowhere // the text is from a file
}

// Whole returns a value in which texts with holes are unknown.
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

// ReasonFor is the reason why a value, or its first unknown part, is unknown; nil
// if it has no mark.
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

// reasonOf is the first reason among marks, sorted by text.
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
