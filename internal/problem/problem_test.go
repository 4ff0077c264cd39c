package problem

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
)

func addr(t *testing.T, text string) provider.Addr {
	t.Helper()
	a, err := provider.ParseFullAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestProblemNamesItsPlace(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]Problem{
		"no such module":               {Message: "no such module"},
		"env/main.tf: no such module":  {Message: "no such module", Place: Place{Path: "env/main.tf"}, Hint: "create it"},
		"env/main.tf:7: no such thing": {Message: "no such thing", Place: Place{Path: "env/main.tf", Line: 7}},
	} {
		if got := d.String(); got != want {
			t.Errorf("Error() = %q, want %q", got, want)
		}
	}
}

func TestSeveritiesAreWrittenByName(t *testing.T) {
	t.Parallel()
	for want, text := range map[Severity]string{SeverityError: "error", SeverityWarning: "warning", SeverityNote: "note"} {
		written, err := want.MarshalText()
		if err != nil || string(written) != text {
			t.Errorf("MarshalText = %q, %v, want %q", written, err, text)
		}
		if got, err := ParseSeverity(text); err != nil || got != want {
			t.Errorf("ParseSeverity(%q) = %s, %v, want %s", text, got, err, want)
		}
	}
	if _, err := ParseSeverity("fatal"); err == nil {
		t.Error("ParseSeverity of another word gives a severity, want an error")
	}
}

func TestPlacesAreNamed(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]Place{
		"":                                       {},
		"a/main.tf":                              {Path: "a/main.tf"},
		"acme/infra//live/main.tf":               {Package: "acme/infra", Path: "live/main.tf"},
		"git::https://example.com/net.git//a.tf": {Package: "git::https://example.com/net.git", Path: "a.tf"},
		"https://example.com/net.zip//vpc//a.tf": {Package: "https://example.com/net.zip//vpc", Path: "a.tf"},
		"https://example.com/net.zip":            {Path: "https://example.com/net.zip"}, // the same text, as a path
	} {
		if got := want.Named(); got.Path != file || got.Package != "" {
			t.Errorf("%+v is named %+v, want the path %q", want, got, file)
		}
	}
}

func TestProblemOrder(t *testing.T) {
	t.Parallel()
	aws, tls := addr(t, "registry.terraform.io/hashicorp/aws"), addr(t, "registry.terraform.io/hashicorp/tls")
	want := []Problem{
		{Message: "z"},
		{Place: Place{Path: "a.tf"}, Message: "z"},
		{Place: Place{Path: "a.tf", Line: 2}, Message: "z"},
		{Place: Place{Path: "a.tf", Line: 10}, Subject: Subject{Addr: aws}, Message: "b"},
		{Place: Place{Path: "a.tf", Line: 10}, Subject: Subject{Addr: tls}, Message: "a"},
		{Place: Place{Path: "a.tf", Line: 10}, Subject: Subject{Addr: tls}, Message: "b"},
		{Place: Place{Path: "b.tf", Line: 1}, Message: "a"},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, Problem.Compare)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sorted diagnostics (-want +got):\n%s", diff)
	}
}

func TestErrorTellsItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	err := fmt.Errorf("planning: %w", &Error{Problem: Problem{Code: CodeUnreachable, Message: "reading versions"}, Err: cause})
	if got, want := err.Error(), "planning: reading versions: connection refused"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is not to be found")
	}
	if !Coded(err, CodeUnreachable) || Coded(err, CodeUnauthorized) || Coded(cause, CodeUnreachable) {
		t.Error("Coded does not go by the code of the Error in the chain")
	}
	if got, want := (&Error{Problem: Problem{Message: "no releases"}}).Error(), "no releases"; got != want {
		t.Errorf("Error() without a cause = %q, want %q", got, want)
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	aws := addr(t, "registry.terraform.io/hashicorp/aws")
	file := Problem{Severity: SeverityWarning, Code: CodeSyntax, Message: "m", Place: Place{Path: "f", Line: 1}}
	world := &Error{Problem: Problem{Code: CodeUnauthorized, Host: aws.Host, Subject: Subject{Addr: aws}, Message: "no", Hint: "log in"}}
	for name, tt := range map[string]struct {
		err  error
		want Problem
	}{
		"one with a place stays itself": {fmt.Errorf("reading: %w", &Error{Problem: file}), file},
		"an error keeps what it knows": {
			fmt.Errorf("asking: %w", world),
			Problem{Code: CodeUnauthorized, Message: "asking: no", Host: aws.Host, Subject: Subject{Addr: aws}, Hint: "log in"},
		},
		"anything else is internal": {errors.New("odd"), Problem{Code: CodeInternal, Message: "odd"}},
	} {
		if diff := cmp.Diff(tt.want, Of(tt.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	var all Several
	for range 3 * maxListed {
		all = all.With(Problem{Code: CodeInvalidConfig, Message: "wrong", Place: Place{Line: 1 + len(all)}}, CodeInvalidLock)
	}
	last := Problem{Code: CodeInvalidLock, Message: "further errors from here on are not listed", Place: Place{Line: maxListed + 1}}
	if len(all) != maxListed+1 || all[maxListed-1].Message != "wrong" || all[maxListed] != last {
		t.Errorf("%d errors that end in %+v, want %d and one that says that there are more", len(all), all[len(all)-1], maxListed)
	}
}
