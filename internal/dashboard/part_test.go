package dashboard

import (
	"encoding/json"
	"testing"

	"github.com/relock-dev/relock/internal/github"
)

// Only comments of our own account are parts, and of several the one that its writer edits.
func TestPartsIn(t *testing.T) {
	t.Parallel()
	comment := func(id int64, author, name, data string) github.Comment {
		return github.Comment{ID: id, Author: author, Body: "Words.\n\n" + hidden(partMark, Part{Name: name, Data: json.RawMessage(data)}).String() + "\r\n"}
	}
	comments := []github.Comment{
		comment(1, "hubot", "1/2", `"of a person"`),
		comment(2, "relock", "1/2", `"of a person with the name of the App"`),
		comment(3, "Relock[bot]", "1/2", `"first"`),
		comment(4, "relock[bot]", "1/2", `"second"`),
		comment(5, "relock[bot]", "2/2", `{"a": "--> <!--"}`),
		{ID: 6, Author: "relock[bot]", Body: comments6},
		{ID: 7, Author: "relock[bot]", Body: "> <!-- relock-part:{\"part\":\"3/2\"} -->"},
		{ID: 8, Author: "relock[bot]", Body: "<!-- relock-part:{ -->"},
	}
	var got string
	for _, p := range PartsIn(comments, "relock[bot]") {
		got += p.Name + " " + string(p.Data) + "\n"
	}
	if want := "1/2 \"first\"\n2/2 {\"a\":\"--\\u003e \\u003c!--\"}\n"; got != want {
		t.Errorf("PartsIn = %q, want %q", got, want)
	}
	if got := PartsIn(comments, ""); len(got) > 0 {
		t.Errorf("without an account there are the parts %v", got)
	}
}

// comments6 has words of a person below the marker of a part.
const comments6 = "<!-- relock-part:{\"part\":\"4/2\",\"data\":1} -->\nand more"
