package provider

import "cmp"

// Finding is what is wrong with one hash of a lock file, or with one entry, that
// no failure of the run is: the run could look, and this is what it saw.
type Finding struct {
	Severity Severity
	Code     Code
	Addr     Addr
	Version  Version
	Hash     Hash   // empty for a finding about the whole entry
	File     string // slash-separated, relative to the scanned file tree
	Line     int    // of the hash, or else of the entry; counted from 1, 0 if unknown
	Message  string // one sentence without a full stop, no untrusted markup
	Hint     string // what to do next; may be empty
}

// The codes of findings that no Diagnostic has. They mean the same wherever
// hashes are judged.
const (
	CodeHashUnknown  Code = "hash-unknown"  // a hash that belongs to no package of its release
	CodeHashUnproven Code = "hash-unproven" // a hash of which not everything could be looked at
	CodeListGone     Code = "list-gone"     // a release whose checksum list or signature is not there
)

// Diagnostic returns the finding as a problem of its place.
func (f Finding) Diagnostic() Diagnostic {
	return Diagnostic{
		Severity: f.Severity, Code: f.Code, Message: f.Message, Hint: f.Hint,
		File: f.File, Line: f.Line, Addr: f.Addr, Host: f.Addr.Host,
	}
}

// Compare orders findings by place, then by provider and hash.
func (f Finding) Compare(g Finding) int {
	return cmp.Or(cmp.Compare(f.Line, g.Line), f.Addr.Compare(g.Addr), cmp.Compare(f.Hash, g.Hash))
}
