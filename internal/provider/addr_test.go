package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func addr(t testing.TB, s string) Addr {
	t.Helper()
	a, err := ParseFullAddr(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestParseAddr(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		source, terraform, opentofu string
	}{
		{"aws", "registry.terraform.io/hashicorp/aws", "registry.opentofu.org/hashicorp/aws"},
		{"acme/aws", "registry.terraform.io/acme/aws", "registry.opentofu.org/acme/aws"},
		{"HashiCorp/AWS", "registry.terraform.io/hashicorp/aws", "registry.opentofu.org/hashicorp/aws"},
		{"ACMÉ/aws", "registry.terraform.io/acmé/aws", "registry.opentofu.org/acmé/aws"},
		{"1Password/9x", "registry.terraform.io/1password/9x", "registry.opentofu.org/1password/9x"},
		{"builtin/terraform", "registry.terraform.io/builtin/terraform", "registry.opentofu.org/builtin/terraform"},
		{"-/aws", "registry.terraform.io/-/aws", "registry.opentofu.org/-/aws"},
		{"registry.terraform.io/-/aws", "registry.terraform.io/-/aws", "registry.terraform.io/-/aws"},
		{"registry.opentofu.org/-/aws", "registry.opentofu.org/-/aws", "registry.opentofu.org/-/aws"},

		{"Registry.Terraform.IO/hashicorp/aws", "registry.terraform.io/hashicorp/aws", "registry.terraform.io/hashicorp/aws"},
		{"registry.opentofu.org/acme/aws", "registry.opentofu.org/acme/aws", "registry.opentofu.org/acme/aws"},
		{"localhost/acme/aws", "localhost/acme/aws", "localhost/acme/aws"},
		{"example.com:443/acme/aws", "example.com/acme/aws", "example.com/acme/aws"},
		{"example.com:08443/acme/aws", "example.com:8443/acme/aws", "example.com:8443/acme/aws"},
		{"BÜCHER.example/acme/aws", "bücher.example/acme/aws", "bücher.example/acme/aws"},
		{"terraform.io/builtin/terraform", "terraform.io/builtin/terraform", "terraform.io/builtin/terraform"},
	} {
		for tool, want := range map[ToolName]string{Terraform: tt.terraform, OpenTofu: tt.opentofu} {
			got, err := ParseAddr(tt.source, tool)
			if err != nil || got.String() != want {
				t.Errorf("ParseAddr(%q, %s) = %q, %v; want %q", tt.source, tool, got, err, want)
			}
		}
	}
}

func TestParseAddrRefuses(t *testing.T) {
	t.Parallel()
	const (
		form  = `the "source" attribute must be in the format "[hostname/][namespace/]name"`
		chars = "must contain only letters, digits, and dashes, and may not use leading or trailing dashes"
	)
	for source, want := range map[string]string{
		"":                        form,
		"/":                       form,
		"aws/":                    form,
		"a.com/b/c/d":             form,
		"https://example.com/a":   form,
		"a.b":                     "invalid provider type: dots are not allowed",
		"a--b":                    "invalid provider type: cannot use multiple consecutive dashes",
		"-a":                      "invalid provider type: " + chars,
		"acme/my_aws":             "invalid provider type: " + chars,
		"*/aws":                   "invalid provider namespace: must contain only letters, digits, dashes, and underscores, and may not use leading or trailing dashes or underscores",
		"example.com/aws":         "invalid provider namespace: dots are not allowed",
		"_my_space/aws":           "invalid provider namespace: " + "must contain only letters, digits, dashes, and underscores, and may not use leading or trailing dashes or underscores",
		"example.com/my_space_/a": "invalid provider namespace: " + "must contain only letters, digits, dashes, and underscores, and may not use leading or trailing dashes or underscores",
		"xn--bcher-kva.example/acme/aws": "invalid provider source hostname: hostname label \"xn--bcher-kva\" specified in punycode format;" +
			" service hostnames must be given in unicode",
		"example.com:99999/acme/aws": "invalid provider source hostname: port number is greater than 65535",
		"example.com/-/aws":          `the legacy provider namespace "-" can be used only with hostname registry.terraform.io`,
		"acme/terraform-provider-aws": `provider source "acme/terraform-provider-aws" has a type with the prefix "terraform-provider-", which isn't valid.` +
			" Although that prefix is often used in the names of version control repositories for Terraform providers," +
			` provider source strings should not include it. Did you mean "acme/aws"?`,
	} {
		want = `invalid provider source address "` + source + `": ` + want
		if got, err := ParseAddr(source, Terraform); err == nil || err.Error() != want {
			t.Errorf("ParseAddr(%q) = %q, error %v; want error %s", source, got, err, want)
		}
	}
}

func TestParseAddrRefusesBadTypesOfLegacyNames(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"-/a.b", "registry.terraform.io/-/a.b", "registry.opentofu.org/-/a.b", "registry.opentofu.org/-/a/b"} {
		if got, err := ParseAddr(source, OpenTofu); err == nil {
			t.Errorf("ParseAddr(%q) = %q, want an error", source, got)
		}
	}
}

func TestParseFullAddrNeedsThreeParts(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "aws", "hashicorp/aws", "a/b/c/d"} {
		if got, err := ParseFullAddr(s); err == nil {
			t.Errorf("ParseFullAddr(%q) = %q, want an error", s, got)
		}
	}
	if got, err := ParseFullAddr("Example.com:443/Acme/AWS"); err != nil || got.String() != "example.com/acme/aws" {
		t.Errorf("ParseFullAddr of another spelling = %q, %v; want example.com/acme/aws", got, err)
	}
}

func TestImpliedAddr(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"aws":       "registry.opentofu.org/hashicorp/aws",
		"NULL":      "registry.opentofu.org/hashicorp/null",
		"my-cloud":  "registry.opentofu.org/hashicorp/my-cloud",
		"terraform": "terraform.io/builtin/terraform",
	} {
		if got, err := ImpliedAddr(name, OpenTofu); err != nil || got.String() != want {
			t.Errorf("ImpliedAddr(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"":    `invalid provider name "": must have at least one character`,
		"a.b": `invalid provider name "a.b": dots are not allowed`,
		"a_b": `invalid provider name "a_b": must contain only letters, digits, and dashes, and may not use leading or trailing dashes`,
	} {
		if got, err := ImpliedAddr(name, Terraform); err == nil || err.Error() != want {
			t.Errorf("ImpliedAddr(%q) = %q, error %v; want error %s", name, got, err, want)
		}
	}
}

func TestNormalisedName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"aws": true, "my-aws": true, "9x": true, "acmé": true,
		"": false, "AWS": false, "my_aws": false, "a.b": false, "-aws": false,
	} {
		if got := NormalisedName(name); got != want {
			t.Errorf("NormalisedName(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestTwin(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"registry.terraform.io/a/b":      "registry.opentofu.org/a/b",
		"registry.opentofu.org/a/b":      "registry.terraform.io/a/b",
		"registry.terraform.io:443/a/b":  "registry.opentofu.org/a/b",
		"registry.terraform.io:8443/a/b": "", "reg.example/a/b": "", "terraform.io/builtin/terraform": "",
	} {
		var expected Addr
		if want != "" {
			expected = addr(t, want)
		}
		if got, ok := addr(t, from).Twin(); got != expected || ok != (want != "") {
			t.Errorf("the twin of %s is %v, %t; want %q", from, got, ok, want)
		}
	}
}

func TestAddrOrderIsThatOfLockFiles(t *testing.T) {
	t.Parallel()
	want := []string{
		"registry.opentofu.org/hashicorp/aws",
		"registry.terraform.io/a/z",
		"registry.terraform.io/hashicorp/z-a",
		"registry.terraform.io/hashicorp/z9",
		"registry.terraform.io/hashicorp/zeta",
		"registry.terraform.io:8443/a/a",
		"bücher.example/a/a", // xn--bcher-kva.example
		"zzz.example/a/a",
	}
	var addrs []Addr
	for _, s := range want {
		addrs = append(addrs, addr(t, s))
	}
	slices.Reverse(addrs)
	slices.SortFunc(addrs, Addr.Compare)
	var got []string
	for _, a := range addrs {
		got = append(got, a.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sorted addresses (-want +got):\n%s", diff)
	}
}

func TestAddrKinds(t *testing.T) {
	t.Parallel()
	type kinds struct{ Builtin, Legacy, Lockable bool }
	for s, want := range map[string]kinds{
		"registry.terraform.io/hashicorp/aws":     {Lockable: true},
		"registry.terraform.io/builtin/terraform": {Lockable: true},
		"terraform.io/hashicorp/terraform":        {Lockable: true},
		"terraform.io/builtin/terraform":          {Builtin: true},
		"registry.terraform.io/-/aws":             {Legacy: true},
	} {
		a := addr(t, s)
		if got := (kinds{a.Builtin(), a.Legacy(), a.Lockable()}); got != want {
			t.Errorf("%s: %+v, want %+v", s, got, want)
		}
	}
	if (Addr{}).Lockable() {
		t.Error("the zero address is lockable")
	}
}

func TestAddrShort(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"registry.terraform.io/hashicorp/aws": "hashicorp/aws",
		"registry.opentofu.org/hashicorp/aws": "hashicorp/aws",
		"bücher.example/acme/aws":             "bücher.example/acme/aws",
	} {
		if got := addr(t, s).Short(); got != want {
			t.Errorf("Short of %s = %q, want %q", s, got, want)
		}
	}
}

func TestAddrTextRoundTrip(t *testing.T) {
	t.Parallel()
	want := addr(t, "bücher.example:8443/acme/aws")
	text, err := want.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseFullAddr(string(text)); err != nil || got != want {
		t.Errorf("ParseFullAddr(%q) = %v, %v; want %v", text, got, err, want)
	}
	if s := (Addr{}).String(); s != "" {
		t.Errorf("String of the zero address = %q, want nothing", s)
	}
}

func FuzzAddr(f *testing.F) {
	for _, s := range []string{"aws", "acme/aws", "ACMÉ/x", "bücher.example:443/a/b", "-/aws", "registry.terraform.io/-/x", "a/b/c/d"} {
		f.Add(s)
	}
	f.Add("not UTF-8: \xdc0")
	f.Fuzz(func(t *testing.T, source string) {
		first, err := ParseAddr(source, OpenTofu)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "invalid provider source address ") {
				t.Errorf("ParseAddr(%q): %v", source, err)
			}
			return
		}
		second, err := ParseFullAddr(first.String())
		if err != nil || second != first {
			t.Errorf("ParseAddr(%q) = %#v; its text is read as %#v, %v", source, first, second, err)
		}
	})
}
