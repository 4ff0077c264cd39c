// Package pictures draws what the README shows: a pull request, as a page that a browser
// turns into pictures, and a plot of what a benchmark prints. It is part of no program of
// a release; go run ./.ci/pictures writes the files.
package pictures

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

// Pull is the part of a pull request that a picture shows.
type Pull struct {
	Title string
	Text  string // Markdown, up to what is held back
}

var (
	markedTitle = regexp.MustCompile(`<!-- relock:.*"title":"([^"]+)"`)
	remark      = regexp.MustCompile(`(?s)<!--.*?-->`)
)

// below is the heading of the first part that no picture shows: all would be too long.
const below = "### Versions in use"

// ReadPull reads the text of a pull request that relock wrote.
func ReadPull(body string) (Pull, error) {
	text, _, cut := strings.Cut(body, "\n"+below+"\n")
	title := markedTitle.FindStringSubmatch(body)
	if !cut || title == nil {
		return Pull{}, errors.New("the text is no pull request of relock: it has no heading " + below + ", or no marker with a title")
	}
	return Pull{Title: title[1], Text: remark.ReplaceAllString(text, "")}, nil
}

// Sum is the hash of the text that pictures are made from.
func (p Pull) Sum() string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(p.Title+"\n"+p.Text)))
}

//go:embed pull.html
var pullPage string

var pullTemplate = template.Must(template.New("pull").Parse(pullPage))

// Page is the pull request as a page of HTML, in light or dark colours.
func (p Pull) Page(dark bool) ([]byte, error) {
	var body, page bytes.Buffer
	// The text is our own, and its HTML is what GitHub folds.
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	err := markdown.Convert([]byte(p.Text), &body)
	if err != nil {
		return nil, fmt.Errorf("reading the Markdown of the pull request: %w", err)
	}
	err = pullTemplate.Execute(&page, map[string]any{"Title": p.Title, "Dark": dark, "Body": template.HTML(body.String())})
	if err != nil {
		return nil, fmt.Errorf("writing the page of the pull request: %w", err)
	}
	return page.Bytes(), nil
}
