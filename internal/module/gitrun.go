package module

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/provider"
)

// The limits on git as a process.
const (
	// gitTimeout bounds one command. A large repository on a slow line takes
	// minutes, a server that keeps a connection open takes for ever.
	gitTimeout = 15 * time.Minute
	// killWait is how long programs that could not be killed with git may hold
	// its output.
	killWait = time.Second
	// maxComplaint bounds what git says on its standard error.
	maxComplaint = 64 << 10
)

// run runs git in the repository and returns what it prints. Arguments never
// hold credentials.
func (r *repository) run(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := r.stream(ctx, stdin, func(stdout io.Reader) error {
		_, err := out.ReadFrom(&capped{stdout, maxListing, errors.New("git prints too much")})
		return err
	}, args...)
	return out.Bytes(), err
}

// stream runs git in the repository and lets read take what it prints.
func (r *repository) stream(ctx context.Context, stdin io.Reader, read func(io.Reader) error, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = r.gitDir(), r.env, stdin, killWait
	complaint := &head{left: maxComplaint}
	cmd.Stderr = complaint
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return unread("running git: %v", err)
	}
	defer context.AfterFunc(ctx, func() { stdout.Close() })() // whoever else holds it
	release, err := startGroup(cmd)
	if err != nil {
		switch over := ended(ctx); {
		case over != nil:
			return over
		case errors.Is(err, exec.ErrNotFound):
			return refused("install git", "the git program is not on the PATH")
		}
		return unread("running git: %v", err)
	}
	defer release()
	readErr := read(stdout)
	if readErr != nil && !errors.Is(readErr, io.EOF) {
		cancel() // git would wait for a reader
	}
	err = cmd.Wait()
	r.client.opts.Log.DebugContext(ctx, "git", "command", commandOf(args), "url", redact(r.remote.url), "failed", err != nil)
	early := readErr == nil || errors.Is(readErr, io.EOF) // git ended before what was to be read
	switch {
	case err != nil && (early || errors.Is(readErr, fs.ErrClosed)):
		return r.failure(ctx, commandOf(args), complaint.String(), err)
	case readErr != nil:
		return unread("reading what git prints: %v", readErr)
	}
	return nil
}

// commandOf is the command in the arguments of git, behind settings.
func commandOf(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

// head keeps the beginning of what is written.
type head struct {
	strings.Builder
	left int
}

func (h *head) Write(p []byte) (int, error) {
	keep := p[:min(len(p), h.left)]
	h.left -= len(keep)
	h.Builder.Write(keep)
	return len(p), nil
}

// signs are what git says of the reasons that a person can do something about.
var signs = []struct {
	code  provider.Code
	words *regexp.Regexp
}{
	{provider.CodeUnauthorized, regexp.MustCompile(`(?i)authentication failed|could not read (username|password)|terminal prompts disabled|permission denied|HTTP Basic: Access denied|returned error: 40[13]|access denied|host key verification failed|repository .*not found|does not appear to be a git repository`)},
	{provider.CodeUnreachable, regexp.MustCompile(`(?i)could not resolve|failed to connect|couldn't connect|connection (refused|reset|timed out|closed)|operation timed out|no route to host|returned error: (429|5\d\d)|unable to access|unable to connect|early EOF|hung up unexpectedly`)},
}

const gitCredentialsHint = "if the repository is private, list a token for its host in the setting for module tokens, or let git itself reach it without being asked for anything"

// failure is the error of a git command. Only git's last words of its own are
// repeated, since a server's may be anything.
func (r *repository) failure(ctx context.Context, command, complaint string, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return unreachable(r.remote.url, "git %s of %s took longer than %v", command, redact(r.remote.url), gitTimeout)
	}
	if over := ended(ctx); over != nil {
		return over
	}
	message := fmt.Sprintf("git %s of %s", command, redact(r.remote.url))
	if words := lastWords(complaint); words != "" {
		err = errors.New(words)
	}
	e := unread("%s", message)
	for _, sign := range signs {
		if r.remote.url.Scheme != "file" && sign.words.MatchString(complaint) {
			e.Code, e.Host = sign.code, hostname(r.remote.url)
			break
		}
	}
	switch {
	case e.Code == provider.CodeUnauthorized:
		e.Hint = gitCredentialsHint
	case r.doubt != nil:
		return r.doubt
	}
	e.Err = err
	return e
}

var (
	ownWords   = regexp.MustCompile(`(?m)^(?:fatal|error): (.*)$`)
	urlSecrets = regexp.MustCompile(`(://)[^/@\s]*@|\?[^\s'"]*`)
)

// lastWords is the last message of git's own, without what may be secret in the
// URLs that it quotes.
func lastWords(complaint string) string {
	found := ownWords.FindAllStringSubmatch(complaint, -1)
	for i := len(found) - 1; i >= 0; i-- {
		words := urlSecrets.ReplaceAllString(found[i][1], "$1")
		words = strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return ' '
			}
			return r
		}, words)
		if !strings.Contains(words, "remote error:") {
			return fmt.Sprintf("%.300s", strings.TrimSuffix(words, "."))
		}
	}
	return ""
}

// blob is a file of a commit that is kept.
type blob struct {
	id, name string
	link     bool
}

// readBlobs adds files to the tree, by one run of git. Those that were left out
// because they are large are fetched first, all at once.
func (r *repository) readBlobs(ctx context.Context, into *filling, commit string, blobs []blob) error {
	if len(blobs) == 0 {
		return nil
	}
	var ids strings.Builder
	for _, b := range blobs {
		ids.WriteString(b.id + "\n")
	}
	if err := r.fetchMissing(ctx, commit, blobs); err != nil {
		return err
	}
	return r.stream(ctx, strings.NewReader(ids.String()), func(stdout io.Reader) error {
		return readBatch(stdout, into, blobs)
	}, "cat-file", "--batch", "--buffer")
}

// fetchMissing fetches those of a commit's files that the repository lacks.
func (r *repository) fetchMissing(ctx context.Context, commit string, blobs []blob) error {
	out, err := r.run(ctx, nil, "rev-list", "--objects", "--no-object-names", "--no-walk", "--missing=print", commit)
	if err != nil {
		return err
	}
	lacks := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if id, ok := strings.CutPrefix(line, "?"); ok {
			lacks[strings.TrimSuffix(id, "\n")] = true
		}
	}
	var missing strings.Builder
	for _, b := range blobs {
		if lacks[b.id] {
			missing.WriteString(b.id + "\n")
			delete(lacks, b.id)
		}
	}
	if missing.Len() == 0 {
		return nil
	}
	return r.bounded(ctx, strings.NewReader(missing.String()), "-c", "fetch.negotiationAlgorithm=noop",
		"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--filter=blob:none", "--stdin", "origin")
}
