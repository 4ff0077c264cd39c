package provider

import (
	"maps"
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
