package command

import (
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
)

// during acts in a session for requests like the one given, and meanwhile shows
// what is downloaded.
func during(env Env, s settings, req run.Request, act func(*run.Session) (report.Report, error)) (report.Report, error) {
	p := newProgress(env, s.Format)
	defer p.end()
	world := env.ofRun(s)
	world.Watch, world.Log = p.watch, logger(p.talk, s.Verbose)
	session, err := run.Open(world, req)
	if err != nil {
		return report.Report{Verb: string(req.Verb)}, err
	}
	defer session.Close()
	return act(session)
}

// progress is what a person sees of a run under way. Nothing of it is left on a
// terminal when it has ended, so that the report follows what was there before.
type progress struct {
	talk  io.Writer // for what else is said meanwhile
	watch func(name string, size int64) registry.Download
	end   func()
}

// newProgress shows bars on a terminal and lines in a log. Whoever asks for JSON is
// a program: then nothing is shown.
func newProgress(env Env, format string) progress {
	switch {
	case format == "json":
		return progress{talk: env.Stderr, end: func() {}}
	case env.Getenv("CI") == "" && isTerminal(env.Stderr):
		b := newBars(env.Stderr)
		return progress{talk: b, watch: b.watch, end: b.end}
	}
	l := newLines(env.Stderr)
	return progress{talk: l, watch: l.watch, end: func() {}}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && cwriter.IsTerminal(int(f.Fd()))
}

// lines writes a line for each package once it is here. What becomes of the
// others is in the report.
type lines struct {
	mu   sync.Mutex
	w    io.Writer
	said map[string]bool // lines: a package that is needed twice is here twice
}

func newLines(w io.Writer) *lines { return &lines{w: w, said: map[string]bool{}} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// say writes a line, if it is a new one.
func (l *lines) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.said[text] {
		l.said[text] = true
		io.WriteString(l.w, text) // whoever has closed the log wants no lines
	}
}

func (l *lines) watch(name string, _ int64) registry.Download { return &line{to: l, name: name} }

type line struct {
	to   *lines
	name string
	size int64
}

func (l *line) Read(n int64) { l.size += n }

func (l *line) Done(err error) {
	if err == nil {
		l.to.say(fmt.Sprintf("%s: %s\n", report.Plain(l.name), report.Size(l.size)))
	}
}

// bars shows a bar for each download under way, and below them one for all.
type bars struct {
	w       io.Writer
	options []mpb.ContainerOption
	arrived atomic.Int64 // packages

	mu     sync.Mutex    // not taken where bars are drawn
	screen *mpb.Progress // nil before the first download
	all    *mpb.Bar
	size   int64 // of all downloads that were begun, as far as known
}

func newBars(w io.Writer, options ...mpb.ContainerOption) *bars {
	return &bars{w: w, options: append(options, mpb.WithOutput(w))}
}

// Write writes above the bars.
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
	if b.screen == nil {
		b.screen = mpb.New(b.options...)
		b.all = b.add(0, decor.Any(b.count, decor.WCSyncSpaceR), mpb.BarPriority(math.MaxInt))
	}
	size = max(size, 0)
	d := &bar{of: b, size: size, bar: b.add(size, decor.Name(report.Plain(name), decor.WCSyncSpaceR))}
	if b.all == nil || d.bar == nil {
		return unseen{}
	}
	b.expect(size)
	return d
}

// add adds a bar. It returns nil if the terminal has gone.
func (b *bars) add(size int64, title decor.Decorator, options ...mpb.BarOption) *mpb.Bar {
	options = append(options, mpb.BarRemoveOnComplete(), mpb.PrependDecorators(title), mpb.AppendDecorators(decor.Any(received)))
	added, err := b.screen.Add(size, mpb.BarStyle().Build(), options...)
	if err != nil {
		return nil
	}
	return added
}

// count says of how many packages all has arrived.
func (b *bars) count(decor.Statistics) string {
	if n := b.arrived.Load(); n != 1 {
		return fmt.Sprintf("%d packages", n)
	}
	return "1 package"
}

// received says how much has arrived, and of how much if that is known.
func received(s decor.Statistics) string {
	if s.Total < s.Current || s.Total == 0 {
		return report.Size(s.Current)
	}
	return report.Size(s.Current) + " of " + report.Size(s.Total)
}

// expect adds to what all downloads come to. The mutex is held.
func (b *bars) expect(n int64) {
	b.size += n
	b.all.SetTotal(b.size, false)
}

// end takes the bars away. Every download has ended.
func (b *bars) end() {
	if b.all != nil {
		b.all.Abort(true)
		b.screen.Wait()
	}
}

// bar is a download with a bar.
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

// Done takes the bar away, and corrects what is expected of all.
func (d *bar) Done(err error) {
	d.bar.Abort(true)
	if err == nil {
		d.of.arrived.Add(1)
	}
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	d.of.expect(d.read - d.size)
}

// unseen is a download that nobody can see.
type unseen struct{}

func (unseen) Read(int64) {}
func (unseen) Done(error) {}
