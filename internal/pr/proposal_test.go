package pr_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/pr"
)

func TestBranch(t *testing.T) {
	form := regexp.MustCompile(`^relock/[a-z0-9-]+-[0-9a-f]{8}$`)
	tests := []struct{ group, slug string }{
		{"all", "all"},
		{"hashicorp/aws", "hashicorp-aws"},
		{"prod/eu.west_1/../x", "prod-eu-west-1-x"},
		{"Ünicode", "nicode"},
		{"日本", "group"},
		{"", "all"},
		{"thing.lock", "thing-lock"},
		{strings.Repeat("x", 39) + "/y", strings.Repeat("x", 39)},
	}
	for _, test := range tests {
		got := pr.Branch(test.group, "main", "")
		if !form.MatchString(got) || got[:len(got)-9] != "relock/"+test.slug {
			t.Errorf("Branch(%q) = %q, want relock/%s-<8 hex>", test.group, got, test.slug)
		}
		if pr.Branch(test.group, "release", "") == got {
			t.Errorf("Branch(%q) = %q for two bases", test.group, got)
		}
	}
	if got := pr.Branch("all", "main", "bot/locks/"); !strings.HasPrefix(got, "bot/locks/all-") {
		t.Errorf("Branch with a prefix = %q, want it in front", got)
	}
	if pr.Branch("a/b", "main", "") == pr.Branch("a-b", "main", "") {
		t.Error("groups with the same slug share a branch")
	}
}

func TestDigest(t *testing.T) {
	one := pr.File{Path: "a", Content: []byte("1")}
	two := pr.File{Path: "b", Content: []byte("2")}
	base := pr.Digest("all", "main", []pr.File{one, two})
	same := map[string]string{
		"order_of_files":      pr.Digest("all", "main", []pr.File{two, one}),
		"default_mode":        pr.Digest("all", "main", []pr.File{{Path: "a", Mode: "100644", Content: []byte("1")}, two}),
		"what_it_replaces":    pr.Digest("all", "main", []pr.File{{Path: "a", Content: []byte("1"), Old: []byte("0")}, two}),
		"as_New_calculates":   pr.New("all", "main", "x/", []pr.File{two, one}).Digest,
		"white_space_in_name": pr.New(" all\n", "main", "", []pr.File{two, one}).Digest,
	}
	for name, got := range same {
		if got != base {
			t.Errorf("%s: digest = %s, want the same %s", name, got, base)
		}
	}
	other := map[string]string{
		"group":   pr.Digest("al", "lmain", []pr.File{one, two}),
		"base":    pr.Digest("all", "release", []pr.File{one, two}),
		"content": pr.Digest("all", "main", []pr.File{one, {Path: "b", Content: []byte("3")}}),
		"mode":    pr.Digest("all", "main", []pr.File{one, {Path: "b", Mode: "100755", Content: []byte("2")}}),
		"path":    pr.Digest("all", "main", []pr.File{one, {Path: "c", Content: []byte("2")}}),
		"fewer":   pr.Digest("all", "main", []pr.File{one}),
		"framing": pr.Digest("all", "main", []pr.File{{Path: "a", Content: []byte("11:b6:1006441:2")}}),
	}
	for name, got := range other {
		if got == base {
			t.Errorf("%s: digest = %s, want another", name, got)
		}
	}
}
