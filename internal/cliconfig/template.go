package cliconfig

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"oras.land/oras-go/v2/registry"

	"github.com/relock-dev/relock/internal/provider"
)

// Repository is a repository of an OCI registry.
type Repository struct {
	Registry string // host and port
	Name     string
}

// String returns REGISTRY/NAME.
func (r Repository) String() string { return r.Registry + "/" + r.Name }

// repositoryTemplate is an HCL template over hostname, namespace and type that
// gives the repository of a provider.
type repositoryTemplate struct{ expression hclsyntax.Expression }

// Repository returns where an oci_mirror has the provider.
func (m Method) Repository(addr provider.Addr) (Repository, error) {
	return m.template.repository(addr)
}

// symbols are what a template may refer to. It must refer to each, unless the
// include patterns leave one value only: else two providers would share a
// repository.
var symbols = []struct {
	name string
	part func(pattern) string
}{
	{"hostname", func(p pattern) string { return p.host }},
	{"namespace", func(p pattern) string { return p.namespace }},
	{"type", func(p pattern) string { return p.typ }},
}

// examples differ in each symbol.
var examples = []provider.Addr{
	{Host: "example.com", Namespace: "example-namespace", Type: "example-type"},
	{Host: "example.net", Namespace: "other-namespace", Type: "other-type"},
}

func parseTemplate(text string, include []pattern) (*repositoryTemplate, error) {
	if text == "" {
		return nil, errors.New("it needs a repository_template")
	}
	expression, diags := hclsyntax.ParseTemplate([]byte(text), "repository_template", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, errors.New("the repository_template is not a valid template")
	}
	if err := checkSymbols(expression, include); err != nil {
		return nil, err
	}
	t := &repositoryTemplate{expression}
	for _, example := range examples {
		if _, err := t.repository(example); err != nil {
			return nil, errors.New("the repository_template must give the address of an OCI repository: a host, a slash and a name")
		}
	}
	return t, nil
}

func checkSymbols(expression hclsyntax.Expression, include []pattern) error {
	used := map[string]bool{}
	for _, traversal := range expression.Variables() {
		used[traversal.RootName()] = true
	}
	for _, s := range symbols {
		values := map[string]bool{}
		for _, p := range include {
			if s.part(p) != wildcard {
				values[s.part(p)] = true
			}
		}
		if !used[s.name] && len(values) != 1 {
			return fmt.Errorf("the repository_template must refer to %s, unless include leaves one value of it", s.name)
		}
		delete(used, s.name)
	}
	for name := range used {
		return fmt.Errorf("the repository_template refers to %s; there are only hostname, namespace and type", name)
	}
	return nil
}

func (t *repositoryTemplate) repository(addr provider.Addr) (Repository, error) {
	value, diags := t.expression.Value(&hcl.EvalContext{Variables: map[string]cty.Value{
		"hostname":  cty.StringVal(addr.Host.String()),
		"namespace": cty.StringVal(addr.Namespace),
		"type":      cty.StringVal(addr.Type),
	}})
	if diags.HasErrors() {
		return Repository{}, fmt.Errorf("the repository_template has no value for %s", addr)
	}
	value, err := convert.Convert(value, cty.String)
	if err != nil || value.IsNull() {
		return Repository{}, fmt.Errorf("the repository_template gives no text for %s", addr)
	}
	ref, err := registry.ParseReference(value.AsString())
	if err != nil || ref.Reference != "" {
		return Repository{}, fmt.Errorf("the repository_template gives %q for %s, which is no address of an OCI repository", value.AsString(), addr)
	}
	return Repository{Registry: ref.Registry, Name: ref.Repository}, nil
}

// registry is the URL of the registry if the template names one for all
// providers: then the operator named it.
func (t *repositoryTemplate) registry() *url.URL {
	first, err1 := t.repository(examples[0])
	second, err2 := t.repository(examples[1])
	if err1 != nil || err2 != nil || first.Registry != second.Registry {
		return nil
	}
	return &url.URL{Scheme: "https", Host: first.Registry}
}
