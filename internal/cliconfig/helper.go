package cliconfig

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// tokenHelper is the program of a credentials_helper block.
type tokenHelper struct {
	name    string
	path    string
	args    []string
	environ []string
	answers memo.Memo[svchost.Hostname, string]
}

// token asks for the token of a host, once in a run.
func (h *tokenHelper) token(ctx context.Context, host svchost.Hostname) (string, error) {
	return h.answers.Do(ctx, host, func() (string, error) { return h.ask(ctx, host) })
}

// ask runs the helper: ARGS get HOST, with the host in ASCII. It answers with a
// JSON object, in which the token may be missing.
func (h *tokenHelper) ask(ctx context.Context, host svchost.Hostname) (string, error) {
	args := append(append([]string{}, h.args...), "get", host.String())
	out, err := program{path: h.path, args: args, environ: h.environ}.output(ctx)
	switch {
	case ctx.Err() != nil:
		return "", problem.Ended(ctx)
	case err != nil:
		return "", h.failed(host, err)
	}
	var answer map[string]any
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", h.failed(host, errors.New("its answer is not a JSON object")) // which may hold the token
	}
	token, _ := answer["token"].(string)
	return token, nil
}

func (h *tokenHelper) failed(host svchost.Hostname, err error) error {
	return &problem.Error{
		Problem: problem.Problem{
			Code: problem.CodeUnauthorized, Host: host,
			Message: fmt.Sprintf("the credentials helper %q gave no answer for %s", h.name, host.ForDisplay()),
			Hint:    fmt.Sprintf("run %s%s get %s to see why, or %s", helperPrefix, h.name, host, hostTokenHint(host)),
		}, Err: err,
	}
}

const helperPrefix = "terraform-credentials-"

// findHelper looks for the newest program terraform-credentials-NAME, to which
// _vVERSION may be added, in the plugin directories; among equals the first one
// found is taken, as by the tools [terraform 1.11 commands.go, internal/plugin/discovery/find.go].
func findHelper(dirs []string, name string) (path string, ok bool) {
	var best provider.Version
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			version, isHelper := helperVersion(e.Name(), name)
			found := filepath.Join(dir, e.Name())
			if info, err := os.Stat(found); !isHelper || err != nil || info.IsDir() {
				continue
			}
			if path == "" || version.Compare(best) > 0 {
				path, best = found, version
			}
		}
	}
	return path, path != ""
}

// helperVersion reads a file name, which the tools compare in lower case
// [terraform 1.11 internal/plugin/discovery/find.go].
func helperVersion(file, name string) (provider.Version, bool) {
	rest, ok := strings.CutPrefix(file, helperPrefix)
	if !ok {
		return provider.Version{}, false
	}
	rest = strings.TrimSuffix(strings.ToLower(rest), ".exe")
	given, text, _ := strings.Cut(rest, "_v")
	text, _, _ = strings.Cut(text, "_x") // the protocol, in old names
	version, err := provider.ParseVersion(cmp.Or(text, "0.0.0"))
	return version, given == name && err == nil
}
