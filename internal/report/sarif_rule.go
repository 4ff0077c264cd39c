package report

import (
	"slices"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/verify"
)

// projectURL is where relock is told about, and helpURL begins the address of what
// is said about a code.
const (
	projectURL = "https://github.com/relock-dev/relock"
	helpURL    = projectURL + "/blob/main/docs/troubleshooting.md#"
)

// leftOutRule is about the format itself.
var leftOutRule = verify.Rule{
	Code: provider.CodeLeftOut, Severity: provider.SeverityWarning, Title: "There are more results than code scanning shows",
	Help: "--format json lists them all; parts of the repository can be uploaded under categories of their own",
}

// rulesOf are the rules of a verb, and those of what else the report tells of.
func rulesOf(verb string, issues []issue) []verify.Rule {
	var rules []verify.Rule
	if verb == VerbVerify {
		rules = slices.Clone(verify.Rules)
	}
	if len(issues) > mostResults {
		rules = append(rules, leftOutRule)
	}
	return rules
}

// sarifRule is a rule as SARIF has it. It is as severe as the worst of its results:
// people may choose the severity of a code.
func sarifRule(rule verify.Rule, issues []issue) *sarif.ReportingDescriptor {
	severity, found := rule.Severity, false
	for _, i := range issues {
		if i.Code == rule.Code && (!found || i.Severity < severity) {
			severity, found = i.Severity, true
		}
	}
	url := helpURL + string(rule.Code)
	help := rule.Help + "."
	return sarif.NewRule(string(rule.Code)).
		WithShortDescription(sarif.NewMultiformatMessageString().WithText(rule.Title)).
		WithFullDescription(sarif.NewMultiformatMessageString().WithText(rule.Title + ".")).
		WithHelp(sarif.NewMultiformatMessageString().WithText(help + " " + url).WithMarkdown(help + "\n\n[About " + string(rule.Code) + "](" + url + ")")).
		WithHelpURI(url).
		WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(severity.String())).
		WithProperties(sarifProperties(severity))
}

// scores are how severe code scanning shows results that are about security:
// 7.0 and more is high, 4.0 and more is medium. Notes are about form and have none.
var scores = map[provider.Severity]string{provider.SeverityError: "8.0", provider.SeverityWarning: "5.0"}

func sarifProperties(severity provider.Severity) *sarif.PropertyBag {
	bag := sarif.NewPropertyBag().WithTags([]string{"supply-chain"})
	if score := scores[severity]; score != "" {
		bag.AddTag("security").Add("security-severity", score)
	}
	return bag
}
