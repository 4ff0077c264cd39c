package cliconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
)

// maxDiscoveryRedirects is the tools' own limit.
const maxDiscoveryRedirects = 3

// Discovery finds the services of registry hosts, for one tool. Each host is
// asked once, also where it fails; it is safe for concurrent use.
//
// The protocol is that of terraform-svchost's disco package. It is not used
// since it takes no context, cuts off long documents instead of refusing them,
// and writes to the log package's standard logger.
type Discovery struct {
	config    *Config
	transport *transport.Client
	documents *Documents
	hosts     memo.Memo[svchost.Hostname, hostOffer]
}

// Documents are what hosts say of their services, for all in a run who ask them: a
// host is asked once, for all who need a service of it. A failure is not among
// them. It is kept by the Discovery that met it, and the next one tries itself: what
// was down when the first module was fetched may answer about providers. They are
// safe for concurrent use.
type Documents struct {
	answered memo.Memo[documentQuery, hostOffer]
}

// NewDocuments returns what is known before anybody is asked.
func NewDocuments() *Documents {
	return &Documents{memo.Memo[documentQuery, hostOffer]{ForgetErrors: true}}
}

// documentQuery is one that a host is asked. With other credentials it may have
// another answer.
type documentQuery struct {
	host  svchost.Hostname
	token string
}

// hostOffer is what one host offers. It is shared, and not changed.
type hostOffer struct {
	base     *url.URL // what URLs are relative to
	services map[string]any
}

// NewDiscovery returns a Discovery that asks with the tokens and believes the
// host blocks of the configuration. It shares the documents with others that may
// connect to the same hosts; nil: with nobody.
func NewDiscovery(c *Config, t *transport.Client, shared *Documents) *Discovery {
	return &Discovery{config: c, transport: t, documents: cmp.Or(shared, NewDocuments())}
}

// Service returns the URL of a service such as "providers.v1". Errors are
// *problem.Error: CodeNoService if the host does not offer the service,
// CodeUnauthorized, CodeUnreachable or CodeBadAnswer if it could not be asked.
func (d *Discovery) Service(ctx context.Context, name svchost.Hostname, service string) (*url.URL, error) {
	h, err := d.hosts.Do(ctx, name, func() (hostOffer, error) { return d.ask(ctx, name) })
	if err != nil {
		return nil, err
	}
	value, ok := h.services[service]
	if !ok {
		return nil, noService(name, service, h.services)
	}
	u, err := serviceURL(h.base, value)
	if err != nil {
		return nil, badDiscovery(name, fmt.Errorf("service %s: %w", service, err))
	}
	return u, nil
}

// ask returns the services of the host block, which replaces discovery wholly,
// or of the discovery document.
func (d *Discovery) ask(ctx context.Context, name svchost.Hostname) (hostOffer, error) {
	if services, ok := d.config.services[name]; ok {
		return hostOffer{discoveryURL(name), services}, nil
	}
	token, err := d.config.Token(ctx, name)
	if err != nil {
		return hostOffer{}, err
	}
	return d.documents.answered.Do(ctx, documentQuery{name, token}, func() (hostOffer, error) { return d.get(ctx, name, token) })
}

// get asks a host for its document. One without it has no services.
func (d *Discovery) get(ctx context.Context, name svchost.Hostname, token string) (hostOffer, error) {
	limits := d.config.Limits()
	resp, err := d.transport.Do(ctx, transport.Request{
		URL:          discoveryURL(name),
		Header:       http.Header{"Accept": {"application/json"}},
		Token:        token,
		MaxRedirects: maxDiscoveryRedirects,
		Retries:      limits.Retries,
		Timeout:      limits.Timeout,
	})
	if err != nil {
		return hostOffer{}, withHost(err, name)
	}
	if resp.Status == http.StatusNotFound {
		return hostOffer{base: resp.URL}, nil
	}
	if err := checkStatus(name, resp.Status, token != ""); err != nil {
		return hostOffer{}, err
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return hostOffer{}, badDiscovery(name, errors.New("its content type is not application/json"))
	}
	var services map[string]any
	if err := transport.UnmarshalJSON(resp.Body, &services); err != nil {
		return hostOffer{}, badDiscovery(name, err)
	}
	return hostOffer{resp.URL, services}, nil
}

func checkStatus(name svchost.Hostname, status int, hadToken bool) error {
	e := &problem.Error{
		Problem: problem.Problem{
			Code:    problem.CodeBadAnswer,
			Host:    name,
			Message: fmt.Sprintf("discovering the services of %s: %d %s", name.ForDisplay(), status, http.StatusText(status)),
		},
	}
	switch {
	case status == http.StatusOK:
		return nil
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return Unauthorized(name, hadToken)
	case status >= 500 || status == http.StatusTooManyRequests:
		e.Problem.Code = problem.CodeUnreachable
	}
	return e
}

// Unauthorized is the error of a host that answered 401 or 403.
func Unauthorized(name svchost.Hostname, hadToken bool) *problem.Error {
	message := "host " + name.ForDisplay() + " requires authentication credentials"
	if hadToken {
		message = "host " + name.ForDisplay() + " rejected the given authentication credentials"
	}
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeUnauthorized, Host: name, Message: message, Hint: hostTokenHint(name)}}
}

// serviceURL reads one value of a services map.
func serviceURL(base *url.URL, value any) (*url.URL, error) {
	text, ok := value.(string)
	if !ok {
		return nil, errors.New("not a URL")
	}
	ref, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("not a URL") // the cause would quote it whole
	}
	u := base.ResolveReference(ref)
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the URL must use https or http")
	case u.User != nil:
		return nil, errors.New("the URL must not hold credentials")
	}
	u.Fragment = ""
	return u, nil
}

// serviceNames say what the known services are.
var serviceNames = map[string]string{"providers": "provider registry", "modules": "module registry"}

func noService(name svchost.Hostname, service string, services map[string]any) *problem.Error {
	kind, _, _ := strings.Cut(service, ".")
	what := serviceNames[kind]
	if what == "" {
		what = kind + " service"
	}
	e := &problem.Error{
		Problem: problem.Problem{
			Code:    problem.CodeNoService,
			Host:    name,
			Message: fmt.Sprintf("host %s does not offer a Terraform %s", name.ForDisplay(), what),
			Hint:    "check the host in the source address",
		},
	}
	for id := range services {
		if strings.HasPrefix(id, kind+".") {
			e.Problem.Message = fmt.Sprintf("host %s offers a Terraform %s of another version than %s", name.ForDisplay(), what, service)
		}
	}
	return e
}

func badDiscovery(name svchost.Hostname, err error) *problem.Error {
	return &problem.Error{
		Problem: problem.Problem{
			Code:    problem.CodeBadAnswer,
			Host:    name,
			Message: "the discovery document of " + name.ForDisplay() + " is not valid",
		},
		Err: err,
	}
}

// withHost names the host as addresses do, not as the URL's.
func withHost(err error, name svchost.Hostname) error {
	if e, ok := errors.AsType[*problem.Error](err); ok {
		e.Problem.Host = name
	}
	return err
}
