package module

import (
	"bufio"
	"encoding/base64"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
)

// sshConfiguration is the operator's configuration.
const sshConfiguration = `
Host work
  HostName git.test
Host other-port.test
  Port 443
Host jump.test
  ProxyJump bastion.test
Host command.test
  ProxyCommand connect %h %p
Host alias.test
  HostKeyAlias git.test
Host keyfile.test
  IdentityFile ~/keys/%h
Host shared.test
  ControlPath ~/.ssh/%C
Match host match.test
  IdentityFile ~/keys/match
Host options.test
  User deploy
  IdentityFile ~/keys/options
Host none.test
  ProxyCommand none
`

var testKey = base64.StdEncoding.EncodeToString([]byte("key\n"))

// fakeSSH makes an environment with a fake ssh. It answers -G as OpenSSH does for the
// operator's configuration. Instead of connecting, it writes down its options and runs git
// here. Without answers it answers nothing.
func fakeSSH(t *testing.T, answers bool) (env []string, options func() string) {
	t.Helper()
	real := program(t, "ssh")
	bin := t.TempDir()
	log, config := filepath.Join(bin, "log"), filepath.Join(bin, "config")
	writeFile(t, config, sshConfiguration, 0o600)
	if answers {
		writeFile(t, filepath.Join(bin, "run"), "#!/bin/sh\nexec git upload-pack \""+moduletest.Repositories(t)+"/${2#/}\"\n", 0o755)
	}
	writeFile(t, filepath.Join(bin, "ssh"), `#!/bin/sh
case " $* " in *" -G "*) exec '`+real+`' -F '`+config+`' "$@";; esac
echo "$@" >>'`+log+`'
for command; do :; done
[ ! -e '`+bin+`/run' ] || eval "'`+bin+`/run' $command"
`, 0o755)
	env = append(moduletest.Environ(t), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return env, func() string {
		text, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(string(text), "\n")
		line, _, _ = strings.Cut(line, " git-upload-pack")
		return regexp.MustCompile(`-i [^ ]+`).ReplaceAllString(strings.ReplaceAll(line, "-o SendEnv=GIT_PROTOCOL ", ""), "-i KEY")
	}
}

func TestSSHOptions(t *testing.T) {
	t.Parallel()
	const (
		quiet  = "-o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ServerAliveCountMax=4"
		ofHead = "-F /dev/null -o IdentityAgent=none -o IdentitiesOnly=yes -o ProxyCommand=none -o ProxyJump=none " + quiet + " -i KEY"
	)
	pin := func(name string) string { return " -o HostName=203.0.113.5 -o HostKeyAlias=" + name + " " }
	tests := []struct {
		name, source string
		head         bool
		want         string
	}{
		{"base", "git@git.test:modrepo.git", false, quiet + pin("git.test") + "git@git.test"},
		{"base_in_capitals", "git@GIT.test:modrepo.git", false, quiet + pin("git.test") + "git@GIT.test"},
		{"base_with_port", "git::ssh://git@git.test:2222/modrepo.git", false, quiet + pin("[git.test]:2222") + "-p 2222 git@git.test"},
		{"base_with_the_usual_port", "git::ssh://git@git.test:22/modrepo.git", false, quiet + pin("git.test") + "-p 22 git@git.test"},
		{"base_with_key", "git@git.test:modrepo.git?sshkey=" + testKey, false, quiet + " -i KEY" + pin("git.test") + "git@git.test"},
		{"base_with_options_of_the_host", "git@options.test:modrepo.git", false, quiet + pin("options.test") + "git@options.test"},
		{"base_without_a_proxy", "git@none.test:modrepo.git", false, quiet + pin("none.test") + "git@none.test"},
		{"base_by_address", "git@203.0.113.7:modrepo.git", false, quiet + " git@203.0.113.7"},
		// The operator's configuration leads elsewhere, or depends on the name.
		{"alias", "git@work:modrepo.git", false, quiet + " git@work"},
		{"other_port", "git@other-port.test:modrepo.git", false, quiet + " git@other-port.test"},
		{"other_port_of_an_unknown_name", "git@other-port.test:modrepo.git", false, quiet + " git@other-port.test"},
		{"host_in_between", "git@jump.test:modrepo.git", false, quiet + " git@jump.test"},
		{"program_in_between", "git@command.test:modrepo.git", false, quiet + " git@command.test"},
		{"key_alias", "git@alias.test:modrepo.git", false, quiet + " git@alias.test"},
		{"files_by_address", "git@keyfile.test:modrepo.git", false, quiet + " git@keyfile.test"},
		{"connection_by_address", "git@shared.test:modrepo.git", false, quiet + " git@shared.test"},
		{"match_of_the_name", "git@match.test:modrepo.git", false, quiet + " git@match.test"},
		// For a head no configuration applies.
		{"head", "git@git.test:modrepo.git?sshkey=" + testKey, true, ofHead + pin("git.test") + "git@git.test"},
		{"head_with_port", "git::ssh://git@git.test:2222/modrepo.git?sshkey=" + testKey, true, ofHead + pin("[git.test]:2222") + "-p 2222 git@git.test"},
		{"head_with_a_host_in_between", "git@jump.test:modrepo.git?sshkey=" + testKey, true, ofHead + pin("jump.test") + "git@jump.test"},
		{"head_by_address", "git@203.0.113.7:modrepo.git?sshkey=" + testKey, true, ofHead + " git@203.0.113.7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			hosts := map[string][]string{}
			for _, name := range []string{"git", "GIT", "options", "none", "other-port", "jump", "command", "alias", "keyfile", "shared", "match"} {
				hosts[name+".test"] = []string{"203.0.113.5", "169.254.169.254"} // the addresses when ssh would look them up
			}
			if tt.name == "other_port_of_an_unknown_name" {
				hosts = nil
			}
			// The options make no difference here, since ssh is a fake.
			answers := tt.name == "base" || tt.name == "head"
			env, options := fakeSSH(t, answers)
			opts := Options{Head: tt.head}
			opts.Env.Environ = env
			if c := named(t, opts, hosts); !answers {
				failing(t, c, tt.source, problem.CodeUnreadModule)
			} else if got := mainOf(t, fetch(t, c, tt.source)); !strings.Contains(got, "0.0.10") {
				t.Errorf("main.tf = %q", got)
			}
			if got := options(); got != tt.want {
				t.Errorf("ssh was called with\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestSSHIsNotStarted asks for unknown names, and for names with forbidden addresses,
// whatever the operator's ssh knows about them.
func TestSSHIsNotStarted(t *testing.T) {
	t.Parallel()
	hosts := map[string][]string{"work": {"169.254.169.254"}, "jump.test": {"169.254.169.254"}, "evil.test": {"127.0.0.1"}}
	for _, tt := range []struct {
		source  string
		head    bool
		refused bool
	}{
		{"git@gone.test:modrepo.git", false, false},
		{"git@gone.test:modrepo.git?sshkey=" + testKey, true, false},
		{"git@alias.test:modrepo.git?sshkey=" + testKey, true, false}, // only the operator's ssh knows the name
		{"git@evil.test:modrepo.git", false, true},
		{"git@work:modrepo.git", false, true},
		{"git@jump.test:modrepo.git", false, true},
		{"git@jump.test:modrepo.git?sshkey=" + testKey, true, true},
		{"git@169.254.169.254:modrepo.git", false, true},
	} {
		env, options := fakeSSH(t, false)
		opts := Options{Head: tt.head}
		opts.Env.Environ = env
		e := failing(t, named(t, opts, hosts), tt.source, problem.CodeUnreachable)
		if _, unknown := errors.AsType[*net.DNSError](e); transport.Refused(e) != tt.refused || unknown == tt.refused {
			t.Errorf("error of %s (head %v) = %v, want a refusal %v", tt.source, tt.head, e, tt.refused)
		}
		if options() != "" {
			t.Errorf("%s (head %v): ssh was called with %s", tt.source, tt.head, options())
		}
	}
}

// The operator's program may not be OpenSSH, and may know other names.
func TestOtherSSHPrograms(t *testing.T) {
	t.Parallel()
	env, _ := fakeSSH(t, true)
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	other := filepath.Join(bin, "plink")
	writeFile(t, other, "#!/bin/sh\ncase $1 in -*) exit 1;; esac\necho \"$@\" >>'"+log+"'\nexec ssh \"$@\"\n", 0o755)
	opts := Options{}
	opts.Env.Environ = append(env, "GIT_SSH_COMMAND="+other, "GIT_SSH_VARIANT=simple")
	for _, hosts := range []map[string][]string{nil, {"session": {"203.0.113.5"}}} {
		fetch(t, named(t, opts, hosts), "git@session:modrepo.git?ref=v1.0.0")
	}
	text, err := os.ReadFile(log)
	if err != nil || strings.Contains(string(text), "-o") {
		t.Errorf("the program was called with\n%s%v", text, err)
	}
}

// TestSSHConnectsToWhatWasChecked runs OpenSSH itself, for a name that it cannot
// look up.
func TestSSHConnectsToWhatWasChecked(t *testing.T) {
	t.Parallel()
	program(t, "ssh")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	greeting := make(chan string, 1)
	go func() { // until the listener is closed
		defer close(greeting)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		line, _ := bufio.NewReader(conn).ReadString('\n')
		greeting <- line
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c := named(t, Options{Head: true}, map[string][]string{"git.test": {"127.0.0.1", "169.254.169.254"}})
	c.transport.Admit("git.test:" + port)
	failing(t, c, "git::ssh://git@git.test:"+port+"/r.git?sshkey="+url.QueryEscape(testKey), problem.CodeUnreachable)
	l.Close()
	if got := <-greeting; !strings.HasPrefix(got, "SSH-2.0-") {
		t.Errorf("the address that was checked hears %q", got)
	}
}
