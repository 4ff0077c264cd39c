package provider

import (
	"maps"
	"slices"
	"testing"
)

// A short name is read by the tool of its root module: the registry of the other tool
// has another provider of that name.
func TestCallNames(t *testing.T) {
	t.Parallel()
	addr := func(text string) Addr {
		a, err := ParseFullAddr(text)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	aws, null := addr("registry.terraform.io/hashicorp/aws"), addr("registry.terraform.io/hashicorp/null")
	opentofu, mirrored := addr("registry.opentofu.org/hashicorp/aws"), addr("example.com/hashicorp/aws")
	tests := map[string]struct {
		tool  ToolName
		addrs []Addr
		want  map[Addr]string
	}{
		"none":                      {"", nil, map[Addr]string{}},
		"two of one registry":       {Terraform, []Addr{aws, null, aws}, map[Addr]string{aws: "hashicorp/aws", null: "hashicorp/null"}},
		"one name, two registries":  {"", []Addr{aws, opentofu}, map[Addr]string{aws: aws.String(), opentofu: opentofu.String()}},
		"another registry has none": {"", []Addr{aws, mirrored}, map[Addr]string{aws: "hashicorp/aws", mirrored: "example.com/hashicorp/aws"}},
		"the tool's own registry":   {OpenTofu, []Addr{opentofu}, map[Addr]string{opentofu: "hashicorp/aws"}},
		"the other tool's registry": {Terraform, []Addr{opentofu}, map[Addr]string{opentofu: opentofu.String()}},
		"nobody knows the tool":     {"", []Addr{opentofu}, map[Addr]string{opentofu: "hashicorp/aws"}},
	}
	for name, tt := range tests {
		var n CallNames
		for _, a := range tt.addrs {
			n.Add(Tool{Name: tt.tool}, a)
		}
		if got := n.Names(); !maps.Equal(got, tt.want) {
			t.Errorf("%s: Names = %q, want %q", name, got, tt.want)
		}
	}
}

// A table writes the providers of one registry in one way.
func TestNamesByHost(t *testing.T) {
	t.Parallel()
	type use struct {
		tool ToolName
		addr string
	}
	const aws, null, tofu, own = "registry.terraform.io/hashicorp/aws", "registry.terraform.io/hashicorp/null", "registry.opentofu.org/hashicorp/aws", "example.com/acme/aws"
	for name, tt := range map[string]struct {
		uses []use
		want []string
	}{
		"one tool":                         {[]use{{Terraform, aws}, {Terraform, null}, {Terraform, own}}, []string{own, "hashicorp/aws", "hashicorp/null"}},
		"one tool, the other's registry":   {[]use{{Terraform, null}, {Terraform, tofu}}, []string{"hashicorp/null", tofu}},
		"one tool, one name of two":        {[]use{{Terraform, aws}, {Terraform, null}, {Terraform, tofu}}, []string{tofu, aws, null}},
		"two tools":                        {[]use{{Terraform, null}, {OpenTofu, tofu}}, []string{tofu, null}},
		"no tool, one registry":            {[]use{{"", aws}, {"", null}}, []string{"hashicorp/aws", "hashicorp/null"}},
		"no tool, one name of two":         {[]use{{"", aws}, {"", null}, {"", tofu}}, []string{tofu, aws, null}},
		"no tool, two registries, no name": {[]use{{"", null}, {"", tofu}}, []string{"hashicorp/aws", "hashicorp/null"}},
	} {
		var n CallNames
		for _, u := range tt.uses {
			a, err := ParseFullAddr(u.addr)
			if err != nil {
				t.Fatal(err)
			}
			n.Add(Tool{Name: u.tool}, a)
		}
		if got := slices.Sorted(maps.Values(n.ByHost())); !slices.Equal(got, tt.want) {
			t.Errorf("%s: ByHost = %q, want %q", name, got, tt.want)
		}
	}
}
