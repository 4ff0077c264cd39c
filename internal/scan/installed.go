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

// Installed is a record of init about a module of the tree, but for the root module.
type Installed struct {
	Record
	// Call is the question by which a package is fetched; nil for a module in the file tree
	// of its caller.
	Call *Call
}

// same reports whether both records are of the same files.
func (i Installed) same(other Installed) bool {
	if i.Call != nil && other.Call != nil && i.Call.Pin == other.Call.Pin {
		i.Call, other.Call = nil, nil
	}
	return i == other
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
