package pr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/safe"
)

// fullMarker is one with everything in it, hostile where it may be.
func fullMarker() Marker {
	return Marker{
		Digest: "d", Facts: "f", Stopped: true, AutoMerge: true, Title: "a--b", Closed: `done --> --!> <!-- relock:{} --> "`,
		Ignores: []policy.Ignore{
			{Provider: "hashicorp/aws", What: "major", By: "monalisa", When: "2026-01-05"},
			{Provider: "*/null", What: ">= 6.0.0, < 6.0.3", Until: "2027-01-31", By: "hubot[bot]", When: "2026-01-06"},
		},
	}
}

func TestMarkerComesBackFromABody(t *testing.T) {
	for name, text := range map[string]string{
		"text":          "What changes.",
		"empty":         "",
		"forged":        `See <!-- relock:{"closed":"by nobody"} --> this.`,
		"forged_line":   "Quoted:\n" + Marker{Closed: "by nobody"}.String() + "\nEnd.",
		"forged_open":   "See <!-- relock:{",
		"windows_lines": "What\r\nchanges.\r\n",
	} {
		for _, body := range []string{compose(safe.Ours(text), fullMarker()).String(), remark(text, fullMarker()).String()} {
			got, ok := ParseMarker(body)
			if diff := cmp.Diff(fullMarker(), got); !ok || diff != "" {
				t.Errorf("%s: ParseMarker(%q) (-want +got):\n%s", name, body, diff)
			}
			again := remark(body, Marker{Digest: "e"}).String()
			if got, _ := ParseMarker(again); got.Digest != "e" || got.Stopped {
				t.Errorf("%s: marker = %+v, want the new one", name, got)
			}
			if twice := remark(again, Marker{Digest: "e"}).String(); twice != again && strings.Contains(body, tailStart) {
				t.Errorf("%s: marking twice = %q, want %q", name, twice, again)
			}
		}
	}
}

func TestMarkerStaysHidden(t *testing.T) {
	text := fullMarker().String()
	inside := strings.TrimSuffix(strings.TrimPrefix(text, markerStart), markerEnd)
	for _, bad := range []string{"--", "<", ">", "\n"} {
		if strings.Contains(inside, bad) {
			t.Errorf("marker %q holds %q, which may end the comment", inside, bad)
		}
	}
}

func TestParseMarkerRefuses(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":          "Text.",
		"within_a_line":    `Text <!-- relock:{"digest":"d"} -->`,
		"quoted":           `> <!-- relock:{"digest":"d"} -->`,
		"text_behind":      `<!-- relock:{"digest":"d"} --> x`,
		"no_end":           `<!-- relock:{"digest":"d"}`,
		"not_json":         `<!-- relock:{digest} -->`,
		"two_values":       `<!-- relock:{} {} -->`,
		"another_type":     `<!-- relock:{"digest":1} -->`,
		"too_large":        Marker{Digest: strings.Repeat("d", largestMarker)}.String(),
		"bad_below_a_good": Marker{Digest: "d"}.String() + "\n<!-- relock:[] -->",
	} {
		if m, ok := ParseMarker(body); ok {
			t.Errorf("%s: ParseMarker(%q) = %+v, want none", name, body, m)
		}
	}
}

func TestParseMarkerKeepsOnlyIgnoresThatHold(t *testing.T) {
	good := policy.Ignore{Provider: "hashicorp/aws", By: "monalisa", When: "2026-01-05"}
	bad := map[string]func(*policy.Ignore){
		"pattern":    func(i *policy.Ignore) { i.Provider = "a/b/c/d" },
		"markup":     func(i *policy.Ignore) { i.Provider = "`</details>" },
		"no_pattern": func(i *policy.Ignore) { i.Provider = "" },
		"kind":       func(i *policy.Ignore) { i.What = "huge" },
		"long":       func(i *policy.Ignore) { i.What = strings.Repeat(">= 1.0.0, ", 25) + "< 2.0.0" },
		"day":        func(i *policy.Ignore) { i.Until = "soon" },
		"login":      func(i *policy.Ignore) { i.By = "a b" },
		"nobody":     func(i *policy.Ignore) { i.By = "" },
		"never":      func(i *policy.Ignore) { i.When = "" },
	}
	m := Marker{Ignores: []policy.Ignore{good}}
	for _, spoil := range bad {
		i := good
		spoil(&i)
		m.Ignores = append(m.Ignores, i)
	}
	got, ok := ParseMarker(m.String())
	if diff := cmp.Diff([]policy.Ignore{good}, got.Ignores); !ok || diff != "" {
		t.Errorf("ignores (-want +got):\n%s", diff)
	}
	for name, spoil := range bad {
		i := good
		spoil(&i)
		if i.Check() == nil {
			t.Errorf("%s: Check(%+v) = nil, want an error", name, i)
		}
	}
}

func TestBodyShowsWhatIsIgnored(t *testing.T) {
	body := compose(Proposal{Body: safe.Const("Text.")}.text(), fullMarker()).String()
	want := "Text.\n\n" + tailStart + `

Ignored here by comments. To ignore the same everywhere, copy this to ` + "`.github/relock.yml`:\n\n```yaml" + `
rules:
  - providers: ["hashicorp/aws"] # monalisa, 2026-01-05
    update-types: [major]
    ignore: true
  - providers: ["*/null"] # hubot[bot], 2026-01-06
    ignore-versions: ">= 6.0.0, < 6.0.3" # until 2027-01-31
` + "```\n\n- [ ] "
	if !strings.HasPrefix(body, want) {
		t.Errorf("body = %q, want it to begin with %q", body, want)
	}
	if plain := compose(safe.Const("Text."), Marker{}).String(); strings.Contains(plain, "Ignored") {
		t.Errorf("body = %q, want no word of ignores", plain)
	}
}

func TestRebaseBox(t *testing.T) {
	body := compose(safe.Const("- [x] "+rebaseBox+" quoted"), Marker{}).String()
	if asksForRebase(body) {
		t.Errorf("asksForRebase(%q) = true, want only our own box to count", body)
	}
	for _, mark := range []string{"x", "X"} {
		i := strings.LastIndex(body, "[ ]")
		checked := body[:i] + fmt.Sprintf("[%s]", mark) + body[i+3:]
		if !asksForRebase(strings.ReplaceAll(checked, "\n", "\r\n")) {
			t.Errorf("asksForRebase(%q) = false, want true", checked)
		}
		if asksForRebase(remark(checked, Marker{}).String()) {
			t.Errorf("the box stays checked in %q", checked)
		}
	}
}

// What a pull request of an earlier relock hides is read as it was written, and written
// again byte for byte.
func TestMarkerOfAnEarlierRelock(t *testing.T) {
	const recorded = `<!-- relock:{"digest":"9f2","facts":"0b1","ignores":[{"provider":"hashicorp/aws","what":"major","by":"monalisa","when":"2026-01-05"},` +
		`{"provider":"*/null","what":"\u003e= 6.0.0, \u003c 6.0.3","until":"2027-01-31","by":"hubot[bot]","when":"2026-01-06"},` +
		`{"provider":"corp/a-\u002db","by":"octo","when":"2026-01-07"}]} -->`
	m, ok := ParseMarker("Text.\n\n" + recorded)
	want := []policy.Ignore{
		{Provider: "hashicorp/aws", What: "major", By: "monalisa", When: "2026-01-05"},
		{Provider: "*/null", What: ">= 6.0.0, < 6.0.3", Until: "2027-01-31", By: "hubot[bot]", When: "2026-01-06"},
		{Provider: "corp/a--b", By: "octo", When: "2026-01-07"},
	}
	if diff := cmp.Diff(want, m.Ignores); !ok || diff != "" {
		t.Errorf("ignores (-want +got):\n%s", diff)
	}
	if got := m.String(); got != recorded {
		t.Errorf("written again it is\n%s\nwant\n%s", got, recorded)
	}
}
