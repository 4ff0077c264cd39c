package module

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/relock-dev/relock/internal/cliconfig"
)

func TestAWSKeys(t *testing.T) {
	t.Parallel()
	const credentials = `# comment
[default]
aws_access_key_id = DEFAULT
aws_secret_access_key=default/+=  # of mine
s3 =
  aws_access_key_id = NESTED
[ other ]
AWS_ACCESS_KEY_ID = OTHER
aws_secret_access_key = other
aws_session_token = token
[role]
aws_access_key_id = ROLE
aws_secret_access_key = role
[half]
aws_access_key_id = HALF
`
	const config = `[default]
region = eu-west-1
[profile role]
role_arn = arn:aws:iam::1:role/x
source_profile = default
[profile settings]
aws_access_key_id = SETTINGS
aws_secret_access_key = settings
[profile assumed]
role_arn = arn:aws:iam::1:role/x
[profile sso]
sso_session = s3cret
[profile process]
credential_process = /bin/s3cret
[profile web]
web_identity_token_file = /tmp/s3cret
[sso-session sso]
aws_access_key_id = NOT
aws_secret_access_key = not
`
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".aws"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(home, ".aws", "credentials"), credentials, 0o600)
	writeFile(t, filepath.Join(home, ".aws", "config"), strings.ReplaceAll(config, "\n", "\r\n"), 0o600)
	large := filepath.Join(t.TempDir(), "large")
	writeFile(t, large, strings.Repeat(";", maxOwn+1), 0o600)

	own := []string{"AWS_ACCESS_KEY_ID=ENV", "AWS_SECRET_ACCESS_KEY=env"}
	for _, tt := range []struct {
		name, profile string
		environ       []string
		noHome        bool
		want          aws.Credentials
		says          string // words of the error
	}{
		{name: "environment", environ: own, want: aws.Credentials{AccessKeyID: "ENV", SecretAccessKey: "env"}},
		{name: "environment_with_session", environ: append([]string{"AWS_SESSION_TOKEN=token", "AWS_PROFILE=other"}, own...), want: aws.Credentials{AccessKeyID: "ENV", SecretAccessKey: "env", SessionToken: "token"}},
		{name: "old_variables", environ: []string{"AWS_ACCESS_KEY=OLD", "AWS_SECRET_KEY=old"}, want: aws.Credentials{AccessKeyID: "OLD", SecretAccessKey: "old"}},
		{name: "default_profile", want: aws.Credentials{AccessKeyID: "DEFAULT", SecretAccessKey: "default/+="}},
		{name: "half_an_environment", environ: own[:1], want: aws.Credentials{AccessKeyID: "DEFAULT", SecretAccessKey: "default/+="}},
		{name: "profile_of_variable", environ: []string{"AWS_PROFILE=other"}, want: aws.Credentials{AccessKeyID: "OTHER", SecretAccessKey: "other", SessionToken: "token"}},
		{name: "profile_of_source", environ: own, profile: "other", want: aws.Credentials{AccessKeyID: "OTHER", SecretAccessKey: "other", SessionToken: "token"}},
		{name: "profile_of_settings", profile: "settings", want: aws.Credentials{AccessKeyID: "SETTINGS", SecretAccessKey: "settings"}},
		{name: "keys_before_role", profile: "role", want: aws.Credentials{AccessKeyID: "ROLE", SecretAccessKey: "role"}},
		{name: "files_of_variables", noHome: true, environ: []string{"AWS_SHARED_CREDENTIALS_FILE=" + filepath.Join(home, ".aws", "credentials")}, want: aws.Credentials{AccessKeyID: "DEFAULT", SecretAccessKey: "default/+="}},
		{name: "half_a_profile", profile: "half", says: "incomplete"},
		{name: "no_profile", profile: "none", says: "neither the environment nor"},
		{name: "nothing", noHome: true, says: "metadata"},
		{name: "web_identity_of_variable", environ: []string{"AWS_WEB_IDENTITY_TOKEN_FILE=/tmp/s3cret"}, says: "web identity"},
		{name: "container", noHome: true, environ: []string{"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.170.2/s3cret"}, says: "container"},
		{name: "role", profile: "assumed", says: "role"},
		{name: "single_sign_on", profile: "sso", says: "single sign-on"},
		{name: "program", profile: "process", says: "does not run it"},
		{name: "web_identity", profile: "web", says: "web identity"},
		{name: "large_file", environ: []string{"AWS_CONFIG_FILE=" + large}, says: "larger than"},
		{name: "directory", environ: []string{"AWS_CONFIG_FILE=" + home}, says: "is no file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := cliconfig.Env{Environ: tt.environ, Home: home}
			if env.Environ == nil {
				env.Environ = []string{}
			}
			if tt.noHome {
				env.Home = ""
			}
			got, err := awsKeys(testEnv(t, env), tt.profile)
			if tt.says == "" && (err != nil || got != tt.want) {
				t.Errorf("awsKeys(%q) = %v, %v; want %v", tt.profile, got, err, tt.want)
			}
			if tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("awsKeys(%q) = %v, want an error that says %q", tt.profile, err, tt.says)
			}
		})
	}
}

func TestAWSHint(t *testing.T) {
	t.Parallel()
	e := failing(t, newClient(t, Options{Env: cliconfig.Env{Environ: []string{}}}), "s3::https://s3.amazonaws.com/modules/dir", "unauthorized")
	if !strings.Contains(e.Problem.Hint, "aws configure export-credentials --format env") {
		t.Errorf("hint = %q", e.Problem.Hint)
	}
}
