package tfconfig

import (
	"fmt"

	regular "github.com/relock-dev/relock/internal/file" // the type file is another here
	"github.com/relock-dev/relock/internal/problem"
)

// Mistakes collects errors. Their messages repeat only identifiers and values in canonical
// form, because people trust the places where they are shown.
type Mistakes struct{ Diags []problem.Problem }

func (p *Mistakes) report(d problem.Problem) {
	p.Diags = problem.Several(p.Diags).With(d, problem.CodeInvalidConfig)
}

// The codes of errors that may be none in a newer release than relock knows. Only this
// package and the readers of module trees use them.
const (
	UnknownPart  problem.Code = "unknown part"  // a block at the top of a file, or a part of a terraform block
	UnknownPlace problem.Code = "unknown place" // a known block in a place where no known release accepts it
)

// Doubt is a part of an entry of required_providers or of a provider block that known
// releases refuse. A newer release may require something with it.
type Doubt struct {
	OpenEntry
	Problem problem.Problem // the error for a known release
}

// Messages with several uses.
const (
	badName        = "invalid provider name: it must hold only lower-case letters, digits and single dashes between them"
	badAddr        = "invalid provider source address: it must be like aws, hashicorp/aws or example.com/acme/widget"
	badType        = "invalid provider source address: its last part must not begin with terraform-, which only names of repositories do; leave that prefix out, as in hashicorp/aws"
	badVersion     = "invalid version constraint: it must be like \">= 1.2.3, < 2.0.0\""
	badVersionTerm = "invalid version constraint: each term must be an operator, at most one space, and a version like 1, 1.2 or 1.2.3-beta"
)

// Add reports an error in the configuration.
func (p *Mistakes) Add(at problem.Place, format string, args ...any) {
	p.AddHinting(at, "", format, args...)
}

// AddHinting reports an error with a hint.
func (p *Mistakes) AddHinting(at problem.Place, hint, format string, args ...any) {
	p.report(problem.Problem{
		Code: problem.CodeInvalidConfig, Message: fmt.Sprintf(format, args...), Hint: hint, Place: at,
	})
}

// Unreadable reports a file, or a directory, that could not be read.
func (p *Mistakes) Unreadable(what string, at problem.Place, err error) {
	p.report(problem.Problem{
		Code: problem.CodeUnreadable, Message: fmt.Sprintf("the %s could not be read: %v", what, regular.Cause(err)), Place: at,
	})
}
