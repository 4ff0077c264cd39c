package terragrunt

import (
	"os"
	"strings"
	"testing"
)

func TestNewestIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/terragrunt.md")
	if want := "The rules are those of Terragrunt " + Newest.String() + "."; err != nil || !strings.Contains(string(page), want) {
		t.Errorf("docs/terragrunt.md does not say %q (%v)", want, err)
	}
}
