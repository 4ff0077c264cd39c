package module

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/file"
)

// awsHint says how to give relock the credentials of the AWS command line. relock asks no
// server for credentials, and runs no program that does.
const awsHint = `give relock credentials that may read it; eval "$(aws configure export-credentials --format env)" sets those of the AWS command line`

// awsKeys are the machine's keys for AWS, in the order of AWS's own programs: those of the
// environment, then those of a profile in the shared files. If a profile's credentials are
// elsewhere, the error names the setting.
func awsKeys(env cliconfig.Env, profile string) (aws.Credentials, error) {
	getenv := env.Getenv
	if profile == "" {
		keys := aws.Credentials{
			AccessKeyID:     cmp.Or(getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_ACCESS_KEY")),
			SecretAccessKey: cmp.Or(getenv("AWS_SECRET_ACCESS_KEY"), getenv("AWS_SECRET_KEY")),
			SessionToken:    getenv("AWS_SESSION_TOKEN"),
		}
		if keys.HasKeys() {
			return keys, nil
		}
		if getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" {
			return keys, errors.New("AWS_WEB_IDENTITY_TOKEN_FILE names a web identity, and relock assumes no role with it")
		}
	}
	shared, err := awsProfile(env, cmp.Or(profile, getenv("AWS_PROFILE"), getenv("AWS_DEFAULT_PROFILE"), "default"))
	keys := aws.Credentials{
		AccessKeyID: shared["aws_access_key_id"], SecretAccessKey: shared["aws_secret_access_key"], SessionToken: shared["aws_session_token"],
	}
	switch {
	case err != nil:
		return keys, err
	case keys.HasKeys():
		return keys, nil
	case keys.AccessKeyID != "" || keys.SecretAccessKey != "":
		return keys, errors.New("the keys of the profile are incomplete")
	}
	for _, unread := range unreadKeys {
		if shared[unread.key] != "" {
			return keys, fmt.Errorf("%s of the profile %s", unread.key, unread.reason)
		}
	}
	if getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" || getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" {
		return keys, errors.New("the credentials of a container are not asked for")
	}
	return keys, errors.New("neither the environment nor the shared files have keys, and the metadata of a machine are not asked for any")
}

// unreadKeys are settings of a profile that lead to credentials elsewhere.
var unreadKeys = []struct{ key, reason string }{
	{"web_identity_token_file", "names a web identity, and relock assumes no role with it"},
	{"role_arn", "names a role, and relock assumes none"},
	{"source_profile", "names a role's profile, and relock assumes no role"},
	{"sso_session", "names a single sign-on, and relock does not ask for its credentials"},
	{"sso_start_url", "names a single sign-on, and relock does not ask for its credentials"},
	{"credential_process", "names a program, and relock does not run it"},
}

// awsProfile are a profile's settings in the shared files. The file of credentials has
// precedence, as in AWS's own programs.
func awsProfile(env cliconfig.Env, name string) (map[string]string, error) {
	settings := map[string]string{}
	for _, file := range []struct{ variable, path, section string }{
		{"AWS_CONFIG_FILE", ".aws/config", "profile " + name},
		{"AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", name},
	} {
		path := env.Getenv(file.variable)
		if path == "" && env.Home != "" {
			path = filepath.Join(env.Home, filepath.FromSlash(file.path))
		}
		text, err := readOwn(path)
		if err != nil {
			return nil, err
		}
		readSection(settings, text, file.section)
		if name == "default" {
			readSection(settings, text, name)
		}
	}
	return settings, nil
}

// maxOwn bounds the operator's small files.
const maxOwn = 1 << 20

// readOwn reads a small file of the operator. A missing file is empty.
func readOwn(path string) (string, error) {
	if _, err := os.Stat(path); err != nil {
		return "", nil
	}
	text, err := file.ReadAtMost(path, maxOwn+1)
	switch {
	case errors.Is(err, file.ErrIrregular):
		return "", fmt.Errorf("%s is no file", path)
	case err != nil:
		return "", fmt.Errorf("reading %s: %w", path, file.Cause(err))
	case len(text) > maxOwn:
		return "", fmt.Errorf("%s cannot be read, or is larger than %d MiB", path, maxOwn>>20)
	}
	return string(text), nil
}

// readSection adds the settings of a section in the format that AWS documents. Each setting
// has a line, and so has each comment. Indented lines below a setting are its parts, which
// no key has. A value ends at the first space, since no key has one. Libraries for INI
// files would change text between percent signs and quotes.
// https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
func readSection(settings map[string]string, text, section string) {
	inside := false
	for line := range strings.Lines(text) {
		if line[0] == ' ' || line[0] == '\t' || line[0] == '#' || line[0] == ';' {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "["); ok {
			title, _, _ := strings.Cut(rest, "]")
			inside = strings.Join(strings.Fields(title), " ") == section
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		if fields := strings.Fields(value); inside && len(fields) > 0 {
			settings[strings.ToLower(strings.TrimSpace(key))] = fields[0]
		}
	}
}
