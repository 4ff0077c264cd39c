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

// newProgress shows bars on a terminal, and a line in a log. With the format JSON, which is
// for programs, it shows nothing.
func newProgress(env Env, format string) progress {
	switch {
	case format == "json":
		return progress{talk: env.Stderr, end: func() {}}
	case env.Getenv("CI") == "" && isTerminal(env.Stderr):
		b := newBars(env.Stderr)
		return progress{talk: b, announce: b.announce, watch: b.watch, fetching: b.fetching, end: b.end}
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
	packages int   // downloaded
	size     int64 // of these
	begun    int   // packages downloaded or under way
	open     int   // those under way
	unsized  int   // those of them with an unknown size
	expected int64 // bytes of all that were begun, as far as known
	received atomic.Int64
	long     *time.Timer // while something is under way
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
	size = max(size, 0)
	if size == 0 {
		l.unsized++
	}
	l.begun, l.open, l.expected = l.begun+1, l.open+1, l.expected+size
	if l.open == 1 {
		l.long = time.AfterFunc(silence, l.still)
	}
	return &line{to: l, announced: size}
}

// still writes how far the downloads under way are, and will do so again. It counts the
// downloads that were begun. To ask how many there will be would cost requests.
func (l *lines) still() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == 0 {
		return
	}
	how := ""
	if l.unsized > 0 {
		how = "more than "
	}
	come := receivedOf(decor.Statistics{Current: l.received.Load(), Total: l.expected}, how)
	fmt.Fprintf(l.w, "still downloading: %d of %s, %s\n", l.packages, packageCount(l.begun), come)
	l.long.Reset(silence)
}

// end writes how many packages were downloaded, if any were.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.packages > 0 {
		fmt.Fprintf(l.w, "downloaded %s, %s\n", packageCount(l.packages), report.Size(l.size)) // if the log is closed, nobody wants the line
	}
}

func packageCount(n int) string {
	if n == 1 {
		return "1 package"
	}
	return fmt.Sprintf("%d packages", n)
}

// line is a download that a log counts.
type line struct {
	to              *lines
	announced, size int64
}

func (l *line) Read(n int64) {
	l.size += n
	l.to.received.Add(n)
}

func (l *line) Done(err error) {
	to := l.to
	to.mu.Lock()
	defer to.mu.Unlock()
	if l.announced == 0 {
		to.unsized--
	}
	to.open--
	if to.open == 0 {
		to.long.Stop()
	}
	to.expected -= l.announced
	if err != nil {
		to.begun--
		to.received.Add(-l.size)
		return
	}
	to.expected += l.size
	to.packages, to.size = to.packages+1, to.size+l.size
}

// bars shows a bar for each download under way, and below them one for all.
type bars struct {
	w       io.Writer
	options []mpb.ContainerOption
	arrived atomic.Int64 // packages

	mu     sync.Mutex    // not taken where bars are drawn
	screen *mpb.Progress // nil before the first download
	all    *mpb.Bar
	// modules are the sources of all modules that were begun. module is the last of them,
	// for the line about modules.
	modules map[string]bool
	module  atomic.Pointer[string]
	line    *mpb.Bar // nil before the first module
	size    int64    // of all downloads that were begun, as far as known
	// longest is the width of the longest title so far, in columns.
	longest atomic.Int64
	// announced is what there is to download, as far as it is known.
	announced atomic.Pointer[provider.Downloads]
}

func newBars(w io.Writer, options ...mpb.ContainerOption) *bars {
	b := &bars{w: w, options: append(options, mpb.WithOutput(w))}
	b.announced.Store(&provider.Downloads{})
	return b
}

// Write writes other messages above the bars.
func (b *bars) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.screen == nil {
		return b.w.Write(p)
	}
	return b.screen.Write(p)
}

func (b *bars) watch(name string, size int64) registry.Download {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.showAll()
	size = max(size, 0)
	title := safe.Plain(name)
	b.longest.Store(max(b.longest.Load(), int64(render.Columns(title))))
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
	known := b.announced.Load()
	b.announced.Store(&provider.Downloads{
		Packages: known.Packages + more.Packages, Sized: known.Sized + more.Sized, Size: known.Size + more.Size,
	})
	b.showAll()
	if b.all != nil {
		b.expect(0)
	}
}

// showAll shows the bar for all packages in the place of the line about modules.
// The mutex is held.
func (b *bars) showAll() {
	b.show()
	b.read()
	if b.all == nil {
		b.all = b.add(0, b.count, b.receivedOfAll, mpb.BarPriority(math.MaxInt))
	}
}

// show begins to show something. The mutex is held.
func (b *bars) show() {
	if b.screen == nil {
		b.screen = mpb.New(b.options...)
	}
}

// fetching shows in one line which module is fetched, and how many there have been.
func (b *bars) fetching(source string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.modules == nil {
		b.modules = map[string]bool{}
	}
	b.modules[source] = true
	text := fmt.Sprintf("module %d: %s", len(b.modules), safe.Plain(source))
	b.module.Store(&text)
	b.show()
	if b.line == nil {
		last := func(decor.Statistics) string { return *b.module.Load() }
		if added, err := b.screen.Add(0, mpb.NopStyle().Build(), mpb.BarPriority(-1), mpb.PrependDecorators(decor.Any(last))); err == nil {
			b.line = added
		}
	}
}

// read removes the line about modules.
func (b *bars) read() {
	if b.line != nil {
		b.line.Abort(true)
		b.line = nil
	}
}

// add adds a bar. It returns nil if the terminal has gone.
func (b *bars) add(size int64, title, come decor.DecorFunc, options ...mpb.BarOption) *mpb.Bar {
	fitting := func(s decor.Statistics) string { return b.fit(title(s), s.AvailableWidth-render.Columns(come(s))) }
	options = append(options, mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Any(fitting)), mpb.AppendDecorators(decor.Any(come)))
	added, err := b.screen.Add(size, mpb.BarStyle().Build(), options...)
	if err != nil {
		return nil
	}
	return added
}

// fit is a title with a space behind it, padded to the longest title if there is room. A
// title that has too little room is cut. On some terminals the ellipsis is two columns
// wide.
func (b *bars) fit(title string, room int) string {
	if render.Columns(title) >= room {
		title = render.Cut(title, room-2)
	}
	width := render.Columns(title)
	wide := max(width, int(b.longest.Load())) + 1
	return title + strings.Repeat(" ", max(min(wide, room)-width, 0))
}

// count says how many packages have arrived, and how many there are at most. Without room
// for words, it has only the numbers.
func (b *bars) count(s decor.Statistics) string {
	arrived, most := b.arrived.Load(), b.announced.Load().Packages
	text := fmt.Sprintf("%d of at most %s", arrived, packageCount(most))
	switch {
	case most < max(int(arrived), 1):
		return packageCount(int(arrived))
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
	switch known := b.announced.Load(); {
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
	b.all.SetTotal(max(b.size, b.announced.Load().Size), false)
}

// end removes the bars. Every download has ended.
func (b *bars) end() {
	b.read()
	if b.all != nil {
		b.all.Abort(true)
	}
	if b.screen != nil {
		b.screen.Wait()
	}
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
	if err == nil {
		d.of.arrived.Add(1)
	}
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	d.of.expect(d.read - d.size)
}

// unseen is a download that is not shown.
type unseen struct{}

func (unseen) Read(int64) {}
func (unseen) Done(error) {}
