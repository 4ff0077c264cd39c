package module

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Git may run programs that somebody else chose, such as the ssh command of a
// configuration file that was planted on the runner. So git gets no environment
// but this: nothing in it is secret, with the exception of passwords in the
// addresses of proxies.
var (
	// plainVariables say where programs and temporary files are, and whose
	// certificates are trusted.
	plainVariables = variables(`PATH TMPDIR TMP TEMP LD_LIBRARY_PATH GIT_EXEC_PATH
		SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT PROGRAMDATA PROGRAMFILES
		GIT_SSL_CAINFO GIT_SSL_CAPATH GIT_PROXY_SSL_CAINFO SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE`)
	// ownVariables are the operator's ways to servers. They count where
	// credentials that lie about do.
	ownVariables = variables(`HOME USER LOGNAME XDG_CONFIG_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS
		USERPROFILE USERNAME HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA
		SSH_AUTH_SOCK SSH_ASKPASS KRB5CCNAME KRB5_CONFIG
		HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
		GIT_ASKPASS GIT_SSH_VARIANT GIT_PROXY_COMMAND GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM
		GIT_SSL_CERT GIT_SSL_KEY GIT_SSL_NO_VERIFY
		GIT_HTTP_PROXY_AUTHMETHOD GIT_PROXY_SSL_CERT GIT_PROXY_SSL_KEY`)
)

func variables(names string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		set[name] = true
	}
	return set
}

// setting is one of git's configuration.
type setting struct{ key, value string }

// own reports whether the operator's git configuration and keys count for a host.
// For a pull request's head they never do: it also names what is asked for.
func (o Options) own(host string) bool { return !o.Head && o.ambient(host) }

// settings are for git in every repository, so that it runs no program of
// somebody else's choice and asks no person. What may be secret is in others:
// see repository.configure.
func settings(file string) []setting {
	return []setting{
		{"include.path", filepath.ToSlash(file)},
		{"core.hooksPath", os.DevNull},
		{"core.fsmonitor", "false"},
		{"credential.interactive", "false"},
		{"http.followRedirects", "false"},
		{"fetch.recurseSubmodules", "false"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
	}
}

// secretSettings are those for one remote: the operator's in the environment,
// the URL, and the token.
func (c *Client) secretSettings(r remote) []setting {
	var found []setting
	if c.opts.own(r.url.Hostname()) {
		found = c.environmentSettings()
	}
	found = append(found, setting{"remote.origin.url", r.url.String()})
	if r.token != "" {
		found = append(found,
			setting{"credential.helper", ""}, // a helper could only know less
			setting{"http." + (&url.URL{Scheme: r.url.Scheme, Host: r.url.Host, Path: "/"}).String() + ".extraHeader", "Authorization: " + basic(r.token)})
	}
	return found
}

var configVariable = regexp.MustCompile(`^GIT_CONFIG_(COUNT|KEY_[0-9]+|VALUE_[0-9]+)$`)

// environmentSettings are git's settings in the operator's environment.
func (c *Client) environmentSettings() []setting {
	values := map[string]string{}
	for _, variable := range c.opts.Env.Environ {
		if name, value, _ := strings.Cut(variable, "="); configVariable.MatchString(name) {
			values[name] = value
		}
	}
	var found []setting
	count, _ := strconv.Atoi(values["GIT_CONFIG_COUNT"])
	for i := range min(count, 1000) {
		if key := values["GIT_CONFIG_KEY_"+strconv.Itoa(i)]; key != "" {
			found = append(found, setting{key, values["GIT_CONFIG_VALUE_"+strconv.Itoa(i)]})
		}
	}
	return found
}

// configFile is what git reads settings from, each in a section of its own. A key
// without a section is none that git knows.
func configFile(settings []setting) string {
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

// environ is the environment in which git asks a remote.
func (r *repository) environ(of remote) []string {
	own := r.client.opts.own(of.url.Hostname())
	var list []string
	for _, variable := range r.client.opts.Env.Environ {
		name, _, _ := strings.Cut(variable, "=")
		name = strings.ToUpper(name) // as on Windows; those of proxies are written in both ways
		if plainVariables[name] || own && ownVariables[name] {
			list = append(list, variable)
		}
	}
	protocols := "https:http:ssh:git"
	if r.client.opts.AllowLocal {
		protocols += ":file"
	}
	list = append(list,
		"LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0",
		"GCM_INTERACTIVE=never",
		"SSH_ASKPASS_REQUIRE=never",
		"GIT_ALLOW_PROTOCOL="+protocols,
		"GIT_NO_LAZY_FETCH=1", // what is missing is fetched at once, by us
		"GIT_LFS_SKIP_SMUDGE=1",
		"GIT_DIR="+r.gitDir(), // so that no repository above is found
	)
	if !own {
		home := r.path("home")
		list = append(list, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+home, "XDG_CONFIG_HOME="+home, "USERPROFILE="+home)
	}
	plain := settings(r.path("settings"))
	list = append(list, "GIT_CONFIG_COUNT="+strconv.Itoa(len(plain)))
	for i, s := range plain {
		n := strconv.Itoa(i)
		list = append(list, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return list
}
