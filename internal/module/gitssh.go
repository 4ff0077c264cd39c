package module

import (
	"bytes"
	"cmp"
	"context"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/relock-dev/relock/internal/transport"
)

// aliveQuestions is how many keep-alive questions in a row a server may leave without an
// answer.
const aliveQuestions = 4

// overSSH gives git the command for ssh: the operator's, or one that uses only the source's
// own key. It never asks a person, and connects to a checked address. If the operator's ssh
// configuration leads elsewhere, for example by an alias, ssh connects by itself.
func (r *route) overSSH(ctx context.Context, asked *url.URL) error {
	own, command := r.opts.own(r.remote.url.Hostname()), "ssh"
	if own {
		if out, err := r.run(ctx, nil, "config", "--get", "core.sshCommand"); err == nil {
			command = cmp.Or(string(bytes.TrimSpace(out)), command)
		}
		command = cmp.Or(r.opts.Env.Getenv("GIT_SSH_COMMAND"), command)
	} else {
		command += " -F " + os.DevNull + " -o IdentityAgent=none -o IdentitiesOnly=yes -o ProxyCommand=none -o ProxyJump=none"
	}
	if program, _, _ := strings.Cut(command, " "); filepath.Base(program) == "ssh" {
		command += " -o BatchMode=yes -o ConnectTimeout=" + wholeSeconds(r.opts.limits.greeting) +
			" -o ServerAliveInterval=" + wholeSeconds(r.opts.limits.silence/aliveQuestions) + " -o ServerAliveCountMax=" + strconv.Itoa(aliveQuestions)
	}
	if r.remote.key != nil {
		command += " -i " + shellQuote(filepath.ToSlash(r.path("key"))) // git runs the command in its own shell, also on Windows
	}
	addrs, _, err := r.transport.Resolve(ctx, asked, r.remote.from)
	if err != nil && (ended(ctx) != nil || transport.Refused(err)) {
		return err
	}
	pinned := command
	if len(addrs) > 0 {
		pinned += pinTo(addrs[0], asked)
	}
	switch {
	case own && (err != nil || pinned != command) && !r.sshDirect(ctx, command, pinned, asked):
		pinned = command
	case err != nil:
		return err
	case len(addrs) > 1: // with the option, ssh tries only this address
		answering, err := r.greeting.Do(ctx, transport.HostPort(asked), func() (netip.Addr, error) {
			return r.transport.Greeting(ctx, asked, addrs, "SSH-", r.opts.limits.greeting)
		})
		if err != nil {
			return err
		}
		pinned = command + pinTo(answering, asked)
	}
	r.env = append(r.env, "GIT_SSH_COMMAND="+pinned)
	return nil
}

// pinTo are the options with which ssh connects to an address of a host. known_hosts has
// the host's key under the name that ssh uses there.
func pinTo(ip netip.Addr, asked *url.URL) string {
	name := strings.ToLower(asked.Hostname())
	if port := asked.Port(); port != "" && port != "22" {
		name = "[" + name + "]:" + port
	}
	return " -o HostName=" + ip.String() + " -o HostKeyAlias=" + shellQuote(name)
}

// shellQuote quotes a word for the shell in which git runs a command.
func shellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

var (
	// sshDetour matches the lines of ssh's configuration that lead to another host. The
	// placeholders %h, %k and %C lead to other files if the host is an address.
	sshDetour = regexp.MustCompile(`(?mi)^(hostkeyalias .*|proxy(command|jump) .*|.*%[hkc].*)$`)
	// sshPinned matches the lines that pinTo changes.
	sshPinned = regexp.MustCompile(`(?mi)^(hostname|hostkeyalias) .*\n`)
)

// sshDirect reports whether the operator's command for ssh connects to the host itself. If
// it is pinned, it must also use the same keys and settings: "Match host" may choose
// settings by the name and not by the address. The question uses -G, as git does. Only
// OpenSSH has that option.
func (r *route) sshDirect(ctx context.Context, command, pinned string, asked *url.URL) bool {
	plain := r.sshConfig(ctx, command, asked)
	toHost, toPort := "\nhostname "+strings.ToLower(asked.Hostname())+"\n", "\nport "+cmp.Or(asked.Port(), "22")+"\n"
	if !strings.Contains(plain, toHost) || !strings.Contains(plain, toPort) || sshDetour.MatchString(plain) {
		return false
	}
	return pinned == command || sshPinned.ReplaceAllString(plain, "") == sshPinned.ReplaceAllString(r.sshConfig(ctx, pinned, asked), "")
}

// sshConfig is ssh's configuration for a host; empty if it is not known.
func (r *route) sshConfig(ctx context.Context, command string, asked *url.URL) string {
	args := []string{"-c", "alias.ssh=!" + command + " -G", "ssh"} // git knows the shell
	if port := asked.Port(); port != "" {
		args = append(args, "-p", port)
	}
	host := asked.Hostname()
	if user := asked.User.Username(); user != "" {
		host = user + "@" + host
	}
	out, err := r.run(ctx, nil, append(args, host)...)
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n")
}
