// Watch asks GitHub which releases of Terraform, OpenTofu and Terragrunt there are, and
// opens an issue for each minor version whose rules relock does not know:
//
//	GITHUB_TOKEN=… go run ./internal/watch OWNER/NAME
//
// There is never a second issue about a minor version, whatever happened to the first. So
// none is opened unless all issues of the repository have been read. The workflow tools
// runs it every week.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/terragrunt"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: watch OWNER/NAME")
		os.Exit(2)
	}
	g := gitHub{url: cmp.Or(os.Getenv("GITHUB_API_URL"), "https://api.github.com"), token: os.Getenv("GITHUB_TOKEN"), client: &http.Client{Timeout: time.Minute}}
	if err := watch(ctx, g, os.Args[1], tools, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tool is a tool, and its newest release whose rules are known.
type tool struct {
	title      string
	repository string
	newest     provider.Version
}

var tools = []tool{
	{"Terraform", "hashicorp/terraform", provider.Newest(provider.Terraform).Version},
	{"OpenTofu", "opentofu/opentofu", provider.Newest(provider.OpenTofu).Version},
	{"Terragrunt", "gruntwork-io/terragrunt", terragrunt.Newest},
}

// watch opens an issue for each minor version of the tools that is not known and that no
// issue is about. A tool of which nothing can be learnt does not keep it from the others.
func watch(ctx context.Context, g gitHub, repository string, tools []tool, out io.Writer) error {
	var news []issue
	var errs []error
	for _, t := range tools {
		unknown, err := g.unknown(ctx, t)
		if err != nil {
			errs = append(errs, fmt.Errorf("asking for the releases of %s: %w", t.title, err))
		}
		for _, v := range unknown {
			news = append(news, t.about(v, repository))
		}
	}
	if len(news) == 0 {
		fmt.Fprintln(out, "no release is unknown")
		return errors.Join(errs...)
	}
	known, err := g.issues(ctx, repository)
	if err != nil {
		return errors.Join(append(errs, fmt.Errorf("reading the issues of %s: %w", repository, err))...)
	}
	for _, n := range news {
		if slices.ContainsFunc(known, func(i issue) bool { return i.trusted() && strings.Contains(i.Body, n.marker()) }) {
			fmt.Fprintf(out, "%s: there is an issue\n", n.Title)
			continue
		}
		if err := g.send(ctx, http.MethodPost, "/repos/"+repository+"/issues", n, nil); err != nil {
			errs = append(errs, fmt.Errorf("opening the issue %q: %w", n.Title, err))
			continue
		}
		fmt.Fprintf(out, "%s: an issue is opened\n", n.Title)
	}
	return errors.Join(errs...)
}

// about is the issue about a minor version, by its first release.
func (t tool) about(first provider.Version, repository string) issue {
	minor := fmt.Sprintf("%d.%d", first.Major, first.Minor)
	return issue{
		Title: fmt.Sprintf("%s %s is not known", t.title, minor),
		Body: fmt.Sprintf("[%s %s](https://github.com/%s/releases/tag/v%s) is released. relock knows the rules of %s up to %s.\n\n"+
			"[CONTRIBUTING](https://github.com/%s/blob/main/CONTRIBUTING.md#a-new-release-of-a-tool) says how it is taken in.\n\n%s%s %s -->\n",
			t.title, first, t.repository, first, t.title, t.newest, repository, markerStart, strings.ToLower(t.title), minor),
	}
}

type release struct {
	Tag        string `json:"tag_name"`
	Draft      bool   `json:"draft"`
	Prerelease bool   `json:"prerelease"`
}

type issue struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	User  struct {
		Login string `json:"login"`
	} `json:"user,omitzero"`
	Association string    `json:"author_association,omitempty"`
	PullRequest *struct{} `json:"pull_request,omitempty"`
}

// markerStart begins the line by which an issue of ours is known, whatever its title has
// become.
const markerStart = "<!-- relock-release: "

// marker is the line in the body of an issue that names the minor version.
func (i issue) marker() string { return strings.TrimSpace(i.Body[strings.Index(i.Body, markerStart):]) }

// trusted reports whether an issue may be one of ours. Who may open an issue could else
// keep one from being opened.
func (i issue) trusted() bool {
	ours := i.User.Login == "github-actions[bot]" || slices.Contains([]string{"OWNER", "MEMBER", "COLLABORATOR"}, i.Association)
	return ours && i.PullRequest == nil
}

// gitHub asks GitHub's API.
type gitHub struct {
	url    string
	token  string
	client *http.Client
}

// unknown returns the first release of each minor version of a tool that is newer than
// the known ones, of its newest hundred.
func (g gitHub) unknown(ctx context.Context, t tool) ([]provider.Version, error) {
	var releases []release
	if err := g.send(ctx, http.MethodGet, "/repos/"+t.repository+"/releases?per_page=100", nil, &releases); err != nil {
		return nil, err
	}
	var unknown []provider.Version
	listed := false
	for _, r := range releases {
		v, err := provider.ParseVersion(strings.TrimPrefix(r.Tag, "v"))
		if err != nil || r.Draft || r.Prerelease || v != v.Core() || r.Tag != "v"+v.String() {
			continue
		}
		listed = true
		if v.Major > t.newest.Major || v.Major == t.newest.Major && v.Minor > t.newest.Minor {
			unknown = append(unknown, v)
		}
	}
	if !listed {
		return nil, errors.New("GitHub lists none")
	}
	slices.SortFunc(unknown, provider.Version.Compare)
	return slices.CompactFunc(unknown, func(a, b provider.Version) bool { return a.Major == b.Major && a.Minor == b.Minor }), nil
}

// The issues that are read, by pages. From the oldest on, since what is opened meanwhile
// moves none of these to another page.
const (
	perPage   = 100
	mostPages = 200
)

// issues returns all issues of a repository, closed ones too.
func (g gitHub) issues(ctx context.Context, repository string) ([]issue, error) {
	var all []issue
	for page := 1; page <= mostPages; page++ {
		var some []issue
		path := fmt.Sprintf("/repos/%s/issues?state=all&sort=created&direction=asc&per_page=%d&page=%d", repository, perPage, page)
		if err := g.send(ctx, http.MethodGet, path, nil, &some); err != nil {
			return nil, err
		}
		all = append(all, some...)
		if len(some) < perPage {
			return all, nil
		}
	}
	return nil, fmt.Errorf("there are more than %d", mostPages*perPage)
}

// mostBytes bounds an answer.
const mostBytes = 32 << 20

// send makes a request, and reads the answer into a value that is not nil.
func (g gitHub) send(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(g.url, "/")+path, content)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	if g.token != "" {
		req.Header.Set("Authorization", "Bearer "+g.token)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("GitHub answers %s %s with %d", method, strings.SplitN(path, "?", 2)[0], resp.StatusCode)
	}
	if into == nil {
		return nil
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostBytes+1))
	if err != nil {
		return err
	}
	if len(answer) > mostBytes {
		return fmt.Errorf("the answer has more than %d bytes", mostBytes)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}
