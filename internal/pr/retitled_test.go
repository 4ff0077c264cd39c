package pr

import (
	"strings"
	"testing"
)

// TestPeoplesTitlesStay gives a pull request a title that a person may have changed.
func TestPeoplesTitlesStay(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", maxTitle-5)
	for name, tt := range map[string]struct {
		set, now, proposed string
		want               string
		says               bool
	}{
		"as it was":                 {"Bump a", "Bump a", "Bump b", "Bump b", true},
		"a number before it":        {"Bump a", "OPS-1: Bump a", "Bump b", "OPS-1: Bump b", true},
		"words around it":           {"Bump a", "[x] Bump a (now)", "Bump b", "[x] Bump b (now)", true},
		"another title":             {"Bump a", "Ours", "Bump b", "Ours", false},
		"ours twice":                {"a", "a and a", "b", "b and a", true},
		"a marker that has no word": {"", "Ours", "Bump b", "Bump b", true},
		"too long beside it":        {"Bump a", long + "Bump a", "Bump b and more", long + "Bump a", false},
	} {
		title, says := Marker{Title: tt.set}.retitled(tt.now, tt.proposed)
		if title != tt.want || says != tt.says {
			t.Errorf("%s: retitled() = %q, %t; want %q, %t", name, title, says, tt.want, tt.says)
		}
	}
}

// TestATitleTakesNoRoomFromIgnores fills a marker.
func TestATitleTakesNoRoomFromIgnores(t *testing.T) {
	t.Parallel()
	m := Marker{Digest: strings.Repeat("d", largestMarker-len(Marker{}.String())-60)}
	m.entitle(strings.Repeat("t", 100))
	if m.Title != "" {
		t.Errorf("a title of %d bytes is in a marker of %d", len(m.Title), len(m.String()))
	}
	m.entitle("short")
	if read, ok := ParseMarker(m.String()); !ok || read.Title != "short" {
		t.Errorf("the title that is read is %q, %t", read.Title, ok)
	}
}
