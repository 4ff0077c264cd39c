package render

import (
	"slices"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/verbs"
)

// projectURL is the home page of relock. helpURL begins the address of the page
// about a code.
const (
	projectURL = "https://github.com/relock-dev/relock"
	helpURL    = projectURL + "/blob/main/docs/troubleshooting.md#"
)

// checkRules are further rules of a check: pending changes of a lock file, and
// files that could not be read.
var checkRules = []problem.Meaning{
	{Code: problem.CodeOutdated, Title: "There is a newer release that the requirements allow", Help: "run `relock upgrade`, which takes it"},
	{Code: problem.CodeIncomplete, Title: "An entry lacks hashes", Help: "run `relock lock`, which adds them"},
	{Code: problem.CodeMoved, Title: "A provider is under the address of another registry", Help: "run `relock upgrade`, which moves the entry"},
	{Code: problem.CodeModulesDiffer, Title: "A lock file of modules is not up to date", Help: "run `relock lock`, which adds what lacks, or `relock upgrade`, which takes newer releases"},
	{Code: problem.CodeLockedVersion, Title: "The locked version is not allowed or no longer offered", Help: "run `relock upgrade`, which selects another one, and a lower one with --allow-downgrade"},
	{Code: problem.CodeUnreadModule, Title: "A module could not be read", Help: "give credentials, or values of the variables in its source"},
}

// otherRules are the rules of problems of any verb.
var otherRules = []problem.Meaning{
	{Code: problem.CodeSyntax, Title: "A file is not valid HCL, JSON or YAML", Help: "correct the line"},
	{Code: problem.CodeInvalidConfig, Title: "A configuration says something that is not valid", Help: "correct the line: the tool's validate refuses it too"},
	{Code: problem.CodeInvalidLock, Title: "A lock file is not valid", Help: "take the file of an earlier commit and run `relock lock`"},
	{Code: problem.CodeConflict, Title: "A lock file has the markers of a merge conflict", Help: "run `relock lock`, which reads both sides"},
	{Code: problem.CodeUnreadable, Title: "A file could not be read", Help: "look at what is at this path, and at its permissions"},
	{Code: problem.CodeSettings, Title: "Settings of relock are not valid, or do nothing", Help: "correct the line"},
	{Code: problem.CodeLeftOut, Title: "There are more results than code scanning shows", Help: "read the list of `--format json`; parts of the repository can be uploaded under categories of their own"},
}

// rulesOf are the rules of a verb, and of all other issues of the report. A
// problem without words here is named by its code.
func rulesOf(verb verbs.Verb, issues []issue) []problem.Meaning {
	rules, others := slices.Clone(problem.Meanings), slices.Concat(checkRules, otherRules)
	if verb == verbs.Check {
		rules, others = slices.Clone(checkRules), slices.Concat(problem.Meanings, otherRules)
	}
	for _, i := range issues {
		of := func(rule problem.Meaning) bool { return rule.Code == i.Code }
		if slices.ContainsFunc(rules, of) {
			continue
		}
		rule := problem.Meaning{Code: i.Code, Title: "A problem of the kind " + string(i.Code), Help: "the message says what to do"}
		if at := slices.IndexFunc(others, of); at >= 0 {
			rule = others[at]
		}
		rules = append(rules, rule)
	}
	return rules
}

// sarifRule is a rule in SARIF. It is as severe as its worst result: users may
// choose the severity of a code, and everything that fails a check is an error.
func sarifRule(verb verbs.Verb, rule problem.Meaning, issues []issue) *sarif.ReportingDescriptor {
	severity, found := rule.Severity, false
	for _, i := range issues {
		if i.Code == rule.Code && (!found || i.Severity < severity) {
			severity, found = i.Severity, true
		}
	}
	worth := severity
	if verb == verbs.Check { // all its errors make it fail
		worth = rule.Severity
	}
	url := helpURL + string(rule.Code)
	help := rule.Help + "."
	return sarif.NewRule(string(rule.Code)).
		WithShortDescription(sarif.NewMultiformatMessageString().WithText(rule.Title)).
		WithFullDescription(sarif.NewMultiformatMessageString().WithText(rule.Title + ".")).
		WithHelp(sarif.NewMultiformatMessageString().WithText(help + " " + url).WithMarkdown(help + "\n\n[About " + string(rule.Code) + "](" + url + ")")).
		WithHelpURI(url).
		WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(severity.String())).
		WithProperties(sarifProperties(rule.Code, worth))
}

// scores are the severities of security results in code scanning: from 7.0 high,
// from 4.0 medium. Notes are about form and have no score. Only findings of a
// verification have one.
var scores = map[problem.Severity]string{problem.SeverityError: "8.0", problem.SeverityWarning: "5.0"}

func sarifProperties(code problem.Code, severity problem.Severity) *sarif.PropertyBag {
	bag := sarif.NewPropertyBag().WithTags([]string{"supply-chain"})
	_, proven := problem.MeaningOf(code)
	if score := scores[severity]; proven && score != "" {
		bag.AddTag("security").Add("security-severity", score)
	}
	return bag
}
