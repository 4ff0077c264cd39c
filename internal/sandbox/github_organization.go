package sandbox

import (
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

var organizationRoutes = []route{
	{"GET", "/orgs/{login}/properties/values", http.StatusOK, (*apiCall).listProperties, right{}},
}

// LimitListing makes GraphQL fail for longer lists of repositories, as GitHub
// does when a query takes too long. The answer is 200, with an error of type
// RESOURCE_LIMITS_EXCEEDED and the data found by then [cilium/team-manager#36,
// cli/cli#12715]. 0 means no limit.
func (g *GitHub) LimitListing(repositories int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listing = repositories
}

// Unlisted describes a repository that GraphQL cannot give in a list. It is a
// null among good nodes, with an error whose path names it
// [linuxfoundation/crowd.dev#4656, refined-github#1956].
type Unlisted struct {
	// Silent means that there is no error. Otherwise the error has the Message
	// and the Type, such as FORBIDDEN; Type may be empty.
	Silent        bool
	Message, Type string
	// Field is the field of the repository that is null, if not all of it is.
	Field string
	// Times is the number of such lists; 0 means all.
	Times int
}

// listed is a repository among the nodes of a list.
func (c *apiCall) listed(r *gitRepository) gqlObject {
	of, u := c.gqlOf(r), r.settings.Unlisted
	if u == (Unlisted{}) || u.Times > 0 && r.unlisted >= u.Times {
		return of
	}
	r.unlisted++
	fails := func(map[string]any) (any, error) { return nil, &gqlError{kind: u.Type, message: u.Message} }
	switch {
	case u.Field != "":
		of[u.Field] = fails
		return of
	case u.Message != "":
		return gqlObject{failing: fails}
	}
	return nil
}

// gqlOwner is an owner of repositories; nil for a login without any.
func (c *apiCall) gqlOwner(args map[string]any) (any, error) {
	login := fmt.Sprint(args["login"])
	var owned []*gitRepository
	for _, key := range slices.Sorted(maps.Keys(c.hub.repos)) {
		if r := c.hub.repos[key]; strings.EqualFold(r.owner, login) {
			owned, login = append(owned, r), r.owner
		}
	}
	if len(owned) == 0 {
		return gqlObject(nil), nil
	}
	return gqlObject{
		"id": scalar(fmt.Sprintf("O_%d", userID(login))), "login": scalar(login),
		"repositories": func(args map[string]any) (any, error) { return c.gqlRepositories(owned, args) },
	}, nil
}

// gqlRepositories is a connection to the repositories that the caller sees, by
// name.
func (c *apiCall) gqlRepositories(owned []*gitRepository, args map[string]any) (any, error) {
	size, err := connectionSize(args)
	if err != nil {
		return nil, err
	}
	if c.hub.listing > 0 && size > c.hub.listing {
		return nil, &gqlError{kind: "RESOURCE_LIMITS_EXCEEDED", message: "Resource limits for this query exceeded."}
	}
	seen := slices.DeleteFunc(slices.Clone(owned), func(r *gitRepository) bool {
		return !c.sees(r) || args["isArchived"] != nil && args["isArchived"] != r.settings.Archived || args["isFork"] != nil && args["isFork"] != (r.parent != nil)
	})
	after, _ := args["after"].(string)
	from := min(number(after, 0), len(seen))
	shown := seen[from:min(from+size, len(seen))]
	nodes := make([]gqlObject, len(shown))
	for i, r := range shown {
		nodes[i] = c.listed(r)
	}
	return gqlObject{
		"totalCount": scalar(len(seen)), "nodes": scalar(nodes),
		"pageInfo": scalar(gqlObject{
			"hasNextPage": scalar(from+len(shown) < len(seen)), "endCursor": scalar(strconv.Itoa(from + len(shown))),
		}),
	}, nil
}

// visibility is who sees the repository, in REST's words.
func (s Settings) visibility() string {
	switch {
	case s.Internal:
		return "internal"
	case s.Private:
		return "private"
	}
	return "public"
}

// gqlTopics is a connection to the topics of a repository.
func gqlTopics(r *gitRepository, args map[string]any) (any, error) {
	size, err := connectionSize(args)
	if err != nil {
		return nil, err
	}
	topics := make([]gqlObject, 0, len(r.settings.Topics))
	for _, name := range r.settings.Topics[:min(size, len(r.settings.Topics))] {
		topics = append(topics, gqlObject{"topic": scalar(gqlObject{"name": scalar(name)})})
	}
	return gqlObject{"totalCount": scalar(len(r.settings.Topics)), "nodes": scalar(topics)}, nil
}

// gqlLanguages is a connection to the languages of the default branch; the
// sandbox knows one. GitHub counts neither generated files, such as lock files,
// nor files of some directories [github-linguist/linguist,
// lib/linguist/languages.yml, generated.rb].
func gqlLanguages(r *gitRepository, args map[string]any) (any, error) {
	if _, err := connectionSize(args); err != nil {
		return nil, err
	}
	languages := []gqlObject{}
	if tree, ok := r.treeAt(r.defaultBranch); ok {
		err := r.walkTree(tree, true, func(name string, e gitEntry) error {
			if ext := path.Ext(name); len(languages) == 0 && e.mode.IsFile() && (ext == ".tf" || ext == ".hcl" && path.Base(name) != ".terraform.lock.hcl") {
				languages = append(languages, gqlObject{"name": scalar("HCL")})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return gqlObject{"totalCount": scalar(len(languages)), "nodes": scalar(languages)}, nil
}

// gqlRefs is a connection to the refs whose names begin with a prefix.
func (c *apiCall) gqlRefs(r *gitRepository, args map[string]any) (any, error) {
	size, err := connectionSize(args)
	if err != nil {
		return nil, err
	}
	var names []plumbing.ReferenceName
	for name := range r.git.ReferenceStorage {
		if strings.HasPrefix(name.String(), fmt.Sprint(args["refPrefix"])) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	shown := names[:min(size, len(names))]
	nodes := make([]gqlObject, len(shown))
	for i, name := range shown {
		nodes[i] = c.gqlRef(r, name.String())
	}
	return gqlObject{
		"totalCount": scalar(len(names)), "nodes": scalar(nodes),
		"pageInfo": scalar(gqlObject{"hasNextPage": scalar(len(shown) < len(names)), "endCursor": scalar(strconv.Itoa(len(shown)))}),
	}, nil
}

// gqlTarget is the object of a ref.
func gqlTarget(r *gitRepository, hash plumbing.Hash) gqlObject {
	target := gqlObject{"id": scalar("O_" + hash.String()), "oid": scalar(hash.String())}
	if commit, err := r.commit(hash); err == nil {
		tree := commit.TreeHash.String()
		target["tree"] = scalar(gqlObject{"id": scalar("T_" + tree), "oid": scalar(tree)})
	}
	return target
}

// listProperties are the custom properties of all repositories. Members may read
// them, and Apps with the organization's permission.
func (c *apiCall) listProperties() (any, error) {
	if c.who.Permissions != nil && c.who.Permissions["organization_custom_properties"] == "" {
		c.header.Set("X-Accepted-GitHub-Permissions", "organization_custom_properties=read")
		return nil, c.refuse()
	}
	var owned []*gitRepository
	for _, key := range slices.Sorted(maps.Keys(c.hub.repos)) {
		if r := c.hub.repos[key]; strings.EqualFold(r.owner, c.PathValue("login")) && c.sees(r) {
			owned = append(owned, r)
		}
	}
	return each(page(c, owned), func(r *gitRepository) doc {
		values := []doc{}
		for _, name := range slices.Sorted(maps.Keys(r.settings.Properties)) {
			values = append(values, doc{"property_name": name, "value": r.settings.Properties[name]})
		}
		return doc{"repository_id": r.id, "repository_name": r.name, "repository_full_name": r.fullName(), "properties": values}
	}), nil
}
