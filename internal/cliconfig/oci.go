package cliconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
	"oras.land/oras-go/v2/registry"

	"github.com/relock-dev/relock/internal/problem"
)

// OCICredential is what an OCI registry is given: a user and a password, or
// tokens. The zero value is nothing at all.
type OCICredential struct {
	Username, Password        string
	AccessToken, RefreshToken string
}

// ociPolicy is what OpenTofu's configuration says about credentials for OCI
// registries.
type ociPolicy struct {
	blocks []ociEntry // of oci_credentials
	preset *ociPreset // of oci_default_credentials
	env    Env
}

// ociPreset is an oci_default_credentials block.
type ociPreset struct {
	Ambient *bool     `hcl:"discover_ambient_credentials"`
	Files   *[]string `hcl:"docker_style_config_files"`
	Helper  *string   `hcl:"docker_credentials_helper"`
}

// ociEntry is a credential, or the helper that knows it, for the repositories
// that a prefix of their addresses names; an empty one names all.
type ociEntry struct {
	prefix     Repository
	credential OCICredential
	helper     string
}

// reach says how specific the entry is to a repository: 0 if it is not for it
// at all, more the longer the prefix.
func (e ociEntry) reach(r Repository) int {
	switch {
	case e.prefix == Repository{}:
		return 1
	case e.prefix.Registry != r.Registry:
		return 0
	case e.prefix.Name == "":
		return 2
	case r.Name == e.prefix.Name || strings.HasPrefix(r.Name, e.prefix.Name+"/"):
		return 3 + strings.Count(e.prefix.Name, "/")
	}
	return 0
}

// OCICredential returns the credential for a repository: that of the most
// specific entry among oci_credentials blocks, the helper of
// oci_default_credentials, and the files that container tools keep; among
// equals the first one in this order. It is asked for again each time, since
// helpers may hand out credentials that do not last.
//
// Errors are *problem.Error: CodeUnauthorized if a helper fails, CodeCLIConfig
// if a file that the configuration names cannot be read, or CodeCancelled.
func (c *Config) OCICredential(ctx context.Context, r Repository) (OCICredential, error) {
	entries, err := c.oci.entries()
	if err != nil {
		return OCICredential{}, &problem.Error{
			Problem: problem.Problem{
				Code: problem.CodeCLIConfig, Message: "finding the credentials for " + r.Registry,
				Hint: "check docker_style_config_files in the CLI configuration",
			}, Err: err,
		}
	}
	var best ociEntry
	reach := 0
	for _, e := range entries {
		if n := e.reach(r); n > reach {
			best, reach = e, n
		}
	}
	if best.helper == "" {
		return best.credential, nil
	}
	credential, err := askDockerHelper(ctx, c.oci.env, best.helper, r.Registry)
	if err != nil {
		return OCICredential{}, helperFailed(ctx, best.helper, r, err)
	}
	return credential, nil
}

func helperFailed(ctx context.Context, helper string, r Repository, err error) error {
	e := &problem.Error{
		Problem: problem.Problem{
			Code: problem.CodeUnauthorized, Message: fmt.Sprintf("the credentials helper %q gave no answer for %s", helper, r.Registry),
			Hint: fmt.Sprintf("run echo https://%s | %s%s get to see why", r.Registry, dockerHelperPrefix, helper),
		}, Err: err,
	}
	if ctx.Err() != nil {
		e.Problem.Code, e.Err = problem.CodeCancelled, ctx.Err()
	}
	return e
}

// OCICredentialsHint says how to give OpenTofu a credential for the registry.
func OCICredentialsHint(registry string) string {
	return fmt.Sprintf("set an oci_credentials %q block in the CLI configuration, or log in to it with docker or podman", registry)
}

const dockerHelperPrefix = "docker-credential-"

// askDockerHelper asks as Docker does: the registry's URL goes to standard
// input, and an answer on standard output says that there is nothing.
func askDockerHelper(ctx context.Context, env Env, name, registryHost string) (OCICredential, error) {
	out, err := program{
		path: dockerHelperPrefix + name, args: []string{"get"},
		stdin: "https://" + registryHost, environ: env.Environ,
	}.output(ctx)
	if err != nil {
		if strings.TrimSpace(string(out)) == "credentials not found in native keychain" {
			return OCICredential{}, nil
		}
		return OCICredential{}, err
	}
	var answer struct{ Username, Secret string }
	if err := json.Unmarshal(out, &answer); err != nil {
		return OCICredential{}, errors.New("its answer is not a JSON object") // which may hold the secret
	}
	if answer.Username == "<token>" {
		return OCICredential{}, errors.New("it answers with an identity token, which OpenTofu does not take")
	}
	return OCICredential{Username: answer.Username, Password: answer.Secret}, nil
}

// ociBody has the arguments of an oci_credentials block.
type ociBody struct {
	Username     *string `hcl:"username"`
	Password     *string `hcl:"password"`
	AccessToken  *string `hcl:"access_token"`
	RefreshToken *string `hcl:"refresh_token"`
	Helper       *string `hcl:"docker_credentials_helper"`
}

// entry reads the arguments, which must be those of one way to authenticate.
func (b ociBody) entry(prefix Repository) (ociEntry, error) {
	e := ociEntry{prefix: prefix}
	given := 0
	for _, argument := range []struct{ value, into *string }{
		{b.Username, &e.credential.Username}, {b.Password, &e.credential.Password},
		{b.AccessToken, &e.credential.AccessToken}, {b.RefreshToken, &e.credential.RefreshToken},
		{b.Helper, &e.helper},
	} {
		if argument.value != nil {
			*argument.into = *argument.value
			given++
		}
	}
	basic, tokens := b.Username != nil && b.Password != nil, b.AccessToken != nil && b.RefreshToken != nil
	switch {
	case b.Helper != nil && given == 1:
		if prefix.Name != "" || !isHelperName(e.helper) {
			return e, errors.New("a docker_credentials_helper must be a name, and knows whole registries only")
		}
	case given != 2 || !basic && !tokens:
		return e, errors.New("it must set username and password, access_token and refresh_token, or docker_credentials_helper")
	}
	return e, nil
}

func readOCICredentials(label string, body *ast.ObjectType) (ociEntry, error) {
	prefix, err := parsePrefix(label)
	if err != nil {
		return ociEntry{}, errors.New("the label is no address of a registry or repository")
	}
	var b ociBody
	if err := hcl.DecodeObject(&b, body); err != nil {
		return ociEntry{}, errors.New("an argument has an unexpected form") // and may be a secret
	}
	return b.entry(prefix)
}

func isHelperName(name string) bool { return name != "" && !strings.ContainsAny(name, `/\`) }

// parsePrefix reads REGISTRY or REGISTRY/PATH.
func parsePrefix(s string) (Repository, error) {
	if !strings.Contains(s, "/") {
		return Repository{Registry: s}, registry.Reference{Registry: s}.ValidateRegistry()
	}
	ref, err := registry.ParseReference(s)
	if err == nil && ref.Reference != "" {
		err = errors.New("it names one artifact")
	}
	return Repository{Registry: ref.Registry, Name: ref.Repository}, err
}
