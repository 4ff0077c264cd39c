package module

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/provider"
)

// The limits on git as a process.
const (
	// gitTimeout bounds one command. A large repository on a slow line takes
	// minutes, a server that keeps a connection open takes for ever.
	gitTimeout = 15 * time.Minute
	// killWait is how long the programs that git started may take to notice
	// that it is gone.
	killWait = 5 * time.Second
	// maxComplaint bounds what git says on its standard error.
	maxComplaint = 64 << 10
	// sshTimeout is in seconds.
	sshTimeout = "20"
)

// keptVariables are those of git's that say how to reach servers. The others
// are about a repository in which relock happens to run, or about what git
// prints.
var keptVariables = map[string]bool{
	"GIT_ASKPASS": true, "GIT_SSH_VARIANT": true,
	"GIT_CONFIG_GLOBAL": true, "GIT_EXEC_PATH": true, "GIT_PROXY_COMMAND": true,
	"GIT_SSL_CAINFO": true, "GIT_SSL_CAPATH": true, "GIT_SSL_CERT": true, "GIT_SSL_KEY": true, "GIT_SSL_NO_VERIFY": true,
	"GIT_HTTP_PROXY_AUTHMETHOD": true, "GIT_PROXY_SSL_CAINFO": true, "GIT_PROXY_SSL_CERT": true, "GIT_PROXY_SSL_KEY": true,
}

var configVariable = regexp.MustCompile(`^GIT_CONFIG_(COUNT|KEY_[0-9]+|VALUE_[0-9]+)$`)

// setting is one of git's configuration.
type setting struct{ key, value string }

// environ is the environment in which git asks a remote: the operator's, where
// credentials that lie about may be used, without what could run programs of
// somebody else's choice or ask a person.
func (c *Client) environ(r remote, dir string) []string {
	ambient := c.ambient(r.url.Hostname())
	settings := []setting{
		{"remote.origin.url", r.url.String()},
		{"core.hooksPath", os.DevNull},
		{"core.fsmonitor", "false"},
		{"credential.interactive", "false"},
		{"http.followRedirects", "false"},
		{"fetch.recurseSubmodules", "false"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
	}
	if r.token != "" {
		settings = append(settings,
			setting{"credential.helper", ""}, // a helper could only know less
			setting{"http." + (&url.URL{Scheme: r.url.Scheme, Host: r.url.Host, Path: "/"}).String() + ".extraHeader", "Authorization: " + basic(r.token)})
	}
	protocols := "https:http:ssh:git"
	if c.opts.AllowLocal {
		protocols += ":file"
	}
	variables, settings := c.operator(ambient, settings)
	variables = append(variables,
		"LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GCM_INTERACTIVE=never",
		"SSH_ASKPASS_REQUIRE=never",
		"GIT_ALLOW_PROTOCOL="+protocols,
		"GIT_LFS_SKIP_SMUDGE=1",
		"GIT_DIR="+dir, // so that no repository above is found
	)
	if !ambient {
		variables = append(variables, "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	}
	return append(variables, environment(settings)...)
}

// operator is what to keep of the operator's environment, and the settings of
// git in it before ours.
func (c *Client) operator(ambient bool, ours []setting) (variables []string, settings []setting) {
	values := map[string]string{}
	for _, variable := range c.opts.Env.Environ {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case configVariable.MatchString(name):
			values[name] = value
		case strings.HasPrefix(name, "GIT_") && !(ambient && keptVariables[name]):
		case !ambient && (name == "SSH_AUTH_SOCK" || name == "SSH_ASKPASS"):
		case name == "HOME" && !ambient:
		default:
			variables = append(variables, variable)
		}
	}
	count, _ := strconv.Atoi(values["GIT_CONFIG_COUNT"])
	for i := range min(count, 1000) {
		if key := values["GIT_CONFIG_KEY_"+strconv.Itoa(i)]; ambient && key != "" {
			settings = append(settings, setting{key, values["GIT_CONFIG_VALUE_"+strconv.Itoa(i)]})
		}
	}
	return variables, append(settings, ours...)
}

// environment gives settings to git without a file or an argument.
func environment(settings []setting) []string {
	variables := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))}
	for i, s := range settings {
		n := strconv.Itoa(i)
		variables = append(variables, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return variables
}

// sshCommand is the command that git runs for ssh: the operator's, or one that
// finds no credentials but the source's own key. It never asks a person.
func (r *repository) sshCommand(ctx context.Context, key string) string {
	command := "ssh"
	if r.client.ambient(r.remote.url.Hostname()) {
		if out, err := r.run(ctx, nil, "config", "--get", "core.sshCommand"); err == nil {
			command = cmp.Or(string(bytes.TrimSpace(out)), command)
		}
		command = cmp.Or(r.client.opts.Env.Getenv("GIT_SSH_COMMAND"), command)
	} else {
		command += " -F " + os.DevNull + " -o IdentityAgent=none -o IdentitiesOnly=yes"
	}
	if program, _, _ := strings.Cut(command, " "); filepath.Base(program) == "ssh" {
		command += " -o BatchMode=yes -o ConnectTimeout=" + sshTimeout
	}
	if key != "" {
		if runtime.GOOS == "windows" {
			key = filepath.ToSlash(key) // git runs the command in its own shell
		}
		command += " -i '" + strings.ReplaceAll(key, "'", `'\''`) + "'"
	}
	return command
}

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
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = r.dir, r.env, stdin, killWait
	complaint := &head{left: maxComplaint}
	cmd.Stderr = complaint
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return unread("running git: %v", err)
	}
	if err := cmd.Start(); err != nil {
		switch over := ended(ctx); {
		case over != nil:
			return over
		case errors.Is(err, exec.ErrNotFound):
			return refused("install git", "the git program is not on the PATH")
		}
		return unread("running git: %v", err)
	}
	readErr := read(stdout)
	if readErr != nil && !errors.Is(readErr, io.EOF) {
		cancel() // git would wait for a reader
	}
	err = cmd.Wait()
	r.client.opts.Log.DebugContext(ctx, "git", "command", args[0], "url", redact(r.remote.url), "failed", err != nil)
	early := readErr == nil || errors.Is(readErr, io.EOF) // git ended before what was to be read
	switch {
	case err != nil && early:
		return r.failure(ctx, args[0], complaint.String(), err)
	case readErr != nil:
		return unread("reading what git prints: %v", readErr)
	}
	return nil
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

// readBlobs adds files to the tree, by one run of git.
func (r *repository) readBlobs(ctx context.Context, t *tree, blobs []blob) error {
	if len(blobs) == 0 {
		return nil
	}
	var ids strings.Builder
	for _, b := range blobs {
		ids.WriteString(b.id + "\n")
	}
	return r.stream(ctx, strings.NewReader(ids.String()), func(stdout io.Reader) error {
		return readBatch(stdout, t, blobs)
	}, "cat-file", "--batch", "--buffer")
}
