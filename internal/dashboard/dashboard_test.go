package dashboard

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/safe"
)

// What is done about the issue, by what is found and what is to be said.
func TestWhatToDo(t *testing.T) {
	t.Parallel()
	now := Page{Body: safe.Const("What waits.")}
	before := Page{Body: safe.Const("What waited.")}
	deaf := Page{Body: safe.Const("What waits, as far as is known."), Silent: []string{"registry.example.com"}}
	open := func(number int, p Page, more ...string) github.Issue {
		return github.Issue{Number: number, Open: true, Body: strings.Join(more, "") + p.body().String()}
	}
	closed := func(i github.Issue) github.Issue {
		i.Open = false
		return i
	}
	const checked = "- [x] <!-- relock-box:past all-0123abcd 0123456789abcdef -->All\n"
	found := func(list ...github.Issue) github.OwnIssues { return github.OwnIssues{List: list} }
	for name, tt := range map[string]struct {
		found  github.OwnIssues
		page   Page
		want   deed
		reason string
		others int
	}{
		"none":                          {found(), now, openIssue, "", 0},
		"none, and nothing to tell":     {found(), Page{Body: now.Body, Empty: true}, leaveIssue, "nothing to report", 0},
		"the same":                      {found(open(1, now)), now, leaveIssue, "already up to date", 0},
		"the same, with a checked box":  {found(open(1, now, checked)), now, editIssue, "", 0},
		"another":                       {found(open(1, before)), now, editIssue, "", 0},
		"another, and nothing to tell":  {found(open(1, before)), Page{Body: now.Body, Empty: true}, editIssue, "", 0},
		"closed":                        {found(closed(open(7, before))), now, leaveIssue, "somebody closed issue #7", 0},
		"closed, with a checked box":    {found(closed(open(7, before, checked))), now, leaveIssue, "somebody closed issue #7", 0},
		"two":                           {found(open(1, now), open(2, now)), now, leaveIssue, "already up to date", 1},
		"two, of which one is closed":   {found(open(1, now), closed(open(2, now))), now, leaveIssue, "already up to date", 0},
		"the older is closed":           {found(open(2, now), closed(open(1, now))), now, leaveIssue, "already up to date", 0},
		"a server is silent":            {found(open(1, before)), deaf, leaveIssue, "did not get every answer", 0},
		"a server is silent, and boxes": {found(open(1, before, checked)), deaf, leaveIssue, "did not get every answer", 0},
		"it was silent before":          {found(open(1, Page{Body: before.Body, Silent: deaf.Silent})), deaf, editIssue, "", 0},
		"it answers again":              {found(open(1, deaf)), now, editIssue, "", 0},
		"none, and a server is silent":  {found(), deaf, openIssue, "", 0},
		"off":                           {github.OwnIssues{Off: true}, now, leaveIssue, "issues are switched off", 0},
		"not known":                     {github.OwnIssues{Err: errors.New("no answer")}, now, leaveIssue, "no answer", 0},
	} {
		got := whatToDo(tt.found, tt.page)
		if got.does != tt.want || !strings.Contains(got.reason, tt.reason) || (got.reason == "") != (tt.reason == "") || len(got.others) != tt.others {
			t.Errorf("%s: %+v, want %d, %q and %d others", name, got, tt.want, tt.reason, tt.others)
		}
	}
}

// A marker is read from the last line of its form, whatever is above it.
func TestMarkers(t *testing.T) {
	t.Parallel()
	p := Page{Body: safe.Const("Words."), Silent: []string{"b.example.com", "a.example.com"}}
	forged := "<!-- relock-dashboard:{\"digest\":\"forged\"} -->\n"
	m, ok := OfRepository.readMarker(forged + p.body().String())
	if !ok || m.Digest != p.Digest() || len(m.Silent) != 2 {
		t.Errorf("the marker is %+v, %t", m, ok)
	}
	for _, body := range []string{"", "Words.", "<!-- relock-dashboard:{ -->", "<!-- relock:{\"digest\":\"a\"} -->", "x <!-- relock-dashboard:{\"digest\":\"a\"} -->", "<!-- relock-dashboard:{\"digest\":\"" + strings.Repeat("a", 4096) + "\"} -->"} {
		if OfRepository.Is(github.Issue{Body: body}) {
			t.Errorf("a marker is read from %.60q", body)
		}
	}
	var many []string
	for i := range mostSilent + 1 {
		many = append(many, fmt.Sprint(i))
	}
	if line := hidden("relock-dashboard", Page{Silent: many}.mark()); line.Len() > mostMarked || !(remembered{}).sawLess(Page{Silent: many}) {
		t.Errorf("a marker of %d servers has %d bytes", len(many), line.Len())
	}
}
