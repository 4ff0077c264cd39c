package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"
)

// racing are scenarios in which relock runs several times at once.
var racing = []string{"comment_race"}

// scriptWorlds are the scenarios of testdata/script, where relock speaks to GitHub
// as well. Each is played by the tests of this checkout, which are built once.
func scriptWorlds(top string) ([]world, error) {
	files, err := filepath.Glob(filepath.Join(top, "testdata", "script", "*.txtar"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no scripts in %s: %w", top, err)
	}
	player := sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp("", "judge-")
		if err != nil {
			return "", err
		}
		program := filepath.Join(dir, "scripts.test")
		_, err = execute(context.Background(), top, "go", "test", "-trimpath", "-c", "-o", program, ".")
		return program, err
	})
	var worlds []world
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if slices.Contains(racing, name) {
			continue
		}
		worlds = append(worlds, world{name: "script/" + name, script: name, player: player, top: top})
	}
	return worlds, nil
}

// judgeScript plays a scenario with both programs and compares everything that its
// commands print, how they end, and what is asked. A script that fails does so
// with both, or differs.
func (w world) judgeScript(ctx context.Context, base, head program) (verdict, error) {
	v := verdict{world: w.name}
	wants, difference, err := replay(func(p program) (string, error) { return w.playScript(ctx, p) }, base, head, transcriptsDiffer)
	if err != nil {
		return v, err
	}
	v.difference, v.replayed = difference, len(wants)-1
	v.calls, v.requests = strings.Count(wants[0], "> relock ")+strings.Count(wants[0], "> ! relock "), strings.Count(wants[0], "\nasked: ")
	return v, nil
}

// transcriptsDiffer is the difference of two transcripts, if none of one program is
// one of the other's.
func transcriptsDiffer(wants, gots []string) string {
	if slices.ContainsFunc(wants, func(one string) bool { return slices.Contains(gots, one) }) {
		return ""
	}
	last := len(wants) - 1
	return shortened(cmp.Diff(strings.SplitAfter(wants[last], "\n"), strings.SplitAfter(gots[last], "\n")))
}

// playScript returns the transcript of a scenario, without what is chance in it.
func (w world) playScript(ctx context.Context, p program) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	program, err := w.player()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, "-test.v", "-test.run", "^TestScript$/^"+w.script+"$")
	cmd.Dir, cmd.Env = w.top, append(os.Environ(), "RELOCK_BIN="+filepath.Dir(p.path))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return "", errors.Join(fmt.Errorf("playing the script %s: %w", w.script, err), ctx.Err())
	}
	return ordered(chance.ReplaceAllString(measured.ReplaceAllString(string(out), `"$1": 0`), "")), nil
}

// ordered sorts the parts of a transcript without a fixed order: standard error, and
// the requests at the end.
func ordered(transcript string) string {
	var said, talk, asked []string
	for line := range strings.Lines(transcript) {
		line = anyPlatform.ReplaceAllString(strings.TrimSpace(line), "PLATFORM") + "\n"
		switch {
		case strings.Contains(line, "asked: "):
			asked = append(asked, line)
		case talk != nil && !strings.HasPrefix(line, "> ") && !strings.HasPrefix(line, "[exit status "):
			talk = append(talk, line)
		default:
			said, talk = append(append(said, slices.Sorted(slices.Values(talk))...), line), nil
			if line == "[stderr]\n" {
				talk = []string{}
			}
		}
	}
	slices.Sort(asked)
	return strings.Join(slices.Concat(said, talk, asked), "")
}

// chance is what no two plays have alike: ports, tokens, keys, times and temporary
// directories.
var chance = regexp.MustCompile(`PATH=.*|eyJ[A-Za-z0-9_.-]+|-----BEGIN [A-Z ]*KEY-----.*|\d\d:\d\d:\d\dZ|127\.0\.0\.1:\d+|\(\d+\.\d+s\)|/tmp/[A-Za-z-]*\d+`)
