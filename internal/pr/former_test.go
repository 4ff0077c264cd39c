package pr

import (
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/safe"
)

// The paragraph names what both proposals bring to a provider, and outlives later texts.
func TestFollowing(t *testing.T) {
	t.Parallel()
	const (
		aws      = "hashicorp/aws     5.31.0 -> 6.0.0         3 root modules\n"
		older    = "hashicorp/aws     5.30.0 -> 6.0.0         1 root module\n"
		null     = "hashicorp/null    3.2.2 hashes completed  1 root module\n"
		moved    = "hashicorp/random  3.6.0 moved             1 root module\n"
		stranger = "[x](https://evil.example)  1.0.0 -> 2.0.0  1 root module\n"
	)
	var many strings.Builder
	for _, c := range "abcdefg" {
		many.WriteString("hashicorp/" + string(c) + "  1.0.0 -> 2.0.0  1 root module\n")
	}
	for _, tt := range []struct{ former, now, want string }{
		{aws + null, older + null, "Somebody closed #7. This pull request has in common with it: `hashicorp/aws` 6.0.0, `hashicorp/null` 3.2.2 hashes completed. "},
		{aws, strings.ReplaceAll(aws, "6.0.0", "6.0.1"), "Somebody closed #7. This pull request has no change in common with it. "},
		{stranger + moved, aws + moved, "Somebody closed #7. This pull request has in common with it: `hashicorp/random` 3.6.0 moved. "},
		{"words of somebody", aws, "Somebody closed #7. "},
		{many.String(), many.String(), "Somebody closed #7. This pull request has in common with it: `hashicorp/a` 2.0.0, `hashicorp/b` 2.0.0, " +
			"`hashicorp/c` 2.0.0, `hashicorp/d` 2.0.0, `hashicorp/e` 2.0.0, 2 more. "},
	} {
		s := state{pull: &github.PullRequest{Number: 7}, rejected: "digest", former: tt.former}
		got := following(s, Proposal{Summary: tt.now})
		if got.String() != tt.want+formerEnd {
			t.Errorf("after %q: %q, want %q", tt.former, got, tt.want)
		}
		body := strings.ReplaceAll(compose(paragraphs(got, safe.Const("1 provider would be upgraded.")), Marker{}).String(), "\n", "\r\n")
		if kept := formerIn(body); kept.String() != got.String() {
			t.Errorf("in the body of %q: %q", got, kept)
		}
	}
	if got := following(state{pull: &github.PullRequest{Number: 7}}, Proposal{Summary: aws}); !got.Empty() {
		t.Errorf("after none that a person closed: %q", got)
	}
	if got := formerIn(compose(safe.Const("1 provider would be upgraded."), Marker{}).String()); !got.Empty() {
		t.Errorf("in the body of a first pull request: %q", got)
	}
}
