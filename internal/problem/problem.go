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

// Problem is one problem as a person reads it: what is wrong, where, with what, and what
// to do next. A finding of a verification is one, too: the run could look, and this is
// what it saw.
type Problem struct {
	Severity Severity
	Code     Code
	Place    Place   // its zero value: what is wrong is in no file
	Subject  Subject // what it is about
	// About tells problems apart that are alike in all of the above: what else of the
	// world they are about, such as a key, or the address of a module that could not be
	// fetched.
	About    string
	Message  string           // one sentence without a full stop, no untrusted markup
	Hint     string           // what to do next; may be empty
	Host     svchost.Hostname // that was asked; empty for none
	Outage   Outage           // the server that gave no answer; empty for none
	Dirs     Dirs             // all that it is about, if it is reported once for several directories
	ProvenBy string           // the verdict on a hash that something proves, such as "mirror"
}

// Outage is why a server gave no whole answer, or none but that it is in trouble. It is the same for all that was asked of
// the server, whatever host the requests were about.
type Outage struct {
	// Server is the host and the port of the server, without the port of https.
	Server string `json:"server"`
	// Reason is what happened, in words; empty where nothing was asked any more, since the
	// server had not answered before.
	Reason string `json:"reason"`
	// Answered is true of a server that says itself that it is in trouble: Reason is then
	// what it says.
	Answered bool `json:"answered,omitempty"`
}

// Subject is what of a provider a problem is about. What is not known of it has its zero
// value.
type Subject struct {
	Addr provider.Addr
	// Version is that of a lock file's entry, or that was asked for. It is there only if
	// the subject is Versioned: 0.0.0 does not say so.
	Version   provider.Version
	Versioned bool
	Platform  provider.Platform
	Hash      provider.Hash
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

// Fingerprint names the problem for as long as it is there: by what it is about,
// not by where it is in the file, so that a changed neighbour does not make
// another one of it. The number behind it is what code scanning expects of its key
// primaryLocationLineHash.
func (p Problem) Fingerprint() string {
	about, version, addr := string(p.Subject.Hash), "", ""
	if about == "" && p.Subject.Platform != (provider.Platform{}) {
		about = p.Subject.Platform.String()
	}
	if p.Subject.Versioned {
		version = p.Subject.Version.String()
	}
	if p.Subject.Addr != (provider.Addr{}) {
		addr = p.Subject.Addr.String()
	}
	facts := []string{string(p.Code), p.Place.File(), addr, version, about}
	if p.About != "" {
		facts = append(facts, p.About)
	}
	sum := sha256.Sum256([]byte(strings.Join(facts, "\x00")))
	return hex.EncodeToString(sum[:])[:32] + ":1"
}

// Several are several problems that together make a request impossible.
type Several []Problem

// AnyError reports whether one of the problems is an error.
func AnyError(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == SeverityError })
}

// Error returns their texts, one a line.
func (s Several) Error() string {
	texts := make([]string, len(s))
	for i, p := range s {
		texts[i] = p.String()
	}
	return strings.Join(texts, "\n")
}

// maxListed bounds the errors about one file, or about what the files of one module say
// together: a file can hold a mistake in each of its lines.
const maxListed = 100

// With adds an error to those about a file, or says once, with a code, that there are
// more.
func (s Several) With(p Problem, more Code) Several {
	switch n := len(s); {
	case n == maxListed:
		p.Code, p.Message = more, "further errors from here on are not listed"
	case n > maxListed:
		return s
	}
	return append(s, p)
}
