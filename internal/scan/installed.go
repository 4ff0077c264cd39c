package scan

import (
	"strings"

	"github.com/relock-dev/relock/internal/tfconfig"
)

// installs are the packages that the tool puts into modulesDir, by the path of calls. For
// example, "a.h" is the call h in the module that a calls. A module may use such a
// directory as a local source, which does not show the call [cases modules-dir-after,
// modules-dir-nested-key].
type installs struct {
	packages map[string]*tfconfig.Tree
	// unread are the calls for which it is unknown what they install, themselves or by
	// their own calls.
	unread map[string]bool
}

func newInstalls() installs {
	return installs{packages: map[string]*tfconfig.Tree{}, unread: map[string]bool{}}
}

// unknown reports whether a call may install the package of a key, and that is uncertain.
func (i installs) unknown(key string) bool {
	for at := len(key); at >= 0; at = strings.LastIndexByte(key[:at], '.') {
		if i.unread[key[:at]] {
			return true
		}
	}
	return false
}
