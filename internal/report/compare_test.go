package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/report"
)

// Lock files are compared by their paths. Equal files are left out. A file on one
// side only has or loses all entries. A file that cannot be read is a problem.
func TestDifferences(t *testing.T) {
	t.Parallel()
	null := func(version string) []byte {
		return []byte("provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"" + version + "\"\n}\n")
	}
	before := map[string][]byte{
		"same/.terraform.lock.hcl": null("3.2.2"), "prod/.terraform.lock.hcl": null("3.2.2"),
		"gone/.terraform.lock.hcl": null("3.2.2"), "broken/.terraform.lock.hcl": null("3.2.2"),
	}
	after := map[string][]byte{
		"same/.terraform.lock.hcl": null("3.2.2"), "prod/.terraform.lock.hcl": null("3.2.4"),
		"dev/.terraform.lock.hcl": null("3.2.4"), "broken/.terraform.lock.hcl": []byte("provider {"),
	}
	var got []string
	for _, m := range report.Differences(before, after) {
		said := m.Dir + " (" + m.LockPath + "):"
		for _, c := range m.Changes {
			said += " " + string(c.Kind)
		}
		for _, d := range m.Diagnostics {
			said += " " + string(d.Code)
		}
		got = append(got, said)
	}
	want := []string{
		"broken (broken/.terraform.lock.hcl): syntax",
		"dev (dev/.terraform.lock.hcl): added",
		"gone (gone/.terraform.lock.hcl): removed",
		"prod (prod/.terraform.lock.hcl): upgraded",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Differences (-want +got):\n%s", diff)
	}
}
