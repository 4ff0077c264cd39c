package module

import (
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/bgentry/go-netrc/netrc"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/file"
)

// readNetrc reads the operator's netrc file at its first use; nil if there is none.
func readNetrc(env cliconfig.Env) func() (*netrc.Netrc, error) {
	return sync.OnceValues(func() (*netrc.Netrc, error) {
		name := env.Getenv("NETRC")
		if name == "" && env.Home == "" {
			return nil, nil
		}
		if name == "" {
			name = filepath.Join(env.Home, ".netrc")
			if env.GOOS == "windows" {
				name = filepath.Join(env.Home, "_netrc")
			}
		}
		if stat, err := os.Stat(name); err != nil || stat.IsDir() {
			return nil, nil
		}
		f, err := file.Open(name)
		if err != nil {
			return nil, unread("the netrc file cannot be read")
		}
		defer f.Close()
		parsed, err := netrc.Parse(f)
		if err != nil {
			return nil, unread("the netrc file is not valid") // the cause would quote the file
		}
		return parsed, nil
	})
}

// login adds the login for the host of a URL without its own, as the tools do for requests
// by http and https [go-getter 1.7 netrc.go].
func (w web) login(u *url.URL) (*url.URL, error) {
	if u.User.Username() != "" || !w.opts.ambient(u.Hostname()) {
		return u, nil
	}
	file, err := w.netrc()
	if err != nil || file == nil {
		return u, err
	}
	machine := file.FindMachine(u.Host)
	if machine == nil {
		return u, nil
	}
	with := *u
	with.User = url.UserPassword(machine.Login, machine.Password)
	return &with, nil
}
