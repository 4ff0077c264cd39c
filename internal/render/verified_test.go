package render_test

import (
	"strings"

	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
)

// found is a finding about an entry, as verify makes it.
func found(code problem.Code, dir, name, v string, line int) problem.Problem {
	meaning, _ := problem.MeaningOf(code)
	path := strings.TrimPrefix(dir+"/"+lockfile.Name, "./")
	return problem.Problem{
		Severity: meaning.Severity, Code: code, Subject: problem.Subject{Addr: addr(name), Version: version(v), Versioned: v != ""}, Place: problem.Place{Path: path, Line: line},
		Message: "what " + name + " " + v + " has", Hint: meaning.Help,
	}
}

// forged is a finding about a hash.
func forged(dir string, hash provider.Hash, line int) problem.Problem {
	f := found(problem.CodeHashUnknown, dir, "hashicorp/aws", "5.31.0", line)
	f.Subject.Hash, f.Place.From, f.Place.To = hash, 5, 5+len(hash)+2
	f.Message = string(hash) + " belongs to no package of registry.terraform.io/hashicorp/aws 5.31.0"
	return f
}

// verified is a verification with a finding of every kind.
func verified() report.Report {
	prod, dev, bare := module("envs/prod"), module("envs/dev"), module(".")
	prod.Verified = &report.Verified{
		Counts: verify.Counts{verify.ByList: 12, verify.ByPackage: 3, verify.ByCache: 2, verify.Disproven: 2},
	}
	prod.Accepted = []ledger.Acceptance{
		{Problem: forged("envs/prod", "h1:accepted=", 9), Reason: "built by ourselves", By: "mona", Until: day("2027-05-31")},
	}
	prod.Findings = []problem.Problem{
		found(problem.CodeConstraintsDiffer, "envs/prod", "hashicorp/aws", "5.31.0", 4),
		forged("envs/prod", "h1:forged=", 8),
		found(problem.CodeUnsigned, "envs/prod", "acme/tool", "1.2.0", 20),
	}
	dev.Verified = &report.Verified{Counts: verify.Counts{verify.ByList: 4}, Unchecked: []string{"entries that nothing requires: 2 modules could not be read"}}
	missing := found(problem.CodeEntryMissing, "envs/dev", "hashicorp/null", "", 3)
	missing.Place.Path = "modules/net/main.tf"
	far := missing
	far.Place.Package, far.Place.Path, far.Subject.Addr = "git::https://example.com/net.git", "main.tf", addr("hashicorp/tls")
	dev.Findings = []problem.Problem{missing, far}
	bare.Verified = &report.Verified{Counts: verify.Counts{verify.Unproven: 1}}
	bare.Findings = []problem.Problem{{Severity: problem.SeverityNote, Code: problem.CodeNotNormal, Place: problem.Place{Path: ".terraform.lock.hcl", Line: 1}, Message: "the file is not in the form that Terraform writes"}}
	bare.Diagnostics = []problem.Problem{{Code: problem.CodeInvalidLock, Place: problem.Place{Path: ".terraform.lock.hcl", Line: 7}, Message: "invalid provider source address"}}
	return report.Report{
		Verb: verbs.Verify, Modules: []report.Module{prod, dev, bare},
		Diagnostics: []problem.Problem{{Code: problem.CodeUnreachable, Host: "registry.example.com", Message: "the registry registry.example.com answered no question"}},
	}
}
