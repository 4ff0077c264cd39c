package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ContentLimit is the most content that one user or one installation may make in
// a minute and in an hour; 0 means any amount. GitHub documents 80 and 500. It
// documents neither which requests count nor the headers of a refusal
// [docs.github.com, "Rate limits for the REST API", "About secondary rate
// limits"]. Here all writes count, by any token.
type ContentLimit struct {
	Minute, Hour int
	// Silent leaves Retry-After out of refusals.
	Silent bool
}

// contentLimit is one in use.
type contentLimit struct {
	ContentLimit
	made map[string][]time.Time // by who has made it
	// most is the highest content of any caller in a minute and in an hour.
	most [2]int
	// refused counts refusals.
	refused int
}

// pointLimit is the number of points that one user or one installation may spend
// in a minute. GitHub documents 900. A read costs one, a write five
// [docs.github.com, "Rate limits for the REST API", "Calculating points for the
// secondary rate limit"].
type pointLimit struct {
	minute  int // 0 for any number
	spent   map[string][]time.Time
	most    int
	refused int
}

// LimitPoints refuses requests beyond that many points in a minute.
func (g *GitHub) LimitPoints(minute int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.points = pointLimit{minute: minute, spent: map[string][]time.Time{}}
}

// Points returns the highest points of any caller in a minute since the limit was
// set, and the number of refusals.
func (g *GitHub) Points() (minute, refused int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.points.most, g.points.refused
}

// spendPoints counts the points of a call, and refuses a call beyond the limit.
func (c *apiCall) spendPoints(rt route) error {
	l := &c.hub.points
	if l.spent == nil || c.app != nil || strings.HasPrefix(c.URL.Path, codeloadPath) {
		return nil
	}
	points := 1
	if c.changes(rt) {
		points = 5
	}
	now, who := c.hub.machine(), fmt.Sprint(c.who.Login, c.who.installation)
	spent := slices.DeleteFunc(l.spent[who], func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	l.spent[who] = append(spent, slices.Repeat([]time.Time{now}, points)...)
	l.most = max(l.most, len(l.spent[who]))
	if l.minute == 0 || len(l.spent[who]) <= l.minute {
		return nil
	}
	l.refused++
	c.header.Set("Retry-After", "60")
	return secondaryLimit(". Please wait a few minutes before you try again.")
}

// secondaryLimit is GitHub's refusal by a secondary limit.
func secondaryLimit(what string) error {
	e := refusal(http.StatusForbidden, "You have exceeded a secondary rate limit"+what)
	e.page = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"
	return e
}

// changes reports whether a call changes anything.
func (c *apiCall) changes(rt route) bool {
	return rt.method != http.MethodGet && rt.method != graphQL && !strings.HasSuffix(rt.path, "/access_tokens") ||
		rt.method == graphQL && strings.Contains(string(c.body), "mutation")
}

// SetMachine sets the clock of limits and of the lives of tokens.
func (g *GitHub) SetMachine(now func() time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.machine = now
}

// LimitContents refuses to make more content than the limit, as GitHub does.
func (g *GitHub) LimitContents(l ContentLimit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.contents = contentLimit{ContentLimit: l, made: map[string][]time.Time{}}
}

// Contents returns the highest content of any caller in a minute and in an hour
// since the limit was set, and the number of refusals.
func (g *GitHub) Contents() (minute, hour, refused int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.contents.most[0], g.contents.most[1], g.contents.refused
}

// makeContent counts a call that makes content, and refuses a call beyond the
// limit.
func (c *apiCall) makeContent(rt route) error {
	l := &c.hub.contents
	if l.made == nil || !c.changes(rt) {
		return nil
	}
	now, who := c.hub.machine(), fmt.Sprint(c.who.Login, c.who.installation)
	made := slices.DeleteFunc(l.made[who], func(at time.Time) bool { return now.Sub(at) >= time.Hour })
	minute := 0
	for _, at := range made {
		if now.Sub(at) < time.Minute {
			minute++
		}
	}
	wait := time.Duration(0)
	if l.Minute > 0 && minute >= l.Minute {
		wait = time.Minute - now.Sub(made[len(made)-minute])
	}
	if l.Hour > 0 && len(made) >= l.Hour {
		wait = time.Hour - now.Sub(made[0])
	}
	l.made[who] = made
	if wait > 0 {
		l.refused++
		if !l.Silent {
			c.header.Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
		}
		return secondaryLimit(" and have been temporarily blocked from content creation. Please retry your request again later.")
	}
	l.made[who] = append(made, now)
	l.most = [2]int{max(l.most[0], minute+1), max(l.most[1], len(made)+1)}
	return nil
}
