package module

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Git may run programs that other people chose, such as the ssh command in a configuration
// file on the runner. So git gets only these variables. None of them is secret, except for
// passwords in the addresses of proxies.
var (
	// plainVariables are the places of programs and temporary files, and the trusted
	// certificates.
	plainVariables = strings.Fields(`PATH TMPDIR TMP TEMP LD_LIBRARY_PATH GIT_EXEC_PATH
		SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT PROGRAMDATA PROGRAMFILES
		GIT_SSL_CAINFO GIT_SSL_CAPATH GIT_PROXY_SSL_CAINFO SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE`)
	// ownVariables are for the operator's own configuration and credentials. Git gets them
	// if it may use the machine's own credentials.
	ownVariables = strings.Fields(`HOME USER LOGNAME XDG_CONFIG_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS
		USERPROFILE USERNAME HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA
		SSH_AUTH_SOCK SSH_ASKPASS KRB5CCNAME KRB5_CONFIG
		HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
		GIT_ASKPASS GIT_SSH_VARIANT GIT_PROXY_COMMAND GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM
		GIT_SSL_CERT GIT_SSL_KEY GIT_SSL_NO_VERIFY
		GIT_HTTP_PROXY_AUTHMETHOD GIT_PROXY_SSL_CERT GIT_PROXY_SSL_KEY`)
)

// setting is one line of git's configuration.
type setting struct{ key, value string }

// gitConfigText is the text of git's configuration, each setting in a section of its own. A
// key without a section is unknown to git.
func gitConfigText(settings []setting) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var b strings.Builder
	for _, s := range settings {
		section, rest, ok := strings.Cut(s.key, ".")
		if !ok || strings.ContainsAny(s.key, "\n\x00") {
			continue
		}
		name := rest
		if i := strings.LastIndex(rest, "."); i >= 0 {
			section += ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(rest[:i]) + `"`
			name = rest[i+1:]
		}
		b.WriteString("[" + section + "]\n\t" + name + " = \"" + escape.Replace(s.value) + "\"\n")
	}
	return b.String()
}

func wholeSeconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// environ is the environment for a git command that asks a remote.
func (p *gitProgram) environ(of gitRemote) []string {
	own := p.opts.own(of.url.Hostname())
	var list []string
	for _, variable := range p.opts.Env.Environ {
		name, _, _ := strings.Cut(variable, "=")
		name = strings.ToUpper(name) // as on Windows; variables of proxies have both cases
		if slices.Contains(plainVariables, name) || own && slices.Contains(ownVariables, name) {
			list = append(list, variable)
		}
	}
	protocols := "https:http:ssh:git"
	if p.opts.AllowLocal {
		protocols += ":file"
	}
	list = append(list,
		"LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0",
		"GCM_INTERACTIVE=never",
		"SSH_ASKPASS_REQUIRE=never",
		"GIT_ALLOW_PROTOCOL="+protocols,
		"GIT_NO_LAZY_FETCH=1", // relock itself fetches missing files
		"GIT_LFS_SKIP_SMUDGE=1",
		"GIT_DIR="+p.gitDir(), // so that git finds no repository above
	)
	if !own {
		home := p.path("home")
		list = append(list, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+home, "XDG_CONFIG_HOME="+home, "USERPROFILE="+home)
	}
	// For every git command: it runs no program that other people chose, and asks no
	// person. Secrets are in a file.
	plain := []setting{
		{"include.path", filepath.ToSlash(p.path("settings"))},
		{"core.hooksPath", os.DevNull},
		{"core.fsmonitor", "false"},
		{"core.bigFileThreshold", "16m"}, // git has larger files in parts in memory, and not whole
		{"credential.interactive", "false"},
		{"http.followRedirects", "false"},
		{"http.lowSpeedLimit", "1"}, // bytes a second
		{"http.lowSpeedTime", wholeSeconds(p.opts.limits.silence)},
		{"fetch.recurseSubmodules", "false"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
	}
	list = append(list, "GIT_CONFIG_COUNT="+strconv.Itoa(len(plain)))
	for i, s := range plain {
		n := strconv.Itoa(i)
		list = append(list, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return list
}
