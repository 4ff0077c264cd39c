package module

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
)

// gitLimits bound a git command. Tests use shorter ones than standardLimits.
type gitLimits struct {
	// command bounds one command. Without it a server could make it last as long as it
	// likes.
	command time.Duration
	// greeting is how long an ssh server may take to greet, in whole seconds.
	greeting time.Duration
	// silence is how long a server may send nothing, in whole seconds. Over http, https and
	// ssh git then ends by itself, even if relock was killed.
	silence time.Duration
}

var standardLimits = gitLimits{command: 5 * time.Minute, greeting: 20 * time.Second, silence: time.Minute}

// The limits on git as a process.
const (
	// killWait is how long a child that was not killed with git may hold its output.
	killWait = time.Second
	// maxComplaint bounds the text of git's standard error.
	maxComplaint = 64 << 10
)

// gitProgram is git with a bare repository in a temporary directory, for one remote. Next
// to the repository are git's settings, the ssh key, and an empty home directory.
type gitProgram struct {
	means
	remote gitRemote
	dir    string // removed in the end
	env    []string
	asks   *url.URL // the URL of git's questions; nil before the first one
	doubt  error    // why relock could not ask the remote first; git may still know a way
}

// path is the path of a file next to the repository.
func (p *gitProgram) path(name string) string { return filepath.Join(p.dir, name) }

func (p *gitProgram) gitDir() string { return p.path("repository") }

var configVariable = regexp.MustCompile(`^GIT_CONFIG_(COUNT|KEY_[0-9]+|VALUE_[0-9]+)$`)

// configure makes the environment for a remote. All secrets (the URL, the token, and the
// operator's settings) are in a file that other users cannot read: every program that git
// runs gets the environment.
func (p *gitProgram) configure(of gitRemote, more ...setting) error {
	var secret []setting
	if p.opts.own(of.url.Hostname()) {
		values := map[string]string{}
		for _, variable := range p.opts.Env.Environ {
			if name, value, _ := strings.Cut(variable, "="); configVariable.MatchString(name) {
				values[name] = value
			}
		}
		count, _ := strconv.Atoi(values["GIT_CONFIG_COUNT"])
		for i := range min(count, 1000) {
			if key := values["GIT_CONFIG_KEY_"+strconv.Itoa(i)]; key != "" {
				secret = append(secret, setting{key, values["GIT_CONFIG_VALUE_"+strconv.Itoa(i)]})
			}
		}
	}
	secret = append(secret, setting{"remote.origin.url", of.url.String()})
	if of.token != "" {
		top := &url.URL{Scheme: of.url.Scheme, Host: of.url.Host, Path: "/"}
		secret = append(secret,
			setting{"credential.helper", ""}, // a helper would be no better
			setting{"http." + top.String() + ".extraHeader", "Authorization: " + basic(of.token)})
	}
	text := gitConfigText(append(secret, more...))
	if err := os.WriteFile(p.path("settings"), []byte(text), 0o600); err != nil {
		return unread("writing the settings of git: %v", file.Cause(err))
	}
	p.env = p.environ(of)
	return nil
}

// run runs git in the repository and returns what it prints. Arguments never
// hold credentials.
func (p *gitProgram) run(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := p.stream(ctx, stdin, func(stdout io.Reader) error {
		_, err := out.ReadFrom(&capped{stdout, maxListing, errors.New("git prints too much")})
		return err
	}, args...)
	return out.Bytes(), err
}

// stream runs git in the repository and passes its output to read. A command that asks the
// remote shares the host's circuit with relock's own requests.
func (p *gitProgram) stream(ctx context.Context, stdin io.Reader, read func(io.Reader) error, args ...string) error {
	if command := commandOf(args); p.asks == nil || command != "ls-remote" && command != "fetch" {
		return p.execute(ctx, stdin, read, args...)
	}
	visiting, leave, err := p.transport.Visit(ctx, p.asks)
	if err != nil {
		return err
	}
	err = p.execute(visiting, stdin, read, args...)
	if why, ok := errors.AsType[noReply](err); ok {
		leave(why.error)
	} else {
		leave(nil)
	}
	return err
}

// noReply says why a server did not answer git. The server is then asked no more.
type noReply struct{ error }

func (n noReply) Unwrap() error { return n.error }

// execute runs git, with the time limit of a command.
func (p *gitProgram) execute(ctx context.Context, stdin io.Reader, read func(io.Reader) error, args ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.opts.limits.command, transport.Late("it did not end", p.opts.limits.command))
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = p.gitDir(), p.env, stdin, killWait
	stderr := &beginning{left: maxComplaint}
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return unread("running git: %v", err)
	}
	defer context.AfterFunc(ctx, func() { stdout.Close() })() // for children that hold it, too
	release, err := startGroup(cmd)
	if err != nil {
		switch over := ended(ctx); {
		case over != nil:
			return over
		case errors.Is(err, exec.ErrNotFound):
			return refusedModule("install git", "the git program is not on the PATH")
		}
		return unread("running git: %v", err)
	}
	defer release()
	readErr := read(stdout)
	if readErr != nil && !errors.Is(readErr, io.EOF) {
		cancel() // git would wait for a reader
	}
	err = cmd.Wait()
	p.opts.Log.DebugContext(ctx, "git", "command", commandOf(args), "url", redact(p.remote.url), "failed", err != nil)
	early := readErr == nil || errors.Is(readErr, io.EOF) // git ended before all was read
	switch {
	case err != nil && (early || errors.Is(readErr, fs.ErrClosed)):
		return p.failure(ctx, commandOf(args), readComplaint(stderr.kept.String()), err)
	case readErr != nil:
		return unread("reading what git prints: %v", readErr)
	}
	return nil
}

// commandOf is the command in git's arguments, after the settings.
func commandOf(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

// beginning keeps the beginning of the written bytes.
type beginning struct {
	kept strings.Builder
	left int
}

func (h *beginning) Write(p []byte) (int, error) {
	keep := p[:min(len(p), h.left)]
	h.left -= len(keep)
	h.kept.Write(keep)
	return len(p), nil
}

// bounded runs git and stops it if it fills the disk.
func (p *gitProgram) bounded(ctx context.Context, stdin io.Reader, args ...string) error {
	err := withinBounds(ctx, p.dir, func(ctx context.Context) error {
		_, err := p.run(ctx, stdin, args...)
		return err
	})
	if errors.Is(err, errDirectory) {
		return unread("git %s of %s: %v", commandOf(args), redact(p.remote.url), err)
	}
	return err
}

// complaint is what git printed on its standard error. That text is for people. Only
// readComplaint reads it; all other code uses these fields.
type complaint struct {
	// words are git's own last words, without the secrets in quoted URLs. They are empty if
	// only the server spoke, which may say anything.
	words string
	// code is the cause, if a person can fix it; otherwise empty.
	code problem.Code
	// silent says that a server sent nothing for too long.
	silent bool
	// unanswered says that git could not connect to the server.
	unanswered bool
	// untrusted says that no authority that git trusts has signed the server's certificate.
	untrusted bool
}

var (
	unauthorizedWords = regexp.MustCompile(`(?i)authentication failed|could not read (username|password)|terminal prompts disabled|permission denied|HTTP Basic: Access denied|returned error: 40[13]|access denied|host key verification failed|repository .*not found|does not appear to be a git repository`)
	unreachableWords  = regexp.MustCompile(`(?i)could not resolve|failed to connect|couldn't connect|connection (refused|reset|timed out|closed)|operation timed out|no route to host|returned error: (429|5\d\d)|unable to access|unable to connect|early EOF|hung up unexpectedly`)
	// silentWords are messages of libcurl, and those of OpenSSH when its keep-alive
	// questions get no answer.
	silentWords = regexp.MustCompile(`(?im)Operation too slow|^Timeout, server .* not responding|connection timed out during banner exchange`)
	// unansweredWords are messages of libcurl, OpenSSH and git.
	unansweredWords = regexp.MustCompile(`(?i)failed to connect|couldn't connect|connection (refused|reset|timed out)|no route to host|operation timed out`)
	// untrustedWords are messages of libcurl with OpenSSL, GnuTLS and Schannel.
	untrustedWords = regexp.MustCompile(`(?i)SSL certificate problem: (unable to get|self[- ]signed)|server certificate verification failed|certificate signer not trusted|SEC_E_UNTRUSTED_ROOT`)
	// ownWords is a message of git's own, or the server's after "remote error:" [docs: git,
	// gitprotocol-pack, error packets].
	ownWords   = regexp.MustCompile(`(?m)^(?:fatal|error): (.*)$`)
	urlSecrets = regexp.MustCompile(`(://)[^/@\s]*@|\?[^\s'"]*`)
)

// readComplaint reads git's messages in English: see environ.
func readComplaint(text string) complaint {
	c := complaint{untrusted: untrustedWords.MatchString(text), silent: silentWords.MatchString(text), unanswered: unansweredWords.MatchString(text)}
	switch {
	case c.silent:
		c.code = problem.CodeUnreachable
	case unauthorizedWords.MatchString(text):
		c.code = problem.CodeUnauthorized
	case unreachableWords.MatchString(text):
		c.code = problem.CodeUnreachable
	}
	for _, found := range slices.Backward(ownWords.FindAllStringSubmatch(text, -1)) {
		words := strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return ' '
			}
			return r
		}, urlSecrets.ReplaceAllString(found[1], "$1"))
		if !strings.Contains(words, "remote error:") {
			c.words = fmt.Sprintf("%.300s", strings.TrimSuffix(words, "."))
			break
		}
	}
	return c
}

// remedy says which credential was refused for a repository, where it is sent, and what to
// do.
func (p *gitProgram) remedy() string {
	host := strings.ToLower(p.remote.url.Hostname())
	_, password := p.remote.url.User.Password()
	switch {
	case p.remote.token != "":
		return "the token for " + host + " was sent to it over https: let it read the repository, or set module-token to one that may"
	case p.remote.key != nil:
		return "the ssh key in the source address was used: let it read the repository"
	case password:
		return "the login in the source address was sent to " + host + ": let it read the repository"
	case host == p.opts.TokenHost:
		return "no token was sent to " + host + ", only what git finds on this machine: set module-token (RELOCK_MODULE_TOKEN), which is sent to it over https"
	case p.opts.TokenHost != "":
		return "no token was sent to " + host + ", only what git finds on this machine, and module-token is for " + p.opts.TokenHost + ": give git a login or a key that needs no answer"
	}
	return "no token was sent to " + host + ", only what git finds on this machine: give git a login or a key that needs no answer"
}

// certificateHint names both variables: relock asks a server before git does, and libcurl
// does not read SSL_CERT_FILE [docs: git-config, http.sslCAInfo].
const certificateHint = "if a proxy or a server of your own signs with an authority of its own, name a file with that in SSL_CERT_FILE for relock, and in GIT_SSL_CAINFO for git"

func (p *gitProgram) failure(ctx context.Context, command string, said complaint, err error) error {
	switch late := context.Cause(ctx); {
	case transport.Unanswered(late):
		return p.silent(command, late)
	case late != nil:
		return ended(ctx)
	case said.silent:
		return p.silent(command, transport.Late("nothing came", p.opts.limits.silence))
	}
	e := unread("git %s of %s", command, redact(p.remote.url))
	e.Err = err
	if said.words != "" {
		e.Err = errors.New(said.words)
	}
	if said.code != "" && p.remote.url.Scheme != "file" {
		e.Problem.Code, e.Problem.Host = said.code, transport.Hostname(p.remote.url)
	}
	if said.unanswered {
		e.Err = noReply{e.Err}
	}
	switch {
	case e.Problem.Code == problem.CodeUnauthorized:
		e.Problem.Hint = p.remedy()
	case said.untrusted:
		e.Problem.Hint = certificateHint
	case p.doubt != nil:
		return p.doubt
	}
	return e
}

// silent is the error of a command without an answer in time.
func (p *gitProgram) silent(command string, late error) error {
	e := unreachable(p.remote.url, "git %s of %s", command, redact(p.remote.url))
	e.Err = noReply{late}
	return e
}

// The limits on files that another program writes to the disk: their bytes do not pass
// through relock.
const (
	maxDirectory  = 4 << 30 // bytes below a temporary directory
	checkInterval = time.Second
)

// withinBounds calls do. It ends do's context if a directory grows larger than any module
// package.
func withinBounds(ctx context.Context, dir string, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(checkInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			var size int64
			filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
				if err != nil {
					return nil // it is just being written
				}
				if info, err := d.Info(); err == nil {
					size += info.Size()
				}
				return nil
			})
			if size > maxDirectory {
				cancel(errDirectory)
			}
		}
	})
	err := do(ctx)
	cancel(nil)
	watching.Wait()
	if context.Cause(ctx) == errDirectory {
		return errDirectory
	}
	return err
}

var errDirectory = fmt.Errorf("it is larger than %d bytes", int64(maxDirectory))
