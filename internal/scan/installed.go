package scan

import (
	"strings"

	"github.com/relock-dev/relock/internal/tfconfig"
)

// installs are the packages that the tool puts into modulesDir, by the path of the
// call: "a.h" is that of the call h in the module that a calls. A module may name such a
// directory as a local source, and does not say which call it is from
// [cases modules-dir-after, modules-dir-nested-key].
type installs struct {
	packages map[string]*tfconfig.Tree
	// unread are the calls of which it is not known what they install, themselves or
	// by what they call.
	unread map[string]bool
}

func newInstalls() installs {
	return installs{packages: map[string]*tfconfig.Tree{}, unread: map[string]bool{}}
}

// unknown reports whether a call may install the package of a key, and it is not
// known whether it does.
func (i installs) unknown(key string) bool {
	for at := len(key); at >= 0; at = strings.LastIndexByte(key[:at], '.') {
		if i.unread[key[:at]] {
			return true
		}
	}
	return false
}
