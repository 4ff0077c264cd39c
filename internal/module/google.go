package module

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google/externalaccount"
	"golang.org/x/oauth2/jwt"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/transport"
)

// googleHint says how to give relock gcloud's token. relock asks no metadata service, and
// runs no program for credentials.
const googleHint = `set GOOGLE_OAUTH_ACCESS_TOKEN to what gcloud auth print-access-token prints`

// readOnly is the scope of the token.
const readOnly = "https://www.googleapis.com/auth/devstorage.read_only"

// googleFile is a file of Google credentials, of any kind. https://google.aip.dev/auth/4110
type googleFile struct {
	Type string `json:"type"`

	// For a service account.
	Email    string `json:"client_email"`
	Key      string `json:"private_key"`
	KeyID    string `json:"private_key_id"`
	TokenURI string `json:"token_uri"`

	// For a person.
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`

	// For a workload elsewhere.
	Audience         string `json:"audience"`
	SubjectTokenType string `json:"subject_token_type"`
	TokenURL         string `json:"token_url"`
	ImpersonationURL string `json:"service_account_impersonation_url"`
	Impersonation    struct {
		Lifetime int `json:"token_lifetime_seconds"`
	} `json:"service_account_impersonation"`
	UserProject string                            `json:"workforce_pool_user_project"`
	Source      *externalaccount.CredentialSource `json:"credential_source"`
}

// google exchanges the operator's credentials for tokens.
type google struct {
	env       cliconfig.Env
	transport *transport.Client
	exchange  string // the server for credentials that name none
}

// token is a token for reading from Google Cloud Storage. It is in the environment, or the
// file of credentials is exchanged for it.
func (g google) token(ctx context.Context) (string, error) {
	if token := g.env.Getenv("GOOGLE_OAUTH_ACCESS_TOKEN"); token != "" {
		return token, nil
	}
	path := g.path()
	text, err := readOwn(path)
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", errors.New("no file has any, and the metadata of a machine are not asked for any")
	}
	var file googleFile
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		return "", fmt.Errorf("%s is not valid JSON", path) // the cause would quote the file
	}
	tokens, err := g.tokens(context.WithValue(ctx, oauth2.HTTPClient, g.transport.HTTP()), file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	token, err := tokens.Token()
	if err != nil {
		// The libraries' errors quote the server's words and URLs.
		why := errors.New("it does not succeed")
		if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answer.Response != nil {
			status := answer.Response.StatusCode
			why = fmt.Errorf("the server answered %d %s", status, http.StatusText(status))
		} else if _, ok := errors.AsType[*url.Error](err); ok {
			why = transport.Plainly(err)
		}
		return "", fmt.Errorf("exchanging %s for a token: %w", path, why)
	}
	return token.AccessToken, nil
}

// path is the path of the file of credentials: from the variable, or where gcloud auth
// application-default login writes it.
func (g google) path() string {
	env := g.env
	if path := env.Getenv("GOOGLE_APPLICATION_CREDENTIALS"); path != "" {
		return path
	}
	dir := env.Getenv("APPDATA")
	if env.GOOS != "windows" {
		dir = filepath.Join(env.Home, ".config")
	}
	if env.Home == "" && env.GOOS != "windows" || dir == "" {
		return ""
	}
	return filepath.Join(dir, "gcloud", "application_default_credentials.json")
}

// tokens exchanges a file of credentials. The operator's file names the servers for that.
func (g google) tokens(ctx context.Context, file googleFile) (oauth2.TokenSource, error) {
	switch file.Type {
	case "service_account":
		config := jwt.Config{
			Email: file.Email, PrivateKey: []byte(file.Key), PrivateKeyID: file.KeyID,
			Scopes: []string{readOnly}, TokenURL: g.named(file.TokenURI),
		}
		if config.TokenURL == "" {
			config.TokenURL = g.exchange
		}
		return config.TokenSource(ctx), nil
	case "authorized_user":
		config := oauth2.Config{
			ClientID: file.ClientID, ClientSecret: file.ClientSecret,
			Endpoint: oauth2.Endpoint{TokenURL: g.exchange, AuthStyle: oauth2.AuthStyleInParams},
		}
		return config.TokenSource(ctx, &oauth2.Token{RefreshToken: file.RefreshToken}), nil
	case "external_account": // a workload with an identity elsewhere, as in Actions
	default:
		return nil, fmt.Errorf("credentials of the type %q are not read", file.Type)
	}
	// The library would run programs, and ask AWS's metadata service.
	switch {
	case file.Source == nil:
		return nil, errors.New("it names no credential_source")
	case file.Source.Executable != nil:
		return nil, errors.New("its credential_source is an executable, and relock does not run it")
	case file.Source.EnvironmentID != "":
		return nil, errors.New("its credential_source is an environment of AWS, which is not asked for an identity")
	}
	source := *file.Source
	source.URL = g.named(source.URL)
	return externalaccount.NewTokenSource(ctx, externalaccount.Config{
		Audience: file.Audience, SubjectTokenType: file.SubjectTokenType, TokenURL: g.named(file.TokenURL),
		ServiceAccountImpersonationURL:             g.named(file.ImpersonationURL),
		ServiceAccountImpersonationLifetimeSeconds: file.Impersonation.Lifetime,
		ClientID: file.ClientID, ClientSecret: file.ClientSecret,
		CredentialSource: &source, Scopes: []string{readOnly}, WorkforcePoolUserProject: file.UserProject,
	})
}

// named allows the server of a URL in the operator's file.
func (g google) named(text string) string {
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		g.transport.Admit(transport.HostPort(u))
	}
	return text
}
