package problem

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/provider"
)

// Problem is one problem in the form for people: what is wrong, where, with what,
// and what to do next. A finding of a verification is one, too: the run could
// look, and reports what it saw.
type Problem struct {
	Severity Severity `json:"-"`
	Code     Code     `json:"code"`
	Place    Place    `json:"-"` // zero if the problem is in no file
	Subject  Subject  `json:"-"` // the provider
	// About separates problems that are equal in all fields above. It is, for
	// example, a key, or the address of a module that could not be fetched.
	About   string `json:"-"`
	Message string `json:"message"`        // one sentence without a full stop, no untrusted markup
	Hint    string `json:"hint,omitempty"` // what to do next; may be empty
	// Upgradable is true if relock upgrade solves it by another version.
	Upgradable bool             `json:"-"`
	Host       svchost.Hostname `json:"-"` // the server that was asked; empty for none
	Outage     Outage           `json:"-"` // the server that did not answer; empty for none
	Dirs       Dirs             `json:"-"` // if it is reported once for several directories, all of them
	ProvenBy   string           `json:"-"` // the verdict about a proven hash, such as "mirror"
}

// Outage is the reason why a server gave no complete answer, or only an answer
// that it has trouble. It is the same for all requests to the server, whatever
// host they were about.
type Outage struct {
	// Server is the host and the port of the server, without the default port of
	// https.
	Server string `json:"server"`
	// Reason is what happened, in words. It is empty if relock did not ask the
	// server, since it had not answered before.
	Reason string `json:"reason"`
	// Answered is true if the server itself reports trouble. Reason is then its
	// report.
	Answered bool `json:"answered,omitempty"`
}

// Subject is the provider of a problem. Unknown fields have their zero value.
type Subject struct {
	Addr provider.Addr
	// Version is the version of a lock file's entry or of a request. It is only
	// valid if the subject is Versioned, since 0.0.0 is a version, too.
	Version   provider.Version
	Versioned bool
	Platform  provider.Platform
	Hash      provider.Hash
}

// VersionText returns the version; empty if the subject is not Versioned.
func (s Subject) VersionText() string {
	if !s.Versioned {
		return ""
	}
	return s.Version.String()
}

// String returns the place and the message, without the hint.
func (p Problem) String() string {
	if p.Place == (Place{}) {
		return p.Message
	}
	return p.Place.String() + ": " + p.Message
}

// Compare orders problems by place, then by provider and text.
func (p Problem) Compare(q Problem) int {
	return cmp.Or(
		p.Place.Compare(q.Place), p.Subject.Addr.Compare(q.Subject.Addr), strings.Compare(p.Message, q.Message),
	)
}

// Fingerprint identifies the problem as long as it exists. It depends on the
// problem's subject, not on its line, so that changes of neighbours do not
// matter. Code scanning expects the number at its end for the key
// primaryLocationLineHash.
func (p Problem) Fingerprint() string {
	about, addr := string(p.Subject.Hash), ""
	if about == "" && p.Subject.Platform != (provider.Platform{}) {
		about = p.Subject.Platform.String()
	}
	if p.Subject.Addr != (provider.Addr{}) {
		addr = p.Subject.Addr.String()
	}
	facts := []string{string(p.Code), p.Place.File(), addr, p.Subject.VersionText(), about}
	if p.About != "" {
		facts = append(facts, p.About)
	}
	sum := sha256.Sum256([]byte(strings.Join(facts, "\x00")))
	return hex.EncodeToString(sum[:])[:32] + ":1"
}

// Several are the problems that together make a request impossible.
type Several []Problem

// AnyError reports whether one of the problems is an error.
func AnyError(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == SeverityError })
}

// Error returns the texts of the problems, one a line.
func (s Several) Error() string {
	texts := make([]string, len(s))
	for i, p := range s {
		texts[i] = p.String()
	}
	return strings.Join(texts, "\n")
}

// maxListed is the highest number of errors about one file, or about the files of
// one module together: each line of a file can hold a mistake.
const maxListed = 100

// With adds an error to those about a file. At the limit it adds, once, an error
// with the code more.
func (s Several) With(p Problem, more Code) Several {
	switch n := len(s); {
	case n == maxListed:
		p.Code, p.Message = more, "further errors from here on are not listed"
	case n > maxListed:
		return s
	}
	return append(s, p)
}
