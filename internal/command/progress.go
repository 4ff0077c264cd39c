package command

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
)

// during calls act with a session for the ask, and shows the downloads meanwhile.
func during(env Env, ask run.Ask, act func(*run.Session) (report.Report, error)) (report.Report, error) {
	s := ask.Settings()
	p := newProgress(env, s.Format)
	defer p.end()
	world := env.ofRun(s)
	world.Announce, world.Watch, world.Fetching, world.Log = p.announce, p.watch, p.fetching, logger(p.talk, s.Verbose)
	if env.foretells {
		world.Announce, world.SizesFirst = p.foretold(), true
	}
	session, err := run.Open(world, ask)
	if err != nil {
		return report.Report{Verb: ask.Verb()}, err
	}
	defer session.Close()
	return act(session)
}

// progress shows a person what a run downloads. When it ends, it removes everything from a
// terminal, so that the report follows what was there before.
type progress struct {
	talk io.Writer // for other messages meanwhile
	// announce is as run.Env.Announce, for packages; nil if they are not shown. A log does
	// not need it: its one line counts packages that were downloaded.
	announce func(provider.Downloads)
	watch    func(name string, size int64) registry.Download
	// fetching is for modules, as run.Env.Fetching; nil if they are not shown.
	fetching func(source string)
	end      func()
}

// foretold is the announcement that also says in a line how much will be downloaded.
func (p progress) foretold() func(provider.Downloads) {
	var mu sync.Mutex
	packages := 0
	return func(d provider.Downloads) {
		mu.Lock()
		defer mu.Unlock()
		if p.announce != nil {
			p.announce(d)
		}
		packages += d.Packages
		if packages == 0 || d.Packages > 0 && d.Sized == 0 { // the size comes next
			return
		}
		size := "of unknown size"
		if d.Sized > 0 {
			size = "about " + report.Size(d.Size)
		}
		fmt.Fprintf(p.talk, "the check downloads up to %s, %s\n", packageCount(packages), size)
		packages = 0
	}
}

// newProgress shows bars on a terminal, and a line in a log. With the format JSON, which is
// for programs, it shows nothing.
func newProgress(env Env, format string) progress {
	switch {
	case format == "json":
		return progress{talk: env.Stderr, end: func() {}}
	case env.Getenv("CI") == "" && isTerminal(env.Stderr):
		b := newBars(env.Stderr)
		return progress{talk: b.screen, announce: b.announce, watch: b.watch, fetching: b.fetching, end: b.end}
	}
	l := &lines{w: env.Stderr}
	return progress{talk: l, watch: l.watch, end: l.end}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && cwriter.IsTerminal(int(f.Fd()))
}

// lines counts the packages that were downloaded, for one line at the end of a log. During
// a long download, another line says how far it is. The report has the failed downloads.
type lines struct {
	mu       sync.Mutex
	w        io.Writer
	packages int            // downloaded
	size     int64          // of these
	open     map[*line]bool // downloads under way
	long     *time.Timer    // while there are any
}

// silence is the time between two lines about a long download.
const silence = 30 * time.Second

// Write writes other messages, line by line.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (l *lines) watch(_ string, size int64) registry.Download {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) == 0 {
		l.open, l.long = map[*line]bool{}, time.AfterFunc(silence, l.still)
	}
	d := &line{to: l, announced: max(size, 0)}
	l.open[d] = true
	return d
}

// still writes how far the downloads under way are, and will do so again. It counts the
// downloads that were begun. To ask how many there will be would cost requests.
func (l *lines) still() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) == 0 {
		return
	}
	sum, how := decor.Statistics{Current: l.size, Total: l.size}, ""
	for d := range l.open {
		sum.Current, sum.Total = sum.Current+d.received.Load(), sum.Total+d.announced
		if d.announced == 0 {
			how = "more than "
		}
	}
	fmt.Fprintf(l.w, "still downloading: %d of %s, %s\n", l.packages, packageCount(l.packages+len(l.open)), receivedOf(sum, how))
	l.long.Reset(silence)
}

// end writes how many packages were downloaded, if any were. No line follows: the report
// comes next.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = nil
	if l.packages > 0 {
		fmt.Fprintf(l.w, "downloaded %s, %s\n", packageCount(l.packages), report.Size(l.size)) // if the log is closed, nobody wants the line
	}
}

func packageCount(n int) string { return collect.Count(n, "package", "packages") }

// line is a download that a log counts.
type line struct {
	to        *lines
	announced int64 // 0: unknown
	received  atomic.Int64
}

func (l *line) Read(n int64) { l.received.Add(n) }

func (l *line) Done(err error) {
	to := l.to
	to.mu.Lock()
	defer to.mu.Unlock()
	delete(to.open, l)
	if len(to.open) == 0 {
		to.long.Stop()
	}
	if err == nil {
		to.packages, to.size = to.packages+1, to.size+l.received.Load()
	}
}

// bars shows a bar for each download under way, and below them one for all. Before there are
// downloads, a line shows which module is fetched.
type bars struct {
	screen *mpb.Progress
	shown  atomic.Pointer[shown] // mpb draws in a goroutine of its own

	mu      sync.Mutex // not taken where bars are drawn
	all     *mpb.Bar   // nil before there is a package
	module  *mpb.Bar   // nil if no module is shown
	modules map[string]bool
	size    int64 // of all downloads that were begun, as far as known
}

// shown is what the bars show besides the bytes that mpb counts. It is not changed.
type shown struct {
	known   provider.Downloads // what there is to download, as far as it is known
	arrived int                // packages
	longest int                // the width of the longest title so far, in columns
	module  string             // the last that was begun
}

func newBars(w io.Writer, options ...mpb.ContainerOption) *bars {
	b := &bars{screen: mpb.New(append(options, mpb.WithOutput(w))...), modules: map[string]bool{}}
	b.shown.Store(&shown{})
	return b
}

// change changes what is shown. The mutex is held.
func (b *bars) change(to func(*shown)) {
	next := *b.shown.Load()
	to(&next)
	b.shown.Store(&next)
}

func (b *bars) watch(name string, size int64) registry.Download {
	b.mu.Lock()
	defer b.mu.Unlock()
	size = max(size, 0)
	title := safe.Plain(name)
	b.change(func(s *shown) { s.longest = max(s.longest, render.Columns(title)) })
	b.showAll()
	d := &bar{of: b, size: size, bar: b.add(size, func(decor.Statistics) string { return title }, received)}
	if b.all == nil || d.bar == nil {
		return unseen{}
	}
	b.expect(size)
	return d
}

// announce shows how many packages there are to download, before any of them is, and
// how large they are, when that is known.
func (b *bars) announce(more provider.Downloads) {
	if more == (provider.Downloads{}) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change(func(s *shown) {
		s.known.Packages, s.known.Sized, s.known.Size = s.known.Packages+more.Packages, s.known.Sized+more.Sized, s.known.Size+more.Size
	})
	b.showAll()
	if b.all != nil {
		b.expect(0)
	}
}

// showAll shows the bar for all packages in the place of the line about modules.
// The mutex is held.
func (b *bars) showAll() {
	b.hideModule()
	if b.all == nil {
		b.all = b.add(0, b.count, b.receivedOfAll, mpb.BarPriority(math.MaxInt))
	}
}

// fetching shows in one line which module is fetched, and how many there have been.
func (b *bars) fetching(source string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.modules[source] = true
	b.change(func(s *shown) { s.module = fmt.Sprintf("module %d: %s", len(b.modules), safe.Plain(source)) })
	if b.module == nil {
		last := func(decor.Statistics) string { return b.shown.Load().module }
		b.module, _ = b.screen.Add(0, nil, mpb.BarPriority(-1), mpb.PrependDecorators(decor.Any(last))) // nil if the terminal has gone
	}
}

func (b *bars) hideModule() {
	if b.module != nil {
		b.module.Abort(true)
		b.module = nil
	}
}

// add adds a bar. It returns nil if the terminal has gone.
func (b *bars) add(size int64, title, come decor.DecorFunc, options ...mpb.BarOption) *mpb.Bar {
	fitting := func(s decor.Statistics) string { return b.fit(title(s), s.AvailableWidth-render.Columns(come(s))) }
	options = append(options, mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Any(fitting)), mpb.AppendDecorators(decor.Any(come)))
	added, _ := b.screen.Add(size, mpb.BarStyle().Build(), options...)
	return added
}

// fit is a title with a space behind it, padded to the longest title if there is room. A
// title that has too little room loses its beginning: the registry is mostly the same, and
// the release is at the end. On some terminals the ellipsis is two columns
// wide.
func (b *bars) fit(title string, room int) string {
	if render.Columns(title) >= room {
		title = render.CutFront(title, room-2)
	}
	width := render.Columns(title)
	wide := max(width, b.shown.Load().longest) + 1
	return title + strings.Repeat(" ", max(min(wide, room)-width, 0))
}

// count says how many packages have arrived, and how many there are at most. Without room
// for words, it has only the numbers.
func (b *bars) count(s decor.Statistics) string {
	now := b.shown.Load()
	arrived, most := now.arrived, now.known.Packages
	text := fmt.Sprintf("%d of at most %s", arrived, packageCount(most))
	switch {
	case most < max(arrived, 1):
		return packageCount(arrived)
	case render.Columns(text)+render.Columns(b.receivedOfAll(s)) >= s.AvailableWidth:
		return fmt.Sprintf("%d of %d", arrived, most)
	}
	return text
}

// received says how much of a download has arrived, and of how much if that is known.
func received(s decor.Statistics) string {
	text := receivedOf(s, "")
	if s.Total > 0 && s.Current <= s.Total {
		text += fmt.Sprintf(", %d%%", 100*s.Current/s.Total)
	}
	return text
}

// receivedOfAll says the same for all packages. The total is an estimate. If some sizes are
// unknown, it is more than the sum of the others.
func (b *bars) receivedOfAll(s decor.Statistics) string {
	switch known := b.shown.Load().known; {
	case known.Sized == 0 || known.Size == 0:
		return receivedOf(s, "")
	case known.Sized < known.Packages:
		return receivedOf(s, "more than ")
	}
	return receivedOf(s, "about ")
}

func receivedOf(s decor.Statistics, how string) string {
	if s.Total < s.Current || s.Total == 0 {
		return report.Size(s.Current)
	}
	return report.Size(s.Current) + " of " + how + report.Size(s.Total)
}

// expect adds bytes to the size of all downloads that were begun. If more was announced,
// the bar for all shows that. The mutex is held.
func (b *bars) expect(n int64) {
	b.size += n
	b.all.SetTotal(max(b.size, b.shown.Load().known.Size), false)
}

// end removes the bars. Every download has ended.
func (b *bars) end() {
	b.hideModule()
	if b.all != nil {
		b.all.Abort(true)
	}
	b.screen.Wait()
}

type bar struct {
	of         *bars
	bar        *mpb.Bar
	size, read int64
}

func (d *bar) Read(n int64) {
	d.read += n
	d.bar.IncrInt64(n)
	d.of.all.IncrInt64(n)
}

// Done removes the bar, and corrects the expected size of all downloads.
func (d *bar) Done(err error) {
	d.bar.Abort(true)
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	if err == nil {
		d.of.change(func(s *shown) { s.arrived++ })
	}
	d.of.expect(d.read - d.size)
}

// unseen is a download that is not shown.
type unseen struct{}

func (unseen) Read(int64) {}
func (unseen) Done(error) {}
