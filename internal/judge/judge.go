// Judge builds relock of two commits and looks for what the later one does
// otherwise:
//
//	go run ./internal/judge BASE [HEAD]
//
// Without a HEAD it compares the checkout, with changes that are not committed. Both
// programs play the same worlds: they run the same commands in the same directories
// against the same servers. The judge compares their output, files, statuses and
// requests. If all is equal, it prints one line and its status is 0. Otherwise it
// prints the first difference of each world, and its status is 1.
//
// The worlds are those of this checkout: the recorded cases of the tools, the
// recorded lock files of a folder if there is one, worlds made from seeds, and the
// scenarios of testdata/script, in which relock speaks to GitHub.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// maxShown is how many worlds are shown in which the programs differ. The judge does
// not look for more.
const maxShown = 20

// The statuses of the judge.
const (
	exitEqual   = 0
	exitDiffers = 1
	exitFailed  = 2
)

func main() {
	log.SetOutput(io.Discard) // servers log connections that clients end
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

type options struct {
	base, head   string // head empty: the checkout as it lies
	seeds        int    // generated worlds
	corpus       string // a folder that holds lockfiles/
	only         *regexp.Regexp
	jobs         int
	ignoreOutput bool // what relock says is not compared
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("judge", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "Usage: go run ./internal/judge [flags] BASE [HEAD]")
		flags.PrintDefaults()
	}
	flags.IntVar(&o.seeds, "seeds", 200, "how many `worlds` are made from seeds")
	flags.StringVar(&o.corpus, "corpus", os.Getenv("RELOCK_CORPUS"), "`folder` that holds lockfiles/*.hcl; none: $RELOCK_CORPUS, or what lies beside the checkout")
	only := flags.String("run", "", "play the worlds alone whose names match the regular `expression`")
	flags.BoolVar(&o.ignoreOutput, "ignore-output", false, "compare files, statuses and requests alone: for commits whose texts differ on purpose; scripts are not played, they are all text")
	flags.IntVar(&o.jobs, "jobs", runtime.GOMAXPROCS(0), "how many worlds are played at once")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() < 1 || flags.NArg() > 2 {
		flags.Usage()
		return o, errors.New("which commit to compare with is missing")
	}
	o.base, o.head = flags.Arg(0), flags.Arg(1)
	var err error
	o.only, err = regexp.Compile(*only)
	return o, err
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	start := time.Now()
	o, err := parse(args, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "judge:", err)
		return exitFailed
	}
	top, err := checkout(ctx)
	if err != nil {
		fmt.Fprintln(stderr, "judge:", err)
		return exitFailed
	}
	temp, err := os.MkdirTemp("", "judge-")
	if err != nil {
		fmt.Fprintln(stderr, "judge:", err)
		return exitFailed
	}
	defer os.RemoveAll(temp)
	base, head, err := builds(ctx, top, temp, o)
	if err != nil {
		fmt.Fprintln(stderr, "judge:", err)
		return exitFailed
	}
	worlds, err := allWorlds(top, o)
	if err != nil {
		fmt.Fprintln(stderr, "judge:", err)
		return exitFailed
	}
	verdicts, err := compare(ctx, base, head, worlds, temp, o.jobs)
	if err != nil {
		fmt.Fprintln(stderr, "judge:", err)
		return exitFailed
	}
	return tell(stdout, verdicts, time.Since(start))
}

// compare plays every world with both programs. The verdicts are in the order of
// the worlds.
func compare(ctx context.Context, base, head program, worlds []world, temp string, jobs int) ([]verdict, error) {
	verdicts := make([]verdict, len(worlds))
	var different atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(jobs)
	for i, w := range worlds {
		group.Go(func() error {
			if different.Load() >= maxShown {
				return nil
			}
			v, err := w.judge(ctx, base, head, temp)
			if err != nil {
				return fmt.Errorf("playing the world %s: %w", w.name, err)
			}
			verdicts[i] = v
			if v.difference != "" {
				different.Add(1)
			}
			return nil
		})
	}
	return verdicts, group.Wait()
}

// tell prints the differences, and the number of worlds without any.
func tell(stdout io.Writer, verdicts []verdict, took time.Duration) int {
	worlds, calls, requests, replayed, different := 0, 0, 0, 0, 0
	for _, v := range verdicts {
		if v.calls > 0 {
			worlds++
		}
		calls, requests, replayed = calls+v.calls, requests+v.requests, replayed+v.replayed
		if v.difference != "" {
			different++
			fmt.Fprintf(stdout, "== %s\n%s\n", v.world, v.difference)
		}
	}
	sum := fmt.Sprintf("%d worlds, %d calls, %d requests, %d played again, %.0f s", worlds, calls, requests, replayed, took.Seconds())
	if different > 0 {
		fmt.Fprintf(stdout, "judge: %d worlds differ (%s)\n", different, sum)
		return exitDiffers
	}
	fmt.Fprintf(stdout, "judge: no difference (%s)\n", sum)
	return exitEqual
}
