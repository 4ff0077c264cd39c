package main

import (
	"context"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/sandbox"
)

func (s *scene) now() time.Time { return time.Now().Add(time.Duration(s.passed.Load())) }

// clock is the time of GitHub as relock sees it in this process.
func (s *scene) clock() github.Clock {
	c := github.Clock{Now: s.now}
	if s.hurries {
		c.Sleep = func(ctx context.Context, d time.Duration) error {
			s.passed.Add(int64(d))
			return ctx.Err()
		}
	}
	return c
}

// hurryUp lets what relock waits for GitHub pass at once, for both of them.
func hurryUp(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 0, "hurry")
	sceneOf(ts).hurries = true
	world(ts).GitHub().SetMachine(sceneOf(ts).now)
}

// distrust has GitHub refuse tokens of Apps.
func distrust(ts *testscript.TestScript, neg bool, args []string) {
	const form = "distrust STATUS SECONDS|ever [PERMISSION]"
	usage(ts, neg, len(args) == 2 || len(args) == 3, form)
	var d sandbox.Distrust
	var err error
	d.Status, err = strconv.Atoi(args[0])
	ts.Check(err)
	if args[1] != "ever" {
		d.For, err = time.ParseDuration(args[1] + "s")
		ts.Check(err)
	}
	if len(args) == 3 {
		d.Permission = args[2]
	}
	world(ts).GitHub().Distrust(d)
}
