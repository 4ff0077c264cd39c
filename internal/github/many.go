package github

// What a Client asks of many repositories at once.

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/provider"
)

// mostAliases bounds the objects that one query asks for: GitHub gives up on a
// query after ten seconds.
const mostAliases = 100

// largestFile bounds a file that is read as a whole, like CHANGELOG.md.
const largestFile = 1 << 20

// List returns the repositories of an owner that the token sees, sorted by name: for
// an App those that it is installed in. It is one request for every fifty, more where
// GitHub gives up on so many at once, and one for every hundred to know the
// installation's, and custom properties. The token of a workflow is refused: it
// reaches one repository.
//
// If GitHub cannot give every repository of a page, List asks for the page again. What is
// still missing then has an error of its own, and the others count.
func (c *Client) List(ctx context.Context, owner string, o ListOptions) ([]Listed, error) {
	doing := "listing the repositories of " + owner
	found, err := ownerList{c, owner, o}.all(ctx)
	if err != nil {
		return nil, explanation(ctx, c, doing, nil, err)
	}
	if c.tokens.isApp() {
		names, err := installed(ctx, c.rest)
		if err != nil {
			return nil, explanation(ctx, c, doing, nil, err)
		}
		found = ofInstallation(found, names)
	}
	if o.Properties {
		values, err := properties(ctx, c.rest, owner)
		if err != nil {
			return nil, explanation(ctx, c, "reading the custom properties of "+owner, propertiesHint, err)
		}
		for i, l := range found {
			found[i].Properties = values[l.ID]
		}
	}
	slices.SortFunc(found, func(a, b Listed) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// Releases returns the releases of those tags that exist, by the index of what
// was asked for, in the order of the tags. Repositories that do not exist or
// are hidden have none. It is one request for up to a hundred tags.
func (c *Client) Releases(ctx context.Context, asked []provider.Tagged) ([][]provider.Announcement, error) {
	found := make([][]provider.Announcement, len(asked))
	for from, to := range batches(asked) {
		var q graphQuery
		for i := from; i < to; i++ {
			q.repository(i, asked[i])
			for j, tag := range asked[i].Tags {
				q.add(" t%d: release(tagName: %s) { tagName url description publishedAt }", j, q.text(tag))
			}
			q.add(" }")
		}
		var data map[string]map[string]*struct {
			TagName, URL, Description string
			PublishedAt               time.Time
		}
		if err := c.ask(ctx, "reading release notes", &q, &data); err != nil {
			return found, err
		}
		for i := from; i < to; i++ {
			for j := range asked[i].Tags {
				if r := data[fmt.Sprint("r", i)][fmt.Sprint("t", j)]; r != nil {
					found[i] = append(found[i], provider.Announcement{Tag: r.TagName, URL: r.URL, Text: r.Description, Published: r.PublishedAt})
				}
			}
		}
	}
	return found, nil
}

// batches yields ranges of a list. One query can ask for each range.
func batches(asked []provider.Tagged) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		from, size := 0, 0
		for i, a := range asked {
			if i > from && size+len(a.Tags) > mostAliases {
				if !yield(from, i) {
					return
				}
				from, size = i, 0
			}
			size += len(a.Tags)
		}
		if from < len(asked) {
			yield(from, len(asked))
		}
	}
}

// Files returns the text of a file at the head of the default branch of each
// repository; empty where there is none, or none below a megabyte that is text.
// It is one request.
func (c *Client) Files(ctx context.Context, asked []provider.Tagged, path string) ([]string, error) {
	texts := make([]string, len(asked))
	var q graphQuery
	for i, a := range asked {
		q.repository(i, a)
		q.add(" file: object(expression: %s) { ... on Blob { byteSize isTruncated text } } }", q.text("HEAD:"+path))
	}
	var data map[string]map[string]*struct {
		ByteSize    int
		IsTruncated bool
		Text        string
	}
	if err := c.ask(ctx, "reading "+path, &q, &data); err != nil {
		return texts, err
	}
	for i := range asked {
		if f := data[fmt.Sprint("r", i)]["file"]; f != nil && !f.IsTruncated && f.ByteSize <= largestFile {
			texts[i] = f.Text
		}
	}
	return texts, nil
}

// repository begins the fields of the repository with the index i.
func (q *graphQuery) repository(i int, a provider.Tagged) {
	q.add(" r%d: repository(owner: %s, name: %s) {", i, q.text(a.Owner), q.text(a.Name))
}

// ask sends a query about repositories of others. A run goes on without the answer.
func (c *Client) ask(ctx context.Context, doing string, q *graphQuery, data any) error {
	if len(q.declared) == 0 {
		return nil
	}
	if err := c.graph.query(behaving(ctx, requestBehaviour{others: true}), q, data); err != nil {
		return explanation(ctx, c, doing, nil, err)
	}
	return nil
}
